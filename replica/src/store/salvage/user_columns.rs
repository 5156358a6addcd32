//! Columns that people have added to the typed tables. Their definitions are carried over, so that objects that use them work.
//! Their values are not, because the rows are read again from the server. Must not know the purpose of a column.

use hearth_contract::resources::RESOURCES;
use rusqlite::Connection;
use rusqlite::types::Value as Sql;

use super::opened_copy::SchemaEntry;
use super::reader::{read_table, unless_damaged};
use crate::store::StoreError;

/// A column that a person has added.
pub(super) struct UserColumn {
    /// The name for sentences: `note of rooms`.
    pub name: String,
    /// The ALTER TABLE statement. None when the CREATE statement of the table cannot be read.
    pub text: Option<String>,
    /// True when the column had values, or rows of the table are missing.
    pub held_values: bool,
}

/// The columns that the typed tables of a damaged database have and those of a new one lack.
pub(super) fn find_user_columns(
    damaged: &Connection,
    new: &Connection,
    entries: &[SchemaEntry],
) -> Result<Vec<UserColumn>, StoreError> {
    let mut all = Vec::new();
    for table in RESOURCES.each_ref().map(|resource| resource.kind.collection()) {
        let known = column_names(new, table)?;
        let found = unless_damaged(column_names(damaged, table))?.unwrap_or_default();
        let added: Vec<&String> = found.iter().filter(|name| !known.contains(name)).collect();
        if added.is_empty() {
            continue;
        }
        let entry = entries.iter().find(|entry| entry.object_type == "table" && entry.name == table);
        let definitions = entry.and_then(|entry| entry.text.as_deref()).map(definitions).unwrap_or_default();
        let rows = read_table(damaged, table)?;
        for name in added {
            let definition = definitions.iter().find(|definition| defined_name(definition) == *name);
            // A generated column has no stored values.
            let index = rows.columns.iter().position(|column| column == name);
            let has_value = |row: &Vec<Sql>| index.and_then(|n| row.get(n)).is_some_and(|value| *value != Sql::Null);
            all.push(UserColumn {
                name: format!("{name} of {table}"),
                text: definition.map(|definition| format!("ALTER TABLE {table} ADD COLUMN {definition}")),
                held_values: index.is_some()
                    && (!rows.complete || rows.rows.iter().chain(&rows.invalid_rows).any(has_value)),
            });
        }
    }
    Ok(all)
}

/// The names of a table's columns, generated columns included.
fn column_names(connection: &Connection, table: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_xinfo(?1)")?;
    let found = statement.query_map([table], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// The definitions of columns and constraints in a CREATE TABLE statement. Empty when the statement is damaged.
fn definitions(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let Some(mut from) = text.find('(').map(|at| at + 1) else { return Vec::new() };
    let past = |at: usize, end: &str| text[at..].find(end).map_or(text.len(), |found| at + found + end.len());
    let (mut definitions, mut depth, mut at) = (Vec::new(), 0, from);
    while let Some(byte) = bytes.get(at) {
        at = match (byte, bytes.get(at + 1)) {
            // A doubled quote inside quotes reads as an end and a new beginning.
            (b'\'', _) => past(at + 1, "'"),
            (b'"', _) => past(at + 1, "\""),
            (b'`', _) => past(at + 1, "`"),
            (b'[', _) => past(at + 1, "]"),
            (b'-', Some(b'-')) => past(at + 2, "\n"),
            (b'/', Some(b'*')) => past(at + 2, "*/"),
            (b',' | b')', _) if depth == 0 => {
                definitions.push(text[from..at].trim());
                if *byte == b')' {
                    return definitions;
                }
                from = at + 1;
                from
            }
            (b'(', _) => {
                depth += 1;
                at + 1
            }
            (b')', _) => {
                depth -= 1;
                at + 1
            }
            _ => at + 1,
        };
    }
    definitions
}

/// The name of a definition, without quotes.
fn defined_name(definition: &str) -> String {
    let quoted = |end: char| {
        let mut name = String::new();
        let mut rest = definition.chars().skip(1).peekable();
        while let Some(next) = rest.next() {
            if next == end && rest.next_if_eq(&end).is_none() {
                break;
            }
            name.push(next);
        }
        name
    };
    match definition.chars().next() {
        Some(quote @ ('"' | '`' | '\'')) => quoted(quote),
        Some('[') => quoted(']'),
        _ => definition.split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn create_table_text_splits_into_definitions() {
        let text = "CREATE TABLE t (\n  -- it's, (all) that\n  a TEXT DEFAULT ('x, ''y)'), -- one, two)\n  b TEXT /* , */\n, \
                    \"my \"\"own, x\" TEXT CHECK (b IN ('1', '2')), [c d] TEXT, e(2)) STRICT";
        let all = definitions(text);
        let last: Vec<&str> = all[2..].to_vec();
        assert_eq!(last, ["\"my \"\"own, x\" TEXT CHECK (b IN ('1', '2'))", "[c d] TEXT", "e(2)"], "{all:?}");
        let names: Vec<String> = last.into_iter().map(defined_name).collect();
        assert_eq!(names, ["my \"own, x", "c d", "e"]);
        for broken in ["CREATE TABLE t", "CREATE TABLE t (a TEXT 'x", "CREATE TABLE t (a, b"] {
            assert!(definitions(broken).len() < 2, "{broken}");
        }
    }
}
