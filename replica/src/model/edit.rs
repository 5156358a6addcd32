//! An edit as people and programs see it: waiting, settled, or in conflict. Must not know how edits are stored or sent.

use hearth_contract::check::Fields;
use hearth_contract::problem::FaultCode;
use hearth_contract::schema::Kind;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::words::{EditOutcome, EditState, Method, Origin, ReasonCode};

/// A local change that the server has not confirmed: one row of `edits`. Commands print the members in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Edit {
    /// The number of the edit. Later edits have higher numbers.
    pub id: i64,
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record, a UUID in lower case.
    pub record_id: String,
    /// The record's title; the kind's word when no title is known.
    pub title: String,
    /// What the edit does to the record.
    pub method: Method,
    /// The changed fields and their new values.
    pub patch: Fields,
    /// The values of the same fields before the edit.
    pub base: Fields,
    /// How far the edit is.
    pub state: EditState,
    /// Why the edit does not go on, as one sentence for people.
    pub reason: Option<String>,
    /// The same reason as a fixed word, for programs. None while nothing delays the edit, or while it waits for the feed or a key.
    pub reason_code: Option<ReasonCode>,
    /// How often the edit was sent.
    pub attempts: i64,
    /// When the next attempt is due (RFC 3339, UTC, milliseconds). None when none is scheduled.
    pub next_attempt_at: Option<String>,
    /// The server's error object, when the server refused the edit.
    pub problem: Option<Value>,
    /// Who made the edit.
    pub origin: Origin,
    /// When the edit was made (RFC 3339, UTC, milliseconds).
    pub created_at: String,
}

impl Edit {
    /// True when the server said that it does not have the file of the document: the bytes must be attached again.
    pub fn lacks_file(&self) -> bool {
        self.reason_code == Some(ReasonCode::MissingReference) && self.problem.as_ref().is_some_and(is_file_missing)
    }
}

/// A local change that has ended: one row of `edit_history`. Commands print the members in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settled {
    /// The number that the edit had in `edits`.
    pub id: i64,
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record, a UUID in lower case.
    pub record_id: String,
    /// The record's title; the kind's word when no title is known.
    pub title: String,
    /// What the edit did to the record.
    pub method: Method,
    /// The changed fields and their values. Of a superseded entry: the values that lost.
    pub patch: Fields,
    /// The values before. Of a superseded entry: the values that won, where they are known.
    pub base: Fields,
    /// How the edit ended.
    pub outcome: EditOutcome,
    /// The position at which the server has the edit; None when the server never had the edit, or the position is unknown.
    pub rev: Option<i64>,
    /// More about the outcome, as one sentence for people.
    #[serde(flatten, serialize_with = "reason_without_code")]
    pub reason: Option<String>,
    /// Who made the edit.
    pub origin: Origin,
    /// When the edit was made (RFC 3339, UTC, milliseconds).
    pub created_at: String,
    /// When the edit ended (RFC 3339, UTC, milliseconds).
    pub settled_at: String,
}

/// Serializes the reason with a null `reason_code`: nothing delays a settled edit, and programs find the members of [`Edit`].
fn reason_without_code<S: Serializer>(reason: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    json!({ "reason": reason, "reason_code": null }).serialize(serializer)
}

impl Settled {
    /// True when the server has the edit. False when the edit was taken back, given up, or lost.
    pub(crate) fn is_on_server(&self) -> bool {
        matches!(self.outcome, EditOutcome::Confirmed | EditOutcome::Merged)
    }
}

/// A field that was changed both here and on the server: one row of `conflicts`. Commands print the members in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conflict {
    /// The edit that waits for a decision.
    pub edit_id: i64,
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record, a UUID in lower case.
    pub record_id: String,
    /// The record's title; the kind's word when no title is known.
    pub title: String,
    /// The name of the field.
    pub field: String,
    /// The value before both changes.
    pub base: Value,
    /// The value of the edit; null for a delete.
    pub mine: Value,
    /// The server's value; null when the record is deleted on the server.
    pub theirs: Value,
    /// When the server's record last changed (RFC 3339, UTC, milliseconds). None when the record is deleted on the server.
    pub theirs_at: Option<String>,
    /// The name of the person or the key that changed the server's record last. None when the record is deleted on the
    /// server, or the name is unknown.
    pub theirs_by: Option<String>,
}

/// The resolution of a field that was changed on this device and on the server. An edit of a record that was deleted
/// on the server, and a delete of a record that was changed on the server, always wait for a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictPolicy {
    /// The edit waits for a person.
    #[default]
    Ask,
    /// The local value wins.
    Mine,
    /// The server's value wins.
    Theirs,
}

/// The record on the server: the condition under which the server applies a request (RFC 9110, If-Match), or what the server is
/// known to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precondition {
    /// No condition; or a record at an unknown revision.
    None,
    /// The record does not exist.
    Absent,
    /// The record stands at this revision.
    Rev(i64),
}

impl Precondition {
    /// The precondition of the columns `_outbox.if_match` and `_outbox.if_absent`.
    pub(crate) const fn from_columns(if_match: Option<i64>, if_absent: bool) -> Precondition {
        match if_match {
            Some(rev) => Precondition::Rev(rev),
            None if if_absent => Precondition::Absent,
            None => Precondition::None,
        }
    }
}

/// Edits that may be sent now, in one request or as one operation of a bulk request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadyEdits {
    /// The edits of a frozen request, or an edit with the later edits of its record that are coalesced with the edit.
    pub edits: Vec<i64>,
    /// The kind of their records.
    pub kind: Kind,
    /// True when the request is frozen: an attempt may have been made before, and a new attempt sends the same bytes.
    pub is_frozen: bool,
    /// The approximate size of the request body in bytes.
    pub bytes: usize,
}

/// The field of a document that names its file.
pub(crate) const FILE_SHA256: &str = "file_sha256";

/// True when the file is all that the server misses. `problem`: its error object.
pub(crate) fn is_file_missing(problem: &Value) -> bool {
    refuses_only(problem, |fault| fault["field"] == FILE_SHA256 && fault["code"] == FaultCode::NotFound.as_str())
}

/// True when the server refuses fields, and each for a reason like this. `problem`: its error object.
pub(crate) fn refuses_only(problem: &Value, is_like_this: impl Fn(&Value) -> bool) -> bool {
    let faults = problem.pointer("/details/fields").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    !faults.is_empty() && faults.iter().all(is_like_this)
}
