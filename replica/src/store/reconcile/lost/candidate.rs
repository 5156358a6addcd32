//! An edit that is compared with the server's records. Must not know the outcome.

use hearth_contract::schema::Kind;
use rusqlite::{Params, Row, Transaction};

use crate::store::{StoreError, rows, select};

/// An edit that is compared with the server's records.
pub(super) struct Candidate {
    pub edit: i64,
    pub kind: Kind,
    pub record: String,
}

impl Candidate {
    /// Reads number, kind and record id, which are the first columns.
    pub(super) fn read(row: &Row<'_>) -> Result<Candidate, StoreError> {
        Ok(Candidate { edit: row.get(0)?, kind: rows::kind(row, 1)?, record: row.get(2)? })
    }

    /// Forgets at which position the server accepted the edit.
    pub(super) fn forget_position(&self, tx: &Transaction<'_>) -> Result<(), StoreError> {
        tx.prepare_cached("UPDATE _outbox SET acked_rev = NULL WHERE edit_id = ?1")?.execute([self.edit])?;
        Ok(())
    }
}

/// The edits that the server has accepted, by number. `condition`: SQL over the edit `e` and its row `s` of `_outbox`.
pub(super) fn accepted(
    tx: &Transaction<'_>,
    condition: &str,
    values: impl Params,
) -> Result<Vec<Candidate>, StoreError> {
    let text = format!(
        "SELECT e.id, e.kind, e.record_id FROM _outbox s JOIN edits e ON e.id = s.edit_id WHERE {condition} ORDER BY e.id"
    );
    candidates(tx, &text, values)
}

/// The edits that a statement gives as number, kind and record id.
pub(super) fn candidates(tx: &Transaction<'_>, text: &str, values: impl Params) -> Result<Vec<Candidate>, StoreError> {
    select::all(tx, text, values, Candidate::read)
}
