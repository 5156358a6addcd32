//! The push: sends edits that are due, and decides what a response means for its edits and for the edits behind them.
//! `choose` selects the next edits. Must not know how requests are built.

pub(super) mod choose;
pub(super) mod state;

use std::collections::HashSet;

use hearth_contract::problem::ProblemType;
use hearth_contract::schema::Kind;

use self::choose::Choice;
use self::state::{IdCollision, Push};
use super::action::{Action, Request};
use super::clock::Millis;
use super::outcome::{EditResponse, ExistingRecord, Failure, Refusal, SendOutcome};
use super::state::{Core, KEY_RETRY};
use crate::model::{ReadyEdits, ReasonCode, WriteOutcome};

/// Requests in flight: while the server answers the first, the second is saved in the outbox.
const IN_FLIGHT_MAX: usize = 2;
/// Bulk calls in flight. New calls are added once half of them are answered: calls saved together share one disk flush.
const BULK_IN_FLIGHT_MAX: usize = 16;
/// A bulk call is split after 3 refusals by a proxy in a row: the proxy may object to the text of one edit.
const FORBIDDEN_MAX: u32 = 3;

/// Outcomes of edits, to be saved.
type Outcomes = Vec<(i64, WriteOutcome)>;

/// Why a request is delayed, from the status of the response. None: the key is refused.
const fn delay_code(status: u16) -> Option<ReasonCode> {
    match status {
        401 | 403 => None,
        429 => Some(ReasonCode::RateLimited),
        500.. => Some(ReasonCode::ServerError),
        _ => Some(ReasonCode::Unreachable),
    }
}

impl Core {
    /// Collections that the key may not write, as far as known. A plan must not fill up with their edits.
    pub(crate) fn forbidden_kinds(&self) -> Vec<Kind> {
        self.push.forbidden.keys().copied().collect()
    }

    /// A request has ended. `carried`: the edits in the request.
    pub(super) fn send_completed(
        &mut self,
        now: Millis,
        sent: &[i64],
        carried: Vec<i64>,
        outcome: SendOutcome,
        actions: &mut Vec<Action>,
    ) {
        let Some(index) = self.push.in_flight.iter().position(|ready| ready.edits == sent) else { return };
        let request = ReadyEdits { is_frozen: true, ..self.push.in_flight.swap_remove(index) };
        let kind = request.kind;
        self.push.has_open_edits = None;
        let is_accepted = |response: &EditResponse| matches!(response, EditResponse::Accepted { .. });
        if matches!(&outcome, SendOutcome::Answered(all) if all.iter().any(|(_, response)| is_accepted(response))) {
            self.poll_soon(now);
        }
        // Edits that were settled since are not in the request. The rest inherits its failures.
        if let (Some(before), Some(first)) = (request.edits.first(), carried.first()) {
            self.push.retries.rename(*before, *first);
        }
        let again = ReadyEdits { edits: carried, ..request };
        let outcomes = match outcome {
            SendOutcome::NotSent => Vec::new(),
            SendOutcome::Answered(responses) => self.edits_answered(now, responses, &again),
            // Neither the network nor the request has failed, so no pause.
            SendOutcome::Stale { reason } => self.send_again(again, None, Some(ReasonCode::Unreachable), &reason),
            SendOutcome::NoAnswer { reason } if !self.in_contact() => {
                self.send_again(again, None, Some(ReasonCode::Unreachable), &reason)
            }
            SendOutcome::NoAnswer { reason } => {
                self.push.is_slow_line = true;
                self.unanswered(now, again, &reason)
            }
            SendOutcome::Refused(refusal) => self.request_refused(now, again, &refusal),
        };
        self.settle(kind, outcomes, actions);
    }

    fn edits_answered(&mut self, now: Millis, responses: Vec<(i64, EditResponse)>, request: &ReadyEdits) -> Outcomes {
        let mut outcomes = Vec::with_capacity(responses.len());
        for (edit, response) in responses {
            match response {
                EditResponse::Accepted { rev } => {
                    self.accepted_head = self.accepted_head.max(rev);
                    outcomes.push((edit, WriteOutcome::Sent { rev }));
                }
                EditResponse::Refused(refusal) => {
                    let again = ReadyEdits { edits: vec![edit], ..request.clone() };
                    outcomes.extend(self.edit_refused(now, edit, again, refusal));
                }
            }
        }
        outcomes
    }

    /// The server or a proxy has refused a whole request.
    fn request_refused(&mut self, now: Millis, again: ReadyEdits, refusal: &Refusal) -> Outcomes {
        let forbidden_before = self.push.forbidden_count(&again);
        match refusal.status {
            408 => {
                self.push.is_slow_line = true;
                self.refused_for_now(now, again, refusal)
            }
            // Only the server's own refusal proves that no edit was applied.
            401 | 403 if refusal.is_of_the_key() => {
                self.retry_time(now, &again, refusal);
                let key_refused = |edit| (edit, WriteOutcome::KeyRefused { reason: refusal.message.clone() });
                again.edits.into_iter().map(key_refused).collect()
            }
            401 | 403 if again.edits.len() > 1 && forbidden_before + 1 >= FORBIDDEN_MAX => self.split(again.edits),
            401 | 403 | 429 | 500.. => self.refused_for_now(now, again, refusal),
            // No edit was applied, and the refusal names no edit.
            _ => self.split(again.edits),
        }
    }

    /// Sends the edits of a bulk call again one by one.
    fn split(&mut self, edits: Vec<i64>) -> Outcomes {
        self.push.send_alone.extend(&edits);
        edits.into_iter().map(|edit| (edit, WriteOutcome::SendAlone)).collect()
    }

    /// What a refusal means for one edit. None: the existing record is fetched first.
    fn edit_refused(
        &mut self,
        now: Millis,
        edit: i64,
        again: ReadyEdits,
        refusal: Refusal,
    ) -> Option<(i64, WriteOutcome)> {
        // With a field, it is not the id that is taken: another record has the same value, and the edit is refused.
        if refusal.is(ProblemType::AlreadyExists) && refusal.problem["details"]["field"].is_null() {
            // An earlier attempt may have been applied, with its answer lost before the server's idempotency window ended.
            self.push.id_collisions.push_back(IdCollision { edit, again, refusal });
            return None;
        }
        let outcome = match refusal.status {
            401 | 403 | 408 | 429 | 500.. => return self.refused_for_now(now, again, &refusal).pop(),
            // Any other 404 concerns the path only, for example a proxy's rule.
            404 if refusal.is(ProblemType::NotFound) => {
                let Refusal { problem, .. } = refusal;
                WriteOutcome::Conflict { reason: "deleted on the server".to_owned(), problem, deleted: true }
            }
            412 => {
                if self.push.outdated.insert(edit) {
                    self.push.retries.on_success(edit);
                } else {
                    // The feed has brought no newer version, or the edit had no precondition to wait for.
                    self.delay_request(now, &again, false, refusal.retry_after);
                }
                WriteOutcome::PreconditionFailed
            }
            _ => WriteOutcome::Rejected { reason: refusal.message, problem: refusal.problem },
        };
        Some((edit, outcome))
    }

    /// A refusal that is not about the edits: the same request may succeed later.
    fn refused_for_now(&mut self, now: Millis, again: ReadyEdits, refusal: &Refusal) -> Outcomes {
        let at = self.retry_time(now, &again, refusal);
        self.send_again(again, at.map(|at| at - now), delay_code(refusal.status), &refusal.message)
    }

    /// When a refused request may be sent again. None: the time depends on the key, not on the request.
    fn retry_time(&mut self, now: Millis, again: &ReadyEdits, refusal: &Refusal) -> Option<Millis> {
        match refusal.status {
            401 | 403 if refusal.is_of_the_key() => {
                self.key_refusal = Some(refusal.message.clone());
                if refusal.is(ProblemType::InsufficientScope) {
                    // The refusal concerns one collection only (contract 11).
                    self.push.forbidden.insert(again.kind, now + KEY_RETRY);
                } else {
                    // No edit can succeed with the key. The link finds out when the key works again.
                    self.push.hold_until = self.push.hold_until.max(now + KEY_RETRY);
                }
                None
            }
            429 => {
                let at = now + self.backoff.pause(self.push.failures).max(refusal.retry_after.unwrap_or(0));
                self.push.failures += 1;
                let limiter = if again.edits.len() > 1 { &mut self.push.bulk } else { &mut self.push.writes };
                limiter.hold_until(at);
                Some(at)
            }
            503 => Some(self.hold_push(now, refusal.retry_after)),
            // The request itself may cause the error, so other requests continue.
            status => Some(self.delay_request(now, again, matches!(status, 401 | 403), refusal.retry_after)),
        }
    }

    /// No answer: either the line or the request is bad, and the next request will show which. So after the first missing
    /// answer of a request all requests pause; after a further one only this request.
    fn unanswered(&mut self, now: Millis, again: ReadyEdits, reason: &str) -> Outcomes {
        let floor = match self.push.failures_of(&again) {
            0 => Some(self.hold_push(now, None) - now),
            _ => None,
        };
        let at = self.delay_request(now, &again, false, floor);
        self.send_again(again, Some(at - now), Some(ReasonCode::Unreachable), reason)
    }

    /// Counts a failure of a request and returns the time of the next attempt. `floor`: the shortest pause in milliseconds.
    fn delay_request(&mut self, now: Millis, again: &ReadyEdits, is_forbidden: bool, floor: Option<Millis>) -> Millis {
        let own = now + self.backoff.pause(self.push.failures_of(again)).max(floor.unwrap_or(0));
        let common = now + self.backoff.pause(self.push.retries.repeated_failures());
        let Some(first) = again.edits.first() else { return own };
        self.push.retries.on_failure(*first, is_forbidden, own, common);
        self.push.retries.next_attempt_at(*first).unwrap_or(own)
    }

    /// Queues edits again with the same bytes, behind the other ready edits: a request that breaks each connection must
    /// delay nothing else. `pause`: until the next attempt; None when the time is not known.
    fn send_again(
        &mut self,
        again: ReadyEdits,
        pause: Option<Millis>,
        code: Option<ReasonCode>,
        reason: &str,
    ) -> Outcomes {
        let retry = |edit: &i64| (*edit, WriteOutcome::Later { pause, code, reason: reason.to_owned() });
        let outcomes = again.edits.iter().map(retry).collect();
        if !again.edits.is_empty() {
            self.push.ready.push_back(again);
        }
        outcomes
    }

    /// Forgets retry state of answered edits, saves the outcomes, and plans again if only delayed edits are left.
    fn settle(&mut self, kind: Kind, outcomes: Outcomes, actions: &mut Vec<Action>) {
        for (edit, outcome) in &outcomes {
            if matches!(outcome, WriteOutcome::Later { .. } | WriteOutcome::KeyRefused { .. }) {
                continue;
            }
            self.push.failures = 0;
            self.push.forbidden.remove(&kind);
            if self.push.is_allowed_all() {
                self.key_refusal = None;
            }
            if *outcome != WriteOutcome::PreconditionFailed {
                self.push.retries.on_success(*edit);
            }
            if !matches!(outcome, WriteOutcome::PreconditionFailed | WriteOutcome::SendAlone) {
                self.push.outdated.remove(edit);
            }
            if *outcome != WriteOutcome::SendAlone {
                self.push.send_alone.remove(edit);
            }
        }
        if !outcomes.is_empty() {
            actions.push(Action::SaveOutcomes { outcomes });
        }
        let push = &self.push;
        let is_delayed = |ready: &ReadyEdits| push.forbidden.contains_key(&ready.kind) || push.failures_of(ready) > 0;
        if push.ready.iter().all(is_delayed) {
            self.plan(actions);
        }
    }

    /// The record under the id of a create is known, or could not be fetched.
    pub(super) fn record_fetched(
        &mut self,
        now: Millis,
        edit: i64,
        existing: ExistingRecord,
        actions: &mut Vec<Action>,
    ) {
        let collision = self.push.fetching.take_if(|collision| collision.edit == edit);
        let Some(IdCollision { again, refusal, .. }) = collision else { return };
        let kind = again.kind;
        self.push.has_open_edits = None;
        let outcomes = match existing {
            ExistingRecord::SameValues { rev } => vec![(edit, WriteOutcome::Exists { rev })],
            ExistingRecord::Different => {
                let Refusal { message: reason, problem, .. } = refusal;
                vec![(edit, WriteOutcome::Conflict { reason, problem, deleted: false })]
            }
            ExistingRecord::Unknown(Failure::Refused(refusal)) => self.refused_for_now(now, again, &refusal),
            ExistingRecord::Unknown(Failure::NoAnswer(reason)) => self.unanswered(now, again, &reason),
        };
        self.settle(kind, outcomes, actions);
    }

    /// Pauses the push and returns until when. A failure during a pause belongs to a request sent before the pause, and does
    /// not make the pause longer. `retry_after`: the server's pause in milliseconds.
    fn hold_push(&mut self, now: Millis, retry_after: Option<Millis>) -> Millis {
        if self.push.hold_until <= now {
            self.push.hold_until = now + self.backoff.pause(self.push.failures);
            self.push.failures += 1;
        }
        let server_hold_until = retry_after.map(|retry_after| now + retry_after);
        self.push.server_hold_until = self.push.server_hold_until.max(server_hold_until);
        self.push.server_hold_until.map_or(self.push.hold_until, |until| self.push.hold_until.max(until))
    }

    /// Sends edits that are due, as many requests as may be in flight.
    pub(super) fn send_due_edits(&mut self, now: Millis, actions: &mut Vec<Action>) {
        (self.push.wake_at, self.push.is_limited) = (None, false);
        if !self.in_contact() {
            return;
        }
        if self.push.fetching.is_none()
            && let Some(collision) = self.push.id_collisions.pop_front()
        {
            actions.push(Action::Request(Request::FetchRecord { edit: collision.edit }));
            self.push.fetching = Some(collision);
        }
        let bulk_max = if self.push.in_flight.len() <= BULK_IN_FLIGHT_MAX / 2 { BULK_IN_FLIGHT_MAX } else { 0 };
        while self.push.in_flight.len() < IN_FLIGHT_MAX.max(bulk_max) {
            let indexes = match self.push.choose(now) {
                Choice::Send(indexes) => indexes,
                Choice::Wait { until, is_limited } => {
                    (self.push.wake_at, self.push.is_limited) = (Some(until), is_limited);
                    return;
                }
                Choice::Nothing => return,
            };
            let Some(request) = self.take_request(now, &indexes) else { return };
            actions.push(Action::Request(request));
        }
    }

    /// Moves ready edits into flight. None: too much is in flight already.
    fn take_request(&mut self, now: Millis, indexes: &[usize]) -> Option<Request> {
        let chosen: Vec<&ReadyEdits> = indexes.iter().filter_map(|index| self.push.ready.get(*index)).collect();
        let first = *chosen.first()?;
        let (kind, is_frozen) = (first.kind, first.is_frozen);
        let is_bulk = indexes.len() > 1 || (first.is_frozen && first.edits.len() > 1);
        let bytes = chosen.iter().map(|ready| ready.bytes).sum();
        if !is_bulk && self.push.in_flight.len() >= IN_FLIGHT_MAX || !self.push.has_room_for(bytes) {
            return None;
        }
        let groups: Vec<Vec<i64>> = chosen.into_iter().map(|ready| ready.edits.clone()).collect();
        // From the back, so that the indexes before stay valid.
        for index in indexes.iter().rev() {
            self.push.ready.remove(*index);
        }
        if is_bulk {
            self.push.bulk.take(now);
        } else {
            self.push.writes.take(now);
        }
        self.push.in_flight.push(ReadyEdits { edits: groups.concat(), kind, is_frozen, bytes });
        Some(Request::SendEdits { groups })
    }

    /// Forgets the edits, which are planned again from the database. Frozen requests are repeated with the same bytes.
    pub(super) fn reset_push(&mut self) {
        let writes = std::mem::take(&mut self.push.writes);
        let bulk = std::mem::take(&mut self.push.bulk);
        let server_hold_until = self.push.server_hold_until;
        self.push = Push { writes, bulk, server_hold_until, ..Push::default() };
    }

    /// Plans the edits now, or after the plan that is under way.
    pub(super) fn plan(&mut self, actions: &mut Vec<Action>) {
        self.push.has_open_edits = None;
        if self.push.is_planning {
            self.push.must_plan_again = true;
        } else {
            self.push.is_planning = true;
            actions.push(Action::PlanEdits);
        }
    }

    /// The plan is ready.
    pub(super) fn edits_planned(&mut self, ready: Vec<ReadyEdits>, has_open_edits: bool, actions: &mut Vec<Action>) {
        self.push.is_planning = false;
        self.push.has_open_edits = Some(has_open_edits);
        let awaits_answer = |ready: &ReadyEdits| ready.edits.iter().any(|edit| self.push.awaits_answer(*edit));
        self.push.ready = ready.into_iter().filter(|ready| !awaits_answer(ready)).collect();
        self.forget_settled_edits();
        let was_allowed_all = self.push.is_allowed_all();
        let Push { forbidden, ready, in_flight, .. } = &mut self.push;
        forbidden.retain(|kind, _| ready.iter().chain(&*in_flight).any(|ready| ready.kind == *kind));
        let is_idle = self.push.ready.is_empty() && !self.push.is_busy();
        if self.push.is_allowed_all() && (is_idle || !was_allowed_all) && self.in_contact() {
            // No edit is left that needs a missing scope, and the key can read the feed.
            self.key_refusal = None;
        }
        if std::mem::take(&mut self.push.must_plan_again) {
            self.plan(actions);
        }
    }

    /// Drops retry state of edits that are neither ready nor in flight.
    fn forget_settled_edits(&mut self) {
        let push = &mut self.push;
        let first_edits = push.ready.iter().chain(&push.in_flight).filter_map(|ready| ready.edits.first().copied());
        let known: HashSet<i64> = first_edits.chain(push.collisions().map(|collision| collision.edit)).collect();
        push.retries.retain(&known);
        push.send_alone.retain(|edit| known.contains(edit));
        push.outdated.retain(|edit| known.contains(edit));
    }

    /// A batch is applied, and may have changed or confirmed edits.
    pub(super) fn feed_applied(&mut self, affects_edits: bool, confirms_edits: bool, actions: &mut Vec<Action>) {
        // While an answer is awaited, the plan follows after the answer.
        let is_idle = !self.push.is_busy();
        let has_waiting_edits = self.push.ready.is_empty() && self.push.has_open_edits != Some(false);
        if affects_edits || (is_idle && (confirms_edits || has_waiting_edits)) {
            self.plan(actions);
        }
    }
}
