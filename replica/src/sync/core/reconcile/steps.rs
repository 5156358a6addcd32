//! The order of the steps of a reconcile. Pure functions; must not know when a step is done.

use hearth_contract::schema::Kind;

use crate::model::{Reconcile, ReconcileQuery, ReconcileResponse, ReconcileScope, ReconcileStep};

/// The step that lists the deleted ids from the first page on.
const FIRST_DELETIONS: ReconcileStep = ReconcileStep::Deletions { cursor: None };

/// The collection that is compared first.
const FIRST_KIND: Kind = Kind::COLLECTIONS[0];

/// The query of the present step. `missing`: the record to fetch in [`ReconcileStep::Records`]. None: the step needs no query.
pub(super) fn query_of(progress: &Reconcile, missing: Option<&String>) -> Option<ReconcileQuery> {
    match progress.step.clone() {
        ReconcileStep::Property => Some(ReconcileQuery::Property),
        ReconcileStep::Changes { kind, cursor } => {
            Some(ReconcileQuery::List { kind, since: progress.scope.since().cloned(), cursor })
        }
        ReconcileStep::Ids { kind, cursor, .. } => Some(match progress.scope.since() {
            Some(_) => ReconcileQuery::Ids { kind, cursor },
            None => ReconcileQuery::List { kind, since: None, cursor },
        }),
        ReconcileStep::Deletions { cursor } => {
            let since_rev = match progress.scope {
                ReconcileScope::Changed { since_rev, .. } => since_rev,
                ReconcileScope::Everything { .. } => 0,
            };
            Some(ReconcileQuery::Deletions { since_rev, cursor })
        }
        ReconcileStep::Records { kind, .. } => missing.map(|id| ReconcileQuery::Record { kind, id: id.clone() }),
        ReconcileStep::Sweep { .. } | ReconcileStep::Done => None,
    }
}

/// The step after the profile.
pub(super) fn first_collection(scope: &ReconcileScope) -> ReconcileStep {
    first_list(scope, FIRST_KIND)
}

/// The step after a response to the query of `step`.
pub(super) fn step_after(scope: &ReconcileScope, step: &ReconcileStep, found: &ReconcileResponse) -> ReconcileStep {
    let next_page = found.next_cursor.clone();
    match step.clone() {
        ReconcileStep::Property => first_collection(scope),
        ReconcileStep::Changes { kind, .. } => match (next_page, scope) {
            (cursor @ Some(_), _) => ReconcileStep::Changes { kind, cursor },
            (None, ReconcileScope::Changed { .. }) => kind_after(kind).map_or(FIRST_DELETIONS, first_changes),
            (None, ReconcileScope::Everything { .. }) => first_ids(kind),
        },
        ReconcileStep::Deletions { .. } => match next_page {
            cursor @ Some(_) => ReconcileStep::Deletions { cursor },
            None => ReconcileStep::Sweep { kind: FIRST_KIND, as_of: found.as_of },
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

/// The step after the sweep of a collection.
pub(super) fn step_after_sweep(scope: &ReconcileScope, kind: Kind, as_of: i64) -> ReconcileStep {
    match (kind_after(kind), scope) {
        (None, _) => ReconcileStep::Done,
        (Some(next), ReconcileScope::Changed { .. }) => ReconcileStep::Sweep { kind: next, as_of },
        (Some(next), ReconcileScope::Everything { .. }) => first_list(scope, next),
    }
}

/// The step that lists again what the sweep of a collection compares.
pub(super) fn list_before_sweep(scope: &ReconcileScope, kind: Kind) -> ReconcileStep {
    match scope {
        ReconcileScope::Changed { .. } => FIRST_DELETIONS,
        ReconcileScope::Everything { .. } => first_ids(kind),
    }
}

/// The list of `step` from its first page on.
pub(super) fn restarted(step: &ReconcileStep) -> ReconcileStep {
    match step.clone() {
        ReconcileStep::Changes { kind, .. } => first_changes(kind),
        ReconcileStep::Ids { kind, .. } => first_ids(kind),
        ReconcileStep::Deletions { .. } => FIRST_DELETIONS,
        step => step,
    }
}

/// The first step of a collection.
fn first_list(scope: &ReconcileScope, kind: Kind) -> ReconcileStep {
    match scope.since() {
        Some(_) => first_changes(kind),
        None => first_ids(kind),
    }
}

/// The step that lists the changes of a collection from the first page on.
fn first_changes(kind: Kind) -> ReconcileStep {
    ReconcileStep::Changes { kind, cursor: None }
}

/// The step that lists all ids or all records of a collection from the first page on.
fn first_ids(kind: Kind) -> ReconcileStep {
    ReconcileStep::Ids { kind, cursor: None, as_of: None }
}

/// The collection after `kind`. None: `kind` is the last one.
fn kind_after(kind: Kind) -> Option<Kind> {
    Kind::COLLECTIONS.into_iter().skip_while(|other| *other != kind).nth(1)
}
