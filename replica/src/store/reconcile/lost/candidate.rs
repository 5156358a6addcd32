//! An edit that the server may have lost. Must not know why.

use hearth_contract::schema::Kind;
use rusqlite::{Params, Row, Transaction};

use crate::store::{StoreError, rows, select};

/// An edit that the server may have lost.
pub(super) struct Lost {
    pub edit: i64,
    pub kind: Kind,
    pub record: String,
}

impl Lost {
    /// Reads number, kind and record id, which are the first columns.
    pub(super) fn read(row: &Row<'_>) -> Result<Lost, StoreError> {
        Ok(Lost { edit: row.get(0)?, kind: rows::kind(row, 1)?, record: row.get(2)? })
    }

    /// Forgets at which position the server accepted the edit.
    pub(super) fn forget_position(&self, tx: &Transaction<'_>) -> Result<(), StoreError> {
        tx.prepare_cached("UPDATE _outbox SET acked_rev = NULL WHERE edit_id = ?1")?.execute([self.edit])?;
        Ok(())
    }
}

/// The edits that a statement gives as number, kind and record id.
pub(super) fn candidates(tx: &Transaction<'_>, text: &str, values: impl Params) -> Result<Vec<Lost>, StoreError> {
    select::all(tx, text, values, Lost::read)
}
