//! Outputs of the core. Plain values; must not decide anything.

use hearth_contract::schema::Kind;

use super::clock::Millis;
use super::goal::EndReason;
use super::identity::ServerInfo;
use crate::model::{
    BlockCause, FeedBatch, Phase, ReconcileCause, ReconcileQuery, ReconcileResponse, ReconcileStep, Transport,
    WriteOutcome,
};

/// An output of the core. The engine carries actions out in order.
#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    /// Send a request to the server.
    Request(Request),
    /// Save who owns the key and where the feed ends.
    SaveContact(ServerInfo),
    /// Open the stream after the cursor. None: from the first event.
    OpenStream { cursor: Option<String> },
    /// Close the stream, if open.
    CloseStream,
    /// Apply a batch. `phase` and `reason` are saved in the same transaction. `is_current`: the tables show the present
    /// afterwards.
    ApplyBatch { batch: FeedBatch, phase: Phase, reason: Option<String>, transport: Transport, is_current: bool },
    /// Save the time of the last contact. `is_current`: the tables show the present.
    TouchContact { is_current: bool },
    /// Save that streams to the server are held back on the way, or that a stream was not.
    SaveFinding { holds_streams_back: bool },
    /// Find the edits that may be sent.
    PlanEdits,
    /// Send edits in these requests. A repeated request has the same bytes. Several groups form a bulk call.
    SendEdits { requests: Vec<Vec<Vec<i64>>> },
    /// Save the outcome of edits.
    SaveOutcomes { outcomes: Vec<(i64, WriteOutcome)> },
    /// Save the phase for status readers.
    ShowPhase { phase: Phase, blocked_by: Option<BlockCause>, reason: Option<String>, retry_at: Option<Millis> },
    /// Start a reconcile.
    StartReconcile(ReconcileCause),
    /// Save the response to a query of the reconcile, and the next step.
    SaveResponse { query: ReconcileQuery, found: ReconcileResponse, next_step: ReconcileStep },
    /// Save the next step of the reconcile.
    SaveStep(ReconcileStep),
    /// Compare everything from now on, beginning with this step: the server does not list what was deleted.
    CompareEverything { next_step: ReconcileStep },
    /// List records that the server has in a newer version.
    ListMissing { kind: Kind },
    /// Delete records that the server no longer lists, or lists as deleted, unless the mass-delete guard refuses.
    Sweep { kind: Kind, as_of: i64, next_step: ReconcileStep },
    /// Ask a person before the reconcile continues.
    AskPerson(String),
    /// Clear a person's request for a reconcile.
    ClearReconcileRequest { accepted: bool },
    /// Close the reconcile.
    FinishReconcile,
    /// Read the state on disk and send [`super::Event::Started`] again.
    ReloadState,
    /// End the sync.
    Finish(EndReason),
}

/// A request to the server, besides the stream and requests with edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// Fetch the owner of the key.
    Identity,
    /// Fetch the feed head.
    FeedHead,
    /// Poll the feed after the cursor. `is_catching_up`: the poll follows another at once, before the present is reached.
    Poll { cursor: Option<String>, is_catching_up: bool },
    /// Fetch the record of an edit.
    FetchRecord { edit: i64 },
    /// Send a query of the reconcile.
    Reconcile { epoch: u64, query: ReconcileQuery },
    /// Check that the server still knows the cursor.
    CheckCursor { epoch: u64, cursor: Option<String> },
    /// Fetch the scopes of the key.
    CheckScopes { epoch: u64 },
}

impl Request {
    /// Whether an answer is useless after a new contact has begun.
    pub(crate) fn is_of_contact(&self) -> bool {
        matches!(self, Request::Identity | Request::FeedHead | Request::Poll { .. })
    }
}
