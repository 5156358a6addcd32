//! Where each shown value of a record comes from: the server or an edit. Must not write.

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::Connection;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::model::{Edit, Settled};
use crate::store::base;
use crate::store::edits;
use crate::store::edits::history;
use crate::store::{StoreError, rows};

/// The most settled edits that are listed.
const SETTLED_MAX: usize = 5;

/// A record with the source of each value. Commands print the members in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    /// The id of the record.
    pub id: String,
    /// The kind of the record.
    pub kind: Kind,
    /// The record's title; the kind's word when no title is known.
    pub title: String,
    /// True when the typed table has a row of the record.
    pub shown: bool,
    /// The position of the server's version. None when the server is not known to have the record, or while the position is unknown.
    pub rev: Option<i64>,
    /// When the server's version was made (RFC 3339, UTC, milliseconds); None as for `rev`.
    pub updated_at: Option<String>,
    /// The name of the person or the key that made the server's version; None as for `rev`.
    pub updated_by: Option<String>,
    /// The position of the delete on the server; None when no delete is known.
    pub deleted_at: Option<i64>,
    /// Every field of the kind, in the contract's order.
    pub fields: Vec<ValueOrigin>,
    /// The unconfirmed edits, in the order in which they are applied to the base image.
    pub edits: Vec<Edit>,
    /// The last settled edits, newest first.
    #[serde(serialize_with = "in_short")]
    pub settled: Vec<Settled>,
}

/// Serializes settled edits without what the record tells.
fn in_short<S: Serializer>(settled: &[Settled], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(settled.iter().map(|Settled { id, method, patch, outcome, rev, settled_at, .. }| {
        json!({ "id": id, "method": method, "patch": patch, "outcome": outcome, "rev": rev, "settled_at": settled_at })
    }))
}

/// A field's value with its source. Commands print the members in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValueOrigin {
    /// The name of the field.
    pub field: &'static str,
    /// The value that the row shows.
    pub value: Value,
    /// The source of the value.
    pub from: Source,
    /// The number of the edit, when the source is an edit.
    pub edit: Option<i64>,
    /// The server's value; None when the server is not known to have the record.
    pub server: Option<Value>,
}

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The server. Of a record that the server has deleted: the last value there.
    Server,
    /// An unconfirmed edit.
    Edit,
    /// The value was never set.
    Nobody,
}

/// Explains the values of a record; None when the database knows nothing about the record.
pub(crate) fn explain_record(connection: &Connection, kind: Kind, id: &str) -> Result<Option<Why>, StoreError> {
    let row = rows::load_row(connection, kind, id)?;
    let image = base::load(connection, kind, id)?;
    let edits = edits::of_record(connection, kind, id)?;
    let settled = history::of_record(connection, kind, id, SETTLED_MAX)?;
    if row.is_none() && image.is_none() && edits.is_empty() && settled.is_empty() {
        return Ok(None);
    }
    let (server, deleted) = match image {
        Some(image) if image.deleted => (None, Some(image)),
        image => (image.map(|image| image.stored), None),
    };
    let deleted_at = deleted.as_ref().and_then(|image| image.stored.rev);
    // The last version of a record that has edits and was deleted on the server.
    let deleted = deleted.and_then(base::StoredImage::version);
    let origin = |field: &'static str| {
        let value = |stored: &rows::StoredRecord| stored.fields.get(field).cloned().unwrap_or(Value::Null);
        let shown = row.as_ref().or(server.as_ref()).map_or(Value::Null, value);
        let edit = edits.iter().rev().find(|edit| edit.patch.get(field) == Some(&shown)).map(|edit| edit.id);
        let server_value = server.as_ref().map(value);
        let from = match (edit, &server_value) {
            (Some(_), _) => Source::Edit,
            (None, Some(_)) => Source::Server,
            (None, None) if deleted.as_ref().is_some_and(|stored| value(stored) == shown) => Source::Server,
            (None, None) => Source::Nobody,
        };
        ValueOrigin { field, value: shown, from, edit, server: server_value }
    };
    let fields: Vec<ValueOrigin> = resource(kind).fields.iter().map(|field| origin(field.name)).collect();
    let named = fields.iter().find(|origin| origin.field == resource(kind).title);
    let title = named
        .and_then(|origin| origin.value.as_str().map(str::to_owned))
        .or_else(|| edits.last().map(|edit| edit.title.clone()))
        .unwrap_or_else(|| kind.as_str().to_owned());
    let server = server.unwrap_or_default();
    Ok(Some(Why {
        id: id.to_owned(),
        kind,
        title,
        shown: row.is_some(),
        rev: server.rev,
        updated_at: server.updated_at,
        updated_by: server.updated_by,
        deleted_at,
        fields,
        edits,
        settled,
    }))
}
