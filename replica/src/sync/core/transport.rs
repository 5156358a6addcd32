//! How the feed comes from a server that is known: by stream, or by polls while no stream is open. Must not know how
//! responses are read.
//!
//! A stream that fails is requested again after a short pause. Polls fill only pauses that are longer. A stream that is
//! silent is checked by a poll beside the stream. The stream is given up for polls only if the poll finds events that the
//! stream does not bring either. [`super::stream_health`] knows the times.

use super::action::{Action, Request};
use super::clock::Millis;
use super::identity::ServerInfo;
use super::outcome::{Failure, Refusal};
use super::state::{Core, Following, Link, PollState, RESTORED, StreamState};
use super::stream_health::POLL_INTERVAL;
use crate::model::{FeedBatch, Transport};

/// How long a stream may take to bring the events that a poll has found: a slow stream is not held back.
const STREAM_LAG_MAX: Millis = 2000;
/// How long a poll waits for the answers to edits in flight. The poll makes those answers stale, so on a slow line polls that
/// did not wait would make each answer stale.
const PUSH_PATIENCE: Millis = 15_000;

/// Why polls prove contact while a stream is requested or open.
const SILENT: &str = "the stream has not brought anything yet; polling";

impl Core {
    /// Follows the feed of the server that has answered the greeting.
    pub(super) fn follow(&mut self, now: Millis, server: ServerInfo, actions: &mut Vec<Action>) {
        self.link = Link::Following(Following {
            greeting: Some(server),
            stream: StreamState::Waiting,
            poll: PollState::Idle { next_at: now },
            is_current: false,
        });
        self.check_transport(now, actions);
    }

    /// When stream or polls need attention, if nothing else happens.
    pub(super) fn transport_due_at(&self) -> Option<Millis> {
        self.stream_due_at().into_iter().chain(self.poll_due_at()).min()
    }

    /// When the next stream is requested, or a silent stream is closed.
    fn stream_due_at(&self) -> Option<Millis> {
        let Link::Following(following) = &self.link else { return None };
        match following.stream {
            StreamState::Waiting => self.stream.next_at(),
            StreamState::Open if ignores_silence() => None,
            StreamState::Requested | StreamState::Open => Some(self.stream.silent_at()),
        }
    }

    /// When the next poll is sent, or the answer to the last poll is decided upon.
    fn poll_due_at(&self) -> Option<Millis> {
        let Link::Following(following) = &self.link else { return None };
        match (&following.poll, following.stream) {
            (PollState::Asked { .. }, _) => None,
            (PollState::Held { decide_at, .. }, _) => Some(*decide_at),
            (PollState::Idle { .. }, StreamState::Open) if ignores_silence() => None,
            // Polls that catch up make no answer stale.
            (PollState::Idle { next_at }, StreamState::Waiting) if following.is_current && self.push.is_busy() => {
                Some(next_at + PUSH_PATIENCE)
            }
            (PollState::Idle { next_at }, StreamState::Waiting) => Some(*next_at),
            (PollState::Idle { next_at }, _) => Some(self.stream.check_at().max(*next_at)),
        }
    }

    /// Does what is due: requests or closes the stream, sends a poll, decides upon the answer to a poll.
    pub(super) fn check_transport(&mut self, now: Millis, actions: &mut Vec<Action>) {
        let is_due = |at: Option<Millis>| at.is_some_and(|at| at <= now);
        // Silence counts first: a process that was stopped for a while begins with a new stream.
        if is_due(self.stream_due_at()) {
            match &mut self.link {
                Link::Following(Following { stream: stream @ StreamState::Waiting, .. }) => {
                    *stream = StreamState::Requested;
                    self.stream.on_request(now);
                    actions.push(Action::OpenStream { cursor: self.cursor.clone() });
                }
                _ => return self.stream_silent(now, actions),
            }
        }
        if !is_due(self.poll_due_at()) {
            return;
        }
        let Link::Following(Following { greeting, poll, stream, is_current }) = &mut self.link else { return };
        let known_head = match greeting {
            Some(server) => server.feed_head.head,
            None => self.head_at_contact.max(self.accepted_head),
        };
        match std::mem::replace(poll, PollState::Asked { is_outdated: false, known_head }) {
            PollState::Held { batch, .. } => self.streams_are_held_back(now, batch, actions),
            _ => {
                let is_catching_up = *stream == StreamState::Waiting && !*is_current && self.in_contact();
                actions.push(Action::Request(Request::Poll { cursor: self.cursor.clone(), is_catching_up }));
            }
        }
    }

    /// Polls as soon as possible while no stream is requested or open: the server has new events, or a person waits.
    pub(super) fn poll_soon(&mut self, now: Millis) {
        if let Link::Following(Following { stream: StreamState::Waiting, poll: PollState::Idle { next_at }, .. }) =
            &mut self.link
        {
            *next_at = now.min(*next_at);
        }
    }

    pub(super) fn stream_opened(&mut self, now: Millis, actions: &mut Vec<Action>) {
        let Link::Following(following @ Following { stream: StreamState::Requested, .. }) = &mut self.link else {
            return;
        };
        self.stream.on_open(now);
        following.stream = StreamState::Open;
        following.is_current |= hearth_simulated::planted(hearth_simulated::PlantedFault::LiveBeforeCaughtUp);
        if let Some(server) = following.greeting.take() {
            self.begin_contact(now, server, actions);
        }
    }

    pub(super) fn stream_active(&mut self, now: Millis, actions: &mut Vec<Action>) {
        if self.stream.on_bytes(now) {
            actions.push(Action::SaveFinding { holds_streams_back: false });
        }
        self.touch(now, actions);
    }

    pub(super) fn stream_batch(&mut self, now: Millis, batch: FeedBatch, actions: &mut Vec<Action>) {
        let Link::Following(following @ Following { stream: StreamState::Open, .. }) = &mut self.link else { return };
        if batch.ends_before(self.head_at_contact) {
            return self.lost(now, RESTORED.to_owned(), None, actions);
        }
        // The present that a poll has reached lies before the events of a later stream.
        following.is_current = batch.is_at_present() || following.is_current && self.stream.has_batch();
        match &mut following.poll {
            PollState::Asked { is_outdated, .. } => *is_outdated = true,
            poll => *poll = PollState::Idle { next_at: now },
        }
        if self.stream.on_batch(now, batch.is_at_present()) {
            actions.push(Action::SaveFinding { holds_streams_back: false });
        }
        self.reason = None;
        self.apply(now, batch, Transport::Stream, actions);
    }

    /// No byte has come for too long: the connection is dead.
    fn stream_silent(&mut self, now: Millis, actions: &mut Vec<Action>) {
        actions.push(Action::CloseStream);
        match &mut self.link {
            // Polls work, and streams are known not to.
            Link::Following(following) if self.stream.has_finding() => {
                following.leave_stream(now);
                self.stream.on_finding(now);
            }
            _ => self.greet(actions),
        }
    }

    pub(super) fn stream_refused(&mut self, now: Millis, refusal: Refusal, actions: &mut Vec<Action>) {
        if refusal.is_of_the_replica() {
            return self.refused(now, refusal, actions);
        }
        self.stream_failed(now, refusal.message, refusal.retry_after, actions);
    }

    /// The stream was refused or has ended. `retry_after`: the server's pause in milliseconds.
    pub(super) fn stream_failed(
        &mut self,
        now: Millis,
        why: String,
        retry_after: Option<Millis>,
        actions: &mut Vec<Action>,
    ) {
        let Link::Following(following @ Following { stream: StreamState::Requested | StreamState::Open, .. }) =
            &mut self.link
        else {
            return;
        };
        let pause = self.backoff.pause(self.stream.failures(now));
        let carried_contact = following.stream == StreamState::Open && self.stream.has_batch();
        let reason = format!("no stream is available ({}); polling", why.trim_end_matches('.'));
        if !self.stream.on_failure(now, pause, retry_after, reason) {
            return self.wait_for_stream(now, why, actions);
        }
        following.leave_stream(now);
        actions.push(Action::CloseStream);
        if carried_contact {
            // The server may have been restored, and the next poll could reach another history than the stream.
            return self.greet(actions);
        }
        self.check_transport(now, actions);
    }

    /// A poll has an answer.
    pub(super) fn polled(&mut self, now: Millis, answer: Result<FeedBatch, Failure>, actions: &mut Vec<Action>) {
        let Link::Following(following) = &mut self.link else { return };
        let PollState::Asked { is_outdated, known_head } = following.poll else { return };
        let has_stream = following.stream != StreamState::Waiting;
        let interval = if has_stream { self.stream.check_interval() } else { POLL_INTERVAL };
        following.poll = PollState::Idle { next_at: now + interval };
        let batch = match answer {
            Ok(batch) => batch,
            Err(Failure::NoAnswer(_)) if is_outdated => return,
            Err(Failure::NoAnswer(reason)) => return self.lost(now, reason, None, actions),
            // A refused poll says nothing about the stream.
            Err(Failure::Refused(refusal)) if has_stream && !refusal.is_of_the_replica() => {
                let next_at = now + interval.max(refusal.retry_after.unwrap_or(0));
                following.poll = PollState::Idle { next_at };
                return;
            }
            Err(Failure::Refused(refusal)) => return self.refused(now, refusal, actions),
        };
        if batch.ends_before(known_head) {
            return self.lost(now, RESTORED.to_owned(), None, actions);
        }
        match has_stream {
            true if is_outdated => {}
            true if !batch.events.is_empty() || !batch.is_at_present() => {
                let decide_at = (now + STREAM_LAG_MAX).max(self.stream.first_batch_due_at());
                following.poll = PollState::Held { batch, decide_at };
            }
            true => self.stream_checked(now, batch, actions),
            false => self.apply_poll(now, batch, actions),
        }
    }

    /// A poll beside the stream has found nothing that the stream did not bring.
    fn stream_checked(&mut self, now: Millis, batch: FeedBatch, actions: &mut Vec<Action>) {
        let Link::Following(following) = &mut self.link else { return };
        if following.is_current && self.stream.has_batch() {
            self.touched_at = now;
            return actions.push(Action::TouchContact { is_current: self.is_at_present() });
        }
        if self.until.is_single_run() {
            following.leave_stream(now);
            self.stream.give_up();
            actions.push(Action::CloseStream);
        }
        self.apply_poll(now, batch, actions);
    }

    /// A poll has found events, and the stream has not brought them in time.
    fn streams_are_held_back(&mut self, now: Millis, batch: FeedBatch, actions: &mut Vec<Action>) {
        let Link::Following(following) = &mut self.link else { return };
        following.leave_stream(now);
        self.stream.on_finding(now);
        actions.extend([Action::CloseStream, Action::SaveFinding { holds_streams_back: true }]);
        self.apply_poll(now, batch, actions);
    }

    /// Applies the answer to a poll.
    fn apply_poll(&mut self, now: Millis, batch: FeedBatch, actions: &mut Vec<Action>) {
        // Without this check, the same empty page would be requested without end.
        let is_cursor_new = batch.cursor.as_ref().is_some_and(|cursor| self.cursor.as_ref() != Some(cursor));
        if !batch.is_at_present() && batch.events.is_empty() && !is_cursor_new {
            return self.lost(now, "the feed has more events, but the server sends none".to_owned(), None, actions);
        }
        let Link::Following(following) = &mut self.link else { return };
        following.is_current |= batch.is_at_present();
        following.poll = PollState::Idle { next_at: if batch.is_at_present() { now + POLL_INTERVAL } else { now } };
        let why = if following.stream == StreamState::Waiting { self.stream.why() } else { SILENT };
        let why = why.to_owned();
        if let Some(server) = following.greeting.take() {
            self.begin_contact(now, server, actions);
        }
        self.reason = Some(why);
        self.apply(now, batch, Transport::Poll, actions);
    }
}

impl Following {
    /// No stream is open any more, so the next poll is due. The answer to a poll beside the stream decides nothing now.
    fn leave_stream(&mut self, now: Millis) {
        self.stream = StreamState::Waiting;
        if !matches!(self.poll, PollState::Asked { .. }) {
            self.poll = PollState::Idle { next_at: now };
        }
    }
}

/// Whether the planted fault leaves silent streams open.
fn ignores_silence() -> bool {
    hearth_simulated::planted(hearth_simulated::PlantedFault::SilentStreamIgnored)
}
