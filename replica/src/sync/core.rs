//! What a sync does next. Pure: time and chance are arguments, so every moment can be tested. Must not know how a
//! request is made, SQLite, files or any clock; it speaks in [`Input`]s and [`Effect`]s, and of an answer knows the contract's
//! statuses.
//!
//! Two things run beside each other: the *link*, which brings the feed down, and the *push*, which takes edits up.
//! The push starts only once the server has accepted our cursor since contact was lost, so that nothing is pushed
//! onto a history that was put back.

mod gap;
mod pace;
mod push;
mod saying;
mod stumbles;
#[cfg(test)]
mod tests;
mod transport;
mod words;

use hearth_contract::schema::Kind;

use super::Until;
use crate::model::BlockCause;
use crate::recovery::Cause;
use gap::Recovering;
use push::Push;
pub(crate) use words::{
    Effect, Ending, Errand, Expired, Failure, Input, Outcome, Phase, Ready, Refusal, Standing, There, Word,
};
pub use words::{Identity, Limits, Millis, Stretch, Verdict};

const BACKOFF_FIRST: Millis = 500;
const BACKOFF_MAX: Millis = 60_000;
/// A key that was refused is tried again this often: it may have been given back.
const KEY_RETRY: Millis = 60_000;
/// Whether a full disk has room again is looked at least this often: nobody but this machine is asked for that.
const ROOM_RETRY: Millis = 5000;
/// A stream that tells something and stands for so long has held. One that is cut before does not make the next pause
/// short again, or a stream that is cut each time would be opened without end; after some in a row polls bring the feed.
const HELD: Millis = 5000;
/// Contact is written down at most this often.
const TOUCH_INTERVAL: Millis = 10_000;

/// Why contact begins anew where the feed ends before the head that was told earlier: that is the head of a history that is
/// gone, and so is what was compared with it.
const PUT_BACK: &str = "the server was put back to an older copy meanwhile";

#[derive(Debug, PartialEq)]
enum Link {
    Down {
        retry_at: Millis,
        /// The server does not want to be asked earlier, whoever is in a hurry.
        not_before: Millis,
    },
    /// Who and what the server is, as far as it has said so.
    Greeting {
        identity: Option<Identity>,
        standing: Option<Standing>,
    },
    Opening {
        identity: Identity,
        standing: Standing,
    },
    Open {
        current: bool,
    },
    /// The stream was silent. Not proven: perhaps nothing had happened, and a first poll tells.
    Polling {
        greet: Option<(Identity, Standing)>,
        /// The stream brought not even what every stream brings.
        owes: bool,
        /// Why there is no stream, as it is said once polls are proven to do better.
        why: String,
        proven: bool,
        current: bool,
        asked: bool,
        next_at: Millis,
        stream_at: Millis,
    },
    /// Until a person resumes it.
    Paused,
    Ended,
}

/// The state of one sync.
#[derive(Debug)]
pub(crate) struct Core {
    until: Until,
    link: Link,
    cursor: Option<String>,
    backfilled: bool,
    home: Option<String>,
    /// Why the link is down or held, in plain words.
    reason: Option<String>,
    key_refused: Option<String>,
    failures: u32,
    applying: usize,
    /// When the server accepted the stream.
    opened_at: Millis,
    /// When the stream said something last, whatever it was.
    heard_at: Millis,
    /// Since when the stream owes a word of the feed: anybody on the way can say the rest.
    owing_since: Millis,
    /// The stream that is open has brought something.
    told: bool,
    /// The last stream brought nothing although there was something.
    mute: bool,
    /// Streams in a row that were refused, or ended without a word, while polls were answered.
    turned_down: u32,
    /// Streams in a row that told something and were cut before they had held.
    cuts: u32,
    /// Until when the server wants no stream to be asked for, and why there is none.
    no_stream: Option<(Millis, String)>,
    /// The stream before this one told something and fell silent, and this one has not held yet.
    fell_silent: bool,
    /// The server had forgotten our cursor, and nothing has come since.
    forgotten: bool,
    /// Why the disk did not take a write. Until the disk takes writes again, memory may be ahead of the database.
    disk: Option<BlockCause>,
    recovering: Option<Recovering>,
    /// Reads a minute that the key may make, as far as it was told.
    reads: Option<u32>,
    /// Recoveries begun or taken up.
    rounds: u64,
    /// Up to where the feed is applied.
    tail: i64,
    /// What the database says now.
    shown: Option<(Phase, Option<String>, Option<Millis>)>,
    /// The head that the server told when contact began.
    greeted: Option<i64>,
    touched_at: Millis,

    push: Push,
    chance: u64,
}

impl Core {
    /// A core that ends as `until` says; `seed` spreads its retries.
    pub(crate) fn new(until: Until, seed: u64) -> Core {
        Core {
            until,
            link: Link::Ended,
            cursor: None,
            backfilled: false,
            home: None,
            reason: None,
            key_refused: None,
            failures: 0,
            applying: 0,
            opened_at: 0,
            heard_at: 0,
            owing_since: 0,
            told: false,
            mute: false,
            turned_down: 0,
            cuts: 0,
            no_stream: None,
            fell_silent: false,
            forgotten: false,
            disk: None,
            recovering: None,
            reads: None,
            rounds: 0,
            tail: 0,
            shown: None,
            greeted: None,
            touched_at: Millis::MIN / 2,
            push: Push::default(),
            chance: seed | 1,
        }
    }

    /// When to be woken, if nothing else happens.
    pub(crate) fn wake_at(&self) -> Option<Millis> {
        let link = match self.link {
            Link::Down { retry_at, .. } => Some(retry_at),
            _ => self.transport_due_at(),
        };
        link.into_iter().chain(self.push.wake_at()).chain(self.recovery_due_at()).min()
    }

    /// Collections that the key may not write, as far as it was told: what waits for it must not stand before the others
    /// when the edits are looked through.
    pub(crate) fn forbidden(&self) -> Vec<Kind> {
        self.push.forbidden()
    }

    /// Takes in what happened and says what is to be done.
    pub(crate) fn handle(&mut self, now: Millis, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        // A full disk takes an end back: what stood before it was not written, so it was not told to anybody.
        if self.link == Link::Ended && !matches!(input, Input::Started { .. } | Input::DiskFull { .. }) {
            return effects;
        }
        // A start ends nothing: a wish that is told after it may answer the question on which it would end.
        let begins = matches!(input, Input::Started { .. });
        match input {
            Input::Started { cursor, backfilled, home, recovery, paused } => {
                (self.cursor, self.backfilled, self.home, self.disk) = (cursor, backfilled, home, None);
                self.applying = 0;
                self.forget_push();
                self.take_up(recovery);
                if paused {
                    self.pause(&mut effects);
                } else {
                    self.open(&mut effects);
                }
            }
            Input::Wished { paused, reconcile, hurry } => {
                match (paused, &self.link) {
                    (true, Link::Paused) => {}
                    (true, _) => self.pause(&mut effects),
                    (false, Link::Paused) => self.open(&mut effects),
                    (false, _) => {}
                }
                if let Some(accepted) = reconcile {
                    self.wished(accepted, &mut effects);
                }
                if matches!(self.link, Link::Down { not_before, .. } if hurry && not_before <= now) {
                    self.open(&mut effects);
                }
                if hurry {
                    self.push.hurry();
                }
            }
            Input::Recovering(recovery) => self.take_up(recovery),
            Input::Found { round, answer } => self.found(now, round, answer, &mut effects),
            Input::Proven { round, answer } => self.proven(now, round, answer, &mut effects),
            Input::Missing(ids) => self.missing(now, ids, &mut effects),
            Input::Swept { kind, swept } => self.swept(now, kind, swept, &mut effects),
            Input::Scopes { round, answer } => self.scopes(now, round, answer, &mut effects),
            Input::Met(Ok(met)) => {
                if let Link::Greeting { identity, .. } = &mut self.link {
                    *identity = Some(met);
                }
                self.greeted(now, &mut effects);
            }
            Input::FeedStands(Ok(stands)) => {
                if let Link::Greeting { standing, .. } = &mut self.link {
                    *standing = Some(stands);
                }
                self.greeted(now, &mut effects);
            }
            Input::Met(Err(failure)) | Input::FeedStands(Err(failure)) => {
                if matches!(self.link, Link::Greeting { .. }) {
                    match failure {
                        Failure::NoAnswer(reason) => self.lost(now, reason, None, &mut effects),
                        Failure::Refused(refusal) => self.refused(now, refusal, &mut effects),
                    }
                }
            }
            Input::StreamOpened => {
                (self.heard_at, self.opened_at) = (now, now);
                if self.until == Until::Stopped {
                    self.owing_since = now;
                }
                self.opened(&mut effects);
            }
            Input::Contact => {
                self.heard_at = now;
                self.fell_silent &= !self.has_held(now);
                self.touch(now, &mut effects);
            }
            Input::Frames(stretch) => self.frames(now, stretch, &mut effects),
            Input::Polled(answer) => self.polled(now, answer, &mut effects),
            Input::DiskFull { reason, cause } => {
                self.lost(now, reason, None, &mut effects);
                self.lose_track();
                if let Link::Down { retry_at, .. } = &mut self.link {
                    *retry_at = (*retry_at).min(now + ROOM_RETRY);
                }
                self.disk = Some(cause);
            }
            Input::StreamEnded { reason } => match self.link {
                Link::Opening { .. } => self.turned_down(now, &reason, None, &mut effects),
                Link::Open { .. } if !self.told => self.turned_down(now, &reason, None, &mut effects),
                Link::Open { .. } => self.cut(now, reason, &mut effects),
                _ => self.lost(now, reason, None, &mut effects),
            },
            Input::StreamRefused(refusal) => match self.link {
                // The server has just answered, so perhaps only streams have no way through.
                Link::Opening { .. } if !refusal.is_of_the_replica() => {
                    self.turned_down(now, &refusal.message, refusal.retry_after, &mut effects);
                }
                _ => self.refused(now, refusal, &mut effects),
            },
            Input::Applied { cursor, tail, leapt, touched_edits, found_edits } => {
                if leapt {
                    self.let_go_of_answers();
                }
                self.cursor = cursor.or(self.cursor.take());
                self.tail = tail;
                self.applying = self.applying.saturating_sub(1);
                self.feed_applied(touched_edits, found_edits, &mut effects);
            }
            Input::EditsChanged => self.plan(&mut effects),
            Input::Planned { ready, open } => self.planned(ready, open, &mut effects),
            Input::Answered { sent, carried, outcome } => self.answered(now, &sent, carried, outcome, &mut effects),
            Input::Looked { edit, there } => self.looked(now, edit, there, &mut effects),
            Input::KeyChanged => self.key_changed(&mut effects),
            Input::Timer => {
                if matches!(self.link, Link::Down { retry_at, .. } if retry_at <= now) {
                    self.open(&mut effects);
                }
                self.listen(now, &mut effects);
            }
            Input::StopRequested => {
                effects.extend([Effect::CloseStream, Effect::Finish(Verdict::Done)]);
                self.link = Link::Ended;
                return effects;
            }
        }
        self.push(now, &mut effects);
        self.recover(now, &mut effects);
        self.show(&mut effects);
        if !begins {
            self.finish(&mut effects);
        }
        effects
    }

    /// Asked side by side, and the stream last, so that its frames wait for nobody.
    fn open(&mut self, effects: &mut Vec<Effect>) {
        if self.disk.is_some() {
            return effects.push(Effect::Reload);
        }
        self.link = Link::Greeting { identity: None, standing: None };
        effects.extend([Effect::Ask(Errand::Me), Effect::Ask(Errand::Feed)]);
    }

    /// A person wants no sync. What is on its way to the server is still heard of.
    fn pause(&mut self, effects: &mut Vec<Effect>) {
        effects.push(Effect::CloseStream);
        self.link = Link::Paused;
        (self.reason, self.key_refused, self.failures) = (None, None, 0);
        self.push.forget_scopes();
    }

    /// Another key may be another home's or may do more: contact begins anew, and nothing is sent before that.
    fn key_changed(&mut self, effects: &mut Vec<Effect>) {
        if self.link == Link::Paused || self.disk.is_some() {
            return; // it is used when they end
        }
        // So are its streams counted by themselves.
        (self.key_refused, self.failures, self.no_stream) = (None, 0, None);
        self.push.forget_scopes();
        // What was asked with the old key is not waited for.
        let recovery = self.recovering.as_ref().map(Recovering::progress);
        self.take_up(recovery);
        effects.push(Effect::CloseStream);
        self.open(effects);
    }

    /// Opens the stream once it is known whose it is.
    fn greeted(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let Link::Greeting { identity: Some(identity), standing: Some(standing) } = &self.link else { return };
        let (identity, standing) = (identity.clone(), *standing);
        if let Some(ours) = self.home.as_ref().filter(|ours| **ours != identity.home_id) {
            let why = format!("this replica is of home {ours}, but the server answers as home {}", identity.home_id);
            return self.block(BlockCause::AnotherHome, why, effects);
        }
        self.link = Link::Opening { identity, standing };
        self.open_stream(now, effects);
    }

    fn opened(&mut self, effects: &mut Vec<Effect>) {
        let Link::Opening { identity, standing } = &self.link else { return };
        let (identity, standing) = (identity.clone(), *standing);
        self.link = Link::Open { current: hearth_simulated::planted(hearth_simulated::Fault::LiveBeforeCaughtUp) };
        self.contact(identity, standing, effects);
    }

    /// The server tells the feed from our cursor on, one way or the other.
    fn contact(&mut self, identity: Identity, standing: Standing, effects: &mut Vec<Effect>) {
        let limits = identity.limits;
        self.home = Some(identity.home_id.clone());
        effects.push(Effect::Greet { identity, standing });
        self.greeted = standing.head;
        self.reason = None;
        if self.push.is_allowed_all() {
            self.key_refused = None;
        }
        self.push.contact(limits);
        self.reads = limits.map(|limits| limits.reads);
        self.pace_recovery();
        self.plan(effects);
    }

    fn frames(&mut self, now: Millis, stretch: Stretch, effects: &mut Vec<Effect>) {
        let Link::Open { current } = &mut self.link else { return };
        if stretch.ends_before(self.greeted) {
            return self.lost(now, PUT_BACK.to_owned(), None, effects);
        }
        *current |= stretch.ready.is_some();
        (self.heard_at, self.owing_since, self.told) = (now, now, true);
        (self.mute, self.turned_down) = (false, 0);
        self.fell_silent &= !self.has_held(now);
        self.apply(now, stretch, false, effects);
    }

    fn apply(&mut self, now: Millis, stretch: Stretch, polled: bool, effects: &mut Vec<Effect>) {
        self.forgotten = false;
        self.backfilled |= stretch.ready.is_some() && self.recovering.is_none();
        self.touched_at = now;
        self.applying += 1;
        let phase = self.phase();
        // The stretch's transaction writes the phase that it proves.
        let reason = self.reason();
        self.shown = Some((phase, reason.clone(), None));
        let current = self.is_at_present() && (!polled || stretch.ready.is_some());
        effects.push(Effect::Apply { stretch, phase, reason, polled, current });
    }

    /// Bytes are contact, but no word of the present: a comment may be from anybody on the way.
    fn touch(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        if matches!(self.link, Link::Open { .. }) && now - self.touched_at >= TOUCH_INTERVAL {
            self.touched_at = now;
            effects.push(Effect::Touch { current: false });
        }
    }

    fn lost(&mut self, now: Millis, reason: String, floor: Option<Millis>, effects: &mut Vec<Effect>) {
        effects.push(Effect::CloseStream);
        if self.has_held(now) {
            (self.failures, self.cuts) = (0, 0);
        }
        let pause = self.backoff(self.failures).max(floor.unwrap_or(0));
        self.failures += 1;
        self.link = Link::Down { retry_at: now + pause, not_before: now + floor.unwrap_or(0) };
        self.reason = Some(reason);
    }

    /// Whether the stream that is open has told something and stood for a while.
    fn has_held(&self, now: Millis) -> bool {
        matches!(self.link, Link::Open { .. }) && self.told && now - self.opened_at >= HELD
    }

    fn refused(&mut self, now: Millis, refusal: Refusal, effects: &mut Vec<Effect>) {
        match (refusal.status, refusal.kind.as_str()) {
            (410, _) => match refusal.expired {
                Some(Expired { restored, resume, fork }) => {
                    (self.cursor, self.tail) = (Some(resume.clone()), 0);
                    let cause = if restored { Cause::Restored { resume, fork } } else { Cause::Gap { resume } };
                    effects.extend([Effect::CloseStream, Effect::Recover(cause)]);
                    // Where it told us to go on may be forgotten too by now, but not time after time.
                    if std::mem::replace(&mut self.forgotten, true) {
                        self.lost(now, refusal.message, None, effects);
                    } else {
                        self.open(effects);
                    }
                }
                None => self.lost(now, refusal.message, None, effects),
            },
            (401 | 403, _) if refusal.is_of_the_key() => {
                self.key_refused = Some(refusal.message.clone());
                self.lost(now, refusal.message, None, effects);
                if let Link::Down { retry_at, .. } = &mut self.link {
                    *retry_at = (*retry_at).max(now + KEY_RETRY);
                }
            }
            (400, "invalid_cursor") => {
                let why = format!("the server does not know where this replica stands: {}", refusal.message);
                self.block(BlockCause::UnknownCursor, why, effects);
            }
            _ => self.lost(now, refusal.message, refusal.retry_after, effects),
        }
    }

    /// Going on would mix what does not belong together, and no waiting helps: a person must decide.
    fn block(&mut self, cause: BlockCause, why: String, effects: &mut Vec<Effect>) {
        effects.push(Effect::CloseStream);
        effects.push(Effect::Show {
            phase: Phase::Blocked,
            blocked_by: Some(cause),
            reason: Some(why.clone()),
            retry_at: None,
        });
        effects.push(Effect::Finish(Verdict::Blocked(cause, why)));
        self.link = Link::Ended;
    }

    /// Full jitter: anything from nothing to a bound that doubles, so that many replicas do not come back at once.
    fn backoff(&mut self, failures: u32) -> Millis {
        let bound = BACKOFF_FIRST.saturating_mul(1 << failures.min(10)).min(BACKOFF_MAX);
        // xorshift64: any spread will do here.
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        (self.chance % bound.unsigned_abs()) as Millis
    }
}
