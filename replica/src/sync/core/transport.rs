//! How the feed comes: by the stream, or by polls when there is none to be had, or when one brings nothing although there
//! was something to bring. Streams are judged by that alone, never by how long they last.

use super::{Core, Effect, Errand, Failure, Link, Millis, PUT_BACK, Stretch};
use crate::sync::Until;

/// A stream says something every 15 s (contract 9.4); three times that is silence.
const SILENCE_MAX: Millis = 45_000;
/// After one that brought nothing a stream has so long to bring the first word of the feed; and, from its beginning, where
/// somebody waits for the end of it all.
const MUTE_SILENCE_MAX: Millis = 10_000;
/// The server says every 60 s where the feed is (contract 9.4); twice that and some is a stream without it, whatever
/// comments come.
const WORDLESS_MAX: Millis = 150_000;
/// Between two polls when nothing more was there.
const POLL_INTERVAL: Millis = 20_000;
/// Streaming is tried again after this long.
const STREAM_AGAIN: Millis = 600_000;
/// The same after one that was refused, ended without a word or was cut like those before it, which costs little to find
/// out; twice as long after each further one, up to the above.
const STREAM_SOON: Millis = 30_000;

/// So many streams in a row that are cut before they have held are followed by another soon: a line may break twice. After
/// more of them polls bring the feed, because contact that is cut each time is none, however much each stream tells.
const CUTS_MAX: u32 = 2;

/// Why a stream was let go of.
const SILENT: &str = "the stream was silent";
/// Why the feed is polled.
const MUTE: &str = "the stream brings nothing, as behind some proxies; polling";

/// How long no stream is asked for after so many others in a row that were no good either.
fn stream_pause(others: u32) -> Millis {
    STREAM_SOON.saturating_mul(1 << others.min(10)).min(STREAM_AGAIN)
}

impl Core {
    /// When the feed needs attention, if nothing else happens.
    pub(super) fn transport_due_at(&self) -> Option<Millis> {
        match self.link {
            Link::Open { .. } if hearth_simulated::planted(hearth_simulated::PlantedFault::SilentStreamIgnored) => None,
            Link::Open { .. } | Link::Opening { .. } => Some(self.stream_due_at()),
            Link::Polling { asked: false, next_at, .. } => Some(next_at),
            _ => None,
        }
    }

    /// Until when the stream must say something more.
    fn stream_due_at(&self) -> Millis {
        (self.heard_at + SILENCE_MAX).min(self.word_due_at())
    }

    /// Until when it must say something of the feed.
    fn word_due_at(&self) -> Millis {
        let waits_for_the_end = self.until != Until::Stopped;
        let patience = match self.told {
            true => WORDLESS_MAX,
            false if self.mute || waits_for_the_end => MUTE_SILENCE_MAX,
            false => SILENCE_MAX,
        };
        self.owing_since + patience
    }

    /// Looks after a stream that has fallen silent, and polls when it is time.
    pub(super) fn listen(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        if self.transport_due_at().is_none_or(|at| at > now) {
            return;
        }
        // Whatever else is due, so that a process that was stopped for a while begins with another stream.
        let is_silent = self.told && self.heard_at + SILENCE_MAX <= now;
        match &mut self.link {
            Link::Polling { asked, stream_at, current, .. } if *stream_at > now => {
                *asked = true;
                effects.push(Effect::Ask(Errand::Poll { cursor: self.cursor.clone(), goes_on: !*current }));
            }
            Link::Polling { .. } => self.open(effects),
            Link::Open { .. } if is_silent && !self.fell_silent => {
                // The path may have died with the connections on it, and another stream comes through.
                self.fell_silent = true;
                self.lost(now, SILENT.to_owned(), None, effects);
            }
            _ => self.doubt(now, !is_silent, effects),
        }
    }

    /// The feed has something new for certain: the next poll need not wait.
    pub(super) fn look_soon(&mut self, now: Millis) {
        if let Link::Polling { next_at, .. } = &mut self.link {
            *next_at = now;
        }
    }

    /// A stream brought nothing: a poll tells whether there was something. One that was silent from its beginning owes at
    /// least the word that the present is reached (contract 9.4).
    fn doubt(&mut self, now: Millis, owes: bool, effects: &mut Vec<Effect>) {
        self.poll_instead(now + STREAM_AGAIN, owes, MUTE.to_owned(), effects);
    }

    /// There is no stream, although the server answers: a poll tells whether the feed can be had without one. `floor`: how
    /// long no stream is to be asked for.
    pub(super) fn turned_down(&mut self, now: Millis, why: &str, floor: Option<Millis>, effects: &mut Vec<Effect>) {
        let pause = stream_pause(self.turned_down);
        self.turned_down = self.turned_down.saturating_add(1);
        let why = format!("there is no stream to be had ({why}); polling");
        // Kept apart from how the polls fare: another contact does not ask for a stream earlier either.
        self.no_stream = floor.map(|floor| (now + floor, why.clone()));
        self.poll_instead(now + pause.max(floor.unwrap_or(0)), true, why, effects);
    }

    /// Opens the stream, or polls where the server wants none to be asked for yet.
    pub(super) fn open_stream(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        (self.heard_at, self.owing_since, self.told) = (now, now, false);
        match self.no_stream.clone() {
            Some((until, why)) if until > now => self.poll_instead(until, true, why, effects),
            _ => effects.push(Effect::OpenStream { cursor: self.cursor.clone() }),
        }
    }

    /// A stream that had told something is over.
    pub(super) fn cut(&mut self, now: Millis, why: String, effects: &mut Vec<Effect>) {
        let further = if self.has_held(now) { None } else { self.cuts.checked_sub(CUTS_MAX) };
        self.cuts = self.cuts.saturating_add(1);
        match further {
            None => self.lost(now, why, None, effects),
            Some(further) => {
                let why = format!("each stream is cut soon ({why}); polling");
                self.poll_instead(now + stream_pause(further), true, why, effects);
            }
        }
    }

    fn poll_instead(&mut self, stream_at: Millis, owes: bool, why: String, effects: &mut Vec<Effect>) {
        let greet = match std::mem::replace(&mut self.link, Link::Ended) {
            Link::Opening { identity, standing } => Some((identity, standing)),
            _ => None,
        };
        let (proven, current, asked) = (false, false, true);
        self.link = Link::Polling { greet, owes, why, proven, current, asked, next_at: stream_at, stream_at };
        let poll = Errand::Poll { cursor: self.cursor.clone(), goes_on: false };
        effects.extend([Effect::CloseStream, Effect::Ask(poll)]);
    }

    /// A poll was answered.
    pub(super) fn polled(&mut self, now: Millis, answer: Result<Stretch, Failure>, effects: &mut Vec<Effect>) {
        let Link::Polling { greet, owes, why, proven, current, asked, next_at, .. } = &mut self.link else { return };
        let stretch = match answer {
            Ok(stretch) => stretch,
            Err(Failure::NoAnswer(reason)) => return self.lost(now, reason, None, effects),
            Err(Failure::Refused(refusal)) => return self.refused(now, refusal, effects),
        };
        let told = greet.as_ref().map_or(self.greeted, |(_, standing)| standing.head);
        if stretch.ends_before(told) {
            return self.lost(now, PUT_BACK.to_owned(), None, effects);
        }
        if !*proven && stretch.events.is_empty() && !*owes {
            // Nothing had happened, so nothing speaks against the stream but its silence.
            return self.lost(now, SILENT.to_owned(), None, effects);
        }
        // More without a way to it would be asked for without end.
        let goes_on = stretch.cursor.as_ref().is_some_and(|cursor| self.cursor.as_ref() != Some(cursor));
        if stretch.ready.is_none() && stretch.events.is_empty() && !goes_on {
            return self.lost(now, "the feed has more and does not go on".to_owned(), None, effects);
        }
        (*proven, *asked) = (true, false);
        self.failures = 0;
        *current |= stretch.ready.is_some();
        *next_at = if stretch.ready.is_some() { now + POLL_INTERVAL } else { now };
        let (greet, why) = (greet.take(), why.clone());
        if let Some((identity, standing)) = greet {
            self.contact(identity, standing, effects);
        }
        self.mute = true;
        self.reason = Some(why);
        self.apply(now, stretch, true, effects);
    }
}
