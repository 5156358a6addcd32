//! An unsettled edit as one value ([`PendingEdit`]), loaded and written, and the result of a decision about it ([`Decided`]).
//! Must not decide.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Row};

use crate::model::{EditState, Method, ReasonCode};
use crate::store::edits::error::EditError;
use crate::store::edits::names::{quoted, title};
use crate::store::{StoreError, rows, select};

/// The result of a decision about an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The result as one sentence for people.
    pub sentence: String,
    /// The end of the sentence: the command that reverses the decision. None when no command reverses the decision.
    pub otherwise: Option<String>,
    /// The number of the edit that carries out the decision; None when no edit was needed.
    pub edit: Option<i64>,
}

impl Decided {
    /// The sentence with its end, for the command line.
    pub fn in_full(&self) -> String {
        match &self.otherwise {
            Some(otherwise) => format!("{}; {otherwise}", self.sentence),
            None => self.sentence.clone(),
        }
    }
}

/// An unsettled edit.
pub(crate) struct PendingEdit {
    pub id: i64,
    /// The title of the record in quotes, for sentences.
    pub name: String,
    pub kind: Kind,
    pub record: String,
    pub method: Method,
    pub patch: Fields,
    pub base: Fields,
    pub state: EditState,
    pub reason_code: Option<ReasonCode>,
    /// True when an attempt was made.
    pub is_attempted: bool,
    /// True when the server gave an error object for the edit.
    pub has_problem: bool,
    /// True when the edit has a frozen request, which may still be sent again.
    pub has_frozen_request: bool,
    /// True when a request of the edit was given up, usually because the record had changed (412).
    pub request_given_up: bool,
    /// True when an attempt of the given-up request may have been applied, and the feed cannot tell.
    pub maybe_applied: bool,
    /// True when the request was sent or frozen and no response excludes that the request takes effect.
    pub may_take_effect: bool,
}

impl PendingEdit {
    /// True when a restored server lost the edit or its record.
    pub(super) fn is_lost(&self) -> bool {
        self.reason_code == Some(ReasonCode::LostByServer)
    }
}

/// Loads an unsettled edit; None when it has ended.
pub(crate) fn load(tx: &Connection, edit: i64) -> Result<Option<PendingEdit>, StoreError> {
    let text = "SELECT e.kind, e.record_id, e.method, e.patch, e.base, e.state, e.reason_code, e.attempts > 0,
             e.problem IS NOT NULL, e.idempotency_key IS NOT NULL AND NOT coalesce(f.given_up, 0),
             coalesce(f.given_up, 0), coalesce(f.given_up AND f.maybe_applied, 0), coalesce(r.unacked_attempts > 1, 0)
         FROM edits e LEFT JOIN _outbox f ON f.edit_id = e.id
             LEFT JOIN _requests r ON r.idempotency_key = e.idempotency_key WHERE e.id = ?1";
    Ok(select::all(tx, text, [edit], |row| read(tx, edit, row))?.pop())
}

fn read(tx: &Connection, id: i64, row: &Row<'_>) -> Result<PendingEdit, StoreError> {
    let (kind, record): (Kind, String) = (rows::kind(row, 0)?, row.get(1)?);
    let (patch, base) = (rows::object(row, 3)?, rows::object(row, 4)?);
    let (state, has_frozen_request, was_sent_before) = (row.get(5)?, row.get(9)?, row.get(12)?);
    let may_take_effect = match state {
        EditState::Sent => true,
        EditState::Waiting | EditState::Sending | EditState::Blocked => has_frozen_request || was_sent_before,
        EditState::Rejected | EditState::Conflict => false,
    };
    Ok(PendingEdit {
        id,
        name: quoted(&title(tx, kind, &record, &[&patch, &base])?),
        kind,
        record,
        method: row.get(2)?,
        patch,
        base,
        state,
        reason_code: row.get(6)?,
        is_attempted: row.get(7)?,
        has_problem: row.get(8)?,
        has_frozen_request,
        request_given_up: row.get(10)?,
        maybe_applied: row.get(11)?,
        may_take_effect,
    })
}

/// Loads an edit that is to be sent. None when the edit has ended, was accepted, or waits for a person.
pub(super) fn load_to_send(tx: &Connection, edit: i64) -> Result<Option<PendingEdit>, StoreError> {
    let is_to_send = |found: &PendingEdit| matches!(found.state, EditState::Waiting | EditState::Sending);
    Ok(load(tx, edit)?.filter(is_to_send))
}

/// Writes the method and the values of an edit.
pub(super) fn save(tx: &Connection, found: &PendingEdit) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE edits SET method = ?2, patch = ?3, base = ?4 WHERE id = ?1")?.execute((
        found.id,
        found.method,
        rows::json_text(&found.patch),
        rows::json_text(&found.base),
    ))?;
    Ok(())
}

/// The title of an edit's record in quotes. Empty when the edit has ended.
pub(super) fn name_of(tx: &Connection, edit: i64) -> Result<String, StoreError> {
    Ok(load(tx, edit)?.map(|found| found.name).unwrap_or_default())
}

pub(super) fn require(tx: &Connection, edit: i64) -> Result<PendingEdit, EditError> {
    match load(tx, edit)? {
        Some(pending) => Ok(pending),
        None => Err(refused(format!("there is no edit {edit} that waits; `edits --history` shows what was settled"))),
    }
}

pub(super) fn refused(sentence: impl Into<String>) -> EditError {
    EditError::Refused(sentence.into())
}

pub(super) fn decided(sentence: impl Into<String>) -> Decided {
    Decided { sentence: sentence.into(), otherwise: None, edit: None }
}
