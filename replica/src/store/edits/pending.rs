//! The inputs and results of decisions: an unsettled edit ([`PendingEdit`]), and the result ([`Decided`]). Must not
//! decide.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension};

use crate::model::{EditState, Method};
use crate::store::edits::error::EditError;
use crate::store::edits::names::{quoted, title};
use crate::store::edits::outbox;
use crate::store::{StoreError, rows};

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

/// An unsettled edit, loaded for a decision.
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
    /// True when the request was sent or frozen and no response excludes that the request takes effect.
    pub may_take_effect: bool,
}

pub(crate) fn load(tx: &Connection, edit: i64) -> Result<Option<PendingEdit>, StoreError> {
    let found = tx
        .prepare_cached("SELECT kind, record_id, method, patch, base, state FROM edits WHERE id = ?1")?
        .query_row([edit], |row| {
            let first: (String, String, Method) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((first, row.get::<_, String>(3)?, row.get::<_, String>(4)?, row.get::<_, EditState>(5)?))
        })
        .optional()?;
    let Some(((word, record, method), patch, base, state)) = found else { return Ok(None) };
    let kind =
        Kind::parse(&word).ok_or_else(|| StoreError::InvalidContent(format!("an edit of unknown kind {word}")))?;
    let may_take_effect =
        state == EditState::Sent || outbox::frozen_key(tx, edit)?.is_some() || outbox::was_sent_before(tx, edit)?;
    let (patch, base) = (rows::parse_object(&patch)?, rows::parse_object(&base)?);
    let name = quoted(&title(tx, kind, &record, &[&patch, &base])?);
    Ok(Some(PendingEdit { id: edit, name, kind, record, method, patch, base, state, may_take_effect }))
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
