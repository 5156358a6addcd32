//! Why an edit does not go on: the fixed word for programs (`edits.reason_code`) and the sentence for people
//! (`edits.reason`). Every statement that changes one of them changes both. Writes the values of an edit that waits for a person in the
//! server's form. Must not decide the state of an edit.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};

use crate::model::{EditState, ReasonCode};
use crate::store::edits::pending;
use crate::store::merge::normalized;
use crate::store::{StoreError, base};

/// Why an edit does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason<'a> {
    /// These fields were changed here and on the server.
    ChangedOnBothSides(Vec<&'static str>),
    /// The record of a delete was changed on the server.
    ChangedThere,
    /// The record of an update was deleted on the server.
    DeletedThere,
    /// The server has another record with the id of a create.
    ExistsThere,
    /// The server has a record of this kind with the id of a create.
    ExistsAsOtherKind(Kind),
    /// The request may have been applied, and the record may have been changed since.
    MaybeApplied,
    /// The server threw away the history that contained the edit.
    LostWithHistory,
    /// The server threw away the history that contained the record of the edit.
    RecordLost,
    /// The server had accepted the edit and no longer shows its effect.
    NoLongerThere,
    /// The edit depends on the edit of this number, which needs a person.
    DependsOn(i64),
    /// A sentence of the sync. Nothing is wrong with the edit.
    Told(&'a str),
}

impl Reason<'_> {
    /// The word of `edits.reason_code`.
    pub(crate) const fn code(&self) -> Option<ReasonCode> {
        match self {
            Reason::ChangedOnBothSides(_) => Some(ReasonCode::ChangedOnBothSides),
            Reason::ChangedThere => Some(ReasonCode::ChangedThere),
            Reason::DeletedThere => Some(ReasonCode::DeletedThere),
            Reason::ExistsThere | Reason::ExistsAsOtherKind(_) => Some(ReasonCode::ExistsThere),
            Reason::MaybeApplied => Some(ReasonCode::MaybeApplied),
            Reason::LostWithHistory | Reason::RecordLost | Reason::NoLongerThere => Some(ReasonCode::LostByServer),
            Reason::DependsOn(_) => Some(ReasonCode::DependsOnAnother),
            Reason::Told(_) => None,
        }
    }

    /// The same reason for an update whose record is not on the server.
    pub(crate) fn of_missing_record(&self) -> Self {
        match self {
            Reason::LostWithHistory => Reason::RecordLost,
            Reason::NoLongerThere => Reason::DeletedThere,
            other => other.clone(),
        }
    }

    /// The sentence of `edits.reason`.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Reason::ChangedOnBothSides(fields) => format!("{} changed on the server too", fields.join(", ")),
            Reason::ChangedThere => "changed on the server since you deleted it".to_owned(),
            Reason::DeletedThere => "deleted on the server".to_owned(),
            Reason::ExistsThere => "the server already has a record with this id".to_owned(),
            Reason::ExistsAsOtherKind(kind) => format!("its id belongs to another kind, {kind}"),
            Reason::MaybeApplied => {
                "it may have been on the server already and been changed there since, while this replica was away; \
                 retry or resolve sends it again, discard lets it go"
                    .to_owned()
            }
            Reason::LostWithHistory => {
                "the server was put back to an older copy and lost this change; retry or resolve sends it again, discard \
                 lets it go"
                    .to_owned()
            }
            Reason::RecordLost => {
                "the server was put back to an older copy, which lacks this record; retry or resolve makes it there again, discard \
                 lets the change go"
                    .to_owned()
            }
            Reason::NoLongerThere => {
                "the server had accepted this change and no longer holds it: it was overwritten or deleted on the \
                 server since, or lost when the server was put back; retry or resolve sends it again, discard lets it go"
                    .to_owned()
            }
            Reason::DependsOn(edit) => format!("waits for edit {edit}, which needs you"),
            Reason::Told(sentence) => (*sentence).to_owned(),
        }
    }
}

/// Writes the state of an edit with its reason. None clears the code and the sentence. No further attempt is scheduled. The
/// server's error object stays only with a conflict.
pub(super) fn set_state(
    tx: &Connection,
    edit: i64,
    state: EditState,
    reason: Option<Reason<'_>>,
) -> Result<(), StoreError> {
    let (code, sentence) = (reason.as_ref().and_then(Reason::code), reason.as_ref().map(Reason::sentence));
    let text = "UPDATE edits SET state = ?2, reason_code = ?3, reason = ?4, next_attempt_at = NULL,
                    problem = CASE ?2 WHEN 'conflict' THEN problem END WHERE id = ?1";
    tx.prepare_cached(text)?.execute((edit, state, code, sentence))?;
    Ok(())
}

/// Lets an edit wait for a person, with its values in the server's form.
pub(crate) fn need_person(tx: &Transaction<'_>, edit: i64, reason: Reason<'_>) -> Result<(), StoreError> {
    set_state(tx, edit, EditState::Conflict, Some(reason))?;
    normalize_edit(tx, edit)
}

/// Writes the values of an edit in the server's form: plain SQL can then compare base, mine and theirs.
pub(crate) fn normalize_edit(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    let Some(mut found) = pending::load(tx, edit)? else { return Ok(()) };
    let before = (found.patch.clone(), found.base.clone());
    for (name, value) in found.patch.iter_mut().chain(&mut found.base) {
        *value = normalized(found.kind, name, Some(value));
    }
    if (&found.patch, &found.base) == (&before.0, &before.1) {
        return Ok(());
    }
    pending::save(tx, &found)?;
    // The row shows the values of the edit.
    base::rebase(tx, found.kind, &found.record)
}
