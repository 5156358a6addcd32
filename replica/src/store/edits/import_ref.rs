//! The refusal of an `import_ref` that another record of the kind has, with the title of that record. The triggers refuse it
//! too, but cannot name a record. Must not know the rules of other fields.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{IMPORT_REF, Kind};
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use crate::store::edits::error::EditError;

/// Refuses fields whose `import_ref` another record of the kind has than the one with this id.
pub(super) fn refuse_taken(connection: &Connection, kind: Kind, id: &str, fields: &Fields) -> Result<(), EditError> {
    let Some(import_ref) = fields.get(IMPORT_REF).and_then(Value::as_str) else { return Ok(()) };
    if resource(kind).field(IMPORT_REF).is_none() {
        return Ok(());
    }
    let (table, title) = (kind.collection(), resource(kind).title);
    let text = format!("SELECT {title} FROM {table} WHERE {IMPORT_REF} = ?1 AND id <> ?2 LIMIT 1");
    let holder: Option<String> =
        connection.prepare_cached(&text)?.query_row((import_ref, id), |row| row.get(0)).optional()?;
    match holder {
        None => Ok(()),
        Some(title) => Err(EditError::Refused(format!(
            "the {kind} “{title}” has the {IMPORT_REF} {import_ref} already; change that {kind}, or use another {IMPORT_REF}"
        ))),
    }
}
