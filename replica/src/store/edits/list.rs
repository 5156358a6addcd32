//! Unsettled edits, as people and programs read them. Must not write.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Params, Row as SqlRow};
use serde_json::Value;

use crate::model::Edit;
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
    let text = format!(
        "SELECT e.*, (SELECT s.title FROM search s, _search_rows r
                      WHERE r.kind = e.kind AND r.record_id = e.record_id AND s.rowid = r.id) AS title
         FROM edits e {which} ORDER BY e.id"
    );
    let mut edits = select::all(connection, &text, of, read)?;
    if edits.iter().all(|edit| !edit.title.is_empty()) {
        return Ok(edits);
    }
    // For a record that is deleted here, another edit of the record may know the title.
    let named =
        |edit: &Edit| (!edit.title.is_empty()).then(|| ((edit.kind, edit.record_id.clone()), edit.title.clone()));
    let names: BTreeMap<(Kind, String), String> = edits.iter().filter_map(named).collect();
    for edit in edits.iter_mut().filter(|edit| edit.title.is_empty()) {
        let known = names.get(&(edit.kind, edit.record_id.clone())).cloned();
        edit.title = known.unwrap_or_else(|| edit.kind.as_str().to_owned());
    }
    Ok(edits)
}

fn read(row: &SqlRow<'_>) -> Result<Edit, StoreError> {
    let kind = rows::kind(row, "kind")?;
    let (patch, base) = (rows::object(row, "patch")?, rows::object(row, "base")?);
    // A deleted record is not in the search index; the base of the edit has its last values.
    let name = resource(kind).title;
    let named = |fields: &Fields| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let title = row.get::<_, Option<String>>("title")?.or_else(|| named(&patch)).or_else(|| named(&base));
    Ok(Edit {
        id: row.get("id")?,
        kind,
        record_id: row.get("record_id")?,
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
        title: title.unwrap_or_default(),
    })
}
