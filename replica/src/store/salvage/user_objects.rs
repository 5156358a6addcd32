//! Objects that people have added to a database: columns, tables with rows, indexes, views, triggers. They are carried over as
//! far as they can be read, and the others are named. Must not know the purpose of an object.

use rusqlite::{Connection, Transaction, params_from_iter};

use super::opened_copy::SchemaEntry;
use super::reader::{SalvagedTable, quoted, read_table};
use super::user_columns::{UserColumn, find_user_columns};
use crate::store::{StoreError, migrations};

/// An object that a person has added.
pub(super) struct UserObject {
    /// `column`, `table`, `index`, `view` or `trigger`.
    object_type: String,
    name: String,
    /// The statement that creates the object.
    text: String,
    /// The rows of a table; None for other objects.
    rows: Option<SalvagedTable>,
    /// True for a column that had values.
    held_values: bool,
}

/// Finds the entries of a damaged database that a new replica lacks, in the order in which they can be created. Also returns a
/// sentence for each object that cannot be carried over at all.
pub(super) fn find_user_objects(
    damaged: &Connection,
    mut entries: Vec<SchemaEntry>,
    new: &Connection,
) -> Result<(Vec<UserObject>, Vec<String>), StoreError> {
    let known: Vec<String> =
        new.prepare("SELECT name FROM sqlite_schema")?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let (mut objects, mut lost) = (Vec::new(), Vec::new());
    for UserColumn { name, text, held_values } in find_user_columns(damaged, new, &entries)? {
        let object_type = "column".to_owned();
        match text {
            Some(text) => objects.push(UserObject { object_type, name, text, rows: None, held_values }),
            None => lost.push(format!("The column {name} could not be carried over: its definition is unknown.")),
        }
    }
    // Internal names of this version or of another one.
    let is_internal = |name: &str| name.starts_with('_') || name == migrations::TABLE_BEFORE_RELEASE;
    entries
        .retain(|SchemaEntry { name, .. }| !is_internal(name) && !name.starts_with("sqlite_") && !known.contains(name));
    let is_virtual = |text: &String| text.trim_start().to_ascii_uppercase().starts_with("CREATE VIRTUAL");
    let virtual_tables: Vec<String> = entries
        .iter()
        .filter(|entry| entry.text.as_ref().is_some_and(is_virtual))
        .map(|entry| entry.name.clone())
        .collect();
    // A virtual table stores its content in tables named after it.
    let is_part_of_virtual = |name: &str| {
        virtual_tables
            .iter()
            .any(|table| name == table || name.strip_prefix(table).is_some_and(|end| end.starts_with('_')))
    };
    for object_type in ["table", "index", "view", "trigger"] {
        let of_type = entries.iter().filter(|entry| entry.object_type == object_type);
        for SchemaEntry { name, text, .. } in of_type.filter(|entry| !is_part_of_virtual(&entry.name)) {
            let Some(text) = text else {
                lost.push(format!(
                    "The {object_type} {name} could not be carried over: its definition cannot be read."
                ));
                continue;
            };
            let rows = if object_type == "table" { Some(read_table(damaged, name)?) } else { None };
            objects.push(UserObject {
                object_type: object_type.to_owned(),
                name: name.clone(),
                text: text.clone(),
                rows,
                held_values: false,
            });
        }
    }
    let not_carried = |name: &String| format!("The virtual table {name} is not carried over; make it again.");
    lost.extend(virtual_tables.iter().map(not_carried));
    Ok((objects, lost))
}

/// Creates the objects in a new database. Returns a sentence for each object that cannot be created, or lacks rows or values.
pub(super) fn recreate(tx: &Transaction<'_>, objects: &[UserObject]) -> Result<Vec<String>, StoreError> {
    let mut lost = Vec::new();
    for UserObject { object_type, name, text, rows, held_values } in objects {
        if let Err(error) = tx.execute(text, []) {
            lost.push(format!("The {object_type} {name} could not be carried over: {error}."));
            continue;
        }
        if *held_values {
            lost.push(format!("The column {name} is carried over without its values; the file that is kept has them."));
        }
        let Some(table) = rows else { continue };
        let inserted = insert_rows(tx, name, table);
        if !table.complete || !table.invalid_rows.is_empty() || inserted < table.rows.len() {
            lost.push(format!("Not every row of the table {name} could be carried over; {inserted} are."));
        }
    }
    // Checked at the end, because a view may use another view.
    for UserObject { name, .. } in objects.iter().filter(|object| object.object_type == "view") {
        if let Err(error) = tx.prepare(&format!("SELECT * FROM {}", quoted(name))) {
            lost.push(format!("The view {name} does not work: {error}."));
        }
    }
    Ok(lost)
}

/// Inserts the rows of a person's table and returns how many the table has accepted.
fn insert_rows(tx: &Transaction<'_>, name: &str, table: &SalvagedTable) -> usize {
    let names: Vec<String> = table.columns.iter().map(|column| quoted(column)).collect();
    let marks = vec!["?"; names.len()].join(", ");
    let text = format!("INSERT INTO {} ({}) VALUES ({marks})", quoted(name), names.join(", "));
    // Without columns, when the damaged database did not know the table, the statement cannot be prepared.
    let Ok(mut statement) = tx.prepare(&text) else { return 0 };
    table.rows.iter().filter(|row| statement.execute(params_from_iter(row.iter())).is_ok()).count()
}
