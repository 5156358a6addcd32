//! Unsettled edits, as people and programs read them. Must not write.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, Params, Row as SqlRow};

use crate::model::Edit;
use crate::store::edits::names::title;
use crate::store::{StoreError, rows, select};

/// All unsettled edits, oldest first.
pub(crate) fn list(connection: &Connection) -> Result<Vec<Edit>, StoreError> {
    listed(connection, "", ())
}

/// The unsettled edits of one record, oldest first.
pub(crate) fn of_record(connection: &Connection, kind: Kind, id: &str) -> Result<Vec<Edit>, StoreError> {
    listed(connection, "WHERE e.record_id = ?2 AND e.kind = ?1", (kind.as_str(), id))
}

fn listed(connection: &Connection, which: &str, of: impl Params) -> Result<Vec<Edit>, StoreError> {
    let text = format!("SELECT e.* FROM edits e {which} ORDER BY e.id");
    select::all(connection, &text, of, |row| read(connection, row))
}

fn read(connection: &Connection, row: &SqlRow<'_>) -> Result<Edit, StoreError> {
    let (kind, record_id): (Kind, String) = (rows::kind(row, "kind")?, row.get("record_id")?);
    let (patch, base) = (rows::object(row, "patch")?, rows::object(row, "base")?);
    let title = title(connection, kind, &record_id, &[&patch, &base])?;
    Ok(Edit {
        id: row.get("id")?,
        kind,
        record_id,
        method: row.get("method")?,
        patch,
        base,
        state: row.get("state")?,
        reason: row.get("reason")?,
        reason_code: row.get("reason_code")?,
        attempts: row.get("attempts")?,
        next_attempt_at: row.get("next_attempt_at")?,
        problem: row.get::<_, Option<String>>("problem")?.and_then(|text| serde_json::from_str(&text).ok()),
        origin: row.get("origin")?,
        created_at: row.get("created_at")?,
        title,
    })
}
