//! The push half of the core: sends what is due, and says what an answer means for its edits and for those behind them.
//! What may go, and when, is in [`queue`].

mod queue;

use std::collections::HashSet;

use hearth_contract::schema::Kind;

use self::queue::Met;
pub(super) use self::queue::Push;
use super::{Core, Effect, Ending, Errand, Failure, KEY_RETRY, Millis, Outcome, Ready, Refusal, There, Word};
use crate::model::ReasonCode;

/// Requests under way beside each other: while one is answered the next is being written down.
const IN_FLIGHT_MAX: usize = 2;
/// The same of bulk calls. They are filled up again once half of them are answered, because what is written down together
/// waits for the disk once.
const BULK_IN_FLIGHT_MAX: usize = 16;
/// The refusal that says something against the collection alone (contract 11).
const INSUFFICIENT_SCOPE: &str = "insufficient_scope";
/// A call that somebody on the way forbids so often in a row is taken apart: perhaps it is for the text of one edit.
const FORBIDDEN_MAX: u32 = 3;

/// Why a request is delayed, from the status of the response. None when the key is refused.
const fn delay_code(status: u16) -> Option<ReasonCode> {
    match status {
        401 | 403 => None,
        429 => Some(ReasonCode::RateLimited),
        500.. => Some(ReasonCode::ServerError),
        _ => Some(ReasonCode::Unreachable),
    }
}

impl Core {
    /// Requests were answered, or not.
    pub(super) fn answered(
        &mut self,
        now: Millis,
        sent: &[i64],
        carried: Vec<i64>,
        outcome: Outcome,
        effects: &mut Vec<Effect>,
    ) {
        let Some(place) = self.push.in_flight.iter().position(|ready| ready.edits == sent) else { return };
        let again = Ready { frozen: true, ..self.push.in_flight.swap_remove(place) };
        let kind = again.kind;
        self.push.open = None;
        let accepted = |word: &Word| matches!(word, Word::Accepted { .. });
        if matches!(&outcome, Outcome::Told(words) if words.iter().any(|(_, word)| accepted(word))) {
            self.look_soon(now);
        }
        let mut endings = Vec::with_capacity(carried.len());
        match outcome {
            Outcome::Moot => {}
            // Nothing speaks against the line, nor against it.
            Outcome::TooLate { reason } => {
                endings = self.later(Ready { edits: carried, ..again }, None, Some(ReasonCode::Unreachable), &reason);
            }
            Outcome::Told(words) => {
                for (edit, word) in words {
                    match word {
                        Word::Accepted { rev } => endings.push((edit, Ending::Sent { rev })),
                        Word::Refused(refusal) => {
                            let again = Ready { edits: vec![edit], ..again.clone() };
                            endings.extend(self.refused_one(now, edit, again, refusal));
                        }
                    }
                }
            }
            Outcome::NoAnswer { reason } if !self.in_contact() => {
                endings = self.later(Ready { edits: carried, ..again }, None, Some(ReasonCode::Unreachable), &reason);
            }
            Outcome::NoAnswer { reason } => {
                self.push.narrow = true;
                endings = self.unanswered(now, Ready { edits: carried, ..again }, &reason);
            }
            Outcome::Refused(refusal) => match refusal.status {
                408 => {
                    self.push.narrow = true;
                    endings = self.not_now(now, Ready { edits: carried, ..again }, &refusal);
                }
                // Only the server itself knows that it did not look at it.
                401 | 403 if refusal.is_of_the_key() => {
                    self.not_before(now, &again, &refusal);
                    let away = |edit| (edit, Ending::TurnedAway { reason: refusal.message.clone() });
                    endings = carried.into_iter().map(away).collect();
                }
                401 | 403 if carried.len() > 1 && self.push.forbids(&again) + 1 >= FORBIDDEN_MAX => {
                    endings = self.apart(carried);
                }
                401 | 403 | 429 | 500.. => {
                    endings = self.not_now(now, Ready { edits: carried, ..again }, &refusal);
                }
                // Nothing of it is in, and the refusal names none of the edits.
                _ => endings = self.apart(carried),
            },
        }
        self.ended(kind, endings, effects);
    }

    /// What was sent together goes again one by one.
    fn apart(&mut self, edits: Vec<i64>) -> Vec<(i64, Ending)> {
        self.push.alone.extend(&edits);
        edits.into_iter().map(|edit| (edit, Ending::Apart)).collect()
    }

    /// What a refusal means for one edit; None: its record is to be looked at first.
    fn refused_one(&mut self, now: Millis, edit: i64, again: Ready, refusal: Refusal) -> Option<(i64, Ending)> {
        let Refusal { message: reason, problem, .. } = refusal.clone();
        let ending = match (refusal.status, refusal.kind.as_str()) {
            (_, "already_exists") => {
                // Perhaps our own create, whose answer was lost longer ago than the server remembers keys.
                self.push.met_their_ids.push_back(Met { edit, again, refusal });
                return None;
            }
            (401 | 403 | 408 | 429 | 500.., _) => return self.not_now(now, again, &refusal).pop(),
            // Any other 404 is of the path alone, as of a rule on the way that lets no such request through.
            (404, "not_found") => Ending::Conflict { reason: "deleted there".to_owned(), problem, gone: true },
            (412, _) => {
                if self.push.overtaken.insert(edit) {
                    self.push.stumbles.over(edit);
                } else {
                    // What it waited for since has not helped, or there was nothing to wait for.
                    self.stumbled(now, &again, false, refusal.retry_after);
                }
                Ending::Overtaken
            }
            _ => Ending::Rejected { reason, problem },
        };
        Some((edit, ending))
    }

    /// A refusal that says nothing against the edits: the same request may succeed later.
    fn not_now(&mut self, now: Millis, again: Ready, refusal: &Refusal) -> Vec<(i64, Ending)> {
        let at = self.not_before(now, &again, refusal);
        self.later(again, at, delay_code(refusal.status), &refusal.message)
    }

    /// When such a request may go again, if it depends on nothing but time.
    fn not_before(&mut self, now: Millis, again: &Ready, refusal: &Refusal) -> Option<Millis> {
        match refusal.status {
            401 | 403 if refusal.is_of_the_key() => {
                self.key_refused = Some(refusal.message.clone());
                if refusal.kind == INSUFFICIENT_SCOPE {
                    self.push.forbidden.insert(again.kind, now + KEY_RETRY);
                } else {
                    // Nothing else would fare better with this key. The link finds out whether it is good again.
                    self.push.hold_until = self.push.hold_until.max(now + KEY_RETRY);
                }
                None
            }
            429 => {
                let at = now + self.backoff(self.push.failures).max(refusal.retry_after.unwrap_or(0));
                self.push.failures += 1;
                let pace = if again.edits.len() > 1 { &mut self.push.bulk } else { &mut self.push.writes };
                pace.hold_until(at);
                Some(at)
            }
            503 => Some(self.hold_push(now, refusal.retry_after)),
            // The server, or something on the way, stumbles over these perhaps, so the others go on.
            status => Some(self.stumbled(now, again, matches!(status, 401 | 403), refusal.retry_after)),
        }
    }

    /// Whether a request without an answer says something of the line or of itself shows when another goes. So all wait
    /// when it happens to one for the first time, longer each time in a row; if it happens again, that one waits alone.
    fn unanswered(&mut self, now: Millis, again: Ready, reason: &str) -> Vec<(i64, Ending)> {
        let floor = match self.push.stumbles_over(&again) {
            0 => Some(self.hold_push(now, None) - now),
            _ => None,
        };
        let at = self.stumbled(now, &again, false, floor);
        self.later(again, Some(at), Some(ReasonCode::Unreachable), reason)
    }

    /// These wait, longer each time, and with others that have failed as well; gives until when.
    fn stumbled(&mut self, now: Millis, again: &Ready, is_forbidden: bool, floor: Option<Millis>) -> Millis {
        let own = now + self.backoff(self.push.stumbles_over(again)).max(floor.unwrap_or(0));
        let common = now + self.backoff(self.push.stumbles.in_a_row());
        let Some(first) = again.edits.first() else { return own };
        self.push.stumbles.note(*first, is_forbidden, own, common);
        self.push.stumbles.due_at(*first).unwrap_or(own)
    }

    /// Edits go again with the same bytes, after the others that may go: what breaks a connection each time it is sent
    /// holds nobody up. What waits for them is not among those.
    fn later(
        &mut self,
        again: Ready,
        at: Option<Millis>,
        code: Option<ReasonCode>,
        reason: &str,
    ) -> Vec<(i64, Ending)> {
        let later = |edit: &i64| (*edit, Ending::Later { at, code, reason: reason.to_owned() });
        let endings = again.edits.iter().map(later).collect();
        if !again.edits.is_empty() {
            self.push.ready.push_back(again);
        }
        endings
    }

    fn ended(&mut self, kind: Kind, endings: Vec<(i64, Ending)>, effects: &mut Vec<Effect>) {
        for (edit, ending) in &endings {
            if !matches!(ending, Ending::Later { .. } | Ending::TurnedAway { .. }) {
                self.push.failures = 0;
                self.push.forbidden.remove(&kind);
                if self.push.is_allowed_all() {
                    self.key_refused = None;
                }
                if *ending != Ending::Overtaken {
                    self.push.stumbles.over(*edit);
                }
                if !matches!(ending, Ending::Overtaken | Ending::Apart) {
                    self.push.overtaken.remove(edit);
                }
                if *ending != Ending::Apart {
                    self.push.alone.remove(edit);
                }
            }
        }
        if !endings.is_empty() {
            effects.push(Effect::Record { endings });
        }
        // What waited for these may go now, or must be held; it is looked up when what is known to be ready is gone.
        let push = &self.push;
        let stands = |ready: &Ready| push.forbidden.contains_key(&ready.kind) || push.stumbles_over(ready) > 0;
        if push.ready.iter().all(stands) {
            self.plan(effects);
        }
    }

    /// What is there under the id of a create is known, or is not.
    pub(super) fn looked(&mut self, now: Millis, edit: i64, there: There, effects: &mut Vec<Effect>) {
        let Some(Met { again, refusal, .. }) = self.push.looking.take_if(|met| met.edit == edit) else { return };
        let kind = again.kind;
        self.push.open = None;
        let endings = match there {
            There::Same { rev } => vec![(edit, Ending::There { rev })],
            There::Other => {
                let Refusal { message: reason, problem, .. } = refusal;
                vec![(edit, Ending::Conflict { reason, problem, gone: false })]
            }
            There::Unknown(Failure::Refused(refusal)) => self.not_now(now, again, &refusal),
            There::Unknown(Failure::NoAnswer(reason)) => self.unanswered(now, again, &reason),
        };
        self.ended(kind, endings, effects);
    }

    /// Nothing goes for a while; gives until when. What fails during a pause was sent before it and does not make it longer.
    /// `floor`: what the server asked for.
    fn hold_push(&mut self, now: Millis, floor: Option<Millis>) -> Millis {
        if self.push.hold_until <= now {
            self.push.hold_until = now + self.backoff(self.push.failures);
            self.push.failures += 1;
        }
        self.push.asked_until = self.push.asked_until.max(floor.map(|floor| now + floor));
        self.push.asked_until.map_or(self.push.hold_until, |asked_until| self.push.hold_until.max(asked_until))
    }

    /// Sends what is due.
    pub(super) fn push(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        self.push.wake_at = None;
        if !self.in_contact() {
            return;
        }
        if self.push.looking.is_none()
            && let Some(met) = self.push.met_their_ids.pop_front()
        {
            effects.push(Effect::Ask(Errand::Look { edit: met.edit }));
            self.push.looking = Some(met);
        }
        let bulk_max = if self.push.in_flight.len() <= BULK_IN_FLIGHT_MAX / 2 { BULK_IN_FLIGHT_MAX } else { 0 };
        while self.push.in_flight.len() < IN_FLIGHT_MAX.max(bulk_max) {
            let places = match self.push.choose(now) {
                Ok(places) => places,
                Err(at) => {
                    self.push.wake_at = at;
                    return;
                }
            };
            let first = places.first().and_then(|place| self.push.ready.get(*place));
            let is_bulk = places.len() > 1 || first.is_some_and(|first| first.frozen && first.edits.len() > 1);
            if !is_bulk && self.push.in_flight.len() >= IN_FLIGHT_MAX {
                return;
            }
            let bytes = places.iter().filter_map(|place| self.push.ready.get(*place)).map(|ready| ready.bytes).sum();
            if !self.push.has_room_for(bytes) {
                return;
            }
            let mut chosen: Vec<Ready> = Vec::with_capacity(places.len());
            for place in places.iter().rev() {
                chosen.extend(self.push.ready.remove(*place));
            }
            chosen.reverse();
            let Some(Ready { kind, frozen, .. }) = chosen.first().cloned() else { return };
            let parcels: Vec<Vec<i64>> = chosen.into_iter().map(|ready| ready.edits).collect();
            let edits = parcels.concat();
            if is_bulk {
                self.push.bulk.take(now)
            } else {
                self.push.writes.take(now)
            }
            self.push.in_flight.push(Ready { edits, kind, frozen, bytes });
            effects.push(Effect::Ask(Errand::Send { parcels }));
        }
    }

    /// Knows nothing of the edits any more but what is on disk; a request under way goes again, with the same bytes.
    pub(super) fn forget_push(&mut self) {
        let writes = std::mem::take(&mut self.push.writes);
        let bulk = std::mem::take(&mut self.push.bulk);
        let asked_until = self.push.asked_until;
        self.push = Push { writes, bulk, asked_until, ..Push::default() };
    }

    /// Has the edits looked through, now or after the look that is under way.
    pub(super) fn plan(&mut self, effects: &mut Vec<Effect>) {
        self.push.open = None;
        if self.push.planning {
            self.push.plan_again = true;
        } else {
            self.push.planning = true;
            effects.push(Effect::Plan);
        }
    }

    /// The edits were looked through.
    pub(super) fn planned(&mut self, ready: Vec<Ready>, open: bool, effects: &mut Vec<Effect>) {
        self.push.planning = false;
        self.push.open = Some(open);
        let free = ready.into_iter().filter(|ready| !ready.edits.iter().any(|edit| self.push.holds(*edit)));
        self.push.ready = free.collect();
        let known = self.push.ready.iter().chain(&self.push.in_flight).filter_map(|ready| ready.edits.first().copied());
        let known: HashSet<i64> = known.chain(self.push.met().map(|met| met.edit)).collect();
        self.push.stumbles.retain(&known);
        self.push.alone.retain(|edit| known.contains(edit));
        self.push.overtaken.retain(|edit| known.contains(edit));
        let was_allowed_all = self.push.is_allowed_all();
        let Push { forbidden, ready, in_flight, .. } = &mut self.push;
        forbidden.retain(|kind, _| ready.iter().chain(&*in_flight).any(|ready| ready.kind == *kind));
        let is_idle = self.push.ready.is_empty() && !self.push.is_busy();
        if self.push.is_allowed_all() && (is_idle || !was_allowed_all) && self.in_contact() {
            // Nothing is left that the key was too weak for; the feed is told to it.
            self.key_refused = None;
        }
        if std::mem::take(&mut self.push.plan_again) {
            self.plan(effects);
        }
    }

    /// The feed was applied: edits that are in may have been passed by it.
    pub(super) fn feed_applied(&mut self, touched_edits: bool, found_edits: bool, effects: &mut Vec<Effect>) {
        // While an answer is awaited, what waits for an edit that is in is looked up after it.
        let idle = !self.push.is_busy();
        let waits = self.push.ready.is_empty() && self.push.open != Some(false);
        if touched_edits || (idle && (found_edits || waits)) {
            self.plan(effects);
        }
    }
}
