//! The recovery half of the core: after a gap in the feed, after the server was put back, or on a person's wish, the
//! collections are compared with the server's lists. What is asked next, and what an answer means for it. The feed
//! runs beside it and never waits for it.
//!
//! Why this is sound: the tail tells every change after the cursor that it began with. The lists tell the rest, and
//! of two forms of a record the one with the higher rev is the newer, whichever came first. A record that the whole
//! walk did not show, and whose rev is not newer than the walk's first page, was deleted before that page or told of
//! by the tail. All of that holds within one history, and a server may be put back beneath a stream that has fallen silent;
//! so before the end the server is asked once more whether the feed's cursor is good.

use hearth_contract::schema::Kind;

use super::pace::Pace;
use super::{Core, Effect, Errand, Failure, Identity, KEY_RETRY, Limits, Millis, Refusal};
use crate::model::{Reconcile, ReconcileQuery, ReconcileResponse, ReconcileStep, SweepOutcome};

/// A recovery that is under way.
#[derive(Debug)]
pub(super) struct Recovering {
    recovery: Reconcile,
    /// Tells its errands from those of a recovery that was begun anew.
    round: u64,
    asked: Option<ReconcileQuery>,
    /// An answer that was read beyond what the feed has told: it says nothing before the feed has come as far.
    held: Option<(ReconcileQuery, ReconcileResponse)>,
    /// Records to be fetched one by one, as far as they were looked up.
    missing: Vec<String>,
    /// Whether one of these was not there any more, and how often in a row the feed had not told its end by the next look.
    ended: (bool, u32),
    /// The server is asked for the proof of it all.
    proving: bool,
    /// The sweep that the key's scopes are looked at for.
    suspected: Option<(Kind, SweepOutcome)>,
    /// Why the key does not let it go on.
    pub(super) key_refused: Option<String>,
    failures: u32,
    /// How often the list that is under way had to begin again. Its first page comes each time, so it is no failure of that.
    restarts: u32,
    /// Why what was asked last had no good answer.
    failure: Option<String>,
    at: Millis,
    pace: Pace,
}

impl Recovering {
    pub(super) fn question(&self) -> Option<&String> {
        self.recovery.question.as_ref()
    }

    /// How far it is, as it is on disk.
    pub(super) fn progress(&self) -> Reconcile {
        self.recovery.clone()
    }

    /// Why it does not come on, if it does not.
    pub(super) fn hitch(&self) -> Option<String> {
        let failure = self.failure.as_ref().filter(|_| self.failures > 0);
        failure.map(|failure| format!("the comparison with the server does not come on: {failure}"))
    }

    fn is_busy(&self) -> bool {
        self.waits_for_an_answer() || self.recovery.question.is_some()
    }

    fn waits_for_an_answer(&self) -> bool {
        self.asked.is_some() || self.held.is_some() || self.suspected.is_some() || self.proving
    }

    /// Nothing that was asked is heard any more; it will be asked again.
    fn let_go(&mut self, round: u64) {
        self.round = round;
        (self.asked, self.held, self.proving) = (None, None, false);
        if self.suspected.take().is_some() {
            self.at = Millis::MIN;
        }
    }
}

/// The first step for the collection after this one.
fn next_collection(kind: Option<Kind>) -> ReconcileStep {
    let mut kinds = Kind::COLLECTIONS.into_iter();
    if let Some(kind) = kind {
        kinds.find(|k| *k == kind);
    }
    kinds.next().map_or(ReconcileStep::Done, |kind| ReconcileStep::Changes { kind, cursor: None })
}

/// What the step asks of the server; None when it needs none.
fn question(recovery: &Reconcile, missing: &[String]) -> Option<ReconcileQuery> {
    match recovery.step.clone() {
        ReconcileStep::Property => Some(ReconcileQuery::Property),
        ReconcileStep::Changes { kind, cursor } => {
            Some(ReconcileQuery::Changes { kind, since: recovery.since.clone(), cursor })
        }
        ReconcileStep::Ids { kind, cursor, .. } => Some(ReconcileQuery::Ids { kind, cursor }),
        ReconcileStep::Records { kind, .. } => missing.last().map(|id| ReconcileQuery::Record { kind, id: id.clone() }),
        ReconcileStep::Sweep { .. } | ReconcileStep::Done => None,
    }
}

/// Where an answer leads.
fn after(step: &ReconcileStep, found: &ReconcileResponse) -> ReconcileStep {
    let next = found.next_cursor.clone();
    match step.clone() {
        ReconcileStep::Property => next_collection(None),
        ReconcileStep::Changes { kind, .. } => match next {
            cursor @ Some(_) => ReconcileStep::Changes { kind, cursor },
            None => ReconcileStep::Ids { kind, cursor: None, as_of: 0 },
        },
        ReconcileStep::Ids { kind, cursor, as_of } => {
            let as_of = if cursor.is_none() { found.as_of } else { as_of };
            match next {
                cursor @ Some(_) => ReconcileStep::Ids { kind, cursor, as_of },
                None => ReconcileStep::Records { kind, as_of },
            }
        }
        step => step,
    }
}

impl Core {
    /// Takes up a recovery, from its beginning or where it was left.
    pub(super) fn take_up(&mut self, recovery: Option<Reconcile>) {
        self.rounds += 1;
        let pace = self.recovering.take().map(|before| before.pace).unwrap_or_default();
        self.tail = self.tail.max(recovery.as_ref().and_then(|recovery| recovery.tail_position).unwrap_or(0));
        self.recovering = recovery.map(|recovery| Recovering {
            recovery,
            round: self.rounds,
            asked: None,
            held: None,
            missing: Vec::new(),
            ended: (false, 0),
            proving: false,
            suspected: None,
            key_refused: None,
            failures: 0,
            restarts: 0,
            failure: None,
            at: Millis::MIN,
            pace,
        });
        self.pace_recovery();
    }

    /// Learns how often the key may read; None is without limit.
    pub(super) fn pace_recovery(&mut self) {
        let limit = self.reads.map(Limits::share);
        if let Some(recovering) = &mut self.recovering {
            recovering.pace.set_limit(limit);
        }
    }

    /// What was to be written was not: an answer that is on its way would leave a hole before it.
    pub(super) fn lose_track(&mut self) {
        self.rounds += 1;
        if let Some(recovering) = &mut self.recovering {
            recovering.round = self.rounds;
        }
    }

    /// What the server has answered so far may be of a history that is gone: it is asked again.
    pub(super) fn let_go_of_answers(&mut self) {
        if let Some(recovering) = self.recovering.as_mut().filter(|recovering| recovering.waits_for_an_answer()) {
            self.rounds += 1;
            recovering.let_go(self.rounds);
        }
    }

    /// When the recovery goes on, if nothing else happens.
    pub(super) fn recovery_due_at(&self) -> Option<Millis> {
        let recovering = self.recovering.as_ref().filter(|recovering| !recovering.is_busy() && self.in_contact())?;
        Some(recovering.at)
    }

    /// Does the next piece, if it is due.
    pub(super) fn recover(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let (tail, in_contact) = (self.tail, self.in_contact());
        let Some(recovering) = &mut self.recovering else { return };
        if !in_contact {
            // The next contact may be with a server that was put back, which an answer of before knows nothing of.
            return self.let_go_of_answers();
        }
        if let Some((question, found)) = recovering.held.take_if(|(_, found)| found.as_of <= tail) {
            return self.keep(now, question, found, effects);
        }
        if recovering.is_busy() || recovering.at > now {
            return;
        }
        match recovering.recovery.step {
            ReconcileStep::Sweep { kind, as_of } => {
                effects.push(Effect::Sweep { kind, as_of, then: next_collection(Some(kind)) });
                // Its outcome comes at once, as an input.
                recovering.at = Millis::MAX;
            }
            ReconcileStep::Records { kind, .. } if recovering.missing.is_empty() => {
                effects.push(Effect::LookForMissing { kind });
                recovering.at = Millis::MAX;
            }
            _ => {
                let free_at = recovering.pace.free_at(now);
                if free_at > now {
                    recovering.at = free_at;
                    return;
                }
                if recovering.recovery.step == ReconcileStep::Done {
                    recovering.pace.take(now);
                    recovering.proving = true;
                    let (round, cursor) = (recovering.round, self.cursor.clone());
                    effects.push(Effect::Ask(Errand::Prove { round, cursor }));
                } else if let Some(question) = question(&recovering.recovery, &recovering.missing) {
                    recovering.pace.take(now);
                    recovering.asked = Some(question.clone());
                    effects.push(Effect::Ask(Errand::Recover { round: recovering.round, question }));
                }
            }
        }
    }

    /// An answer came, or none.
    pub(super) fn found(
        &mut self,
        now: Millis,
        round: u64,
        answer: Result<ReconcileResponse, Failure>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(recovering) = self.recovering.as_mut().filter(|recovering| recovering.round == round) else { return };
        let Some(question) = recovering.asked.take() else { return };
        match answer {
            Ok(found) => {
                (recovering.failures, recovering.at, recovering.key_refused) = (0, now, None);
                let is_ahead =
                    found.as_of > self.tail && !hearth_simulated::planted(hearth_simulated::Fault::ListsAheadOfFeed);
                if is_ahead {
                    recovering.held = Some((question, found));
                    return self.look_soon(now);
                }
                self.keep(now, question, found, effects);
            }
            Err(failure) => self.not_found(now, failure, effects),
        }
    }

    /// Takes in an answer that the feed has come up with. So the rows are never ahead of the cursor: should the server be
    /// put back meanwhile, the cursor tells, whatever the new history has numbered since.
    fn keep(&mut self, now: Millis, question: ReconcileQuery, found: ReconcileResponse, effects: &mut Vec<Effect>) {
        let Some(recovering) = &mut self.recovering else { return };
        if let ReconcileQuery::Record { .. } = question {
            recovering.missing.pop();
            if found.records.is_empty() {
                // It was deleted since it was listed. Until the feed has told that, the rows would lack it at a position
                // where it was there still: should the server be put back to that, it would stay away.
                recovering.ended.0 = true;
                return;
            }
        }
        let then = after(&recovering.recovery.step, &found);
        recovering.recovery.step = then.clone();
        if !matches!(then, ReconcileStep::Changes { cursor: Some(_), .. } | ReconcileStep::Ids { cursor: Some(_), .. })
        {
            recovering.restarts = 0;
        }
        if let ReconcileStep::Changes { .. } | ReconcileStep::Ids { .. } = then {
            // The next page rests on nothing that is written here, so it is on its way meanwhile.
            self.recover(now, effects);
        }
        effects.push(Effect::Keep { question, found, then });
    }

    /// The server has said whether the feed's cursor is good. If it is, everything was read in the history that the feed tells.
    pub(super) fn proven(&mut self, now: Millis, round: u64, answer: Result<(), Failure>, effects: &mut Vec<Effect>) {
        let Some(recovering) = self.recovering.as_mut().filter(|recovering| recovering.round == round) else { return };
        recovering.proving = false;
        match answer {
            Ok(()) => {
                self.recovering = None;
                effects.push(Effect::EndRecovery);
                // A sync that ends with it has no later moment to say so.
                self.touched_at = now;
                effects.push(Effect::Touch { current: self.is_at_present() });
                self.plan(effects);
            }
            Err(Failure::Refused(refusal)) if refusal.is_of_the_cursor() => self.refused(now, refusal, effects),
            Err(failure) => self.not_found(now, failure, effects),
        }
    }

    fn not_found(&mut self, now: Millis, failure: Failure, effects: &mut Vec<Effect>) {
        let failures = |recovering: &Recovering| recovering.failures.max(recovering.restarts);
        let failures = self.recovering.as_ref().map_or(0, failures);
        let pause = self.backoff(failures);
        let Some(recovering) = &mut self.recovering else { return };
        recovering.failures += 1;
        recovering.failure = Some(failure.to_string());
        recovering.at = now + pause;
        let Failure::Refused(refusal) = failure else { return };
        let is_of_the_key = refusal.is_of_the_key();
        let Refusal { status, kind, message, retry_after, .. } = refusal;
        match (status, kind.as_str()) {
            (401 | 403, _) if is_of_the_key => {
                // One list that this key may not read is no list of deletions.
                recovering.key_refused = Some(message);
                recovering.at = now + KEY_RETRY;
            }
            (400, "invalid_cursor") => {
                // The list's cursor is from before something that the server forgot; the list begins again.
                let step = match recovering.recovery.step.clone() {
                    ReconcileStep::Changes { kind, .. } => ReconcileStep::Changes { kind, cursor: None },
                    ReconcileStep::Ids { kind, .. } => ReconcileStep::Ids { kind, cursor: None, as_of: 0 },
                    step => step,
                };
                recovering.restarts += 1;
                recovering.recovery.step = step.clone();
                effects.push(Effect::SetStep(step));
            }
            _ => recovering.at = recovering.at.max(now + retry_after.unwrap_or(0)),
        }
    }

    /// Records that must be fetched were looked up; none means that the walk can be closed.
    pub(super) fn missing(&mut self, now: Millis, ids: Vec<String>, effects: &mut Vec<Effect>) {
        let Some((ended, waits)) = self.recovering.as_ref().map(|recovering| recovering.ended) else { return };
        let waits = if ended && !ids.is_empty() { waits + 1 } else { 0 };
        let pause = if waits > 0 { self.backoff(waits) } else { 0 };
        let Some(recovering) = &mut self.recovering else { return };
        (recovering.at, recovering.ended) = (now + pause, (false, waits));
        if let (ReconcileStep::Records { kind, as_of }, true) = (&recovering.recovery.step, ids.is_empty()) {
            recovering.recovery.step = ReconcileStep::Sweep { kind: *kind, as_of: *as_of };
            effects.push(Effect::SetStep(recovering.recovery.step.clone()));
        }
        recovering.missing = ids;
    }

    /// A sweep was done, or would take too much.
    pub(super) fn swept(&mut self, now: Millis, kind: Kind, swept: SweepOutcome, effects: &mut Vec<Effect>) {
        let Some(recovering) = &mut self.recovering else { return };
        recovering.at = now;
        match swept {
            SweepOutcome::Done => recovering.recovery.step = next_collection(Some(kind)),
            SweepOutcome::NotListed => recovering.recovery.step = ReconcileStep::Ids { kind, cursor: None, as_of: 0 },
            SweepOutcome::TooMany { .. } => {
                recovering.suspected = Some((kind, swept));
                effects.push(Effect::Ask(Errand::Scopes { round: recovering.round }));
            }
        }
    }

    /// Whether the key may still read what seems to be gone.
    pub(super) fn scopes(
        &mut self,
        now: Millis,
        round: u64,
        answer: Result<Identity, Failure>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(recovering) = self.recovering.as_mut().filter(|recovering| recovering.round == round) else { return };
        let Some((kind, swept)) = recovering.suspected.take() else { return };
        let SweepOutcome::TooMany { gone, of } = swept else { return };
        let collection = kind.collection();
        match answer {
            Ok(identity) if identity.scopes.iter().any(|scope| *scope == format!("{collection}:read")) => {
                let question = format!(
                    "{gone} of {of} {collection} are gone on the server; a person must say whether that is right"
                );
                recovering.recovery.question = Some(question.clone());
                effects.push(Effect::AskPerson(question));
            }
            Ok(_) => {
                // Walked again once the key may: what it could not see is not gone.
                recovering.key_refused = Some(format!("the key has lost the scope {collection}:read"));
                recovering.at = now + KEY_RETRY;
                recovering.recovery.step = ReconcileStep::Ids { kind, cursor: None, as_of: 0 };
                effects.push(Effect::SetStep(recovering.recovery.step.clone()));
            }
            Err(failure) => self.not_found(now, failure, effects),
        }
    }

    /// A person wants a recovery, and perhaps agrees to what one has asked.
    pub(super) fn wished(&mut self, accepted: bool, effects: &mut Vec<Effect>) {
        match &mut self.recovering {
            Some(recovering) if accepted => {
                recovering.recovery.accepted = true;
                recovering.recovery.question = None;
                effects.push(Effect::Heed { accepted });
            }
            // Asked for again while it waits for an answer: perhaps the server is as it should be now.
            Some(recovering) if recovering.recovery.question.is_none() => effects.push(Effect::Heed { accepted }),
            _ => effects.push(Effect::Recover(crate::model::ReconcileCause::Asked { accepted })),
        }
    }
}

#[cfg(test)]
mod tests;
