//! State of a reconcile, and the order of its steps. Must not know the link or the push.

use hearth_contract::schema::Kind;

use super::super::clock::Millis;
use super::super::rate_limiter::RateLimiter;
use crate::model::{Reconcile, ReconcileQuery, ReconcileResponse, ReconcileScope, ReconcileStep, SweepOutcome};

/// A reconcile in progress.
#[derive(Debug)]
pub(in super::super) struct Reconciler {
    /// The progress as on disk.
    pub(in super::super) progress: Reconcile,
    /// Answers with another epoch are discarded.
    pub(in super::super) epoch: u64,
    /// The query that awaits an answer.
    pub(in super::super) awaited_query: Option<ReconcileQuery>,
    /// An answer read at a position beyond the feed. The answer counts once the feed has reached the position.
    pub(in super::super) ahead_of_feed: Option<(ReconcileQuery, ReconcileResponse)>,
    /// Ids of records still to be fetched one by one.
    pub(in super::super) missing: Vec<String>,
    /// A missing record was answered with 404.
    pub(in super::super) was_missing_deleted: bool,
    /// Lookups in a row that waited for the delete event of such a record.
    pub(in super::super) delete_event_waits: u32,
    /// The final check of the feed cursor awaits an answer.
    pub(in super::super) is_checking_cursor: bool,
    /// A sweep that the mass-delete guard refused, while the key's scopes are checked.
    pub(in super::super) refused_sweep: Option<(Kind, SweepOutcome)>,
    /// Why the server refuses the key for the reconcile.
    pub(in super::super) key_refusal: Option<String>,
    pub(in super::super) failures: u32,
    /// Restarts of the present list in a row. The first page works each time, so `failures` does not count restarts.
    pub(in super::super) restarts: u32,
    /// Why the last query failed.
    pub(in super::super) last_failure: Option<String>,
    /// When the reconcile continues.
    pub(in super::super) next_at: Millis,
    pub(in super::super) reads: RateLimiter,
}

impl Reconciler {
    pub(in super::super) fn new(progress: Reconcile, epoch: u64, reads: RateLimiter) -> Reconciler {
        Reconciler {
            progress,
            epoch,
            awaited_query: None,
            ahead_of_feed: None,
            missing: Vec::new(),
            was_missing_deleted: false,
            delete_event_waits: 0,
            is_checking_cursor: false,
            refused_sweep: None,
            key_refusal: None,
            failures: 0,
            restarts: 0,
            last_failure: None,
            next_at: Millis::MIN,
            reads,
        }
    }

    /// The question for a person, if the reconcile waits for a person.
    pub(in super::super) fn question(&self) -> Option<&String> {
        self.progress.question.as_ref()
    }

    /// A sentence for people about a comparison that fails again and again. None: no failure.
    pub(in super::super) fn failure_text(&self) -> Option<String> {
        let failure = self.last_failure.as_ref().filter(|_| self.failures > 0);
        failure.map(|failure| format!("the comparison with the server does not come on: {failure}"))
    }

    pub(in super::super) fn is_busy(&self) -> bool {
        self.awaits_answer() || self.progress.question.is_some()
    }

    pub(in super::super) fn awaits_answer(&self) -> bool {
        self.awaited_query.is_some()
            || self.ahead_of_feed.is_some()
            || self.refused_sweep.is_some()
            || self.is_checking_cursor
    }

    /// Discards pending answers. The queries are sent again in the new epoch.
    pub(in super::super) fn discard_answers(&mut self, epoch: u64) {
        self.epoch = epoch;
        (self.awaited_query, self.ahead_of_feed, self.is_checking_cursor) = (None, None, false);
        if self.refused_sweep.take().is_some() {
            self.next_at = Millis::MIN;
        }
    }

    /// The query of the present step. None: the step needs no request.
    pub(super) fn next_query(&self) -> Option<ReconcileQuery> {
        let since_rev = match self.progress.scope {
            ReconcileScope::Changed { since_rev } => since_rev,
            ReconcileScope::Everything => 0,
        };
        match self.progress.step.clone() {
            ReconcileStep::Property => Some(ReconcileQuery::Property),
            ReconcileStep::Changes { kind, cursor } => {
                Some(ReconcileQuery::Changes { kind, since: self.progress.since.clone(), cursor })
            }
            ReconcileStep::Ids { kind, cursor, .. } => Some(ReconcileQuery::Ids { kind, cursor }),
            ReconcileStep::Deletions { cursor } => Some(ReconcileQuery::Deletions { since_rev, cursor }),
            ReconcileStep::Records { kind, .. } => {
                self.missing.last().map(|id| ReconcileQuery::Record { kind, id: id.clone() })
            }
            ReconcileStep::Sweep { .. } | ReconcileStep::Done => None,
        }
    }

    /// The present list from its first page on.
    pub(super) fn restarted_list(&self) -> ReconcileStep {
        match self.progress.step.clone() {
            ReconcileStep::Changes { kind, .. } => ReconcileStep::Changes { kind, cursor: None },
            ReconcileStep::Ids { kind, .. } => first_ids_step(kind),
            ReconcileStep::Deletions { .. } => FIRST_DELETIONS,
            step => step,
        }
    }

    /// The step that lists again what the sweep of a collection compares.
    pub(super) fn list_before_sweep(&self, kind: Kind) -> ReconcileStep {
        match self.progress.scope {
            ReconcileScope::Changed { .. } => FIRST_DELETIONS,
            ReconcileScope::Everything => first_ids_step(kind),
        }
    }
}

/// The step that lists all ids of a collection from the first page on.
fn first_ids_step(kind: Kind) -> ReconcileStep {
    ReconcileStep::Ids { kind, cursor: None, as_of: None }
}

/// The step that lists the deleted ids from the first page on.
const FIRST_DELETIONS: ReconcileStep = ReconcileStep::Deletions { cursor: None };

/// The collection after `kind`, or the first one.
fn kind_after(kind: Option<Kind>) -> Option<Kind> {
    let mut kinds = Kind::COLLECTIONS.into_iter();
    if let Some(kind) = kind {
        kinds.find(|k| *k == kind);
    }
    kinds.next()
}

/// The step that lists the changes of a collection from the first page on.
fn first_changes_step(kind: Kind) -> ReconcileStep {
    ReconcileStep::Changes { kind, cursor: None }
}

/// The step after the profile.
pub(super) fn first_collection() -> ReconcileStep {
    kind_after(None).map_or(ReconcileStep::Done, first_changes_step)
}

/// The step after the sweep of a collection.
pub(super) fn step_after_sweep(scope: ReconcileScope, kind: Kind, as_of: i64) -> ReconcileStep {
    match (kind_after(Some(kind)), scope) {
        (None, _) => ReconcileStep::Done,
        (Some(next), ReconcileScope::Changed { .. }) => ReconcileStep::Sweep { kind: next, as_of },
        (Some(next), ReconcileScope::Everything) => first_changes_step(next),
    }
}

/// The step after a response to the query of `step`.
pub(super) fn step_after(scope: ReconcileScope, step: &ReconcileStep, found: &ReconcileResponse) -> ReconcileStep {
    let next_page = found.next_cursor.clone();
    match step.clone() {
        ReconcileStep::Property => first_collection(),
        ReconcileStep::Changes { kind, .. } => match (next_page, scope) {
            (cursor @ Some(_), _) => ReconcileStep::Changes { kind, cursor },
            (None, ReconcileScope::Changed { .. }) => {
                kind_after(Some(kind)).map_or(FIRST_DELETIONS, first_changes_step)
            }
            (None, ReconcileScope::Everything) => first_ids_step(kind),
        },
        ReconcileStep::Deletions { .. } => match (next_page, kind_after(None)) {
            (cursor @ Some(_), _) => ReconcileStep::Deletions { cursor },
            (None, Some(kind)) => ReconcileStep::Sweep { kind, as_of: found.as_of },
            (None, None) => ReconcileStep::Done,
        },
        ReconcileStep::Ids { kind, as_of, .. } => {
            let as_of = as_of.unwrap_or(found.as_of);
            match next_page {
                cursor @ Some(_) => ReconcileStep::Ids { kind, cursor, as_of: Some(as_of) },
                None => ReconcileStep::Records { kind, as_of },
            }
        }
        step => step,
    }
}
