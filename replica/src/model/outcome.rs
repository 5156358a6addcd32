//! What a request did to each of its edits. The core decides on an outcome, and the store writes the outcome down. Must not know
//! HTTP or SQL.

use serde_json::Value;

use super::words::ReasonCode;

/// The outcome of a request for one of its edits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WriteOutcome {
    /// The server has accepted the edit, at this position when the response names one.
    Sent { rev: Option<i64> },
    /// The server has a record with all values of the create, at this revision. Others may have changed the record since the
    /// create; the feed shows their changes when the feed has brought the revision.
    Exists { rev: i64 },
    /// The request is sent again. `pause`: after so many milliseconds; None when the time is not known. `code`: why the attempt
    /// failed; None after 401 or 403.
    Later { pause: Option<i64>, code: Option<ReasonCode>, reason: String },
    /// The server refused the key before it looked at the edit. The edit is sent again.
    KeyRefused { reason: String },
    /// 412: the record has changed on the server. The edit is merged again once the feed has brought the change.
    PreconditionFailed,
    /// The server refused the whole request without naming an edit. The edit is sent again in a request of its own.
    SendAlone,
    /// The server refused the edit for good.
    Rejected { reason: String, problem: Value },
    /// A person must decide: the record is deleted on the server (`deleted`), or another record has the id of a create.
    Conflict { reason: String, problem: Value, deleted: bool },
}
