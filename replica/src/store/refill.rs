//! A refill: the records of this replica go to an empty home of another server (contract 24), and then the replica follows that
//! home. Other replicas of the lost home take the filled home over. Must not send anything.

use hearth_contract::check::{Fields, references};
use hearth_contract::recurrence::{COMPLETED_AT, STATUS};
use hearth_contract::schema::{Kind, SUBJECT_TYPE, is_subject};
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use crate::model::{BlockCause, LogLevel, Phase};
use crate::store::edits::{outbox, settle};
use crate::store::reconcile;
use crate::store::sync_state::{Home, write_home};
use crate::store::{StoreError, base, gate, log, select};

/// The kinds in the order in which they are sent: no record refers to one of a later kind.
pub(crate) const ORDER: [Kind; 5] = [Kind::Room, Kind::Inventory, Kind::Vehicle, Kind::Document, Kind::Task];

/// A refill that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refill {
    /// The address of the other server.
    pub server: String,
    /// The id of the empty home.
    pub home_id: String,
    /// The last record that the server has taken; None before the first.
    pub after: Option<(Kind, String)>,
}

/// The refill that has begun and not ended.
pub(crate) fn load(connection: &Connection) -> Result<Option<Refill>, StoreError> {
    let text = "SELECT refill_server, refill_home_id, refill_kind, refill_after_id FROM _sync";
    let (server, home_id, kind, id): (Option<String>, Option<String>, Option<String>, Option<String>) =
        connection.query_row(text, [], |row| row.try_into())?;
    let after = kind.as_deref().and_then(Kind::parse).zip(id);
    Ok(server.zip(home_id).map(|(server, home_id)| Refill { server, home_id, after }))
}

/// Why nothing is synced during a refill, as a sentence.
pub(crate) fn reason(server: &str) -> String {
    format!("the records of this replica go to an empty home on {server}, and not all are there yet")
}

/// Notes that the refill of a home begins, or goes on. Nothing is synced until it ends. If another home was being filled, the last
/// record sent to it is forgotten.
pub(crate) fn begin(connection: &mut Connection, server: &str, home_id: &str) -> Result<(), StoreError> {
    let text = "UPDATE _sync SET refill_kind = CASE refill_home_id WHEN ?2 THEN refill_kind END,
             refill_after_id = CASE refill_home_id WHEN ?2 THEN refill_after_id END,
             refill_server = ?1, refill_home_id = ?2";
    gate::sync_tx(connection, |tx| {
        tx.execute(text, (server, home_id))?;
        block(tx)?;
        log(tx, LogLevel::Warning, &format!("The records of this replica go to an empty home on {server}."))
    })
}

/// Shows that nothing is synced during a refill, if there is one.
pub(crate) fn block(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let Some(refill) = load(tx)? else { return Ok(()) };
    let text = "UPDATE _sync SET phase = ?1, blocked_by = ?2, reason = ?3";
    tx.execute(text, (Phase::Blocked, BlockCause::Refill, reason(&refill.server)))?;
    Ok(())
}

/// Undoes [`begin`], when the server refuses the refill. `before`: the unfinished refill of another home.
pub(crate) fn undo_begin(connection: &mut Connection, before: Option<Refill>) -> Result<(), StoreError> {
    let Some(Refill { server, home_id, after }) = before else { return give_up(connection) };
    begin(connection, &server, &home_id)?;
    after.map_or(Ok(()), |(kind, id)| note_sent(connection, kind, &id))
}

/// Gives up a refill that has begun and not ended. The replica goes on with its home; nothing of it has changed.
pub(crate) fn give_up(connection: &mut Connection) -> Result<(), StoreError> {
    let text =
        "UPDATE _sync SET refill_server = NULL, refill_home_id = NULL, refill_kind = NULL, refill_after_id = NULL,
             phase = CASE WHEN backfilled THEN 'offline' ELSE 'new' END, blocked_by = NULL, reason = NULL
         WHERE refill_server IS NOT NULL";
    gate::sync_tx(connection, |tx| match tx.execute(text, [])? {
        0 => Ok(()),
        _ => log(tx, LogLevel::Warning, "The refill is given up; this replica goes on with its home."),
    })
}

/// Notes the last record that the server has taken. The commit does not wait for the disk: what is sent again is known there.
pub(crate) fn note_sent(connection: &mut Connection, kind: Kind, id: &str) -> Result<(), StoreError> {
    let text = "UPDATE _sync SET refill_kind = ?1, refill_after_id = ?2";
    gate::execute_without_fsync(connection, text, (kind.as_str(), id))
}

/// The number of records that the lost home had, with its profile.
pub(crate) fn count(connection: &Connection) -> Result<usize, StoreError> {
    let text = "SELECT count(*) FROM _base WHERE kind <> 'property' AND NOT deleted";
    Ok(select::count(connection, text, [])? + usize::from(profile(connection)?.is_some()))
}

/// The ids of the records of a kind that the lost home had, in the order of their creation. Records that only exist here are
/// edits, and are sent as such later.
pub(crate) fn ids(connection: &Connection, kind: Kind) -> Result<Vec<String>, StoreError> {
    let text = "SELECT record_id FROM _base WHERE kind = ?1 AND NOT deleted ORDER BY created_at, record_id";
    select::column(connection, text, [kind.as_str()])
}

/// The profile that the lost home had, without fields that are null.
pub(crate) fn profile(connection: &Connection) -> Result<Option<Fields>, StoreError> {
    let [id] = &ids(connection, Kind::Property)?[..] else { return Ok(None) };
    let found = base::present(connection, Kind::Property, id)?;
    Ok(found.map(|stored| without_nulls(stored.fields)).filter(|fields| !fields.is_empty()))
}

/// A record as the create of a refill has it.
pub(crate) struct SentRecord {
    /// The fields that are not null, the id and `created_at`.
    pub fields: Fields,
    /// True when a reference is left out, because the replica does not have the record that it names.
    pub lacks_reference: bool,
}

/// A record as the create of a refill has it. None: the replica has no such record.
pub(crate) fn record(connection: &Connection, kind: Kind, id: &str) -> Result<Option<SentRecord>, StoreError> {
    let Some(stored) = base::present(connection, kind, id)? else { return Ok(None) };
    let mut fields = without_nulls(stored.fields);
    let mut lacks_reference = false;
    for (field, target, id) in references(kind, &fields) {
        if base::present(connection, target, &id.to_string())?.is_none() {
            lacks_reference = true;
            fields.shift_remove(field.name);
            // A type without an id is refused.
            if is_subject(field.name) {
                fields.shift_remove(SUBJECT_TYPE);
            }
        }
    }
    // The service takes the moment only of a completed task.
    if fields.get(STATUS).and_then(Value::as_str) != Some("done") {
        fields.shift_remove(COMPLETED_AT);
    }
    fields.insert("id".to_owned(), id.into());
    fields.extend(stored.created_at.map(|at| ("created_at".to_owned(), at.into())));
    Ok(Some(SentRecord { fields, lacks_reference }))
}

fn without_nulls(mut fields: Fields) -> Fields {
    fields.retain(|_, value| !value.is_null());
    fields
}

/// Makes a replica of the lost home follow the home that another replica has filled. The filled home may lack edits that the lost
/// home had. So all records are compared, as after a restore to an older copy, and a person decides about each missing edit.
pub(crate) fn take_over(connection: &mut Connection, home: &Home) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        release_requests(tx)?;
        write_home(tx, home)?;
        reconcile::begin_with_unknown_history(tx)?;
        tx.execute_batch(FORGET_SERVER)?;
        log(
            tx,
            LogLevel::Info,
            &format!("This replica now follows the home on {}, which another replica has filled.", home.server),
        )
    })
}

/// Ends the refill: the replica follows the home that was filled. Its feed is read from the beginning over the rows. The new
/// server has seen no edit, so edits that were on their way go again as new requests; those that wait for a person stay.
pub(crate) fn finish(connection: &mut Connection, home: &Home) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        release_requests(tx)?;
        base::forget_revs(tx, 0, false)?;
        settle::unmark_overwritten(tx)?;
        tx.execute_batch(
            "DELETE FROM _reconcile; DELETE FROM _listed;
             UPDATE _sync SET cursor = NULL, position = 0, head = NULL, backfilled = 0",
        )?;
        tx.execute_batch(FORGET_SERVER)?;
        write_home(tx, home)?;
        log(tx, LogLevel::Info, &format!("The home on {} has the records; this replica follows it.", home.server))
    })
}

/// Forgets what is known of the lost server besides its history, and the refill.
const FORGET_SERVER: &str = "UPDATE _sync SET current_at = NULL, verified_at = NULL, phase = 'new', blocked_by = NULL,
     reason = NULL, max_file_bytes = NULL, refill_server = NULL, refill_home_id = NULL, refill_kind = NULL,
     refill_after_id = NULL";

fn release_requests(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let sent = "SELECT id FROM edits WHERE idempotency_key IS NOT NULL OR state = 'sent'";
    select::column(tx, sent, [])?.into_iter().try_for_each(|edit| outbox::forget_request(tx, edit))?;
    Ok(tx.execute_batch(
        "UPDATE edits SET state = 'waiting', reason = NULL, reason_code = NULL, next_attempt_at = NULL
         WHERE state IN ('sending', 'sent');
         -- Positions of the lost home say nothing about the new one.
         UPDATE edit_history SET rev = NULL WHERE rev IS NOT NULL;",
    )?)
}
