//! The part of [`Replica`] that decides about edits: retry, discard, change, resolve, undo. A decision about several
//! edits is one transaction, and each edit has a result of its own. Must not hold SQL.

use std::collections::BTreeSet;

use hearth_contract::check::Fields;

use crate::store::edits::{decide, decisions, history, resolve, undo};
use crate::store::outside::held;
use crate::{Decided, EditError, EditProgress, Replica, Resolution, StoreError, now};

impl Replica {
    /// How far an edit is, or how it ended. None: there is no such edit, or it ended more than 30 days ago.
    pub fn edit_progress(&self, edit: i64) -> Result<Option<EditProgress>, StoreError> {
        history::progress(&self.connection.borrow(), edit)
    }

    /// Makes edits of the changes by another program that wait for a person. Returns how many edits there are now: sent ones,
    /// and ones with a value that a rule refuses.
    pub fn accept_held_changes(&self) -> Result<(usize, usize), StoreError> {
        self.write(held::accept)
    }

    /// Drops the changes by another program that wait for a person. Returns their number.
    pub fn discard_held_changes(&self) -> Result<usize, StoreError> {
        self.write(held::discard)
    }

    /// Sends an edit again that the server refused, without backoff. Error: a retry cannot help; the error says what
    /// can.
    pub fn retry(&self, edit: i64) -> Result<Decided, EditError> {
        let decided = self.write(|connection| decisions::single(decide::retry_each(connection, &[edit])))?;
        // The decision is stored. If this request fails, the edit waits for the normal backoff.
        let _ = self.retry_sync_now();
        Ok(decided)
    }

    /// Discards an edit. If the server may already have applied the edit, the inverse edit is queued instead.
    pub fn discard(&self, edit: i64) -> Result<Decided, EditError> {
        self.write(|connection| decisions::single(decide::discard_each(connection, self.origin, &[edit], now())))
    }

    /// Gives an edit other values and sends the edit again. Null clears a field. Error: the edit is being sent.
    pub fn change(&self, edit: i64, fields: &Fields) -> Result<Decided, EditError> {
        self.write(|connection| decide::change(connection, edit, fields, now()))
    }

    /// Resolves a conflict. The values that lose stay in the history; [`Replica::undo`] brings them back.
    pub fn resolve(&self, edit: i64, resolution: &Resolution) -> Result<Decided, EditError> {
        self.write(|connection| resolve::resolve(connection, self.origin, edit, resolution, now()))
    }

    /// Undoes an edit, open or settled. None: the newest change from this replica that is still in effect. An edit that
    /// was never sent is taken back; for other edits the inverse is queued. Undo of an undo is a redo.
    pub fn undo(&self, edit: Option<i64>) -> Result<Decided, EditError> {
        let Some(edit) = edit else { return self.undo_newest(&BTreeSet::new()) };
        self.write(|connection| decisions::single(undo::undo_each(connection, self.origin, &[edit], now())))
    }

    /// Undoes the newest change from this replica that is still in effect, except the edits in `but`. A user who undoes
    /// step by step passes the edits that undo has made.
    pub fn undo_newest(&self, but: &BTreeSet<i64>) -> Result<Decided, EditError> {
        self.write(|connection| undo::undo_newest(connection, self.origin, but, now()))
    }

    /// [`Replica::retry`] of each edit, in the given order.
    pub fn retry_each(&self, edits: &[i64]) -> Result<Vec<Result<Decided, EditError>>, EditError> {
        let decided = self.write(|connection| decide::retry_each(connection, edits))?;
        // The decisions are stored. If this request fails, the edits wait for the normal backoff.
        let _ = self.retry_sync_now();
        Ok(decided)
    }

    /// [`Replica::discard`] of each edit, in the given order.
    pub fn discard_each(&self, edits: &[i64]) -> Result<Vec<Result<Decided, EditError>>, EditError> {
        self.write(|connection| decide::discard_each(connection, self.origin, edits, now()))
    }

    /// [`Replica::undo`] of each edit, in the given order. Callers pass the newest edit first.
    pub fn undo_each(&self, edits: &[i64]) -> Result<Vec<Result<Decided, EditError>>, EditError> {
        self.write(|connection| undo::undo_each(connection, self.origin, edits, now()))
    }
}
