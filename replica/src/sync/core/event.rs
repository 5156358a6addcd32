//! Inputs of the core. Plain values; must not decide anything.

use super::identity::{FeedHead, Identity};
use super::outcome::{Failure, Refusal};
use super::{push, reconcile};
use crate::model::{BlockCause, FeedBatch, Reconcile};

/// An input of the core.
#[derive(Debug)]
pub(crate) enum Event {
    /// The sync starts from the state on disk. `is_filled`: the first backfill is complete. `holds_streams_back`: polls have
    /// proven before that streams to this server are held back on the way.
    Started {
        cursor: Option<String>,
        is_filled: bool,
        home_id: Option<String>,
        holds_streams_back: bool,
        reconcile: Option<Reconcile>,
        is_paused: bool,
    },
    /// A person's requests were read from the database. `reconcile`: compare with the server; true accepts all deletions.
    /// `retry_now`: do not wait for the replica's own retry pauses.
    ControlChanged { is_paused: bool, reconcile: Option<bool>, retry_now: bool },
    /// `GET /v1/me` has an answer.
    IdentityReceived(Result<Identity, Failure>),
    /// The request for the feed head has an answer.
    FeedHeadReceived(Result<FeedHead, Failure>),
    /// The server has accepted the cursor of the stream.
    StreamOpened,
    /// Bytes arrived on the stream, perhaps only a comment.
    StreamActive,
    /// Events arrived on the stream.
    StreamBatch(FeedBatch),
    /// The stream has ended or could not be opened.
    StreamEnded { reason: String },
    /// The server has refused the stream.
    StreamRefused(Refusal),
    /// A poll of the feed has an answer.
    Polled(Result<FeedBatch, Failure>),
    /// A batch is applied up to `position`. `has_id_gap`: ids are missing in the batch, so the server was restored.
    /// `affects_edits`: unsent edits must be planned again. `confirms_edits`: events have confirmed edits.
    BatchApplied { cursor: Option<String>, position: i64, has_id_gap: bool, affects_edits: bool, confirms_edits: bool },
    /// The disk has refused a write; the transaction is rolled back.
    WriteFailed { reason: String, cause: BlockCause },
    /// For the push.
    Push(push::Input),
    /// For the reconcile.
    Reconcile(reconcile::Input),
    /// Requests carry another key from now on.
    KeyChanged,
    /// The time of [`super::Core::wake_at`] has come.
    Timer,
    /// A person or the system stops the sync.
    StopRequested,
}
