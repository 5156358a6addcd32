//! What answers of server and database mean for a reconcile. Must not know how lists are stored.

use hearth_contract::problem::ProblemType;

use super::super::action::{Action, Request};
use super::super::backoff::KEY_RETRY;
use super::super::outcome::Failure;
use super::super::turn::{Fact, Feed, Turn};
use super::Answer;
use super::state::{Reconciler, Running, Wait};
use super::steps::{first_collection, list_before_sweep, restarted, step_after, step_after_sweep};
use crate::model::{ReconcileQuery, ReconcileResponse, ReconcileScope, ReconcileStep, SweepOutcome};

impl Reconciler {
    /// The server has answered the request of the present epoch.
    pub(super) fn answered(&mut self, turn: &mut Turn, answer: Answer, feed: Feed<'_>) {
        let Some(running) = &mut self.running else { return };
        match (std::mem::replace(&mut running.wait, Wait::Until(turn.now)), answer) {
            (Wait::Query(query), Answer::Query(Ok(found))) => self.query_answered(turn, query, found, feed),
            (Wait::Scopes { gone, of }, Answer::Scopes(Ok(identity))) => {
                running.sweep_refused(turn, &identity.scopes, gone, of);
            }
            (Wait::Cursor, Answer::Cursor(Ok(()))) => {
                // A known cursor proves that all answers belong to the feed's history.
                self.running = None;
                turn.act(Action::FinishReconcile);
                turn.tell(Fact::Compared);
            }
            (Wait::Cursor, Answer::Cursor(Err(Failure::Refused(refusal)))) if refusal.is_of_the_cursor() => {
                turn.tell(Fact::CursorRefused(refusal));
            }
            (Wait::Query(_), Answer::Query(Err(failure)))
            | (Wait::Scopes { .. }, Answer::Scopes(Err(failure)))
            | (Wait::Cursor, Answer::Cursor(Err(failure))) => running.request_failed(turn, failure),
            (wait, _) => running.wait = wait,
        }
    }

    /// A query has an answer. An answer ahead of the feed waits: rows must never be newer than the feed cursor.
    /// Otherwise a restore in between could go unnoticed.
    fn query_answered(&mut self, turn: &mut Turn, query: ReconcileQuery, found: ReconcileResponse, feed: Feed<'_>) {
        let Some(running) = &mut self.running else { return };
        (running.failures, running.last_failure, running.key_refusal) = (0, None, None);
        let is_ahead = found.as_of > running.position(feed)
            && !hearth_simulated::planted(hearth_simulated::PlantedFault::ListsAheadOfFeed);
        let position = Some(found.as_of);
        running.wait = Wait::Feed(query, found);
        match is_ahead {
            true => turn.tell(Fact::FeedWanted { position }),
            false => self.caught_up(turn, feed),
        }
    }

    /// The feed has reached the position of an answer: saves the answer, and moves to the next step.
    pub(super) fn caught_up(&mut self, turn: &mut Turn, feed: Feed<'_>) {
        let Some(running) = &mut self.running else { return };
        let wait = std::mem::replace(&mut running.wait, Wait::Until(turn.now));
        let Wait::Feed(query, found) = wait else { return };
        if let ReconcileQuery::Record { .. } = query {
            running.missing.pop();
            if found.records.is_empty() {
                // The record was deleted after the list was read. The delete must come from the feed: a row removed now
                // would be missing for ever after a restore to a position where the record exists.
                running.was_missing_deleted = true;
                return;
            }
        }
        let next_step = step_after(&running.progress.scope, &running.progress.step, &found);
        running.progress.step = next_step.clone();
        if found.next_cursor.is_none() {
            running.restarts = 0;
        }
        if let ReconcileStep::Changes { .. } | ReconcileStep::Ids { .. } | ReconcileStep::Deletions { .. } = next_step {
            // The next page does not depend on the saved answer, so the request leaves before the save.
            self.proceed(turn, feed);
        }
        turn.act(Action::SaveResponse { query, found, next_step });
    }

    /// The missing records of the collection are known. With no ids left, the collection can be swept.
    pub(super) fn missing_listed(&mut self, turn: &mut Turn, ids: Vec<String>) {
        let Some(running @ Running { wait: Wait::Database, .. }) = &mut self.running else { return };
        let ReconcileStep::Records { kind, as_of } = running.progress.step else { return };
        let waits_for_delete = running.was_missing_deleted && !ids.is_empty();
        let waits = if waits_for_delete { running.delete_event_waits + 1 } else { 0 };
        let pause = if waits > 0 { turn.backoff.pause(waits) } else { 0 };
        running.wait = Wait::Until(turn.now + pause);
        (running.was_missing_deleted, running.delete_event_waits) = (false, waits);
        if ids.is_empty() {
            running.save_step(turn, ReconcileStep::Sweep { kind, as_of });
        }
        running.missing = ids;
    }

    /// A sweep has ended. After a refusal by the mass-delete guard, the key's scopes are checked first.
    pub(super) fn swept(&mut self, turn: &mut Turn, swept: SweepOutcome) {
        let epoch = self.epoch;
        let Some(running @ Running { wait: Wait::Database, .. }) = &mut self.running else { return };
        let ReconcileStep::Sweep { kind, as_of } = running.progress.step else { return };
        running.wait = Wait::Until(turn.now);
        let scope = &running.progress.scope;
        match swept {
            SweepOutcome::Done => running.progress.step = step_after_sweep(scope, kind, as_of),
            SweepOutcome::NotListed => {
                let step = list_before_sweep(scope, kind);
                running.save_step(turn, step);
            }
            SweepOutcome::TooMany { gone, of } => {
                running.wait = Wait::Scopes { gone, of };
                turn.act(Action::Request(Request::CheckScopes { epoch }));
            }
        }
    }
}

impl Running {
    /// The position up to which the feed is applied, as far as the database or the link knows.
    pub(super) fn position(&self, feed: Feed<'_>) -> i64 {
        feed.position.max(self.progress.tail_position.unwrap_or(0))
    }

    fn save_step(&mut self, turn: &mut Turn, step: ReconcileStep) {
        self.progress.step = step.clone();
        turn.act(Action::SaveStep(step));
    }

    /// The key's scopes are known after a refused sweep. If the key may read the collection, a person must confirm the
    /// deletions.
    fn sweep_refused(&mut self, turn: &mut Turn, scopes: &[String], gone: i64, of: i64) {
        let ReconcileStep::Sweep { kind, .. } = self.progress.step else { return };
        let collection = kind.collection();
        let scope = format!("{collection}:read");
        if scopes.contains(&scope) {
            let question =
                format!("{gone} of {of} {collection} are gone on the server; a person must say whether that is right");
            self.progress.question = Some(question.clone());
            return turn.act(Action::AskPerson(question));
        }
        // The list is read again later: a record invisible to the key may still exist.
        self.key_refusal = Some(format!("the key has lost the scope {scope}"));
        self.wait = Wait::Until(turn.now + KEY_RETRY);
        self.save_step(turn, list_before_sweep(&self.progress.scope, kind));
    }

    /// A request has failed.
    fn request_failed(&mut self, turn: &mut Turn, failure: Failure) {
        let pause = turn.backoff.pause(self.failures.max(self.restarts));
        self.failures += 1;
        self.last_failure = Some(failure.to_string());
        self.wait = Wait::Until(turn.now + pause);
        let Failure::Refused(refusal) = failure else { return };
        let is_deletions = matches!(self.progress.step, ReconcileStep::Deletions { .. });
        if refusal.is_of_the_key() {
            // A list that the key may not read proves no deletion.
            self.key_refusal = Some(refusal.message);
            self.wait = Wait::Until(turn.now + KEY_RETRY);
        } else if refusal.status == 400 && refusal.is(ProblemType::InvalidCursor) {
            // The server has forgotten the list's cursor, so the list starts again.
            self.restarts += 1;
            self.save_step(turn, restarted(&self.progress.step));
        } else if is_deletions && matches!(refusal.status, 400 | 404) {
            // The server does not have this list, or it does not know the position: it may have another history.
            (self.failures, self.last_failure, self.wait) = (0, None, Wait::Until(turn.now));
            let scope = ReconcileScope::Everything { since: self.progress.scope.since().cloned() };
            let next_step = first_collection(&scope);
            (self.progress.scope, self.progress.step) = (scope, next_step.clone());
            turn.act(Action::CompareEverything { next_step });
        } else {
            self.wait = Wait::Until(turn.now + pause.max(refusal.retry_after.unwrap_or(0)));
        }
    }
}
