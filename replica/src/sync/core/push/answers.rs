//! What a response means for the edits of a request and for the edits behind them. Must not know how requests are built.

use hearth_contract::problem::ProblemType;
use hearth_contract::schema::Kind;

use super::super::action::Action;
use super::super::backoff::KEY_RETRY;
use super::super::clock::Millis;
use super::super::outcome::{EditAnswers, Failure, Refusal};
use super::super::turn::{Fact, Turn};
use super::state::{IdCollision, Push};
use crate::model::{ReadyEdits, ReasonCode, WriteOutcome};

/// A bulk call is split after 3 refusals by a proxy in a row: the proxy may object to the text of one edit.
const FORBIDDEN_MAX: u32 = 3;

/// Outcomes of edits, to be saved.
type Outcomes = Vec<(i64, WriteOutcome)>;

/// Why a request is delayed, from the status of the response. None after 401 or 403, of the server or of a proxy.
const fn delay_code(status: u16) -> Option<ReasonCode> {
    match status {
        401 | 403 => None,
        429 => Some(ReasonCode::RateLimited),
        500.. => Some(ReasonCode::ServerError),
        _ => Some(ReasonCode::Unreachable),
    }
}

impl Push {
    /// A request has ended. `carried`: the edits in the request. `is_stale`: a missing answer says nothing about the line.
    pub(super) fn completed(
        &mut self,
        turn: &mut Turn,
        sent: &[i64],
        carried: Vec<i64>,
        answer: Result<EditAnswers, Failure>,
        is_stale: bool,
    ) {
        let Some(index) = self.in_flight.iter().position(|ready| ready.edits == sent) else { return };
        let request = ReadyEdits { is_frozen: true, ..self.in_flight.swap_remove(index) };
        let kind = request.kind;
        // Edits that were settled since are not in the request. The rest inherits its failures.
        self.retries.rename(&request.edits, &carried);
        let again = ReadyEdits { edits: carried, ..request };
        let outcomes = match answer {
            Ok(all) => self.edits_answered(turn, all, &again),
            // Neither the network nor the request has failed, so no pause.
            Err(Failure::NoAnswer(why)) if is_stale => self.requeue(again, None, Some(ReasonCode::Unreachable), &why),
            Err(Failure::NoAnswer(why)) => {
                self.is_slow_line = true;
                self.unanswered(turn, again, &why)
            }
            Err(Failure::Refused(refusal)) => self.request_refused(turn, again, &refusal),
        };
        self.save_outcomes(turn, kind, outcomes);
    }

    fn edits_answered(&mut self, turn: &mut Turn, all: EditAnswers, request: &ReadyEdits) -> Outcomes {
        let mut outcomes = Vec::with_capacity(all.len());
        for (edit, answer) in all {
            match answer {
                Ok(rev) => {
                    turn.tell(Fact::FeedWanted { position: rev });
                    outcomes.push((edit, WriteOutcome::Sent { rev }));
                }
                Err(refusal) => {
                    let again = ReadyEdits { edits: vec![edit], ..request.clone() };
                    let outcome = self.edit_refused(turn, again, refusal);
                    outcomes.extend(outcome.map(|outcome| (edit, outcome)));
                }
            }
        }
        outcomes
    }

    /// The server or a proxy has refused a whole request.
    fn request_refused(&mut self, turn: &mut Turn, again: ReadyEdits, refusal: &Refusal) -> Outcomes {
        let forbidden_before = self.retries.forbidden(&again.edits);
        self.is_slow_line |= refusal.status == 408;
        match refusal.status {
            // Only the server's own refusal proves that no edit was applied.
            401 | 403 if refusal.is_of_the_key() => {
                self.retry_time(turn, &again, refusal);
                let key_refused = |edit| (edit, WriteOutcome::KeyRefused { reason: refusal.message.clone() });
                again.edits.into_iter().map(key_refused).collect()
            }
            401 | 403 if again.edits.len() > 1 && forbidden_before + 1 >= FORBIDDEN_MAX => self.split(again.edits),
            401 | 403 | 408 | 429 | 500.. => self.refused_for_now(turn, again, refusal),
            // No edit was applied, and the refusal names no edit.
            _ => self.split(again.edits),
        }
    }

    /// Sends the edits of a bulk call again one by one.
    fn split(&mut self, edits: Vec<i64>) -> Outcomes {
        self.send_alone.extend(&edits);
        edits.into_iter().map(|edit| (edit, WriteOutcome::SendAlone)).collect()
    }

    /// What a refusal means for one edit. None: the existing record is fetched first.
    fn edit_refused(&mut self, turn: &mut Turn, again: ReadyEdits, refusal: Refusal) -> Option<WriteOutcome> {
        let edit = again.edits[0];
        // With a field, it is not the id that is taken: another record has the same value, and the edit is refused.
        if refusal.is(ProblemType::AlreadyExists) && refusal.problem["details"]["field"].is_null() {
            // An earlier attempt may have been applied, with its answer lost before the server's idempotency window ended.
            self.id_collisions.push_back(IdCollision { again, refusal });
            return None;
        }
        Some(match refusal.status {
            401 | 403 | 408 | 429 | 500.. => return Some(self.refused_for_now(turn, again, &refusal).pop()?.1),
            // Any other 404 concerns the path only, for example a proxy's rule.
            404 if refusal.is(ProblemType::NotFound) => {
                let Refusal { problem, .. } = refusal;
                WriteOutcome::Conflict { reason: "deleted on the server".to_owned(), problem, deleted: true }
            }
            412 => {
                if self.outdated.insert(edit) {
                    self.retries.on_success(edit);
                } else {
                    // The feed has brought no newer version, or the edit had no precondition to wait for.
                    self.delay(turn, &again, false, refusal.retry_after);
                }
                WriteOutcome::PreconditionFailed
            }
            _ => WriteOutcome::Rejected { reason: refusal.message, problem: refusal.problem },
        })
    }

    /// A refusal that is not about the edits: the same request may succeed later.
    fn refused_for_now(&mut self, turn: &mut Turn, again: ReadyEdits, refusal: &Refusal) -> Outcomes {
        let at = self.retry_time(turn, &again, refusal);
        self.requeue(again, at.map(|at| at - turn.now), delay_code(refusal.status), &refusal.message)
    }

    /// When a refused request may be sent again. None: the time depends on the key, not on the request.
    fn retry_time(&mut self, turn: &mut Turn, again: &ReadyEdits, refusal: &Refusal) -> Option<Millis> {
        match refusal.status {
            401 | 403 if refusal.is_of_the_key() => {
                let until = turn.now + KEY_RETRY;
                self.key_refusal = Some(refusal.message.clone());
                if refusal.is(ProblemType::InsufficientScope) {
                    // The refusal concerns one collection only (contract 11).
                    self.forbidden.insert(again.kind, until);
                } else {
                    // No edit can succeed with the key. The link finds out when the key works again.
                    self.hold_until = self.hold_until.max(until);
                }
                None
            }
            429 => {
                let at = turn.now + turn.backoff.pause(self.failures).max(refusal.retry_after.unwrap_or(0));
                self.failures += 1;
                self.limiter(again.edits.len() > 1).hold_until(at);
                Some(at)
            }
            503 => Some(self.hold(turn, refusal.retry_after)),
            // The request itself may cause the error, so other requests continue.
            status => Some(self.delay(turn, again, matches!(status, 401 | 403), refusal.retry_after)),
        }
    }

    /// No answer: either the line or the request is bad, and the next request will show which. So after the first missing
    /// answer of a request all requests pause; after a further one only this request.
    fn unanswered(&mut self, turn: &mut Turn, again: ReadyEdits, reason: &str) -> Outcomes {
        let is_first = self.retries.failures(&again.edits) == 0;
        let floor = is_first.then(|| self.hold(turn, None) - turn.now);
        let at = self.delay(turn, &again, false, floor);
        self.requeue(again, Some(at - turn.now), Some(ReasonCode::Unreachable), reason)
    }

    /// Counts a failure of a request and returns the time of the next attempt. `floor`: the shortest pause in milliseconds.
    fn delay(&mut self, turn: &mut Turn, again: &ReadyEdits, is_forbidden: bool, floor: Option<Millis>) -> Millis {
        let own = turn.now + turn.backoff.pause(self.retries.failures(&again.edits)).max(floor.unwrap_or(0));
        let common = turn.now + turn.backoff.pause(self.retries.repeated_failures);
        self.retries.on_failure(&again.edits, is_forbidden, own, common);
        self.retries.next_attempt_at(&again.edits).unwrap_or(own)
    }

    /// Pauses the push and returns until when. A failure during a pause belongs to a request sent before the pause, and does
    /// not make the pause longer. `retry_after`: the server's pause in milliseconds.
    fn hold(&mut self, turn: &mut Turn, retry_after: Option<Millis>) -> Millis {
        if self.hold_until <= turn.now {
            self.hold_until = turn.now + turn.backoff.pause(self.failures);
            self.failures += 1;
        }
        self.server_hold_until = self.server_hold_until.max(retry_after.map(|pause| turn.now + pause));
        self.server_hold_until.map_or(self.hold_until, |until| self.hold_until.max(until))
    }

    /// Queues edits again with the same bytes, behind the other ready edits: a request that breaks each connection must
    /// delay nothing else. `pause`: until the next attempt; None when the time is not known.
    fn requeue(&mut self, again: ReadyEdits, pause: Option<Millis>, code: Option<ReasonCode>, why: &str) -> Outcomes {
        let retry = |edit: &i64| (*edit, WriteOutcome::Later { pause, code, reason: why.to_owned() });
        let outcomes = again.edits.iter().map(retry).collect();
        self.ready.push_back(again);
        outcomes
    }

    /// Forgets retry state of answered edits, saves the outcomes, and plans again if only delayed edits are left.
    fn save_outcomes(&mut self, turn: &mut Turn, kind: Kind, outcomes: Outcomes) {
        self.has_open_edits = None;
        for (edit, outcome) in &outcomes {
            match outcome {
                WriteOutcome::Later { .. } | WriteOutcome::KeyRefused { .. } => continue,
                WriteOutcome::SendAlone => self.retries.on_success(*edit),
                WriteOutcome::PreconditionFailed => _ = self.send_alone.remove(edit),
                _ => {
                    self.retries.on_success(*edit);
                    self.outdated.remove(edit);
                    self.send_alone.remove(edit);
                }
            }
            self.failures = 0;
            self.forbidden.remove(&kind);
            if self.is_allowed_all() {
                self.key_refusal = None;
            }
        }
        if !outcomes.is_empty() {
            turn.act(Action::SaveOutcomes { outcomes });
        }
        let is_delayed =
            |ready: &ReadyEdits| self.forbidden.contains_key(&ready.kind) || self.retries.failures(&ready.edits) > 0;
        if self.ready.iter().all(is_delayed) {
            self.plan(turn);
        }
    }

    /// The record under the id of a create is known, or could not be fetched.
    pub(super) fn fetched(&mut self, turn: &mut Turn, edit: i64, existing: Result<Option<i64>, Failure>) {
        let collision =
            self.id_collisions.pop_front_if(|collision| self.is_fetching && collision.again.edits == [edit]);
        let Some(IdCollision { again, refusal }) = collision else { return };
        self.is_fetching = false;
        let kind = again.kind;
        let outcomes = match existing {
            Ok(Some(rev)) => vec![(edit, WriteOutcome::Exists { rev })],
            Ok(None) => {
                let Refusal { message: reason, problem, .. } = refusal;
                vec![(edit, WriteOutcome::Conflict { reason, problem, deleted: false })]
            }
            Err(Failure::Refused(refusal)) => self.refused_for_now(turn, again, &refusal),
            Err(Failure::NoAnswer(reason)) => self.unanswered(turn, again, &reason),
        };
        self.save_outcomes(turn, kind, outcomes);
    }
}
