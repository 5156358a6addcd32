//! A SQLite database made for others to read: one typed table for each kind, out of the resource table. Must not know
//! where the records come from.

use std::path::Path;

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Kind};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use serde_json::Value;

use super::Fault;
use super::open::connect;

/// A database that is being filled.
pub struct Tables {
    conn: Connection,
}

impl Tables {
    /// Begins in an empty file that exists.
    pub fn create(file: &Path) -> Result<Tables, Fault> {
        let conn = connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Nobody reads it before it is whole; a file that was cut off is thrown away.
        conn.pragma_update(None, "journal_mode", "MEMORY")?;
        conn.pragma_update(None, "synchronous", "OFF")?;
        conn.execute_batch("BEGIN")?;
        Ok(Tables { conn })
    }

    /// Makes the table of a kind, under the name of its collection.
    pub fn begin(&self, kind: Kind) -> Result<(), Fault> {
        let mut columns = vec!["id TEXT NOT NULL PRIMARY KEY".to_owned(), "rev INTEGER NOT NULL".to_owned()];
        columns.extend(resource(kind).fields.iter().map(|field| {
            let integer = if field.format.is_integer() { "INTEGER" } else { "TEXT" };
            format!("{} {integer}{}", field.name, if field.is_nullable() { "" } else { " NOT NULL" })
        }));
        columns.extend(["created_at TEXT NOT NULL".to_owned(), "updated_at TEXT NOT NULL".to_owned()]);
        self.conn.execute_batch(&format!("CREATE TABLE {} ({}) STRICT", kind.collection(), columns.join(", ")))?;
        Ok(())
    }

    /// Adds a record to the table of its kind.
    pub fn add(&self, kind: Kind, record: &Fields) -> Result<(), Fault> {
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

    /// Makes the file whole.
    pub fn finish(self) -> Result<(), Fault> {
        self.conn.execute_batch("COMMIT")?;
        self.conn.close().map_err(|(_, error)| error.into())
    }
}

/// The members of a record of a kind in the order of its wire form.
pub fn columns(kind: Kind) -> impl Iterator<Item = &'static str> {
    let fields = resource(kind).fields.iter().map(|field| field.name);
    ["id", "rev"].into_iter().chain(fields).chain(["created_at", "updated_at"])
}
