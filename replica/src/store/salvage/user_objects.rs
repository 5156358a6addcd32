//! Objects that people have added to a database: columns, tables with rows, indexes, views, triggers. They are carried over as
//! far as they can be read, and the others are named. Must not know the purpose of an object.

use hearth_contract::resources::RESOURCES;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Transaction, params_from_iter};

use super::column_definitions::definition_of;
use super::opened_copy::SchemaEntry;
use super::reader::{SalvagedTable, quoted, read_table, unless_damaged};
use crate::store::{StoreError, migrations, select};

/// An object that a person has added.
pub(super) struct UserObject {
    /// `column`, `table`, `index`, `view` or `trigger`.
    object_type: String,
    name: String,
    /// The statement that creates the object.
    text: String,
    /// The rows of a table; None for other objects.
    rows: Option<SalvagedTable>,
    /// True for a column that had values, or of whose table rows are missing.
    held_values: bool,
}

/// Finds the entries of a damaged database that a new replica lacks, in the order in which they can be created. Also returns a
/// sentence for each object that cannot be carried over at all.
pub(super) fn find_user_objects(
    damaged: &Connection,
    mut entries: Vec<SchemaEntry>,
    new: &Connection,
) -> Result<(Vec<UserObject>, Vec<String>), StoreError> {
    let known: Vec<String> = select::column(new, "SELECT name FROM sqlite_schema", [])?;
    let (mut objects, mut lost) = find_user_columns(damaged, new, &entries)?;
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

/// The columns that the typed tables of a damaged database have and those of a new one lack. Their definitions are carried over, so
/// that objects that use them work. Their values are not, because the rows are made again from the base images.
fn find_user_columns(
    damaged: &Connection,
    new: &Connection,
    entries: &[SchemaEntry],
) -> Result<(Vec<UserObject>, Vec<String>), StoreError> {
    let (mut objects, mut lost) = (Vec::new(), Vec::new());
    for table in RESOURCES.each_ref().map(|resource| resource.kind.collection()) {
        let known = all_column_names(new, table)?;
        let mut added = unless_damaged(all_column_names(damaged, table))?.unwrap_or_default();
        added.retain(|name| !known.contains(name));
        if added.is_empty() {
            continue;
        }
        let entry = entries.iter().find(|entry| entry.object_type == "table" && entry.name == table);
        let statement = entry.and_then(|entry| entry.text.as_deref()).unwrap_or_default();
        let rows = read_table(damaged, table)?;
        for column in added {
            let name = format!("{column} of {table}");
            let Some(definition) = definition_of(statement, &column) else {
                lost.push(format!("The column {name} could not be carried over: its definition is unknown."));
                continue;
            };
            // A generated column has no stored values.
            let index = rows.columns.iter().position(|found| *found == column);
            let has_value = |row: &Vec<Sql>| index.and_then(|n| row.get(n)).is_some_and(|value| *value != Sql::Null);
            objects.push(UserObject {
                object_type: "column".to_owned(),
                name,
                text: format!("ALTER TABLE {table} ADD COLUMN {definition}"),
                rows: None,
                held_values: index.is_some()
                    && (!rows.complete || rows.rows.iter().chain(&rows.invalid_rows).any(has_value)),
            });
        }
    }
    Ok((objects, lost))
}

/// The names of a table's columns, generated columns included.
fn all_column_names(connection: &Connection, table: &str) -> Result<Vec<String>, StoreError> {
    select::column(connection, "SELECT name FROM pragma_table_xinfo(?1)", [table])
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
