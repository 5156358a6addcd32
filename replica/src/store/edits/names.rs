//! Names of records in sentences for people. Must not write.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::Connection;

use crate::store::{StoreError, rows, select};

/// The title of a record: from the row, else from `before`, else the last known title. The kind's word when no title is
/// known.
pub(crate) fn title(connection: &Connection, kind: Kind, id: &str, before: &[&Fields]) -> Result<String, StoreError> {
    let name = resource(kind).title;
    let stored = rows::stored_title(connection, kind, id)?;
    let before = before.iter().filter_map(|fields| fields.get(name)?.as_str());
    if let Some(title) = stored.as_deref().into_iter().chain(before).find(|title| !title.is_empty()) {
        return Ok(title.to_owned());
    }
    // The row and `before` hold no title. Another edit of the record may hold one.
    let text = format!(
        "SELECT coalesce(json_extract(patch, '$.{name}'), json_extract(base, '$.{name}')) AS title
         FROM (SELECT id, kind, record_id, patch, base FROM edits UNION ALL
               SELECT id, kind, record_id, patch, base FROM edit_history)
         WHERE kind = ?1 AND record_id = ?2 AND title <> '' ORDER BY id DESC LIMIT 1"
    );
    let found = select::first(connection, &text, (kind.as_str(), id))?;
    Ok(found.unwrap_or_else(|| kind.as_str().to_owned()))
}

/// A name in quotation marks, for sentences.
pub(crate) fn quoted(name: &str) -> String {
    format!("“{name}”")
}
