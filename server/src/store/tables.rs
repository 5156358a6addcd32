//! The SQLite database of an export: one typed table per kind, made from the table of resources. Must not know where the
//! records come from.

use std::path::Path;

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Kind};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use serde_json::Value;

use super::error::StoreError;
use super::open::connect;

/// The columns after the fields of the kind.
const LAST_COLUMNS: [&str; 3] = ["created_at", "updated_at", "updated_by"];

/// An export database that is being filled.
pub struct Tables {
    conn: Connection,
}

impl Tables {
    /// Opens an existing empty file.
    pub fn create(file: &Path) -> Result<Tables, StoreError> {
        let conn = connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Durability is not needed: an incomplete file is thrown away after a crash.
        conn.pragma_update(None, "journal_mode", "MEMORY")?;
        conn.pragma_update(None, "synchronous", "OFF")?;
        conn.execute_batch("BEGIN")?;
        Ok(Tables { conn })
    }

    /// Creates the table of a kind, with the name of its collection.
    pub fn begin(&self, kind: Kind) -> Result<(), StoreError> {
        let mut columns = vec!["id TEXT NOT NULL PRIMARY KEY".to_owned(), "rev INTEGER NOT NULL".to_owned()];
        columns.extend(resource(kind).fields.iter().map(|field| {
            let integer = if field.format.is_integer() { "INTEGER" } else { "TEXT" };
            format!("{} {integer}{}", field.name, if field.is_nullable() { "" } else { " NOT NULL" })
        }));
        columns.extend(LAST_COLUMNS.map(|name| format!("{name} TEXT NOT NULL")));
        self.conn.execute_batch(&format!("CREATE TABLE {} ({}) STRICT", kind.collection(), columns.join(", ")))?;
        Ok(())
    }

    /// Adds a record to the table of its kind.
    pub fn add(&self, kind: Kind, record: &Fields) -> Result<(), StoreError> {
        let places = vec!["?"; resource(kind).fields.len() + COMMON.len()].join(", ");
        let insert = format!("INSERT INTO {} VALUES ({places})", kind.collection());
        let cells = columns(kind).map(|name| match record.get(name) {
            Some(Value::String(text)) => Cell::Text(text.clone()),
            Some(Value::Number(number)) => number.as_i64().map_or(Cell::Null, Cell::Integer),
            _ => Cell::Null,
        });
        self.conn.prepare_cached(&insert)?.execute(params_from_iter(cells))?;
        Ok(())
    }

    /// Commits all records and closes the file.
    pub fn finish(self) -> Result<(), StoreError> {
        self.conn.execute_batch("COMMIT")?;
        self.conn.close().map_err(|(_, error)| error.into())
    }
}

/// The members of a record of a kind, in the order of the API.
pub fn columns(kind: Kind) -> impl Iterator<Item = &'static str> {
    let fields = resource(kind).fields.iter().map(|field| field.name);
    ["id", "rev"].into_iter().chain(fields).chain(LAST_COLUMNS)
}
