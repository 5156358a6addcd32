//! Where each value that is shown of a record comes from: the server's form, or which edit. Must not write.

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use crate::model::Edit;
use crate::model::Settled;
use crate::store::base;
use crate::store::edits;
use crate::store::edits::history;
use crate::store::{StoreError, rows};

/// Settled edits that are told of.
const SETTLED_MAX: usize = 5;

/// A record and the origin of its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// Whether a row shows it.
    pub shown: bool,
    /// The position of the server's form; None when the server is not known to hold it.
    pub rev: Option<i64>,
    /// The position at which it was deleted on the server.
    pub deleted_at: Option<i64>,
    /// Every field of the kind, in the contract's order.
    pub fields: Vec<Origin>,
    /// The edits that wait, in the order in which they are laid over.
    pub edits: Vec<Edit>,
    /// The last edits of it that are settled, newest first.
    pub settled: Vec<Settled>,
}

/// One field's value and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// The field.
    pub field: &'static str,
    /// Its value as the row shows it.
    pub value: Value,
    /// Where that is from.
    pub source: Source,
    /// The server's value; None when the server is not known to hold the record.
    pub server: Option<Value>,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The server; where it holds the record no more, it had the value before it deleted it.
    Server,
    /// This edit, which waits.
    Edit(i64),
    /// Nobody has set it.
    Nobody,
}

/// Reads it; None when nothing is known of such a record.
pub(crate) fn read(connection: &Connection, kind: Kind, id: &str) -> Result<Option<Why>, StoreError> {
    let row = rows::get(connection, kind, id)?;
    let image = base::load(connection, kind, id)?;
    let edits = edits::of_record(connection, kind, id)?;
    let deleted_at = tomb(connection, kind, id)?;
    let settled = history::of_record(connection, kind, id, SETTLED_MAX)?;
    if row.is_none() && image.is_none() && edits.is_empty() && deleted_at.is_none() && settled.is_empty() {
        return Ok(None);
    }
    // Without edits the row is the server's form.
    let server = match (&image, &row) {
        (Some((stored, gone)), _) => (!gone).then(|| stored.clone()),
        (None, Some(stored)) if edits.is_empty() && stored.rev.is_some() => Some(stored.clone()),
        _ => None,
    };
    // What an edit stands on that the server has deleted beneath it.
    let deleted = image.as_ref().filter(|(_, gone)| *gone).map(|(stored, _)| stored);
    let origin = |field: &'static str| {
        let value = |stored: &rows::Stored| stored.fields.get(field).cloned().unwrap_or(Value::Null);
        let shown = row.as_ref().or(server.as_ref()).map_or(Value::Null, value);
        let laid = edits.iter().rev().find(|edit| edit.patch.get(field) == Some(&shown));
        let of_server = server.as_ref().map(value);
        let source = match (laid, &of_server) {
            (Some(edit), _) => Source::Edit(edit.id),
            (None, Some(_)) => Source::Server,
            (None, None) if deleted.is_some_and(|stored| value(stored) == shown) => Source::Server,
            (None, None) => Source::Nobody,
        };
        Origin { field, value: shown, source, server: of_server }
    };
    let fields: Vec<Origin> = resource(kind).fields.iter().map(|field| origin(field.name)).collect();
    let named = fields.iter().find(|origin| origin.field == resource(kind).title);
    let title = named
        .and_then(|origin| origin.value.as_str().map(str::to_owned))
        .or_else(|| edits.last().map(|edit| edit.title.clone()))
        .unwrap_or_else(|| kind.as_str().to_owned());
    let rev = server.as_ref().and_then(|stored| stored.rev);
    Ok(Some(Why { kind, id: id.to_owned(), title, shown: row.is_some(), rev, deleted_at, fields, edits, settled }))
}

fn tomb(connection: &Connection, kind: Kind, id: &str) -> Result<Option<i64>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT rev FROM _tombstones WHERE kind = ?1 AND record_id = ?2")?;
    Ok(statement.query_row((kind.as_str(), id), |row| row.get(0)).optional()?)
}
