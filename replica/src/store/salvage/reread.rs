//! A sound database fetches everything again. Must not know how a reconcile goes on.

use std::path::Path;

use super::report::RebuildReport;
use crate::store::schema::search;
use crate::store::{StoreError, gate, open, reconcile};

/// Begins a reconcile that fetches all records of a sound database again. Rows stay until the server's version replaces them.
pub(super) fn fetch_all_again(db: &Path) -> Result<RebuildReport, StoreError> {
    let mut connection = open::read_write(db)?;
    // Before all other writes, because a damaged `search` would make them fail.
    gate::sync_tx(&mut connection, search::refill)?;
    let edits: i64 = gate::sync_tx(&mut connection, |tx| {
        // A home without a server is read from nowhere.
        if !tx.query_row("SELECT phase = 'local' FROM _sync", [], |row| row.get(0))? {
            reconcile::begin_anew(tx)?;
        }
        Ok(tx.query_row("SELECT count(*) FROM edits", [], |row| row.get(0))?)
    })?;
    Ok(RebuildReport { edits: usize::try_from(edits).unwrap_or_default(), ..RebuildReport::default() })
}
