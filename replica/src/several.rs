//! Decisions about several edits at once: each comes out on its own, as if it had been made alone, and what depends on them is
//! looked at once. They are made together or, where the database fails, not at all.

use crate::store::edits::{decide, undo};
use crate::{Decided, EditError, Replica, now};

impl Replica {
    /// [`Replica::retry`] of each, in this order.
    pub fn retry_each(&self, edits: &[i64]) -> Result<Vec<Result<Decided, EditError>>, EditError> {
        let decided = self.changed(decide::retry_each(&mut *self.writing()?, edits))?;
        // It is decided; a wish that finds no place costs a pause.
        let _ = self.hurry();
        Ok(decided)
    }

    /// [`Replica::discard`] of each, in this order.
    pub fn discard_each(&self, edits: &[i64]) -> Result<Vec<Result<Decided, EditError>>, EditError> {
        self.changed(decide::discard_each(&mut *self.writing()?, self.origin.word(), edits, now()))
    }

    /// [`Replica::undo`] of each, in this order: what came later is to be undone first.
    pub fn undo_each(&self, edits: &[i64]) -> Result<Vec<Result<Decided, EditError>>, EditError> {
        self.changed(undo::undo_each(&mut *self.writing()?, self.origin.word(), edits, now()))
    }
}
