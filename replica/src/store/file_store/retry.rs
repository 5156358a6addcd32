//! Retries edits that failed because of their file: the server refused the file because of the key, or did not have it. Must not
//! know requests.

use hearth_contract::problem::ProblemType;
use rusqlite::Connection;

use crate::model::is_file_missing;
use crate::store::edits::{EditError, decide};
use crate::store::{StoreError, gate, select};

/// Retries files that the server refused because of the key: at the start of a sync, and when a running sync gets
/// another key. The key, or its scopes, may be others now.
pub(crate) fn retry_refused_by_key(connection: &mut Connection) -> Result<(), StoreError> {
    let condition = format!("f.state = 'refused' AND f.problem ->> '$.type' IN ({})", key_problems());
    if !select::value(connection, &format!("SELECT EXISTS (SELECT 1 FROM files f WHERE {condition})"), [])? {
        return Ok(());
    }
    let text = format!(
        "SELECT e.id FROM edits e JOIN files f ON e.patch ->> '$.file_sha256' = f.sha256
         WHERE e.kind = 'document' AND e.state = 'rejected' AND {condition} ORDER BY e.id"
    );
    let edits = select::column(connection, &text, [])?;
    // Edits first: if this function fails after them, the files are still `refused`, and the next call repeats the attempt.
    retry(connection, &edits)?;
    let text = format!("UPDATE files AS f SET state = 'waiting', problem = NULL WHERE {condition}");
    gate::execute(connection, &text, []).map(drop)
}

/// Retries the documents whose file the server did not have. The bytes of the file are here again.
pub(super) fn retry_with_bytes(connection: &mut Connection, sha256: &str) -> Result<(), StoreError> {
    let text = "SELECT id, problem FROM edits WHERE kind = 'document' AND state = 'rejected' AND problem IS NOT NULL
             AND patch ->> '$.file_sha256' = ?1 ORDER BY id";
    let rejected: Vec<(i64, String)> = select::all(connection, text, [sha256], |row| Ok(row.try_into()?))?;
    let lacks_file = |problem: &str| serde_json::from_str(problem).is_ok_and(|problem| is_file_missing(&problem));
    let edits: Vec<i64> = rejected.iter().filter(|(_, problem)| lacks_file(problem)).map(|(edit, _)| *edit).collect();
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
