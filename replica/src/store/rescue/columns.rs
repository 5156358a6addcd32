//! Columns that others have added to the typed tables: as they were defined, so that what rests on them goes on. The rows are
//! read again from the server, so what the columns held does not. Must not know what any of it is for.

use hearth_contract::resources::RESOURCES;
use rusqlite::Connection;
use rusqlite::types::Value as Sql;

use super::salvage::{self, Listed, unless_damaged};
use crate::store::StoreError;

/// A column that somebody has added.
pub(super) struct Added {
    /// Its name, and that of its table, as in a sentence.
    pub name: String,
    /// The statement that adds it; None where the text of its table does not tell.
    pub text: Option<String>,
    /// Whether it held values, or may have.
    pub held_values: bool,
}

/// The columns that a damaged database has and ours does not, by what it says of its tables.
pub(super) fn read(damaged: &Connection, ours: &Connection, made: &[Listed]) -> Result<Vec<Added>, StoreError> {
    let mut all = Vec::new();
    for table in RESOURCES.each_ref().map(|resource| resource.kind.collection()) {
        let known = names(ours, table)?;
        let found = unless_damaged(names(damaged, table))?.unwrap_or_default();
        let added: Vec<&String> = found.iter().filter(|name| !known.contains(name)).collect();
        if added.is_empty() {
            continue;
        }
        let text = made.iter().find(|listed| listed.sort == "table" && listed.name == table);
        let pieces = text.and_then(|listed| listed.text.as_deref()).map(pieces).unwrap_or_default();
        let held = salvage::table(damaged, table)?;
        for name in added {
            let piece = pieces.iter().find(|piece| name_of(piece) == *name);
            // What is computed is no column of it.
            let place = held.columns.iter().position(|column| column == name);
            let has_value = |row: &Vec<Sql>| place.and_then(|n| row.get(n)).is_some_and(|value| *value != Sql::Null);
            all.push(Added {
                name: format!("{name} of {table}"),
                text: piece.map(|piece| format!("ALTER TABLE {table} ADD COLUMN {piece}")),
                held_values: place.is_some()
                    && (!held.complete || held.rows.iter().chain(&held.garbled).any(has_value)),
            });
        }
    }
    Ok(all)
}

/// The names of a table's columns, of those that are computed too.
fn names(connection: &Connection, table: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_xinfo(?1)")?;
    let found = statement.query_map([table], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// What the text of a table says of each of its columns and constraints.
fn pieces(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let Some(mut from) = text.find('(').map(|at| at + 1) else { return Vec::new() };
    let past = |at: usize, end: &str| text[at..].find(end).map_or(text.len(), |found| at + found + end.len());
    let (mut pieces, mut depth, mut at) = (Vec::new(), 0, from);
    while let Some(byte) = bytes.get(at) {
        at = match (byte, bytes.get(at + 1)) {
            // A quote within quotes is two, which read as an end and a beginning.
            (b'\'', _) => past(at + 1, "'"),
            (b'"', _) => past(at + 1, "\""),
            (b'`', _) => past(at + 1, "`"),
            (b'[', _) => past(at + 1, "]"),
            (b'-', Some(b'-')) => past(at + 2, "\n"),
            (b'/', Some(b'*')) => past(at + 2, "*/"),
            (b',' | b')', _) if depth == 0 => {
                pieces.push(text[from..at].trim());
                if *byte == b')' {
                    return pieces;
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
    pieces
}

/// The name that a piece begins with.
fn name_of(piece: &str) -> String {
    let quoted = |end: char| {
        let mut name = String::new();
        let mut rest = piece.chars().skip(1).peekable();
        while let Some(next) = rest.next() {
            if next == end && rest.next_if_eq(&end).is_none() {
                break;
            }
            name.push(next);
        }
        name
    };
    match piece.chars().next() {
        Some(quote @ ('"' | '`' | '\'')) => quoted(quote),
        Some('[') => quoted(']'),
        _ => piece.split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_table_is_read_column_by_column() {
        let text = "CREATE TABLE t (\n  -- it's, (all) that\n  a TEXT DEFAULT ('x, ''y)'), -- one, two)\n  b TEXT /* , */\n, \
                    \"my \"\"own, x\" TEXT CHECK (b IN ('1', '2')), [c d] TEXT, e(2)) STRICT";
        let all = pieces(text);
        let last: Vec<&str> = all[2..].to_vec();
        assert_eq!(last, ["\"my \"\"own, x\" TEXT CHECK (b IN ('1', '2'))", "[c d] TEXT", "e(2)"], "{all:?}");
        let names: Vec<String> = last.into_iter().map(name_of).collect();
        assert_eq!(names, ["my \"own, x", "c d", "e"]);
        for broken in ["CREATE TABLE t", "CREATE TABLE t (a TEXT 'x", "CREATE TABLE t (a, b"] {
            assert!(pieces(broken).len() < 2, "{broken}");
        }
    }
}
