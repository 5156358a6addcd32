//! What only exists here, out of a damaged database into a new one: the edits, what the server had said of their records,
//! the journal. Must not lose an edit without naming it.

use std::fs;
use std::path::Path;

use hearth_contract::schema::Kind;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Transaction, params_from_iter};

use super::aside::READING;
use super::salvage::{self, Opened, Salvaged};
use super::strangers::{self, Made};
use super::traces::{self, Trace};
use super::{Rescue, health};
use crate::store::base;
use crate::store::place::holds_bytes;
use crate::store::{StoreError, gate, open};

/// The tables that hold what the server cannot tell again.
pub(in crate::store) const LOCAL: [&str; 10] = [
    "edits",
    "edit_history",
    "_requests",
    "_outbox",
    "_acked",
    "_coalesced",
    "_undone",
    "_already_applied",
    "_base",
    "sync_log",
];

/// Where the numbers of edits stand. One that was ever given is never given again, whatever became of its edit.
const NUMBERED: [(&str, &str); 10] = [
    ("edits", "id"),
    ("edit_history", "id"),
    ("_outbox", "edit_id"),
    ("_acked", "edit_id"),
    ("_coalesced", "edit_id"),
    ("_coalesced", "of_edit"),
    ("_undone", "edit_id"),
    ("_undone", "by_edit"),
    ("_already_applied", "edit_id"),
    (COUNTED, "seq"),
];
/// Where SQLite itself counts them.
const COUNTED: &str = "sqlite_sequence";

/// What was read of a damaged database.
#[derive(Default)]
pub(super) struct Saved {
    tables: Vec<(&'static str, Salvaged)>,
    /// Records of which edits may be lost.
    traces: Vec<Trace>,
    /// What others have made in it.
    made: Vec<Made>,
    /// The highest number of an edit that is known of.
    newest: i64,
    /// Server, id, name and environment of its home.
    home: Option<Vec<Sql>>,
    /// Whether a person wanted no sync until further notice.
    paused: bool,
    lost: Vec<String>,
}

/// Reads from a second copy, which is thrown away: what is kept aside stays as it was found.
pub(super) fn read(kept: &Path, blank: &Connection) -> Result<Saved, StoreError> {
    let work = open::beside(kept, READING);
    let parts = [("", true), ("-wal", false)];
    let at = |error| StoreError::File(work.clone(), error);
    for (part, must) in parts {
        let from = open::beside(kept, part);
        if must || from.exists() {
            fs::copy(&from, open::beside(&work, part)).map_err(at)?;
        }
    }
    // SQLite throws the log of an empty file away, but a database that was never checkpointed is all in its log.
    let nothing = !holds_bytes(&work) && !holds_bytes(&open::beside(&work, "-wal"));
    if !nothing && !holds_bytes(&work) {
        open::private_file(&work).and_then(|file| file.set_len(4096)).map_err(at)?;
    }
    let mut saved = Saved::default();
    let names: Vec<&str> = LOCAL.into_iter().chain(["_sync", COUNTED]).collect();
    if let Some(Opened { connection, list, is_whole }) = salvage::open(&work, blank, &names)? {
        for name in LOCAL {
            let table = salvage::table(&connection, name)?;
            saved.newest = saved.newest.max(newest(name, &table));
            saved.tables.push((name, table));
        }
        let of = |name| saved.tables.iter().find(|(of, _)| *of == name).map(|(_, table)| table);
        if let (Some(edits), Some(images)) = (of("edits"), of("_base"))
            && !edits.complete
        {
            saved.traces = traces::read(&connection, images)?;
            saved.lost.push("A part of the edits cannot be read; some may be missing.".to_owned());
        }
        if of("edit_history").is_some_and(|history| !history.complete) {
            let lost =
                "A part of the history of edits cannot be read; what is missing of it stands in the file that is kept.";
            saved.lost.push(lost.to_owned());
        }
        saved.newest = saved.newest.max(newest(COUNTED, &salvage::table(&connection, COUNTED)?));
        let home = "SELECT server, home_id, home_name, environment FROM _sync";
        let home = connection.query_row(home, [], |row| (0..4).map(|n| row.get(n)).collect::<Result<Vec<Sql>, _>>());
        saved.home = salvage::unless_damaged(home.map_err(StoreError::from))?
            .filter(|home| home.get(1).is_some_and(|id| matches!(id, Sql::Text(_))));
        let paused = connection.query_row("SELECT paused FROM _sync", [], |row| row.get(0));
        saved.paused = salvage::unless_damaged(paused.map_err(StoreError::from))?.unwrap_or_default();
        let (made, lost) = strangers::read(&connection, list, blank)?;
        saved.made = made;
        saved.lost.extend(lost);
        if !is_whole {
            saved.lost.push(
                "A part of the list of what is in it cannot be read; tables, indexes, views and triggers of your own may be \
                 missing, and columns that you have added."
                    .to_owned(),
            );
        }
    } else if !nothing {
        saved.lost.push(format!(
            "Nothing in it can be read here, not even edits that the server has not confirmed; \
             `sqlite3 {} .recover` may still show some.",
            kept.display()
        ));
    } else {
        saved.lost.push(
            "The file was found empty, and its log too: edits that the server has not confirmed are lost, if there were any."
                .to_owned(),
        );
    }
    Ok(saved)
}

/// The highest number of an edit in a table; 0 in one that has none. It does not matter whether its row can be carried over.
fn newest(name: &str, table: &Salvaged) -> i64 {
    let numbers = NUMBERED.iter().filter(|(of, _)| *of == name).flat_map(|(_, column)| {
        let of_edits = |row: &&Vec<Sql>| name != COUNTED || table.text(row, "name") == Some("edits");
        table.rows.iter().chain(&table.garbled).filter(of_edits).filter_map(|row| match table.member(row, column) {
            // A number that no one can have counted to is what damage has left, and would leave none to go on with.
            Some(Sql::Integer(number)) if *number < 1 << 53 => Some(*number),
            _ => None,
        })
    });
    numbers.max().unwrap_or_default()
}

/// Writes what was read into an empty replica.
pub(super) fn restore(connection: &mut Connection, saved: Saved) -> Result<Rescue, StoreError> {
    let Saved { tables, traces, made, newest, home, paused, lost } = saved;
    let mut rescue = Rescue { lost, ..Rescue::default() };
    gate::keep(connection, |tx| {
        for (name, table) in &tables {
            put(tx, name, table, &mut rescue)?;
        }
        let numbered = "INSERT INTO sqlite_sequence (name, seq)
            SELECT 'edits', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'edits')";
        tx.execute(numbered, [])?;
        tx.execute("UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'edits'", [newest])?;
        let read_off = traces::take_up(tx, &traces)?;
        if read_off > 0 {
            let (changes, wait) = if read_off == 1 { ("change was", "waits") } else { ("changes were", "wait") };
            rescue
                .lost
                .push(format!("{read_off} {changes} made out by what the records show instead, and {wait} for you."));
        }
        tx.execute_batch(
            // A request whose bytes are lost is made anew, and so is one of which it is lost what it insists on or that it
            // was refused: the same bytes would overwrite what others have done since. An edit whose proof is lost is sent
            // again, by its key. The other edits of a bulk call keep its bytes, in which each operation says its own guard.
            "DELETE FROM _acked WHERE rev IS NULL;
             UPDATE edits SET state = 'waiting' WHERE state = 'sent' AND id NOT IN (SELECT edit_id FROM _acked);
             UPDATE edits SET idempotency_key = NULL, state = CASE state WHEN 'sending' THEN 'waiting' ELSE state END
                 WHERE state IN ('waiting', 'sending', 'blocked')
                     AND (idempotency_key NOT IN (SELECT idempotency_key FROM _requests)
                         OR id NOT IN (SELECT edit_id FROM _outbox));
             -- What is left of an edit that is gone must not be taken for that of another; and of one that stands by itself
             -- nothing goes with another too.
             DELETE FROM _coalesced WHERE of_edit NOT IN (SELECT id FROM edits)
                 OR edit_id <> of_edit AND edit_id IN (SELECT id FROM edits);
             DELETE FROM _outbox WHERE edit_id NOT IN (SELECT id FROM edits);
             -- It was being moved while the file broke; asked again, by its key, the server tells.
             DELETE FROM edit_history WHERE id IN (SELECT id FROM edits UNION SELECT edit_id FROM _coalesced);
             -- The server may have been put back since: whatever it says now is newer.
             UPDATE _base SET rev = 0, deleted = 0;
             DELETE FROM _acked WHERE edit_id NOT IN (SELECT id FROM edits);
             DELETE FROM _base WHERE NOT EXISTS
                 (SELECT 1 FROM edits e WHERE e.kind = _base.kind AND e.record_id = _base.record_id);
             UPDATE _sync SET replay = 1;",
        )?;
        tx.execute("UPDATE _sync SET paused = ?1", [paused])?;
        match &home {
            Some(home) => {
                let text = "UPDATE _sync SET server = ?1, home_id = ?2, home_name = ?3, environment = ?4";
                tx.execute(text, params_from_iter(home))?;
            }
            None => {
                rescue.parked = tx.execute(
                    "UPDATE edits SET state = 'rejected', reason_code = 'from_a_copy', reason = 'The database was damaged and does not say any more \
                     which home this is for. If it is for this one, let it be tried again.'",
                    [],
                )?;
            }
        }
        let mut statement = tx.prepare("SELECT DISTINCT kind, record_id FROM edits")?;
        let records = statement
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?
            .collect::<Result<Vec<_>, _>>()?;
        for (word, record) in records {
            if let Some(kind) = Kind::parse(&word) {
                base::rebase(tx, kind, &record)?;
            }
        }
        rescue.lost.extend(strangers::make(tx, &made)?);
        let edits: i64 = tx.query_row("SELECT count(*) FROM edits", [], |row| row.get(0))?;
        rescue.edits = usize::try_from(edits).unwrap_or_default();
        Ok(())
    })?;
    Ok(rescue)
}

/// Writes the rows of one table into the columns that both databases have.
fn put(tx: &Transaction<'_>, name: &str, table: &Salvaged, rescue: &mut Rescue) -> Result<(), StoreError> {
    let known: Vec<String> = tx
        .prepare("SELECT name FROM pragma_table_info(?1)")?
        .query_map([name], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let common: Vec<usize> = (0..table.columns.len()).filter(|n| known.contains(&table.columns[*n])).collect();
    if common.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = common.iter().map(|n| table.columns[*n].as_str()).collect();
    let marks: Vec<String> = (1..=names.len()).map(|n| format!("?{n}")).collect();
    let text = format!("INSERT OR IGNORE INTO {name} ({}) VALUES ({})", names.join(", "), marks.join(", "));
    let mut statement = tx.prepare(&text)?;
    if name == "edits" {
        rescue.lost.extend(table.garbled.iter().map(|row| named(table, row)));
    }
    for row in &table.rows {
        if !can_go_on(name, table, row) {
            if name == "edits" {
                rescue.lost.push(named(table, row));
            }
            continue;
        }
        // What does not fit (a null that damage has left, text in a number's place) is as lost as what cannot be read.
        let kept = statement.execute(params_from_iter(common.iter().map(|n| &row[*n])));
        if name == "edits" && !matches!(kept, Ok(1)) {
            rescue.lost.push(named(table, row));
        }
    }
    Ok(())
}

/// Whether a row can be read again where it goes, and is whole if it is an edit.
fn can_go_on(name: &str, table: &Salvaged, row: &[Sql]) -> bool {
    let stands = |(column, value): (&String, &Sql)| match value {
        Sql::Text(text) => health::can_stand(name, column, text),
        _ => true,
    };
    let parts = ["kind", "record_id", "method", "patch", "base"];
    table.columns.iter().zip(row).all(stands)
        && (name != "edits" || parts.iter().all(|part| table.text(row, part).is_some()))
}

/// An edit that cannot go on, in a sentence that lets a person do it again.
fn named(table: &Salvaged, row: &[Sql]) -> String {
    let word = |name: &str| match table.member(row, name) {
        Some(Sql::Text(text)) => text.chars().take(200).collect(),
        Some(Sql::Integer(number)) => number.to_string(),
        _ => "?".to_owned(),
    };
    let [id, kind, record, method, patch] = ["id", "kind", "record_id", "method", "patch"].map(word);
    format!("Edit {id} could not be carried over: {method} of {kind} {record} with {patch}")
}
