//! What a person decides about edits: one, or several at once, of which each comes out on its own, as if it had been decided
//! alone. Several are decided together or, where the database fails, not at all.

use std::collections::BTreeSet;

use hearth_contract::check::Fields;

use crate::store::edits::{decide, resolve, undo};
use crate::{Decided, EditError, Replica, Resolution, now};

impl Replica {
    /// Lets an edit that the server refused go again, without a pause. Refused: when that cannot help, with what can.
    pub fn retry(&self, edit: i64) -> Result<Decided, EditError> {
        let decided = self.notify_on_success(decide::retry(&mut *self.write_connection()?, edit))?;
        // It is decided; a wish that finds no place costs a pause.
        let _ = self.retry_sync_now();
        Ok(decided)
    }

    /// Gives an edit up. If it may be on the server already, its inverse is queued instead, so that its effect ends
    /// whatever became of it.
    pub fn discard(&self, edit: i64) -> Result<Decided, EditError> {
        self.notify_on_success(decide::discard(&mut *self.write_connection()?, self.origin, edit, now()))
    }

    /// Gives an edit that is not on its way other values and lets it go (again). A null clears a field.
    pub fn change(&self, edit: i64, fields: &Fields) -> Result<Decided, EditError> {
        self.notify_on_success(decide::change(&mut *self.write_connection()?, edit, fields, now()))
    }

    /// Ends a conflict. The values that lose are kept in the history and can be brought back by [`Replica::undo`].
    pub fn resolve(&self, edit: i64, resolution: &Resolution) -> Result<Decided, EditError> {
        let origin = self.origin;
        self.notify_on_success(resolve::resolve(&mut *self.write_connection()?, origin, edit, resolution, now()))
    }

    /// Undoes an edit, waiting or settled; None: the newest change made here that stands. An edit that was never sent
    /// is taken back; of any other the inverse is queued. Undoing an edit that undoes does the first again.
    pub fn undo(&self, edit: Option<i64>) -> Result<Decided, EditError> {
        self.notify_on_success(undo::undo(&mut *self.write_connection()?, self.origin, edit, now()))
    }

    /// Undoes the newest change made here that stands and is none of these: who undoes step by step does not take back what
    /// undoing has made.
    pub fn undo_newest(&self, but: &BTreeSet<i64>) -> Result<Decided, EditError> {
        self.notify_on_success(undo::undo_newest(&mut *self.write_connection()?, self.origin, but, now()))
    }

    /// [`Replica::retry`] of each, in this order.
    pub fn retry_each(&self, edits: &[i64]) -> Result<Vec<Result<Decided, EditError>>, EditError> {
        let decided = self.notify_on_success(decide::retry_each(&mut *self.write_connection()?, edits))?;
        // It is decided; a wish that finds no place costs a pause.
        let _ = self.retry_sync_now();
        Ok(decided)
    }

    /// [`Replica::discard`] of each, in this order.
    pub fn discard_each(&self, edits: &[i64]) -> Result<Vec<Result<Decided, EditError>>, EditError> {
        self.notify_on_success(decide::discard_each(&mut *self.write_connection()?, self.origin, edits, now()))
    }

    /// [`Replica::undo`] of each, in this order: what came later is to be undone first.
    pub fn undo_each(&self, edits: &[i64]) -> Result<Vec<Result<Decided, EditError>>, EditError> {
        self.notify_on_success(undo::undo_each(&mut *self.write_connection()?, self.origin, edits, now()))
    }
}
