//! The SQL of the typed tables: CREATE TABLE texts, and columns that a newer contract adds. Must not know triggers.

use std::fmt::Write as _;

use hearth_contract::schema::{Field, Presence, Preset, Resource};
use rusqlite::{Connection, Transaction};

use super::rules;
use crate::store::sql_words::NOW;
use crate::store::{StoreError, select};

/// NULL stands for the default in an INSERT: Django, pandas and Drizzle name every column and send NULL for what is left out.
const NULL_IS_DEFAULT: &str = "NOT NULL ON CONFLICT REPLACE";

/// True when a typed table is the replica's own and has all its columns. A table that another program has made anew often
/// lacks types, defaults and the key.
pub(in crate::store) fn has_own_shape(connection: &Connection, resource: &Resource) -> Result<bool, StoreError> {
    if !has_own_text(connection, resource)? {
        return Ok(false);
    }
    let present = column_names(connection, resource.kind.collection())?;
    Ok(columns(resource).all(|own| present.iter().any(|name| name == own)))
}

/// True when the CREATE statement of a typed table is the replica's own, apart from single added, renamed or dropped columns.
/// Programs that make a table anew write its columns in a style of their own.
pub(in crate::store) fn has_own_text(connection: &Connection, resource: &Resource) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND instr(sql, ?2))";
    let id_line = format!("\n    id {},", id_definition());
    select::value(connection, text, (resource.kind.collection(), id_line))
}

/// The definition of the column `id`.
fn id_definition() -> String {
    format!("TEXT PRIMARY KEY {NULL_IS_DEFAULT} DEFAULT ({})", rules::NEW_ID)
}

/// The columns after the fields, which only the server sets, in their order.
pub(in crate::store) const SERVER_COLUMNS: [&str; 5] = ["created_at", "updated_at", "updated_by", "rev", "extra"];

/// The names of the columns of a typed table, `id` first.
pub(crate) fn columns(resource: &Resource) -> impl Iterator<Item = &'static str> {
    ["id"].into_iter().chain(resource.fields.iter().map(|field| field.name)).chain(SERVER_COLUMNS)
}

/// The names of a table's columns in their order, without generated columns.
pub(in crate::store) fn column_names(connection: &Connection, table: &str) -> Result<Vec<String>, StoreError> {
    select::column(connection, "SELECT name FROM pragma_table_info(?1) ORDER BY cid", [table])
}

/// The CREATE TABLE text of a kind. Its comments document the columns: `.schema tasks` shows them.
pub(in crate::store) fn create_table(resource: &Resource) -> String {
    let mut text = format!("CREATE TABLE IF NOT EXISTS {} (\n    -- {}\n", resource.kind.collection(), resource.about);
    let mut column = |name: &str, definition: &str, about: &str, last: bool| {
        let definition = format!("{name} {definition}{}", if last { "" } else { "," });
        let _ = writeln!(text, "    {definition:<48} -- {about}");
    };
    column("id", &id_definition(), "UUID; leave it out to get a new one", false);
    for field in resource.fields {
        column(field.name, &definition(field), &format!("{}; {}", field.about, field.allowed_values()), false);
    }
    column(
        "created_at",
        &format!("TEXT DEFAULT ({NOW})"),
        "When it was created, by the server's clock once confirmed",
        false,
    );
    column("updated_at", &format!("TEXT DEFAULT ({NOW})"), "When the server last changed it", false);
    column("updated_by", "TEXT", "Who changed it last on the server: the name of a person or a key", false);
    column(
        "rev",
        "INTEGER",
        "Position of its last change; null until the server confirms it, and until a rebuild or reconcile has read it again",
        false,
    );
    column("extra", "TEXT", "JSON of members that a newer server sent", true);
    text.push_str(") STRICT");
    text
}

fn definition(field: &Field) -> String {
    let kind = if field.format.is_integer() { "INTEGER" } else { "TEXT" };
    match field.presence {
        Presence::Default(Preset::Word(word)) => format!("{kind} {NULL_IS_DEFAULT} DEFAULT '{word}'"),
        Presence::Default(Preset::Number(number)) => format!("{kind} {NULL_IS_DEFAULT} DEFAULT {number}"),
        _ => kind.to_owned(),
    }
}

/// Adds columns that the contract has gained since the table was made. A newer server may have sent their values before:
/// these values move from `extra` into the column, in rows and in base images.
pub(in crate::store) fn add_missing_columns(tx: &Transaction<'_>, resource: &Resource) -> Result<(), StoreError> {
    let table = resource.kind.collection();
    let present = column_names(tx, table)?;
    for field in resource.fields.iter().filter(|field| !present.iter().any(|name| name == field.name)) {
        let name = field.name;
        tx.execute_batch(&format!(
            "ALTER TABLE {table} ADD COLUMN {name} {} /* {} */;
             UPDATE {table} SET {name} = json_extract(extra, '$.{name}'), extra = nullif(json_remove(extra, '$.{name}'), '{{}}')
             WHERE json_type(extra, '$.{name}') IS NOT NULL;
             UPDATE _base SET fields = json_set(fields, '$.{name}', json_extract(extra, '$.{name}')),
                 extra = nullif(json_remove(extra, '$.{name}'), '{{}}')
             WHERE kind = '{}' AND json_type(extra, '$.{name}') IS NOT NULL;",
            definition(field),
            field.about,
            resource.kind.as_str()
        ))?;
    }
    Ok(())
}
