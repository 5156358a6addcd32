//! Plain types that every layer of the replica shares. Must not know SQL, HTTP or any other module of the crate.

mod edit;
mod feed;
mod outcome;
mod reconcile;
mod words;

pub use edit::{Conflict, ConflictPolicy, Edit, Settled};
pub(crate) use edit::{FILE_SHA256, Precondition, ReadyEdits, is_file_missing, refuses_only};
pub use feed::{BatchEnd, FeedBatch};
pub(crate) use outcome::WriteOutcome;
pub(crate) use reconcile::{
    ListedId, PAGE_RECORDS, Reconcile, ReconcileCause, ReconcileQuery, ReconcileResponse, ReconcileScope,
    ReconcileStep, SweepOutcome,
};
pub(crate) use words::words;
pub use words::{
    BlockCause, CapturePurpose, CaptureState, EditOutcome, EditProgress, EditState, FileState, LogLevel, Method,
    Origin, Phase, ReasonCode, Transport,
};
