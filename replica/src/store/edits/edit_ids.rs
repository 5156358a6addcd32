//! The numbers of edits: they rise in the order of the changes, and no number is used twice. SQLite keeps the counter in
//! `sqlite_sequence`, a table that no trigger can guard. Must not know what the edits do.

use rusqlite::{Connection, Transaction};

use crate::model::LogLevel;
use crate::store::{StoreError, gate, log, select};

/// The highest number that any table still shows.
const NEWEST: &str =
    "(SELECT max(coalesce((SELECT max(id) FROM edits), 0), coalesce((SELECT max(id) FROM edit_history), 0),
     coalesce((SELECT max(edit_id) FROM _outbox), 0)))";

/// All edits from the first one that shares its number with an ended edit or with a part of another edit. A new number
/// is higher than all numbers in use, so every later edit needs a new number too.
const TWICE: &str =
    "SELECT id FROM edits WHERE id >= (SELECT min(id) FROM edits WHERE id IN (SELECT id FROM edit_history)
     OR id IN (SELECT edit_id FROM _outbox WHERE edit_id <> part_of)) ORDER BY id";

/// Repairs the counter of edit numbers (`sqlite_sequence`) after another program has changed it. The counter
/// continues from the highest number. Edits with a number that was used before get new numbers, in their order: an
/// edit with a used number could never move to the history.
pub(crate) fn repair(connection: &mut Connection) -> Result<(), StoreError> {
    let is_right = format!(
        "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'edits'), 0) >= {NEWEST} AND NOT EXISTS ({TWICE})"
    );
    if connection.query_row(&is_right, [], |row| row.get(0))? {
        return Ok(());
    }
    gate::sync_tx(connection, |tx| {
        continue_after(tx, tx.query_row(&format!("SELECT {NEWEST}"), [], |row| row.get(0))?)?;
        let twice: Vec<i64> = select::column(tx, TWICE, [])?;
        twice.iter().try_for_each(|edit| renumber(tx, *edit))?;
        let text = format!(
            "The count of the edits had been set back; it goes on from the highest number, and {} of them got another.",
            twice.len()
        );
        log(tx, LogLevel::Warning, &text)
    })
}

/// Makes the numbers of later edits higher than `number`, and than every number that was counted before.
pub(crate) fn continue_after(tx: &Transaction<'_>, number: i64) -> Result<(), StoreError> {
    let insert = "INSERT INTO sqlite_sequence (name, seq)
        SELECT 'edits', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'edits')";
    tx.execute(insert, [])?;
    tx.execute("UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'edits'", [number])?;
    Ok(())
}

/// A number that was never used.
pub(super) fn next(tx: &Transaction<'_>) -> Result<i64, StoreError> {
    let text = "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'edits' RETURNING seq";
    Ok(tx.prepare_cached(text)?.query_row([], |row| row.get(0))?)
}

fn renumber(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    let new = next(tx)?;
    for text in [
        "UPDATE edits SET id = ?2 WHERE id = ?1",
        "UPDATE _outbox SET edit_id = ?2 WHERE edit_id = ?1 AND (part_of IS NULL OR part_of = edit_id)",
        "UPDATE _outbox SET blocked_by = ?2 WHERE blocked_by = ?1",
        "UPDATE _outbox SET part_of = ?2 WHERE part_of = ?1",
        "UPDATE _outbox SET next_edit = ?2 WHERE next_edit = ?1",
    ] {
        tx.execute(text, (edit, new))?;
    }
    Ok(())
}
