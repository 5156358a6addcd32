//! How the feed comes: by stream, or by polls while no stream works. Must not know how responses are read.
//!
//! A stream is judged by [`super::stream_health`]: by silence, by missing batches, by refusals, and by cuts within the
//! first seconds. Polls replace a stream when one of these repeats and a poll works better.

use super::action::{Action, Request};
use super::clock::Millis;
use super::outcome::{Failure, Refusal};
use super::state::{Core, Link, Polling, RESTORED};
use super::stream_health::STREAM_PAUSE_MAX;
use crate::model::{FeedBatch, Transport};

/// Time between two polls after the present is reached.
const POLL_INTERVAL: Millis = 20_000;

const SILENT: &str = "the stream was silent";
const MUTE: &str = "the stream brings no events, as behind some proxies; polling";

impl Core {
    /// When the stream or the polls need attention, if nothing else happens.
    pub(super) fn transport_due_at(&self) -> Option<Millis> {
        match &self.link {
            Link::Open { .. } if hearth_simulated::planted(hearth_simulated::PlantedFault::SilentStreamIgnored) => None,
            Link::Open { .. } | Link::Opening(_) => Some(self.stream.due_at()),
            Link::Polling(polling) if !polling.is_waiting => Some(polling.next_at),
            _ => None,
        }
    }

    /// Reacts to a silent stream, and polls when a poll is due.
    pub(super) fn check_transport(&mut self, now: Millis, actions: &mut Vec<Action>) {
        if self.transport_due_at().is_none_or(|at| at > now) {
            return;
        }
        // Silence counts before other limits: a process that was stopped for a while begins with a new stream.
        let is_silent = self.stream.is_silent(now);
        match &mut self.link {
            Link::Polling(polling) if polling.stream_at > now => {
                polling.is_waiting = true;
                let is_catching_up = !polling.is_current;
                actions.push(Action::Request(Request::Poll { cursor: self.cursor.clone(), is_catching_up }));
            }
            Link::Polling(_) => self.greet(actions),
            Link::Open { .. } if is_silent && !self.stream.was_silent() => {
                // A dead connection is likely, so a new stream is tried first.
                self.stream.on_silence();
                self.lost(now, SILENT.to_owned(), None, actions);
            }
            // A stream without a first batch is missing at least the batch that tells the present (contract 9.4).
            _ => self.poll_instead(now + STREAM_PAUSE_MAX, !is_silent, MUTE.to_owned(), actions),
        }
    }

    /// Polls at once if polling: the server has new events, because an edit was accepted.
    pub(super) fn poll_soon(&mut self, now: Millis) {
        if let Link::Polling(polling) = &mut self.link {
            polling.next_at = now;
        }
    }

    /// Requests the stream, or polls while the server wants no stream.
    pub(super) fn open_stream(&mut self, now: Millis, actions: &mut Vec<Action>) {
        self.stream.on_request(now);
        match self.stream.held_until(now) {
            Some((until, why)) => self.poll_instead(until, true, why, actions),
            None => actions.push(Action::OpenStream { cursor: self.cursor.clone() }),
        }
    }

    pub(super) fn stream_opened(&mut self, now: Millis, actions: &mut Vec<Action>) {
        self.stream.on_open(now);
        let Link::Opening(server) = &self.link else { return };
        let server = server.clone();
        let is_current = hearth_simulated::planted(hearth_simulated::PlantedFault::LiveBeforeCaughtUp);
        self.link = Link::Open { is_current };
        self.begin_contact(server, actions);
    }

    pub(super) fn stream_active(&mut self, now: Millis, actions: &mut Vec<Action>) {
        self.stream.on_bytes(now, matches!(self.link, Link::Open { .. }));
        self.touch(now, actions);
    }

    pub(super) fn stream_batch(&mut self, now: Millis, batch: FeedBatch, actions: &mut Vec<Action>) {
        let Link::Open { is_current } = &mut self.link else { return };
        if batch.ends_before(self.head_at_contact) {
            return self.lost(now, RESTORED.to_owned(), None, actions);
        }
        *is_current |= batch.is_at_present();
        self.stream.on_batch(now);
        self.apply(now, batch, Transport::Stream, actions);
    }

    pub(super) fn stream_ended(&mut self, now: Millis, reason: String, actions: &mut Vec<Action>) {
        match self.link {
            Link::Opening(_) => self.stream_unavailable(now, &reason, None, actions),
            Link::Open { .. } if !self.stream.has_batch() => self.stream_unavailable(now, &reason, None, actions),
            Link::Open { .. } => self.stream_cut(now, reason, actions),
            _ => self.lost(now, reason, None, actions),
        }
    }

    pub(super) fn stream_refused(&mut self, now: Millis, refusal: Refusal, actions: &mut Vec<Action>) {
        match self.link {
            // The server has just answered the greeting, so perhaps only streams are refused on the way.
            Link::Opening(_) if !refusal.is_of_the_replica() => {
                self.stream_unavailable(now, &refusal.message, refusal.retry_after, actions);
            }
            _ => self.refused(now, refusal, actions),
        }
    }

    /// The server answers, but no stream opens: polls may work. `retry_after`: the server's pause in milliseconds.
    fn stream_unavailable(&mut self, now: Millis, why: &str, retry_after: Option<Millis>, actions: &mut Vec<Action>) {
        let why = format!("no stream is available ({why}); polling");
        let pause = self.stream.on_refusal(now, &why, retry_after);
        self.poll_instead(now + pause, true, why, actions);
    }

    /// A stream with a batch has ended.
    fn stream_cut(&mut self, now: Millis, why: String, actions: &mut Vec<Action>) {
        match self.stream.on_cut(now) {
            None => self.lost(now, why, None, actions),
            Some(pause) => {
                let why = format!("each stream is cut soon ({why}); polling");
                self.poll_instead(now + pause, true, why, actions);
            }
        }
    }

    /// Polls until `stream_at`. The first poll is a test: see [`Polling::is_empty_poll_proof`].
    fn poll_instead(&mut self, stream_at: Millis, is_empty_poll_proof: bool, why: String, actions: &mut Vec<Action>) {
        let server = match std::mem::replace(&mut self.link, Link::Ended) {
            Link::Opening(server) => Some(server),
            _ => None,
        };
        self.link = Link::Polling(Polling {
            server,
            is_empty_poll_proof,
            why,
            is_proven: false,
            is_current: false,
            is_waiting: true,
            next_at: stream_at,
            stream_at,
        });
        let poll = Request::Poll { cursor: self.cursor.clone(), is_catching_up: false };
        actions.extend([Action::CloseStream, Action::Request(poll)]);
    }

    /// A poll has an answer.
    pub(super) fn polled(&mut self, now: Millis, answer: Result<FeedBatch, Failure>, actions: &mut Vec<Action>) {
        let Link::Polling(polling) = &mut self.link else { return };
        let batch = match answer {
            Ok(batch) => batch,
            Err(Failure::NoAnswer(reason)) => return self.lost(now, reason, None, actions),
            Err(Failure::Refused(refusal)) => return self.refused(now, refusal, actions),
        };
        let earlier_head = polling.server.as_ref().map_or(self.head_at_contact, |server| server.feed_head.head);
        if batch.ends_before(earlier_head) {
            return self.lost(now, RESTORED.to_owned(), None, actions);
        }
        if !polling.is_proven && batch.events.is_empty() && !polling.is_empty_poll_proof {
            // No event was missed, so only the silence speaks against the stream.
            return self.lost(now, SILENT.to_owned(), None, actions);
        }
        // Without this check, the same empty page would be requested without end.
        let is_cursor_new = batch.cursor.as_ref().is_some_and(|cursor| self.cursor.as_ref() != Some(cursor));
        if !batch.is_at_present() && batch.events.is_empty() && !is_cursor_new {
            return self.lost(now, "the feed has more events, but the server sends none".to_owned(), None, actions);
        }
        (polling.is_proven, polling.is_waiting) = (true, false);
        polling.is_current |= batch.is_at_present();
        polling.next_at = if batch.is_at_present() { now + POLL_INTERVAL } else { now };
        let (server, why) = (polling.server.take(), polling.why.clone());
        self.failures = 0;
        if let Some(server) = server {
            self.begin_contact(server, actions);
        }
        self.stream.on_poll_proof();
        self.reason = Some(why);
        self.apply(now, batch, Transport::Poll, actions);
    }
}
