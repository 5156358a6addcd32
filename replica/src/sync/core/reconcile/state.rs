//! State of the reconcile: its progress, and what it waits for. Must not decide what follows.

use super::super::clock::Millis;
use super::super::rate_limiter::RateLimiter;
use crate::model::{Reconcile, ReconcileQuery, ReconcileResponse};

/// The machine.
#[derive(Debug, Default)]
pub(crate) struct Reconciler {
    /// The epoch given out last. An answer to a request of an earlier epoch is discarded.
    pub(super) epoch: u64,
    /// Calls against the key's read limit.
    pub(super) reads: RateLimiter,
    /// None: nothing is compared.
    pub(super) running: Option<Running>,
}

/// A reconcile in progress.
#[derive(Debug)]
pub(super) struct Running {
    /// The progress as on disk.
    pub(super) progress: Reconcile,
    pub(super) wait: Wait,
    /// Ids of records still to be fetched one by one.
    pub(super) missing: Vec<String>,
    /// A missing record was answered with 404.
    pub(super) was_missing_deleted: bool,
    /// Lookups in a row that waited for the delete event of such a record.
    pub(super) delete_event_waits: u32,
    /// Why the server refuses the key for the reconcile.
    pub(super) key_refusal: Option<String>,
    /// Requests in a row that failed.
    pub(super) failures: u32,
    /// Restarts of the present list in a row. The first page works each time, so `failures` does not count restarts.
    pub(super) restarts: u32,
    /// Why the last request failed.
    pub(super) last_failure: Option<String>,
}

/// What a reconcile waits for. A question to a person is part of the progress on disk.
#[derive(Debug)]
pub(super) enum Wait {
    /// The next step is due at this time.
    Until(Millis),
    /// The server has not answered the query yet.
    Query(ReconcileQuery),
    /// The mass-delete guard has refused to delete `gone` of `of` records: the server is asked for the scopes of the key.
    Scopes { gone: i64, of: i64 },
    /// The final check of the feed cursor has no answer yet.
    Cursor,
    /// The answer was read at a position beyond the feed. The answer counts once the feed has reached the position.
    Feed(ReconcileQuery, ReconcileResponse),
    /// The database begins a reconcile, lists records or deletes records.
    Database,
}

impl Reconciler {
    /// Whether a reconcile is open.
    pub(in super::super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// The question for a person, if the reconcile waits for a person.
    pub(in super::super) fn question(&self) -> Option<&String> {
        self.running.as_ref()?.progress.question.as_ref()
    }

    /// Why the server refuses the key for the reconcile. None: it does not.
    pub(in super::super) fn key_refusal(&self) -> Option<&String> {
        self.running.as_ref()?.key_refusal.as_ref()
    }

    /// A sentence for people about a reconcile that fails again and again. None: no failure.
    pub(in super::super) fn failure_text(&self) -> Option<String> {
        let failure = self.running.as_ref()?.last_failure.as_ref()?;
        Some(format!("the comparison with the server does not come on: {failure}"))
    }

    /// When the reconcile continues in contact, if nothing else happens.
    pub(in super::super) fn wake_at(&self) -> Option<Millis> {
        match self.running.as_ref()? {
            Running { progress: Reconcile { question: None, .. }, wait: Wait::Until(at), .. } => Some(*at),
            _ => None,
        }
    }
}

impl Running {
    pub(super) fn new(progress: Reconcile) -> Running {
        Running {
            progress,
            wait: Wait::Until(Millis::MIN),
            missing: Vec::new(),
            was_missing_deleted: false,
            delete_event_waits: 0,
            key_refusal: None,
            failures: 0,
            restarts: 0,
            last_failure: None,
        }
    }
}
