//! A recovery on disk: its progress, what the server's answers do to rows, and its end. Each answer and the progress
//! it makes are one transaction, so that a recovery that is cut off goes on where it was. Must not know what is asked
//! next.
//!
//! Until the end `position` stays where it was: what lies between it and the tail is not all there yet. The tail is 0 after
//! the server has named a cursor to go on from, until the feed tells something: what lies before that, it leaps over.
//!
//! [`lost`]: what a server that was put back no longer has. [`replay`]: the feed read again after a rebuild. [`verify`]:
//! everything compared. [`walk`]: which ids the server has. [`told`]: what is said of those that it has not.

pub(crate) mod lost;
pub(super) mod replay;
mod told;
pub(crate) mod verify;
mod walk;

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde_json::Value;

use crate::recovery::{Cause, Found, Question, Recovery, Step, Swept};
use crate::store::edits::{agreed, doubt, settle};
use crate::store::mirror::image;
use crate::store::schema::order;
use crate::store::{StoreError, gate, log, mirror, rows};

pub(crate) use walk::missing;

/// More than this many of a collection, and more than [`FUSE_SHARE`] of it, do not vanish unless a person agrees.
const FUSE_RECORDS: i64 = 50;
/// A fifth.
const FUSE_SHARE: i64 = 5;
/// With more unknown records than this, and more than a tenth of all, listing everything costs less than fetching each.
const UNKNOWN_MAX: i64 = 100;

/// Begins one, or begins the one that is under way anew from the server's present. None: none is under way and nothing was
/// read yet, so there is nothing to recover.
pub(crate) fn begin(connection: &mut Connection, cause: &Cause) -> Result<Option<Recovery>, StoreError> {
    gate::sync_tx(connection, |tx| begin_in(tx, cause))
}

fn begin_in(tx: &Transaction<'_>, cause: &Cause) -> Result<Option<Recovery>, StoreError> {
    tx.execute("UPDATE _sync SET reconcile_requested = 0, deletions_accepted = 0", [])?;
    let (position, backfilled, begun, replaying): (i64, bool, bool, bool) =
        tx.query_row("SELECT position, backfilled, cursor IS NOT NULL, replaying FROM _sync", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    let before = read(tx)?;
    if !begun || (!backfilled && before.is_none() && matches!(cause, Cause::Asked { .. })) {
        return Ok(None);
    }
    // What one that is under way has fetched was not here before it.
    let known: Option<String> =
        tx.query_row("SELECT known FROM _reconcile", [], |row| row.get(0)).optional()?.flatten();
    let known = known.map_or_else(|| walk::known_of_each(tx), Ok)?;
    walk::forget(tx)?;
    image::ask_anew(tx)?;
    if !matches!(cause, Cause::Asked { .. }) {
        doubt::doubt(tx)?;
    }
    // What a replay would have shown from here on, the lists show.
    tx.execute_batch("UPDATE _sync SET replaying = 0; DELETE FROM _seen;")?;
    let mut since = match &before {
        Some(recovery) => recovery.since.clone(),
        None if replaying => None,
        None => last_change(tx, position)?,
    };
    // A history of which it was not known where it ends is still to be told from the one before it.
    let unknown_fork: bool = tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM _reconcile WHERE cause = 'restored' AND fork IS NULL)",
        [],
        |row| row.get(0),
    )?;
    let fork = match cause {
        Cause::Restored { fork, .. } => fork.filter(|_| !unknown_fork),
        _ => None,
    };
    // What is found gone from a later state of the server than a person was asked about, they have not agreed to.
    let accepted = match cause {
        Cause::Asked { accepted } => *accepted || before.as_ref().is_some_and(|recovery| recovery.accepted),
        Cause::Gap { .. } | Cause::Restored { .. } => false,
    };
    let word = match cause {
        Cause::Gap { resume } => {
            tx.execute("UPDATE _sync SET cursor = ?1", [resume])?;
            log(tx, "warning", "This replica was away longer than the server remembers; comparing with its lists.")?;
            "gap"
        }
        Cause::Restored { resume, .. } => {
            let shared = fork.unwrap_or(0).min(position);
            // The lost history ends the tail too.
            tx.execute("DELETE FROM _reconcile", [])?;
            tx.execute("UPDATE _sync SET cursor = ?1, position = ?2, head = NULL", (resume, shared))?;
            // What one that is under way has found, it may have found in the next history already.
            let whole = backfilled && !replaying && before.is_none();
            let unknown = lost::forget(tx, fork, whole)?;
            let all: i64 = tx.query_row(&count_all(), [], |row| row.get(0))?;
            since = match last_change(tx, shared)?.filter(|_| !replaying) {
                Some(at) if unknown <= UNKNOWN_MAX || unknown * 10 <= all => {
                    Some(since.map_or(at.clone(), |s| s.min(at)))
                }
                _ => None,
            };
            log(tx, "warning", "The server was put back to an older copy; comparing with its lists.")?;
            if let Some(fork) = fork {
                lost::offer(tx, fork)?;
            }
            "restored"
        }
        Cause::Asked { .. } => {
            log(tx, "info", "Comparing with the server's lists, as a person asked.")?;
            "asked"
        }
    };
    let tail = match cause {
        Cause::Asked { .. } => before.map_or(position, |recovery| recovery.tail),
        Cause::Gap { .. } | Cause::Restored { .. } => 0,
    };
    tx.execute(
        "INSERT INTO _reconcile (one, cause, since, fork, tail, step, accepted, known)
         VALUES (1, ?1, ?2, ?3, ?5, 'property', ?4, ?6)
         ON CONFLICT DO UPDATE SET since = excluded.since, tail = excluded.tail, step = 'property', kind = NULL,
             cursor = NULL, as_of = NULL, accepted = excluded.accepted, question = NULL, known = excluded.known",
        (word, &since, fork, accepted, tail, &known),
    )?;
    read(tx)
}

/// The same where the feed has just been read from its beginning up to a position: it goes on from there, and nothing lies
/// between that nobody here knows.
pub(super) fn begin_at_the_present(
    tx: &Transaction<'_>,
    cause: &Cause,
    position: i64,
) -> Result<Option<Recovery>, StoreError> {
    begin_in(tx, cause)?;
    tx.execute("UPDATE _reconcile SET tail = ?1", [position])?;
    tx.execute("UPDATE _sync SET head = ?1", [position])?;
    read(tx)
}

/// When the newest record as of a position was changed: whatever changed after it, changed then or later.
fn last_change(tx: &Transaction<'_>, position: i64) -> Result<Option<String>, StoreError> {
    let mut newest: Option<String> = None;
    for kind in Kind::ALL {
        // From the end of an index, where it is found at once: the sum over all rows would read each of them.
        let text = format!(
            "SELECT updated_at FROM {} WHERE updated_at IS NOT NULL AND rev BETWEEN 1 AND ?1 ORDER BY {} DESC LIMIT 1",
            kind.collection(),
            order::sort_key(kind, "updated_at")
        );
        newest = newest.max(tx.query_row(&text, [position], |row| row.get(0)).optional()?);
    }
    Ok(newest)
}

fn count_all() -> String {
    let parts: Vec<String> =
        Kind::ALL.iter().map(|kind| format!("(SELECT count(*) FROM {})", kind.collection())).collect();
    format!("SELECT {}", parts.join(" + "))
}

/// The recovery that is under way.
pub(crate) fn read(connection: &Connection) -> Result<Option<Recovery>, StoreError> {
    let found = connection
        .prepare_cached("SELECT since, step, kind, cursor, as_of, tail, accepted, question FROM _reconcile")?
        .query_row([], |row| {
            let words: (String, Option<String>) = (row.get(1)?, row.get(2)?);
            let place: (Option<String>, Option<i64>) = (row.get(3)?, row.get(4)?);
            Ok((words, place, row.get(0)?, row.get(5)?, row.get(6)?, row.get(7)?))
        })
        .optional()?;
    let Some(((word, kind), (cursor, as_of), since, tail, accepted, question)) = found else {
        return Ok(None);
    };
    let kind = kind.as_deref().and_then(Kind::parse);
    let as_of = as_of.unwrap_or_default();
    let step = match (word.as_str(), kind) {
        ("property", _) => Step::Property,
        ("changes", Some(kind)) => Step::Changes { kind, cursor },
        ("ids", Some(kind)) => Step::Ids { kind, cursor, as_of },
        ("records", Some(kind)) => Step::Records { kind, as_of },
        ("sweep", Some(kind)) => Step::Sweep { kind, as_of },
        ("done", _) => Step::Done,
        _ => return Err(StoreError::InvalidContent(format!("a recovery at the step {word}"))),
    };
    Ok(Some(Recovery { since, tail, step, accepted, question }))
}

/// Applies an answer and notes how far the recovery is with it. Nothing waits for the disk: what a power cut takes is
/// asked for again.
pub(crate) fn keep(
    connection: &mut Connection,
    question: &Question,
    found: &Found,
    then: &Step,
) -> Result<(), StoreError> {
    gate::sync_tx_without_fsync(connection, |tx| {
        match question {
            Question::Ids { kind, cursor } => {
                if cursor.is_none() {
                    walk::forget(tx)?;
                }
                walk::keep(tx, *kind, &found.ids)?;
            }
            Question::Record { kind, id } => {
                for record in &found.records {
                    put(tx, *kind, record)?;
                    walk::fetched(tx, *kind, id)?;
                }
            }
            Question::Changes { kind, .. } | Question::Walk { kind, .. } => {
                for record in &found.records {
                    put(tx, *kind, record)?;
                }
            }
            Question::Property => {
                for record in &found.records {
                    put(tx, Kind::Property, record)?;
                }
                if found.records.is_empty() {
                    unset_profile(tx, found.as_of)?;
                }
            }
        }
        advance(tx, then)
    })
}

/// The home's profile is never deleted, but a server that was put back may be from before it was first set.
fn unset_profile(tx: &Transaction<'_>, as_of: i64) -> Result<(), StoreError> {
    tx.execute("DELETE FROM _base WHERE kind = 'property' AND rev <= ?1", [as_of])?;
    let known = "SELECT id, EXISTS (SELECT 1 FROM edits WHERE kind = 'property') FROM property WHERE rev <= ?1";
    let known: Option<(String, bool)> =
        tx.query_row(known, [as_of], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    match known {
        Some((id, true)) => image::project(tx, Kind::Property, &id),
        Some((id, false)) => rows::delete_row(tx, Kind::Property, &id),
        None => Ok(()),
    }
}

/// Notes how far the recovery is.
pub(crate) fn set_step(connection: &mut Connection, step: &Step) -> Result<(), StoreError> {
    gate::sync_tx_without_fsync(connection, |tx| advance(tx, step))
}

fn advance(tx: &Transaction<'_>, step: &Step) -> Result<(), StoreError> {
    let (word, kind, cursor, as_of) = match step {
        Step::Property => ("property", None, None, None),
        Step::Changes { kind, cursor } => ("changes", Some(kind), cursor.as_ref(), None),
        Step::Ids { kind, cursor, as_of } => ("ids", Some(kind), cursor.as_ref(), Some(as_of)),
        Step::Records { kind, as_of } => ("records", Some(kind), None, Some(as_of)),
        Step::Sweep { kind, as_of } => ("sweep", Some(kind), None, Some(as_of)),
        Step::Done => ("done", None, None, None),
    };
    tx.prepare_cached("UPDATE _reconcile SET step = ?1, kind = ?2, cursor = ?3, as_of = ?4")?.execute((
        word,
        kind.map(|kind| kind.as_str()),
        cursor,
        as_of,
    ))?;
    Ok(())
}

fn put(tx: &Transaction<'_>, kind: Kind, record: &Fields) -> Result<(), StoreError> {
    mirror::lay(tx, kind, text(record, "id")?, number(record, "rev")?, record)
}

fn text<'a>(record: &'a Fields, name: &str) -> Result<&'a str, StoreError> {
    let found = record.get(name).and_then(Value::as_str);
    found.ok_or_else(|| StoreError::Unexpected(format!("a listed record without {name}")))
}

fn number(record: &Fields, name: &str) -> Result<i64, StoreError> {
    let found = record.get(name).and_then(Value::as_i64);
    found.ok_or_else(|| StoreError::Unexpected(format!("a listed record without {name}")))
}

/// Ends the records that the walk did not show, unless they are too many to go without a person's word. Without a walk
/// every record would seem to be gone, so it goes back to that.
pub(crate) fn sweep(
    connection: &mut Connection,
    kind: Kind,
    as_of: i64,
    then: &Step,
    now: Timestamp,
) -> Result<Swept, StoreError> {
    gate::sync_tx(connection, |tx| {
        if !walk::is_there(tx, kind)? {
            advance(tx, &Step::Ids { kind, cursor: None, as_of: 0 })?;
            return Ok(Swept::NotWalked);
        }
        let vanished = walk::vanished(tx, kind, as_of)?;
        // What was deleted here as well, nobody loses by it.
        let lost: Vec<&str> = vanished.iter().filter(|one| !one.deleted_here).map(|one| one.id.as_str()).collect();
        let gone = i64::try_from(lost.len()).unwrap_or(i64::MAX);
        let (accepted, restored, before): (bool, bool, i64) = tx.query_row(
            "SELECT accepted, cause = 'restored', coalesce(known ->> ?1, 0) FROM _reconcile",
            [kind.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        // What was read since it began can be lost as well: by a server that is put back again meanwhile.
        let of = if gone > before { walk::known_of(tx, kind)? } else { before };
        let accepted = accepted || hearth_simulated::planted(hearth_simulated::Fault::MassDeleteUnguarded);
        if !accepted && is_too_many(gone, before) {
            return Ok(Swept::TooMany { gone, of });
        }
        if gone > 0 {
            log(tx, "info", &told::of_collection(tx, kind, &lost, of, restored)?)?;
        }
        for walk::Vanished { id, waits, .. } in &vanished {
            tx.execute(
                "INSERT INTO _tombstones (kind, record_id, rev) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET rev = max(rev, excluded.rev)",
                (kind.as_str(), id, as_of),
            )?;
            if *waits {
                image::end(tx, kind, id, as_of)?;
                settle::record_is_gone(tx, kind, id, as_of, now)?;
            } else {
                lost::keep_last_form(tx, kind, id, as_of)?;
                rows::delete_row(tx, kind, id)?;
            }
        }
        tx.execute("UPDATE _reconcile SET gone = gone + ?1", [gone])?;
        walk::forget(tx)?;
        advance(tx, then)?;
        Ok(Swept::Done)
    })
}

/// Whether so many of a collection that had so many records do not go without a person's word.
const fn is_too_many(gone: i64, of: i64) -> bool {
    gone > FUSE_RECORDS && gone > of / FUSE_SHARE
}

/// Asks a person before it goes on.
pub(crate) fn ask(connection: &mut Connection, question: &str) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        tx.execute("UPDATE _reconcile SET question = ?1", [question])?;
        log(tx, "warning", question)
    })
}

/// Takes note of a person's wish for a recovery while one is under way.
pub(crate) fn heed(connection: &mut Connection, accepted: bool) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        tx.execute("UPDATE _sync SET reconcile_requested = 0, deletions_accepted = 0", [])?;
        if accepted {
            tx.execute("UPDATE _reconcile SET accepted = 1, question = NULL", [])?;
            tx.execute("UPDATE _sync SET phase = 'reconciling' WHERE phase = 'blocked'", [])?;
            log(tx, "info", "A person has agreed to the deletions.")?;
        }
        Ok(())
    })
}

/// Ends it: the tables are at the position of the tail.
pub(crate) fn finish(connection: &mut Connection, now: Timestamp) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        let (cause, fork, gone): (String, Option<i64>, i64) =
            tx.query_row("SELECT cause, fork, gone FROM _reconcile", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        let restored = cause == "restored";
        lost::offer_accepted(tx, restored, now)?;
        if restored {
            lost::offer_confirmed(tx, fork)?;
            lost::confirm_deletes(tx, now)?;
        }
        let position: i64 = tx.query_row(
            "UPDATE _sync SET position = (SELECT tail FROM _reconcile), backfilled = 1 RETURNING position",
            [],
            |row| row.get(0),
        )?;
        tx.execute("DELETE FROM _reconcile", [])?;
        walk::forget(tx)?;
        settle::settle(tx, position, now)?;
        doubt::doubt_less(tx)?;
        agreed::look_at_all(tx, now)?;
        log(tx, "info", &told::at_the_end(gone, restored, lost::is_any_offered(tx)?))
    })
}
