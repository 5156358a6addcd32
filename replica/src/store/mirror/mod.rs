//! What the server says, applied: the one way its events become rows. Must not know how events arrive.
//!
//! Applying an event twice, late or out of order changes nothing: the higher rev wins, deleted ids stay deleted.
//! Rows, settled edits and position change in one transaction.

pub(super) mod image;

use std::collections::{BTreeSet, HashSet};

use hearth_contract::check::Fields;
use hearth_contract::event::{Event, EventType};
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};

use crate::model::Method;
use crate::recovery::Recovery;
use crate::store::edits::{agreed, doubt, held, settle};
use crate::store::recovery::{self, lost, replay};
use crate::store::{StoreError, gate, log, rows};

/// Of a word that this version does not know, so much is repeated.
const WORD_CHARS_MAX: usize = 40;

/// A stretch of the feed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Batch {
    /// Events in the order of the feed.
    pub events: Vec<Event>,
    /// The cursor after the last of them; None leaves it.
    pub cursor: Option<String>,
    /// The head, when this stretch ends at the present; 0 if all that is known of it is that it is here.
    pub ready: Option<i64>,
}

/// What is true once a batch is applied, to be written with it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Proof {
    /// The phase.
    pub phase: &'static str,
    /// What there is to say of it.
    pub reason: Option<String>,
    /// How it came: `stream` or `poll`.
    pub transport: &'static str,
    /// Whether the tables show the present then.
    pub current: bool,
    /// When.
    pub now: Timestamp,
}

/// What came of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Applied {
    /// Up to where the feed is applied now; in a recovery that is ahead of what the tables show.
    pub position: i64,
    /// Whether events concern edits that are to be sent: they must be looked at again.
    pub touched_edits: bool,
    /// Whether edits that nobody had said so of were found to be in: those that waited for them may go.
    pub found_edits: bool,
    /// Whether a feed that leaves nothing out has passed numbers without an event: the server was put back, because only
    /// then it leaves some out (contract 9.3). What it answered before is of a history that is gone.
    pub leapt: bool,
    /// The recovery that the end of a replay has begun.
    pub recovering: Option<Recovery>,
}

/// Applies a batch.
pub(crate) fn apply(connection: &mut Connection, batch: &Batch, proof: &Proof) -> Result<Applied, StoreError> {
    if hearth_simulated::planted(hearth_simulated::Fault::PositionBeforeRows) {
        let last = batch.events.last().map(|event| event.id);
        let text = "UPDATE _sync SET cursor = coalesce(?1, cursor), position = max(position, coalesce(?2, 0))";
        gate::sync_tx_without_fsync(connection, |tx| Ok(tx.execute(text, (&batch.cursor, last))?))?;
    }
    // What the feed brings can be fetched again, so these commits need not wait for the disk.
    gate::sync_tx_without_fsync(connection, |tx| apply_in(tx, batch, proof))
}

fn apply_in(tx: &Transaction<'_>, batch: &Batch, proof: &Proof) -> Result<Applied, StoreError> {
    // In a recovery the feed is applied at the tail, and the tables are not all there yet: `position` waits.
    let (shown, backfilled, replaying, tail): (i64, bool, bool, Option<i64>) = tx
        .prepare_cached("SELECT position, backfilled, replaying, (SELECT tail FROM _reconcile) FROM _sync")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let mut position = tail.unwrap_or(shown);
    let (editing, mut elsewhere): (bool, bool) = tx
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM edits), EXISTS (SELECT 1 FROM _base) OR EXISTS (SELECT 1 FROM _tombstones)",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if editing && !backfilled {
        // A replay of the past shows a record's newest event alone (contract 9.2).
        doubt::doubt(tx)?;
    }
    // Of a recovery whose tail has told nothing yet, it is not known what that follows.
    let follows = tail.map_or(backfilled && !replaying, |tail| tail > 0);
    let leapt = follows && leaps(position, &batch.events);
    let (mut touched_edits, mut found_edits) = (false, false);
    let mut confirmed: Vec<held::Held> = Vec::new();
    let mut covered = BTreeSet::new();
    let mut brought: HashSet<i64> = HashSet::new();
    if tail == Some(0) {
        brought.extend(lost::told_before(tx)?);
    }
    let mut ended = HashSet::new();
    // Where the tables are at the position of the feed, an event passes its own edit.
    let ends_at_once = tail.is_none() && !replaying;
    let mut odd = BTreeSet::new();
    for event in &batch.events {
        let kind = Kind::parse(&event.resource_type);
        let known = EventType::parse(&event.event_type);
        if known.is_none() && kind.is_some() && event.payload.is_some() {
            odd.insert(format!("Taken for a change: {} of {}", brief(&event.event_type), event.resource_type));
        }
        // A payload is the record's form after the event, by whatever word a newer server calls what happened.
        let event_type = known.or(event.payload.as_ref().map(|_| EventType::Updated));
        if let (Some(kind), Some(event_type)) = (kind, event_type) {
            let id = event.resource_id.to_string();
            if replaying {
                replay::note(tx, kind, &id, event_type)?;
            }
            let mut own = if editing { held::of_record(tx, kind, &id)? } else { Vec::new() };
            // What is confirmed here moves to the history once the stretch is through.
            own.retain(|edit| !ended.contains(&edit.edit));
            if let ([only], Some(payload)) = (&own[..], &event.payload)
                && ends_at_once
                && only.method != Method::Delete
                && only.is_told_by(event)
                && (!elsewhere || seen_elsewhere(tx, kind, &id)?.is_none_or(|seen| seen < event.id))
                && let stored = rows::StoredRecord::from_payload(kind, event.id, payload)
                && rows::write_row_if_newer(tx, kind, &id, &stored)?
            {
                // The usual end of an edit: the feed brings the record with it, and nothing else is laid over that.
                if elsewhere {
                    image::forget(tx, kind, &id)?;
                }
                found_edits |= only.rev != Some(event.id);
                ended.insert(only.edit);
                confirmed.push((only.edit, Some(event.id)));
                position = position.max(event.id);
                continue;
            }
            let waits = !own.is_empty();
            if waits {
                let recognised = held::recognise(tx, event, &own)?;
                touched_edits |= recognised.is_some_and(|(_, is_news)| is_news);
                brought.extend(recognised.filter(|_| event_type != EventType::Deleted).map(|(edit, _)| edit));
            }
            // Of what is on the server already, nothing but its end is to come.
            touched_edits |= own.iter().any(|edit| !edit.is_sent);
            match (event_type, &event.payload) {
                (EventType::Deleted, _) => {
                    delete(tx, kind, &id, event.id, waits, proof.now)?;
                    elsewhere = true;
                }
                // Its row changes only when all of them are known.
                (_, Some(payload)) if waits => {
                    if cover(tx, kind, &id, event.id, payload)? {
                        elsewhere = true;
                        covered.insert((kind, id));
                    }
                }
                (_, Some(payload)) => put(tx, kind, &id, event.id, payload, elsewhere)?,
                (_, None) => drop(odd.insert(format!("Skipped: {} event without a record", event.event_type))),
            }
        } else {
            // A newer server may speak of things that this version has no table for. Its other words still count.
            odd.insert(match kind {
                Some(kind) => format!("Skipped: {} of {kind}", brief(&event.event_type)),
                None => format!("Skipped: records of the kind {}", brief(&event.resource_type)),
            });
        }
        position = position.max(event.id);
    }
    settle::confirm(tx, &confirmed, proof.now)?;
    // Also where nobody edits any more.
    if let Some(last) = batch.events.last() {
        settle::forget_old(tx, proof.now, last.created_at)?;
    }
    for what in odd {
        say_once(tx, &format!("{what}, which this version does not know."))?;
    }
    let mut to_compare = None;
    if let Some(head) = batch.ready {
        position = position.max(head);
        to_compare = replay::finish(tx, position, batch.cursor.as_deref(), proof.now)?;
    }
    // The latest position must be known before edits are measured against it.
    let before = shown;
    let shown = if tail.is_some() { shown } else { position };
    tx.prepare_cached(
        "UPDATE _sync SET cursor = coalesce(?1, cursor), position = ?2, head = max(coalesce(?3, head, 0), ?7),
             phase = ?4, reason = ?9, backfilled = backfilled OR ?5, offline_since = NULL, next_attempt_at = NULL,
             transport = ?8, last_contact_at = ?6,
             current_at = CASE WHEN ?10 THEN ?6 ELSE current_at END",
    )?
    .execute((
        batch.cursor.as_ref().filter(|_| !hearth_simulated::planted(hearth_simulated::Fault::CursorNotStored)),
        shown,
        batch.ready,
        proof.phase,
        batch.ready.is_some() && tail.is_none(),
        proof.now.to_string(),
        position,
        proof.transport,
        &proof.reason,
        proof.current && to_compare.is_none(),
    ))?;
    if tail.is_some() {
        tx.prepare_cached("UPDATE _reconcile SET tail = ?1")?.execute([position])?;
    }
    if tail == Some(0) {
        lost::leap(tx, shown, position, &brought)?;
    }
    // Nothing is left out after a cursor that is good, once the feed has told something after it. Of a first read the
    // tables alone tell, when it is through.
    let tells_all = tail.map_or(backfilled || batch.ready.is_some(), |tail| tail > 0);
    if editing && !backfilled && tail.is_none() {
        lost::end_deletes(tx, shown)?;
    }
    if tells_all {
        let before = tail.unwrap_or(if backfilled { before } else { shown });
        touched_edits |= lost::notice(tx, before, position, tail.is_none(), &batch.events, &brought, proof.now)?;
    }
    if batch.ready.is_some() && editing && !backfilled && tail.is_none() {
        doubt::doubt_less(tx)?;
        touched_edits = true;
    }
    let settled = settle::settle(tx, shown, proof.now)?;
    // After that, because most of what is confirmed needs no overlay any more.
    for (kind, id) in covered.difference(&settled) {
        image::project(tx, *kind, id)?;
    }
    // In a recovery what is known of a record is judged when it ends.
    for (kind, id) in covered.iter().filter(|_| tail.is_none()) {
        touched_edits |= agreed::look_again(tx, *kind, id, proof.now)?;
    }
    let recovering = match to_compare {
        Some(cause) => recovery::begin_at_the_present(tx, &cause, position)?,
        None => None,
    };
    Ok(Applied { position, touched_edits, found_edits, leapt, recovering })
}

/// Says something in `sync_log`, unless it stands there: a newer server may give cause for it with every event, and what
/// else was said must not be pushed out by it.
fn say_once(tx: &Transaction<'_>, text: &str) -> Result<(), StoreError> {
    let said = "SELECT EXISTS (SELECT 1 FROM sync_log WHERE text = ?1)";
    match tx.prepare_cached(said)?.query_row([text], |row| row.get(0))? {
        true => Ok(()),
        false => log(tx, "warning", text),
    }
}

/// A word of the server as `sync_log` repeats it, however long it is.
fn brief(word: &str) -> String {
    word.chars().take(WORD_CHARS_MAX).collect()
}

/// Whether numbers are left out between a position and the last of the events that follow it.
fn leaps(position: i64, events: &[Event]) -> bool {
    let befores = std::iter::once(position).chain(events.iter().map(|event| event.id));
    befores.zip(events).any(|(before, event)| event.id > before + 1)
}

/// Applies a record's form, if it is newer than what was seen of it, whether it has edits or not.
pub(crate) fn lay(tx: &Transaction<'_>, kind: Kind, id: &str, rev: i64, payload: &Fields) -> Result<(), StoreError> {
    if held::of_record(tx, kind, id)?.is_empty() {
        return put(tx, kind, id, rev, payload, true);
    }
    match cover(tx, kind, id, rev, payload)? {
        true => image::project(tx, kind, id),
        false => Ok(()),
    }
}

/// Writes the row of a record without edits, unless a newer form or its end is known.
/// `elsewhere`: whether any record is known by more than its row.
fn put(
    tx: &Transaction<'_>,
    kind: Kind,
    id: &str,
    rev: i64,
    payload: &Fields,
    elsewhere: bool,
) -> Result<(), StoreError> {
    let stored = rows::StoredRecord::from_payload(kind, rev, payload);
    if hearth_simulated::planted(hearth_simulated::Fault::OlderImageWins) {
        return rows::write_row(tx, kind, id, &stored);
    }
    if elsewhere {
        if seen_elsewhere(tx, kind, id)?.is_some_and(|seen| rev <= seen) {
            return Ok(());
        }
        // A form that was kept for edits to come is older.
        image::forget(tx, kind, id)?;
    }
    rows::upsert_row_if_newer(tx, kind, id, &stored)
}

/// Keeps the form of a record that has edits, which are to be laid over it. False: a newer one is known.
fn cover(tx: &Transaction<'_>, kind: Kind, id: &str, rev: i64, payload: &Fields) -> Result<bool, StoreError> {
    if rev <= seen(tx, kind, id)? {
        return Ok(false);
    }
    image::keep(tx, kind, id, &rows::StoredRecord::from_payload(kind, rev, payload))?;
    Ok(true)
}

fn delete(tx: &Transaction<'_>, kind: Kind, id: &str, rev: i64, waits: bool, now: Timestamp) -> Result<(), StoreError> {
    if rev <= seen(tx, kind, id)? {
        return Ok(());
    }
    tx.prepare_cached(
        "INSERT INTO _tombstones (kind, record_id, rev) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET rev = max(rev, excluded.rev)",
    )?
    .execute((kind.as_str(), id, rev))?;
    if hearth_simulated::planted(hearth_simulated::Fault::TombstonesNotStored) {
        tx.execute("DELETE FROM _tombstones", [])?;
    }
    if !waits {
        return rows::delete_row(tx, kind, id);
    }
    image::end(tx, kind, id, rev)?;
    settle::record_is_gone(tx, kind, id, rev, now)
}

/// The newest rev of a record that was ever applied; -1 for one that was never seen.
pub(crate) fn seen(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<i64, StoreError> {
    Ok(rows::load_rev(tx, kind, id)?.max(seen_elsewhere(tx, kind, id)?).unwrap_or(-1))
}

fn seen_elsewhere(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<Option<i64>, StoreError> {
    Ok(tx
        .prepare_cached(
            "SELECT max(rev) FROM (SELECT rev FROM _base WHERE kind = ?1 AND record_id = ?2
             UNION ALL SELECT rev FROM _tombstones WHERE kind = ?1 AND record_id = ?2)",
        )?
        .query_row((kind.as_str(), id), |row| row.get(0))?)
}
