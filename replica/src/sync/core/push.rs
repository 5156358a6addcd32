//! The push half of the core: which edit goes, and what an answer means for it and for those behind it.

use super::{Core, Effect, Ending, Errand, Failure, KEY_RETRY, Link, Millis, Outcome, Refusal, There};

impl Core {
    /// When an edit is due, if nothing else happens.
    pub(super) fn push_due_at(&self) -> Option<Millis> {
        let due = |edit: &i64| self.edit_failures.get(edit).map_or(self.push_at, |(_, at)| self.push_at.max(*at));
        self.ready.iter().map(due).min().filter(|_| self.may_push() && self.in_flight.is_none())
    }

    /// An edit's request was answered, or not.
    pub(super) fn answered(&mut self, now: Millis, edit: i64, outcome: Outcome, effects: &mut Vec<Effect>) {
        self.in_flight = None;
        let ending = match outcome {
            Outcome::Moot => return self.plan(effects),
            Outcome::Accepted { rev } => Ending::Sent { rev },
            Outcome::Refused(refusal) if refusal.kind == "already_exists" => {
                // Perhaps our own create, whose answer was lost longer ago than the server remembers keys.
                self.in_flight = Some(edit);
                self.met_its_id = Some(refusal);
                return effects.push(Effect::Ask(Errand::Look { edit }));
            }
            Outcome::NoAnswer { reason } => {
                let at = self.hold_push(now, None);
                Ending::Later { at: Some(at), reason }
            }
            Outcome::Refused(refusal) => match refusal.status {
                401 | 403 => {
                    // Nothing else would fare better with this key. The link finds out whether it is good again.
                    self.key_refused = Some(refusal.message.clone());
                    self.push_at = now + KEY_RETRY;
                    self.ready.push_front(edit);
                    Ending::Later { at: None, reason: refusal.message }
                }
                429 | 503 => {
                    let at = self.hold_push(now, refusal.retry_after);
                    Ending::Later { at: Some(at), reason: refusal.message }
                }
                // The server stumbles over this edit perhaps, so the others go on.
                408 | 500.. => {
                    let failures = self.edit_failures.get(&edit).map_or(0, |(failures, _)| *failures);
                    let at = now + self.backoff(failures).max(refusal.retry_after.unwrap_or(0));
                    self.edit_failures.insert(edit, (failures + 1, at));
                    Ending::Later { at: Some(at), reason: refusal.message }
                }
                404 => Ending::Conflict { reason: "deleted there".to_owned(), problem: refusal.problem },
                _ => Ending::Rejected { reason: refusal.message, problem: refusal.problem },
            },
        };
        self.ended(edit, ending, effects);
    }

    fn ended(&mut self, edit: i64, ending: Ending, effects: &mut Vec<Effect>) {
        if matches!(ending, Ending::Later { .. }) {
            // It keeps its place: with the same bytes, before everything that waits for it.
            if self.ready.front() != Some(&edit) {
                self.ready.push_front(edit);
            }
        } else {
            self.push_failures = 0;
            self.key_refused = None;
            self.edit_failures.remove(&edit);
        }
        let settled_or_stuck = !matches!(ending, Ending::Later { .. });
        effects.push(Effect::Record { edit, ending });
        // What waited for this edit may go now, or must be held.
        if settled_or_stuck && self.ready.iter().all(|edit| self.edit_failures.contains_key(edit)) {
            self.plan(effects);
        }
    }

    /// What is there under the id of a create is known, or is not.
    pub(super) fn looked(&mut self, now: Millis, edit: i64, there: There, effects: &mut Vec<Effect>) {
        let refusal = self.met_its_id.take();
        let outcome = match (there, refusal) {
            (There::Same { rev }, _) => Outcome::Accepted { rev: Some(rev) },
            (There::Unknown(Failure::Refused(refusal)), _) => Outcome::Refused(refusal),
            (There::Unknown(Failure::NoAnswer(reason)), _) => Outcome::NoAnswer { reason },
            (There::Other, Some(Refusal { message: reason, problem, .. })) => {
                self.in_flight = None;
                return self.ended(edit, Ending::Conflict { reason, problem }, effects);
            }
            (There::Other, None) => Outcome::Moot,
        };
        self.answered(now, edit, outcome, effects);
    }

    fn hold_push(&mut self, now: Millis, floor: Option<Millis>) -> Millis {
        self.push_at = now + self.backoff(self.push_failures).max(floor.unwrap_or(0));
        self.push_failures += 1;
        self.push_at
    }

    fn may_push(&self) -> bool {
        matches!(self.link, Link::Open { .. })
    }

    /// Sends the next edit that is due, one at a time.
    pub(super) fn push(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        if !self.may_push() || self.in_flight.is_some() || self.push_at > now {
            return;
        }
        let due = |edit: &i64| self.edit_failures.get(edit).is_none_or(|(_, at)| *at <= now);
        if let Some(place) = self.ready.iter().position(due)
            && let Some(edit) = self.ready.remove(place)
        {
            self.in_flight = Some(edit);
            effects.push(Effect::Ask(Errand::Send { edit }));
        }
    }

    /// Has the edits looked through, now or after the look that is under way.
    pub(super) fn plan(&mut self, effects: &mut Vec<Effect>) {
        self.open_edits = None;
        if self.planning {
            self.plan_again = true;
        } else {
            self.planning = true;
            effects.push(Effect::Plan);
        }
    }
}
