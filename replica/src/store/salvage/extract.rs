//! Reads what is carried over from the kept copy of a damaged database. Must not change the copy: a work copy is read.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::carried::{CARRIED_TABLES, Carried, SEQUENCE_TABLE};
use super::copies::WORK_SUFFIX;
use super::opened_copy::{OpenedCopy, open_copy};
use super::reader::{SalvagedTable, read_table};
use super::{inferred_edits, rows_as_images, user_objects};
use crate::store::StoreError;
use crate::store::files::{beside, holds_bytes, private_file};

/// Reads what is carried over from a kept copy. `blank` is a new replica, which has the expected tables.
pub(super) fn extract(kept: &Path, blank: &Connection) -> Result<Carried, StoreError> {
    let (work, is_empty) = make_work_copy(kept)?;
    let mut data = Carried::default();
    let names: Vec<&str> = CARRIED_TABLES.into_iter().chain(["_sync", SEQUENCE_TABLE]).collect();
    match open_copy(&work, blank, &names)? {
        Some(copy) => read_copy(copy, blank, &mut data)?,
        None if is_empty => data.lost.push(
            "The file was found empty, and its log too: edits that the server has not confirmed are lost, if there were any."
                .to_owned(),
        ),
        None if !holds_bytes(kept) => data.lost.push(format!(
            "The file was found empty. Its log, {}, may still hold edits that the server has not confirmed. SQLite deletes the log when \
             it opens the empty file, so open only a copy of both.",
            beside(kept, "-wal").display()
        )),
        None => data.lost.push(format!(
            "Nothing in the file can be read here, not even edits that the server has not confirmed; \
             `sqlite3 {} .recover` may still show some.",
            kept.display()
        )),
    }
    Ok(data)
}

/// Copies the kept files to a work copy. Returns its path, and true when the kept database and its log are empty.
fn make_work_copy(kept: &Path) -> Result<(PathBuf, bool), StoreError> {
    let work = beside(kept, WORK_SUFFIX);
    let at = |error| StoreError::File(work.clone(), error);
    for (part, is_required) in [("", true), ("-wal", false)] {
        let from = beside(kept, part);
        if is_required || from.exists() {
            fs::copy(&from, beside(&work, part)).map_err(at)?;
        }
    }
    // SQLite deletes the log of an empty file, but a database that was never checkpointed is entirely in its log.
    let is_empty = !holds_bytes(&work) && !holds_bytes(&beside(&work, "-wal"));
    if !is_empty && !holds_bytes(&work) {
        private_file(&work).and_then(|file| file.set_len(4096)).map_err(at)?;
    }
    Ok((work, is_empty))
}

fn read_copy(copy: OpenedCopy, blank: &Connection, data: &mut Carried) -> Result<(), StoreError> {
    let OpenedCopy { connection, entries, is_complete } = copy;
    for name in CARRIED_TABLES {
        let table = read_table(&connection, name)?;
        data.count_edit_ids(name, &table);
        data.tables.push((name, table));
    }
    if let (Some(edits), Some(images)) = (data.table("edits"), data.table("_base"))
        && !edits.complete
    {
        data.traces = inferred_edits::find_traces(&connection, images)?;
        data.lost.push("A part of the edits cannot be read; some may be missing.".to_owned());
    }
    if !data.has_all_images() {
        data.rows = rows_as_images::read(&connection)?;
    }
    if !data.is_complete("captures") {
        data.lost.push(
            "A part of the captures cannot be read; those that were not sent are in the file that is kept.".to_owned(),
        );
    }
    if !data.is_complete("edit_history") {
        let lost = "A part of the history of edits cannot be read; the missing entries are in the file that is kept.";
        data.lost.push(lost.to_owned());
    }
    data.count_edit_ids(SEQUENCE_TABLE, &read_table(&connection, SEQUENCE_TABLE)?);
    let SalvagedTable { columns, rows, .. } = read_table(&connection, "_sync")?;
    data.sync = rows.into_iter().next().map_or_else(Vec::new, |row| columns.into_iter().zip(row).collect());
    let (objects, lost) = user_objects::find_user_objects(&connection, entries, blank)?;
    data.user_objects = objects;
    data.lost.extend(lost);
    if !is_complete {
        data.lost.push(
            "A part of the list of tables cannot be read; tables, indexes, views and triggers of your own may be missing, \
             and columns that you have added."
                .to_owned(),
        );
    }
    Ok(())
}
