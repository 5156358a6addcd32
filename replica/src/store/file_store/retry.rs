//! Another attempt for edits whose file was at fault: the server refused it because of the key, or its bytes were lost. Must not
//! know requests.

use hearth_contract::problem::ProblemType;
use rusqlite::Connection;

use crate::model::ReasonCode;
use crate::store::edits::{EditError, decide};
use crate::store::{StoreError, gate};

/// Gives files another attempt that the server refused because of the key: at the start of a sync, and when a running sync gets
/// another key. The key, or its scopes, may be others now.
pub(crate) fn retry_refused_by_key(connection: &mut Connection) -> Result<(), StoreError> {
    let condition = format!("f.state = 'refused' AND f.problem ->> '$.type' IN ({})", key_problems());
    let edits = connection
        .prepare(&format!(
            "SELECT e.id FROM edits e JOIN files f ON e.patch ->> '$.file_sha256' = f.sha256
             WHERE e.kind = 'document' AND e.state = 'rejected' AND {condition} ORDER BY e.id"
        ))?
        .query_map([], |row| row.get(0))?
        .collect::<Result<Vec<i64>, _>>()?;
    let has_files: bool =
        connection
            .query_row(&format!("SELECT EXISTS (SELECT 1 FROM files f WHERE {condition})"), [], |row| row.get(0))?;
    if !has_files {
        return Ok(());
    }
    gate::sync_tx(connection, |tx| {
        tx.execute(&format!("UPDATE files AS f SET state = 'waiting', problem = NULL WHERE {condition}"), [])?;
        Ok::<(), StoreError>(())
    })?;
    retry(connection, &edits)
}

/// Gives edits another attempt to which the server said that it does not have their file: its bytes are here again.
pub(super) fn retry_with_bytes(connection: &mut Connection, sha256: &str) -> Result<(), StoreError> {
    let edits = connection
        .prepare(
            "SELECT id FROM edits WHERE kind = 'document' AND state = 'rejected' AND reason_code = ?2
                 AND patch ->> '$.file_sha256' = ?1 ORDER BY id",
        )?
        .query_map((sha256, ReasonCode::MissingReference), |row| row.get(0))?
        .collect::<Result<Vec<i64>, _>>()?;
    retry(connection, &edits)
}

fn retry(connection: &mut Connection, edits: &[i64]) -> Result<(), StoreError> {
    match decide::retry_each(connection, edits) {
        Err(EditError::Store(error)) => Err(error),
        // An edit that cannot be retried keeps its reason.
        _ => Ok(()),
    }
}

/// The types of problems that concern the key alone, as a list in SQL.
fn key_problems() -> String {
    use ProblemType::{InsufficientScope, IpNotAllowed, OriginNotAllowed, PlanRequired};
    let types = [InsufficientScope, PlanRequired, IpNotAllowed, OriginNotAllowed];
    types.map(|problem| format!("'{}'", problem.as_str())).join(", ")
}
