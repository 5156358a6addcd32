//! The reconcile: compares all collections with the server's lists after a gap in the feed, after a server restore, or on a
//! person's request. Decides the next query and what an answer means. The feed runs at the same time and never waits.
//! Must not know how lists are stored.
//!
//! Why the result is correct: the feed brings every change after the cursor at which the reconcile began. The lists bring
//! the rest. Of two versions of a record, the higher rev is newer, in whatever order they arrive. A record absent from the
//! whole id list, with a rev at or before the first page's position, was deleted before that page, or the feed brings the
//! delete. Within one history, the changes and the deleted ids since the replica's position show the same, and cost what
//! changed (contract 18). The argument holds within one history only. A server may be restored under a silent stream, so the last step
//! checks that the server still knows the feed cursor.

pub(super) mod state;
#[cfg(test)]
mod tests;

use hearth_contract::problem::ProblemType;
use hearth_contract::schema::Kind;

use self::state::{Reconciler, first_collection, step_after, step_after_sweep};
use super::action::{Action, Request};
use super::backoff::KEY_RETRY;
use super::clock::Millis;
use super::identity::{Identity, Limits};
use super::outcome::Failure;
use super::push;
use super::state::Core;
use crate::model::{
    Reconcile, ReconcileCause, ReconcileQuery, ReconcileResponse, ReconcileScope, ReconcileStep, SweepOutcome,
};

impl Core {
    /// Takes a reconcile from the database, new or interrupted. None: no reconcile.
    pub(super) fn set_reconcile(&mut self, reconcile: Option<Reconcile>) {
        self.connection_epoch += 1;
        let reads = self.reconciler.take().map(|before| before.reads).unwrap_or_default();
        self.position =
            self.position.max(reconcile.as_ref().and_then(|reconcile| reconcile.tail_position).unwrap_or(0));
        self.reconciler = reconcile.map(|progress| Reconciler::new(progress, self.connection_epoch, reads));
        self.set_reconcile_rate();
    }

    /// Applies the key's read limit to the reconcile.
    pub(super) fn set_reconcile_rate(&mut self) {
        let limit = self.read_limit.map(Limits::share);
        if let Some(reconciler) = &mut self.reconciler {
            reconciler.reads.set_limit(limit);
        }
    }

    /// Starts a new epoch after a refused write. A late answer must not be saved, because an earlier one was not.
    pub(super) fn start_new_epoch(&mut self) {
        self.connection_epoch += 1;
        if let Some(reconciler) = &mut self.reconciler {
            reconciler.epoch = self.connection_epoch;
        }
    }

    /// Discards pending answers and asks again: the answers may belong to a discarded history.
    pub(super) fn discard_pending_answers(&mut self) {
        if let Some(reconciler) = self.reconciler.as_mut().filter(|reconciler| reconciler.awaits_answer()) {
            self.connection_epoch += 1;
            reconciler.discard_answers(self.connection_epoch);
        }
    }

    /// When the reconcile continues, if nothing else happens.
    pub(super) fn reconcile_due_at(&self) -> Option<Millis> {
        let reconciler = self.reconciler.as_ref().filter(|reconciler| !reconciler.is_busy() && self.in_contact())?;
        Some(reconciler.next_at)
    }

    /// Does the next step, if due.
    pub(super) fn continue_reconcile(&mut self, now: Millis, actions: &mut Vec<Action>) {
        let (position, in_contact) = (self.position, self.in_contact());
        let Some(reconciler) = &mut self.reconciler else { return };
        if !in_contact {
            // The server may be restored before the next contact.
            return self.discard_pending_answers();
        }
        let caught_up = reconciler.ahead_of_feed.take_if(|(_, found)| found.as_of <= position);
        if let Some((query, found)) = caught_up {
            return self.accept_answer(now, query, found, actions);
        }
        if reconciler.is_busy() || reconciler.next_at > now {
            return;
        }
        match reconciler.progress.step {
            ReconcileStep::Sweep { kind, as_of } => {
                let next_step = step_after_sweep(reconciler.progress.scope, kind, as_of);
                actions.push(Action::Sweep { kind, as_of, next_step });
                reconciler.next_at = Millis::MAX; // until `Event::Swept`
            }
            ReconcileStep::Records { kind, .. } if reconciler.missing.is_empty() => {
                actions.push(Action::ListMissing { kind });
                reconciler.next_at = Millis::MAX; // until `Event::MissingListed`
            }
            _ => self.ask_next(now, actions),
        }
    }

    /// Sends the next query, or the final check of the cursor, within the read limit.
    fn ask_next(&mut self, now: Millis, actions: &mut Vec<Action>) {
        let Some(reconciler) = &mut self.reconciler else { return };
        let free_at = reconciler.reads.free_at(now);
        if free_at > now {
            reconciler.next_at = free_at;
            return;
        }
        let epoch = reconciler.epoch;
        if reconciler.progress.step == ReconcileStep::Done {
            reconciler.reads.take(now);
            reconciler.is_checking_cursor = true;
            actions.push(Action::Request(Request::CheckCursor { epoch, cursor: self.cursor.clone() }));
        } else if let Some(query) = reconciler.next_query() {
            reconciler.reads.take(now);
            reconciler.awaited_query = Some(query.clone());
            actions.push(Action::Request(Request::Reconcile { epoch, query }));
        }
    }

    /// The reconciler, if `epoch` is current.
    fn reconciler_of(&mut self, epoch: u64) -> Option<&mut Reconciler> {
        self.reconciler.as_mut().filter(|reconciler| reconciler.epoch == epoch)
    }

    /// A query has an answer. An answer ahead of the feed waits: rows must never be newer than the feed cursor.
    /// Otherwise a restore in between could go unnoticed.
    pub(super) fn reconcile_answered(
        &mut self,
        now: Millis,
        epoch: u64,
        answer: Result<ReconcileResponse, Failure>,
        actions: &mut Vec<Action>,
    ) {
        let position = self.position;
        let Some(reconciler) = self.reconciler_of(epoch) else { return };
        let Some(query) = reconciler.awaited_query.take() else { return };
        match answer {
            Ok(found) => {
                (reconciler.failures, reconciler.next_at, reconciler.key_refusal) = (0, now, None);
                let is_ahead = found.as_of > position
                    && !hearth_simulated::planted(hearth_simulated::PlantedFault::ListsAheadOfFeed);
                if is_ahead {
                    reconciler.ahead_of_feed = Some((query, found));
                    return self.poll_soon(now);
                }
                self.accept_answer(now, query, found, actions);
            }
            Err(failure) => self.query_failed(now, failure, actions),
        }
    }

    /// Saves an answer that the feed has caught up with, and moves to the next step.
    fn accept_answer(
        &mut self,
        now: Millis,
        query: ReconcileQuery,
        found: ReconcileResponse,
        actions: &mut Vec<Action>,
    ) {
        let Some(reconciler) = &mut self.reconciler else { return };
        if let ReconcileQuery::Record { .. } = query {
            reconciler.missing.pop();
            if found.records.is_empty() {
                // The record was deleted after the list was read. The delete must come from the feed: a row removed now
                // would be missing for ever after a restore to a position where the record exists.
                reconciler.was_missing_deleted = true;
                return;
            }
        }
        let next_step = step_after(reconciler.progress.scope, &reconciler.progress.step, &found);
        reconciler.progress.step = next_step.clone();
        let is_next_page = matches!(
            next_step,
            ReconcileStep::Changes { cursor: Some(_), .. }
                | ReconcileStep::Ids { cursor: Some(_), .. }
                | ReconcileStep::Deletions { cursor: Some(_) }
        );
        if !is_next_page {
            reconciler.restarts = 0;
        }
        if let ReconcileStep::Changes { .. } | ReconcileStep::Ids { .. } | ReconcileStep::Deletions { .. } = next_step {
            // The next page does not depend on the saved answer, so the request leaves before the save.
            self.continue_reconcile(now, actions);
        }
        actions.push(Action::SaveResponse { query, found, next_step });
    }

    /// The final check of the cursor has an answer. A known cursor proves that all answers belong to the feed's history.
    pub(super) fn cursor_checked(
        &mut self,
        now: Millis,
        epoch: u64,
        answer: Result<(), Failure>,
        actions: &mut Vec<Action>,
    ) {
        let Some(reconciler) = self.reconciler_of(epoch) else { return };
        reconciler.is_checking_cursor = false;
        match answer {
            Ok(()) => {
                self.reconciler = None;
                actions.push(Action::FinishReconcile);
                // A single run may end now, so the contact is saved at once.
                self.touched_at = now;
                actions.push(Action::TouchContact { is_current: self.is_at_present() });
                self.push(now, push::Input::EditsChanged, actions);
            }
            Err(Failure::Refused(refusal)) if refusal.is_of_the_cursor() => self.refused(now, refusal, actions),
            Err(failure) => self.query_failed(now, failure, actions),
        }
    }

    fn query_failed(&mut self, now: Millis, failure: Failure, actions: &mut Vec<Action>) {
        let failures = |reconciler: &Reconciler| reconciler.failures.max(reconciler.restarts);
        let failures = self.reconciler.as_ref().map_or(0, failures);
        let pause = self.backoff.pause(failures);
        let Some(reconciler) = &mut self.reconciler else { return };
        reconciler.failures += 1;
        reconciler.last_failure = Some(failure.to_string());
        reconciler.next_at = now + pause;
        let Failure::Refused(refusal) = failure else { return };
        if refusal.is_of_the_key() {
            // A list that the key may not read proves no deletion.
            reconciler.key_refusal = Some(refusal.message);
            reconciler.next_at = now + KEY_RETRY;
        } else if refusal.status == 400 && refusal.is(ProblemType::InvalidCursor) {
            // The server has forgotten the list's cursor, so the list starts again.
            let step = reconciler.restarted_list();
            reconciler.restarts += 1;
            reconciler.progress.step = step.clone();
            actions.push(Action::SaveStep(step));
        } else if matches!(reconciler.progress.step, ReconcileStep::Deletions { .. })
            && matches!(refusal.status, 400 | 404)
        {
            // The server does not have this list, or it does not know the position: it may have another history.
            (reconciler.failures, reconciler.last_failure, reconciler.next_at) = (0, None, now);
            reconciler.progress.scope = ReconcileScope::Everything;
            reconciler.progress.step = first_collection();
            actions.push(Action::CompareEverything { next_step: first_collection() });
        } else {
            reconciler.next_at = reconciler.next_at.max(now + refusal.retry_after.unwrap_or(0));
        }
    }

    /// The missing records of the collection are known. With no ids left, the collection can be swept.
    pub(super) fn missing_listed(&mut self, now: Millis, ids: Vec<String>, actions: &mut Vec<Action>) {
        let Some(reconciler) = &self.reconciler else { return };
        let waits_for_delete = reconciler.was_missing_deleted && !ids.is_empty();
        let waits = if waits_for_delete { reconciler.delete_event_waits + 1 } else { 0 };
        let pause = if waits > 0 { self.backoff.pause(waits) } else { 0 };
        let Some(reconciler) = &mut self.reconciler else { return };
        reconciler.next_at = now + pause;
        (reconciler.was_missing_deleted, reconciler.delete_event_waits) = (false, waits);
        if let (ReconcileStep::Records { kind, as_of }, true) = (&reconciler.progress.step, ids.is_empty()) {
            reconciler.progress.step = ReconcileStep::Sweep { kind: *kind, as_of: *as_of };
            actions.push(Action::SaveStep(reconciler.progress.step.clone()));
        }
        reconciler.missing = ids;
    }

    /// A sweep has ended. After a refusal by the mass-delete guard, the key's scopes are checked first.
    pub(super) fn swept(&mut self, now: Millis, kind: Kind, swept: SweepOutcome, actions: &mut Vec<Action>) {
        let Some(reconciler) = &mut self.reconciler else { return };
        reconciler.next_at = now;
        match swept {
            SweepOutcome::Done => {
                if let ReconcileStep::Sweep { as_of, .. } = reconciler.progress.step {
                    reconciler.progress.step = step_after_sweep(reconciler.progress.scope, kind, as_of);
                }
            }
            SweepOutcome::NotListed => reconciler.progress.step = reconciler.list_before_sweep(kind),
            SweepOutcome::TooMany { .. } => {
                reconciler.refused_sweep = Some((kind, swept));
                actions.push(Action::Request(Request::CheckScopes { epoch: reconciler.epoch }));
            }
        }
    }

    /// The key's scopes are known. If the key may read the collection, a person must confirm the deletions.
    pub(super) fn scopes_checked(
        &mut self,
        now: Millis,
        epoch: u64,
        answer: Result<Identity, Failure>,
        actions: &mut Vec<Action>,
    ) {
        let Some(reconciler) = self.reconciler_of(epoch) else { return };
        let Some((kind, swept)) = reconciler.refused_sweep.take() else { return };
        let SweepOutcome::TooMany { gone, of } = swept else { return };
        let collection = kind.collection();
        match answer {
            Ok(identity) if identity.scopes.iter().any(|scope| *scope == format!("{collection}:read")) => {
                let question = format!(
                    "{gone} of {of} {collection} are gone on the server; a person must say whether that is right"
                );
                reconciler.progress.question = Some(question.clone());
                actions.push(Action::AskPerson(question));
            }
            Ok(_) => {
                // The list is read again later: a record invisible to the key may still exist.
                reconciler.key_refusal = Some(format!("the key has lost the scope {collection}:read"));
                reconciler.next_at = now + KEY_RETRY;
                reconciler.progress.step = reconciler.list_before_sweep(kind);
                actions.push(Action::SaveStep(reconciler.progress.step.clone()));
            }
            Err(failure) => self.query_failed(now, failure, actions),
        }
    }

    /// A person requests a reconcile. `accepted`: the person accepts all deletions, also those already asked about.
    pub(super) fn reconcile_requested(&mut self, accepted: bool, actions: &mut Vec<Action>) {
        match &mut self.reconciler {
            Some(reconciler) if accepted => {
                reconciler.progress.accepted = true;
                reconciler.progress.question = None;
                actions.push(Action::ClearReconcileRequest { accepted });
            }
            Some(Reconciler {
                progress: Reconcile { question: None, scope: ReconcileScope::Everything, .. }, ..
            }) => {
                actions.push(Action::ClearReconcileRequest { accepted });
            }
            // While a question is open, a second request starts over: the server may list the records again by now. A
            // person's request compares everything.
            _ => actions.push(Action::StartReconcile(ReconcileCause::Asked { accepted })),
        }
    }
}
