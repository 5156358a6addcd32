//! Applies batches of the feed: the one way in which events become rows. Must not know how events arrive.
//!
//! An event that is applied twice, late or out of order changes nothing: the higher revision wins, and a deleted id stays
//! deleted. Rows, settled edits and the position change in one transaction.

use std::collections::{BTreeSet, HashSet};

use hearth_contract::event::{Event, EventType};
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Row, Transaction};

use crate::model::{EditOutcome, FeedBatch, LogLevel, Method, Phase, Reconcile, Transport};
use crate::store::edits::{acked, missed_events, next_tasks, recheck, settle};
use crate::store::reconcile::{self, lost};
use crate::store::sync_log::brief;
use crate::store::{StoreError, base, gate, log, mirror, rows};

/// Values of `_sync` that are true once the batch is applied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Proof {
    /// The phase.
    pub phase: Phase,
    /// The reason of the phase as one sentence for people.
    pub reason: Option<String>,
    /// How the batch arrived.
    pub transport: Transport,
    /// True when the rows then show the present state of the server.
    pub is_current: bool,
    /// The time of the local clock.
    pub now: Timestamp,
}

/// The result of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Applied {
    /// The last event that is applied. In a reconcile, the rows are behind this position.
    pub position: i64,
    /// True when events concern edits that are not sent: the edits must be planned again.
    pub affects_edits: bool,
    /// True when an event confirmed an edit without a response: edits that waited for it may be sent.
    pub confirms_edits: bool,
    /// True when a complete feed skipped positions. Only a restored server skips positions (contract 9.3), and its
    /// earlier responses belong to a discarded history.
    pub has_id_gap: bool,
    /// The reconcile that the end of a backfill has begun.
    pub reconcile: Option<Reconcile>,
}

/// Where the feed goes on, as stored: the position of the rows, and in a reconcile the last applied event of the tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    position: i64,
    tail: Option<i64>,
}

/// Reads the checkpoint. Only the process that syncs changes it.
pub(crate) fn checkpoint(connection: &Connection) -> Result<Checkpoint, StoreError> {
    let text = "SELECT position, (SELECT tail_position FROM _reconcile) FROM _sync";
    let read = |row: &Row<'_>| Ok(Checkpoint { position: row.get(0)?, tail: row.get(1)? });
    Ok(connection.prepare_cached(text)?.query_row([], read)?)
}

/// Applies a batch in one transaction. `after`: the checkpoint that the batch follows. Error `ContentReplaced`: the database has
/// another one, because another program has put an older copy there; events between both would be missing.
pub(crate) fn apply(
    connection: &mut Connection,
    batch: &FeedBatch,
    after: Option<Checkpoint>,
    proof: &Proof,
) -> Result<Applied, StoreError> {
    if hearth_simulated::planted(hearth_simulated::PlantedFault::PositionBeforeRows) {
        let last = batch.events.last().map(|event| event.id);
        let text = "UPDATE _sync SET cursor = coalesce(?1, cursor), position = max(position, coalesce(?2, 0))";
        gate::sync_tx_without_fsync(connection, |tx| Ok(tx.execute(text, (&batch.cursor, last))?))?;
    }
    // The server can send events again, so the commit does not wait for the disk.
    gate::sync_tx_without_fsync(connection, |tx| match after {
        Some(after) if checkpoint(tx)? != after => Err(StoreError::ContentReplaced),
        _ => apply_in(tx, batch, proof),
    })
}

/// How far the feed is applied before a batch.
struct Start {
    /// The last event that the rows reflect (`_sync.position`).
    position: i64,
    /// True once a backfill has reached the head.
    backfilled: bool,
    reconciling: bool,
    /// In a reconcile: the last event that is applied. None before the first event after the cursor to resume from.
    tail: Option<i64>,
}

impl Start {
    fn read(tx: &Transaction<'_>) -> Result<Start, StoreError> {
        let text =
            "SELECT position, backfilled, EXISTS (SELECT 1 FROM _reconcile), (SELECT tail_position FROM _reconcile)
                    FROM _sync";
        Ok(tx.prepare_cached(text)?.query_row([], |row| {
            Ok(Start { position: row.get(0)?, backfilled: row.get(1)?, reconciling: row.get(2)?, tail: row.get(3)? })
        })?)
    }

    /// The last event that is applied, to rows or in a reconcile.
    fn applied(&self) -> i64 {
        if self.reconciling { self.tail.unwrap_or(0) } else { self.position }
    }

    /// True when the batch continues a feed whose last position is known.
    fn continues_feed(&self) -> bool {
        if self.reconciling { self.tail.is_some() } else { self.backfilled }
    }

    /// True while the first events of a reconcile are still to come.
    fn awaits_tail(&self) -> bool {
        self.reconciling && self.tail.is_none()
    }
}

/// One batch while it is applied.
struct Run<'a> {
    tx: &'a Transaction<'a>,
    start: Start,
    now: Timestamp,
    /// True when there are edits.
    editing: bool,
    result: Applied,
    /// Edits that their own event confirms, with its position.
    confirmed: Vec<acked::Acked>,
    /// Records with edits whose base image is newer now.
    covered: BTreeSet<(Kind, String)>,
    /// Edits whose own event was seen, in this batch or before.
    seen_edits: HashSet<i64>,
    /// Sentences for `sync_log` about events that this version does not know.
    unknown: BTreeSet<String>,
}

fn apply_in(tx: &Transaction<'_>, batch: &FeedBatch, proof: &Proof) -> Result<Applied, StoreError> {
    let start = Start::read(tx)?;
    let skipped = start.continues_feed() && skips_positions(start.applied(), &batch.events);
    let mut run = Run::begin(tx, start, proof.now)?;
    run.result.has_id_gap = skipped;
    for event in &batch.events {
        run.apply(event)?;
    }
    run.finish(batch, proof)
}

impl<'a> Run<'a> {
    fn begin(tx: &'a Transaction<'a>, start: Start, now: Timestamp) -> Result<Run<'a>, StoreError> {
        let editing = tx.prepare_cached("SELECT EXISTS (SELECT 1 FROM edits)")?.query_row([], |row| row.get(0))?;
        if editing && !start.backfilled {
            // A backfill shows only the newest event of a record (contract 9.2).
            missed_events::mark_events_missed(tx)?;
        }
        let mut seen_edits = HashSet::new();
        if start.awaits_tail() {
            seen_edits.extend(acked::acked_and_seen(tx)?);
        }
        let result = Applied { position: start.applied(), ..Applied::default() };
        Ok(Run {
            tx,
            start,
            now,
            editing,
            result,
            confirmed: Vec::new(),
            covered: BTreeSet::new(),
            seen_edits,
            unknown: BTreeSet::new(),
        })
    }

    fn apply(&mut self, event: &Event) -> Result<(), StoreError> {
        let kind = Kind::parse(&event.resource_type);
        let known = EventType::parse(&event.event_type);
        if known.is_none() && kind.is_some() && event.payload.is_some() {
            let word = brief(&event.event_type);
            self.unknown.insert(format!("Taken for a change: {word} of {}", event.resource_type));
        }
        // A payload is the record after the event, also for an unknown event type.
        let event_type = known.or(event.payload.as_ref().map(|_| EventType::Updated));
        match (kind, event_type) {
            (Some(kind), Some(event_type)) => self.apply_known(event, kind, event_type)?,
            // A newer server may have kinds and event types that this version has no table for.
            (Some(kind), None) => {
                self.unknown.insert(format!("Skipped: {} of {kind}", brief(&event.event_type)));
            }
            (None, _) => {
                self.unknown.insert(format!("Skipped: records of the kind {}", brief(&event.resource_type)));
            }
        }
        self.result.position = self.result.position.max(event.id);
        Ok(())
    }

    fn apply_known(&mut self, event: &Event, kind: Kind, event_type: EventType) -> Result<(), StoreError> {
        let (tx, id) = (self.tx, event.resource_id.to_string());
        let mut own = if self.editing { acked::edits_of_record(tx, kind, &id)? } else { Vec::new() };
        // Edits confirmed by this batch move to the history at its end.
        own.retain(|edit| self.confirmed.iter().all(|(confirmed, _)| *confirmed != edit.edit));
        if self.confirms_only_edit(event, kind, &id, &own)? {
            return Ok(());
        }
        let has_edits = !own.is_empty();
        if has_edits {
            let matched = acked::match_own_event(tx, event, &own)?;
            self.result.affects_edits |= matched.is_some_and(|(_, is_news)| is_news);
            self.seen_edits.extend(matched.filter(|_| event_type != EventType::Deleted).map(|(edit, _)| edit));
        }
        self.result.affects_edits |= own.iter().any(|edit| !edit.is_sent);
        match (event_type, &event.payload) {
            (EventType::Deleted, _) => {
                mirror::delete(tx, kind, &id, event.id, has_edits, self.now)?;
            }
            // The row changes after the last event of the batch, once.
            (_, Some(payload)) if has_edits => {
                let stored = rows::StoredRecord::from_payload(kind, event.id, payload);
                if base::save_if_newer(tx, kind, &id, &stored)? {
                    self.covered.insert((kind, id));
                }
            }
            (_, Some(payload)) => mirror::put_without_edits(tx, kind, &id, event.id, payload)?,
            (_, None) => {
                self.unknown.insert(format!("Skipped: {} event without a record", event.event_type));
            }
        }
        Ok(())
    }

    /// The usual end of an edit: the event carries the key of the record's only edit, so the record is the edit's result.
    /// Writes the row and confirms the edit. False: the usual way does not apply, and nothing is done.
    fn confirms_only_edit(
        &mut self,
        event: &Event,
        kind: Kind,
        id: &str,
        own: &[acked::RecordEdit],
    ) -> Result<bool, StoreError> {
        let ([only], Some(payload)) = (own, &event.payload) else { return Ok(false) };
        // In a reconcile or a backfill, the rows are not at the position of the feed.
        if self.start.reconciling || !self.start.backfilled || only.method == Method::Delete || !only.is_named_by(event)
        {
            return Ok(false);
        }
        let stored = rows::StoredRecord::from_payload(kind, event.id, payload);
        if !base::save_if_newer(self.tx, kind, id, &stored)? {
            return Ok(false);
        }
        rows::write_row(self.tx, kind, id, &stored)?;
        self.result.confirms_edits |= only.rev != Some(event.id);
        self.confirmed.push((only.edit, Some(event.id)));
        Ok(true)
    }

    /// The consequences of the whole batch: ended edits, the position, lost edits and the overlay of changed records.
    fn finish(mut self, batch: &FeedBatch, proof: &Proof) -> Result<Applied, StoreError> {
        let tx = self.tx;
        settle::finish(tx, &self.confirmed, EditOutcome::Confirmed, None, self.now)?;
        if let Some(last) = batch.events.last() {
            settle::forget_old(tx, self.now, last.created_at)?;
        }
        for text in &self.unknown {
            log_once(tx, &format!("{text}, which this version does not know."))?;
        }
        let mut compare = None;
        if batch.is_at_present() {
            self.result.position = self.result.position.max(batch.head().unwrap_or(0));
            compare = reconcile::cause_to_reconcile(tx, self.result.position, batch.cursor.as_deref())?;
        }
        // Edits are measured against the new position.
        let shown = if self.start.reconciling { self.start.position } else { self.result.position };
        self.write_position(batch, proof, shown, compare.is_none())?;
        // Before accepted edits are compared: the reconcile reads their records again, and compares them at its end.
        if let Some(cause) = compare {
            self.result.reconcile = reconcile::begin_at_the_present(tx, &cause, self.result.position)?;
        }
        self.notice_lost(batch, shown)?;
        let settled = settle::settle(tx, shown, self.now)?;
        // A heartbeat comes when there is no event to send.
        let at_present = (batch.is_at_present() || batch.events.is_empty()) && !self.start.reconciling;
        next_tasks::end::settle_shown(tx, at_present, self.now)?;
        // Most settled edits leave a record without edits, whose row is right already.
        for (kind, id) in self.covered.difference(&settled) {
            base::rebase(tx, *kind, id)?;
        }
        // A reconcile compares all edits at its end.
        for (kind, id) in self.covered.iter().filter(|_| !self.start.reconciling) {
            self.result.affects_edits |= recheck::recheck_record(tx, *kind, id, self.now)?;
        }
        Ok(self.result)
    }

    fn write_position(&self, batch: &FeedBatch, proof: &Proof, shown: i64, is_current: bool) -> Result<(), StoreError> {
        // An unknown head leaves the head at the position.
        let head = batch.is_at_present().then(|| batch.head().unwrap_or(0));
        self.tx
            .prepare_cached(
                "UPDATE _sync SET cursor = coalesce(?1, cursor), position = ?2, head = max(coalesce(?3, head, 0), ?7),
                     phase = ?4, reason = ?9, backfilled = backfilled OR ?5, offline_since = NULL, next_attempt_at = NULL,
                     transport = ?8, last_contact_at = ?6,
                     current_at = CASE WHEN ?10 THEN ?6 ELSE current_at END",
            )?
            .execute((
                batch.cursor.as_ref().filter(|_| !hearth_simulated::planted(hearth_simulated::PlantedFault::CursorNotStored)),
                shown,
                head,
                proof.phase,
                batch.is_at_present() && !self.start.reconciling && is_current,
                proof.now.to_string(),
                self.result.position,
                proof.transport,
                &proof.reason,
                proof.is_current && is_current,
            ))?;
        if self.start.reconciling {
            self.tx
                .prepare_cached("UPDATE _reconcile SET tail_position = nullif(?1, 0)")?
                .execute([self.result.position])?;
        }
        Ok(())
    }

    /// Finds accepted edits that the server has lost, now that the feed has passed their positions.
    fn notice_lost(&mut self, batch: &FeedBatch, shown: i64) -> Result<(), StoreError> {
        let (tx, start) = (self.tx, &self.start);
        if start.awaits_tail() {
            lost::forget_skipped(tx, shown, self.result.position, &self.seen_edits)?;
        }
        let is_backfill = !start.backfilled && !start.reconciling;
        if self.editing && is_backfill {
            acked::note_accepted_deletes(tx, shown)?;
        }
        // The feed leaves nothing out after a good cursor. A backfill shows all records only at its end.
        let (shows_all, before) = match start.reconciling {
            true => (start.tail.is_some(), start.applied()),
            false => (start.backfilled || batch.is_at_present(), if start.backfilled { start.position } else { shown }),
        };
        if shows_all {
            let passed = lost::Passed { before, position: self.result.position, whole: !start.reconciling };
            self.result.affects_edits |= lost::notice(tx, &passed, &batch.events, &self.seen_edits, self.now)?;
        }
        if batch.is_at_present() && self.editing {
            self.result.affects_edits |= missed_events::stop_waiting_for_new_version(tx)?;
        }
        if batch.is_at_present() && self.editing && is_backfill {
            missed_events::clear_disproved_marks(tx)?;
            self.result.affects_edits = true;
        }
        Ok(())
    }
}

/// Writes a line to `sync_log`, unless the same line is there: a newer server may cause the line with every event, and
/// it must not displace other lines.
fn log_once(tx: &Transaction<'_>, text: &str) -> Result<(), StoreError> {
    let is_logged = "SELECT EXISTS (SELECT 1 FROM sync_log WHERE text = ?1)";
    match tx.prepare_cached(is_logged)?.query_row([text], |row| row.get(0))? {
        true => Ok(()),
        false => log(tx, LogLevel::Warning, text),
    }
}

/// True when positions are missing between a position and the last of the events after it.
fn skips_positions(position: i64, events: &[Event]) -> bool {
    let befores = std::iter::once(position).chain(events.iter().map(|event| event.id));
    befores.zip(events).any(|(before, event)| event.id > before + 1)
}
