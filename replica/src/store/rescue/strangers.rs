//! What others have made in a database: columns of ours, tables with their rows, indexes, views, triggers. It goes on as far as it can be
//! read, and what does not is named. Must not know what any of it is for.

use rusqlite::{Connection, Transaction, params_from_iter};

use super::columns;
use super::salvage::{self, Listed, Salvaged, quoted};
use crate::store::{StoreError, migrations};

/// One thing that somebody has made.
pub(super) struct Made {
    /// `column`, `table`, `index`, `view` or `trigger`.
    sort: String,
    name: String,
    /// The statement that makes it.
    text: String,
    /// Of a table, what it holds.
    rows: Option<Salvaged>,
    /// Of a column, whether it held values.
    held_values: bool,
}

/// Reads what is in a damaged database, which lists it, and in none that is only ours, in the order in which it can be made
/// again. What cannot go on at all is named, a sentence each.
pub(super) fn read(
    damaged: &Connection,
    mut all: Vec<Listed>,
    ours: &Connection,
) -> Result<(Vec<Made>, Vec<String>), StoreError> {
    let known: Vec<String> =
        ours.prepare("SELECT name FROM sqlite_schema")?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let (mut made, mut lost) = (Vec::new(), Vec::new());
    for columns::Added { name, text, held_values } in columns::read(damaged, ours, &all)? {
        match text {
            Some(text) => made.push(Made { sort: "column".to_owned(), name, text, rows: None, held_values }),
            None => lost.push(format!("The column {name} could not be carried over: it is not known how it was made.")),
        }
    }
    // What begins so is internal, of this version of ours or another.
    let is_internal = |name: &str| name.starts_with('_') || name == migrations::TABLE_BEFORE_RELEASE;
    all.retain(|Listed { name, .. }| !is_internal(name) && !name.starts_with("sqlite_") && !known.contains(name));
    let is_virtual = |text: &String| text.trim_start().to_ascii_uppercase().starts_with("CREATE VIRTUAL");
    let engines: Vec<String> = all
        .iter()
        .filter(|listed| listed.text.as_ref().is_some_and(is_virtual))
        .map(|listed| listed.name.clone())
        .collect();
    let belongs =
        |name: &str| engines.iter().any(|engine| name.strip_prefix(engine).is_some_and(|of| of.starts_with('_')));
    for sort in ["table", "index", "view", "trigger"] {
        let of_sort = all.iter().filter(|listed| listed.sort == sort && !engines.contains(&listed.name));
        for Listed { name, text, .. } in of_sort.filter(|listed| !belongs(&listed.name)) {
            let Some(text) = text else {
                lost.push(format!("The {sort} {name} could not be carried over: how it was made cannot be read."));
                continue;
            };
            let rows = if sort == "table" { Some(salvage::table(damaged, name)?) } else { None };
            made.push(Made { sort: sort.to_owned(), name: name.clone(), text: text.clone(), rows, held_values: false });
        }
    }
    lost.extend(engines.iter().map(|name| format!("The virtual table {name} is not carried over; make it again.")));
    Ok((made, lost))
}

/// Makes it again. Gives a sentence for each that cannot be, or not wholly.
pub(super) fn make(tx: &Transaction<'_>, made: &[Made]) -> Result<Vec<String>, StoreError> {
    let mut lost = Vec::new();
    for Made { sort, name, text, rows, held_values } in made {
        if let Err(error) = tx.execute(text, []) {
            lost.push(format!("The {sort} {name} could not be carried over: {error}."));
            continue;
        }
        if *held_values {
            lost.push(format!("The column {name} is carried over without its values; the file that is kept has them."));
        }
        let Some(Salvaged { columns, rows, garbled, complete }) = rows else { continue };
        let names: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
        let marks = vec!["?"; names.len()].join(", ");
        let text = format!("INSERT INTO {} ({}) VALUES ({marks})", quoted(name), names.join(", "));
        // A part of the damaged list may be readable without the table being known there: then it has no column.
        let kept = match tx.prepare(&text) {
            Ok(mut statement) => {
                rows.iter().filter(|row| statement.execute(params_from_iter(row.iter())).is_ok()).count()
            }
            Err(_) => 0,
        };
        if !complete || !garbled.is_empty() || kept < rows.len() {
            lost.push(format!("Not every row of the table {name} could be carried over; {kept} are."));
        }
    }
    // Not before all of them are there: one may rest on another.
    for Made { name, .. } in made.iter().filter(|made| made.sort == "view") {
        if let Err(error) = tx.prepare(&format!("SELECT * FROM {}", quoted(name))) {
            lost.push(format!("The view {name} does not work: {error}."));
        }
    }
    Ok(lost)
}
