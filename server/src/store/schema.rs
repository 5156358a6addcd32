//! Compares the schema of a database with the schema that this program makes. A table, view, index or trigger from elsewhere
//! could change what a write does, or what a read shows. Must not change the database.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::error::{OpenError, StoreError};
use super::open::{MIGRATIONS_TABLE, create_tables};
use super::tx::Tx;

/// Unknown objects that are named, at most. An altered database can have any number of objects.
const UNKNOWN_MAX: usize = 100;

/// How a database differs from the schema of this program, as sentences.
#[derive(Debug, Default)]
pub struct Differences {
    /// Objects of this program that are missing or have another definition: statements may fail or write other rows.
    pub altered: Vec<String>,
    /// Objects that this program never makes.
    pub unknown: Vec<String>,
}

/// The objects of a schema: type and name, and the SQL of the definition.
type Objects = BTreeMap<(String, String), Option<String>>;

/// Compares the schema with a new database that has the same migrations.
pub fn differences(tx: &Tx<'_>) -> Result<Differences, StoreError> {
    Ok(compare(tx.conn)?)
}

/// As [`differences`], outside a transaction.
pub(super) fn compare(conn: &Connection) -> Result<Differences, OpenError> {
    let last: Option<u32> =
        conn.query_row(&format!("SELECT max(version) FROM {MIGRATIONS_TABLE}"), [], |row| row.get(0))?;
    let mut fresh = Connection::open_in_memory()?;
    create_tables(&mut fresh, last.unwrap_or_default())?;
    let (expected, actual) = (objects(&fresh)?, objects(conn)?);
    let mut differences = Differences::default();
    for ((object_type, name), sql) in &expected {
        match actual.get(&(object_type.clone(), name.clone())) {
            None => differences.altered.push(format!("the {object_type} {name} is missing")),
            Some(other) if other != sql => differences.altered.push(format!("the {object_type} {name} was altered")),
            Some(_) => (),
        }
    }
    // An object without SQL belongs to a table, such as the index of its primary key.
    let unknown = actual.iter().filter(|(object, sql)| sql.is_some() && !expected.contains_key(object));
    for ((object_type, name), _) in unknown.take(UNKNOWN_MAX) {
        let sentence = format!("the {object_type} {name:?} is unknown to this program");
        // The sender of a backup chooses the name, and a person may paste the command.
        let is_plain = !name.chars().any(char::is_control);
        differences.unknown.push(match is_plain {
            true => {
                let name = name.replace('"', "\"\"");
                format!("{sentence}; remove it in sqlite3 with DROP {} \"{name}\"", object_type.to_uppercase())
            }
            false => sentence,
        });
    }
    Ok(differences)
}

fn objects(conn: &Connection) -> rusqlite::Result<Objects> {
    // ANALYZE creates sqlite_stat1 and sqlite_stat4.
    let text = "SELECT type, name, sql FROM sqlite_schema
                WHERE NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4'))";
    let mut statement = conn.prepare(text)?;
    statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_foreign_or_altered_object_is_named() {
        let mut conn = Connection::open_in_memory().unwrap();
        create_tables(&mut conn, u32::MAX).unwrap();
        let found = compare(&conn).unwrap();
        assert!(found.altered.is_empty() && found.unknown.is_empty(), "{found:?}");
        conn.execute_batch(
            r#"CREATE TRIGGER watch AFTER INSERT ON events BEGIN DELETE FROM receipts; END;
             ANALYZE;
             CREATE VIEW "sqlite-statx" AS SELECT 1;
             CREATE VIEW "my rooms" AS SELECT * FROM records;
             CREATE TABLE notes (text TEXT PRIMARY KEY);
             CREATE VIEW "a""; DROP TABLE teams; --" AS SELECT 1;
             DROP INDEX receipts_by_age;
             ALTER TABLE teams ADD COLUMN colour TEXT;"#,
        )
        .unwrap();
        let found = compare(&conn).unwrap();
        assert_eq!(found.altered, ["the index receipts_by_age is missing", "the table teams was altered"]);
        assert_eq!(found.unknown.len(), 5, "{found:?}");
        assert!(found.unknown[2].ends_with(r#"DROP VIEW "a""; DROP TABLE teams; --""#), "{found:?}");
        assert!(found.unknown[3].ends_with(r#"DROP VIEW "my rooms""#), "{found:?}");
    }
}
