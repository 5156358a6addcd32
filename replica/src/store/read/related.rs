//! Reads about one record: the records that refer to it, and its changes from this replica. Must not write.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::Connection;
use serde_json::Value;

use crate::model::{EditProgress, Method, Origin};
use crate::store::read::page::rows_where;
use crate::store::read::view::Row;
use crate::store::{StoreError, rows, select};

/// Records of a kind that refer to a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Related {
    /// The kind of the referring records.
    pub kind: Kind,
    /// The number of referring records.
    pub total: usize,
    /// The first records: tasks by day, open before done; other kinds by title.
    pub first: Vec<Row>,
}

/// One change of a record that was made on this replica.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The number of the edit.
    pub edit: i64,
    /// When the change was made (RFC 3339, UTC, milliseconds).
    pub at: String,
    /// The method of the edit.
    pub method: Method,
    /// The changed fields and their new values.
    pub patch: Fields,
    /// The values of the same fields before the change.
    pub base: Fields,
    /// The program that made the change.
    pub origin: Origin,
    /// The state of an unconfirmed edit, or how the edit ended.
    pub state: EditProgress,
    /// More about the state, as a sentence for people.
    pub reason: Option<String>,
}

/// The records that refer to a record, by kind. Kinds without such records are left out. `most` limits the rows of each kind.
pub(crate) fn related(connection: &Connection, kind: Kind, id: &str, most: usize) -> Result<Vec<Related>, StoreError> {
    // Every query binds both parameters.
    let subject = "subject_type = ?2 AND subject_id = ?1";
    let home = "subject_type = 'home' AND ?1 IS NOT NULL AND ?2 IS NOT NULL";
    let sources: &[(Kind, &str)] = match kind {
        Kind::Room => &[(Kind::Inventory, "room_id = ?1 AND ?2 IS NOT NULL"), (Kind::Task, subject)],
        Kind::Inventory | Kind::Vehicle => &[(Kind::Task, subject), (Kind::Document, subject)],
        Kind::Property => &[(Kind::Task, home), (Kind::Document, home)],
        Kind::Document | Kind::Task => &[],
    };
    let mut all = Vec::new();
    for (kind_of, only) in sources {
        let text = format!("SELECT count(*) FROM {} WHERE {only}", kind_of.collection());
        let total = select::count(connection, &text, (id, kind.as_str()))?;
        let order = if *kind_of == Kind::Task { "due_on" } else { resource(*kind_of).title };
        let first = rows_where(connection, *kind_of, only, order, [id, kind.as_str()], most)?;
        if total > 0 {
            all.push(Related { kind: *kind_of, total, first });
        }
    }
    Ok(all)
}

/// The newest changes of a record that were made on this replica, newest first.
pub(crate) fn changes(connection: &Connection, kind: Kind, id: &str, most: usize) -> Result<Vec<Change>, StoreError> {
    let text = "SELECT id, created_at, method, patch, base, origin, state, reason FROM edits WHERE kind = ?1 AND record_id = ?2
         UNION ALL
         SELECT id, created_at, method, patch, base, origin, outcome, reason FROM edit_history
         WHERE kind = ?1 AND record_id = ?2
         ORDER BY id DESC LIMIT ?3";
    select::all(connection, text, (kind.as_str(), id, select::limit(most)), |row| {
        Ok(Change {
            edit: row.get(0)?,
            at: row.get(1)?,
            method: row.get(2)?,
            patch: rows::object(row, 3)?,
            base: rows::object(row, 4)?,
            origin: row.get(5)?,
            state: row.get(6)?,
            reason: row.get(7)?,
        })
    })
}

impl Row {
    /// The INSERT statement that creates this record in another replica.
    pub fn as_sql(&self) -> String {
        let literal = |value: &Value| match value {
            Value::String(text) => format!("'{}'", text.replace('\'', "''")),
            other => other.to_string(),
        };
        let id = Value::from(self.id.as_str());
        let writable = resource(self.kind).fields.iter().filter(|field| field.is_writable());
        let set = writable.filter_map(|field| Some((field.name, self.fields.get(field.name)?)));
        let (names, values): (Vec<&str>, Vec<String>) = [("id", &id)]
            .into_iter()
            .chain(set.filter(|(_, value)| !value.is_null()))
            .map(|(name, value)| (name, literal(value)))
            .unzip();
        format!("INSERT INTO {} ({}) VALUES ({});", self.kind.collection(), names.join(", "), values.join(", "))
    }
}
