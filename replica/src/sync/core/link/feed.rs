//! How the feed comes from a server that is known: by stream, or by polls while no stream is open. Must not know how
//! responses are read.
//!
//! A stream that fails is requested again after a short pause. Polls fill only pauses that are longer. A stream that is
//! silent is checked by a poll beside the stream. The stream is given up for polls only if the poll finds events that the
//! stream does not bring either. [`super::stream_health`] knows the times.

use super::super::action::{Action, Request};
use super::super::clock::Millis;
use super::super::identity::ServerInfo;
use super::super::outcome::Failure;
use super::super::turn::{Fact, Turn};
use super::state::{Following, Link, PollState, State, StreamState};
use super::stream_health::POLL_INTERVAL;
use super::{Others, StreamEvent};
use crate::model::{FeedBatch, Transport};

/// How long a stream may take to bring the events that a poll has found: a slow stream is not held back.
const STREAM_LAG_MAX: Millis = 2000;
/// How long a poll waits for the answers to edits in flight. The poll makes those answers stale, so on a slow line polls that
/// did not wait would make each answer stale.
const PUSH_PATIENCE: Millis = 15_000;

/// Shortest time between two saves of the last contact. With a keepalive every 15 s (contract 9.4), the saved time is at
/// most 17 s old; `sync_status` trusts it for 20 s.
const TOUCH_INTERVAL: Millis = 2000;

/// Why polls prove contact while a stream is requested or open.
const SILENT: &str = "the stream has not brought anything yet; polling";
/// The reason of a new contact after the feed has ended before a head from an earlier response. That head, and all answers
/// compared with that head, belong to a discarded history.
const RESTORED: &str = "the server was put back to an older copy meanwhile";
/// Why the contact ends when a page of the feed would be requested again without end.
const NO_EVENTS: &str = "the feed has more events, but the server sends none";

impl Link {
    /// Follows the feed of the server that has answered the greeting.
    pub(super) fn follow(&mut self, turn: &mut Turn, server: ServerInfo, others: Others) {
        self.state = State::Following(Following {
            greeting: Some(server),
            stream: StreamState::Waiting,
            poll: PollState::Idle { next_at: turn.now },
            is_current: false,
        });
        self.check(turn, others);
    }

    /// When the link needs a timer, if nothing else happens.
    pub(in super::super) fn wake_at(&self, others: Others) -> Option<Millis> {
        self.retry_at().into_iter().chain(self.stream_due_at()).chain(self.poll_due_at(others)).min()
    }

    /// When the next stream is requested, or a silent stream is closed.
    fn stream_due_at(&self) -> Option<Millis> {
        let State::Following(following) = &self.state else { return None };
        match following.stream {
            StreamState::Waiting => self.stream.next_at,
            StreamState::Open if ignores_silence() => None,
            StreamState::Requested | StreamState::Open => Some(self.stream.silent_at()),
        }
    }

    /// When the next poll is sent, or the answer to the last poll is decided upon.
    fn poll_due_at(&self, others: Others) -> Option<Millis> {
        let State::Following(following) = &self.state else { return None };
        match (&following.poll, following.stream) {
            (PollState::Asked { .. }, _) => None,
            (PollState::Held { decide_at, .. }, _) => Some(*decide_at),
            (PollState::Idle { .. }, StreamState::Open) if ignores_silence() => None,
            // Polls that catch up make no answer stale.
            (PollState::Idle { next_at }, StreamState::Waiting) if following.is_current && others.is_pushing => {
                Some(next_at + PUSH_PATIENCE)
            }
            (PollState::Idle { next_at }, StreamState::Waiting) => Some(*next_at),
            (PollState::Idle { next_at }, _) => Some(self.stream.check_at().max(*next_at)),
        }
    }

    /// Does what is due: greets the server, requests or closes the stream, sends a poll, decides upon the answer to a poll.
    pub(super) fn check(&mut self, turn: &mut Turn, others: Others) {
        let now = turn.now;
        let is_due = |at: Option<Millis>| at.is_some_and(|at| at <= now);
        if is_due(self.retry_at()) {
            return self.greet(turn);
        }
        // Silence counts first: a process that was stopped for a while begins with a new stream.
        if is_due(self.stream_due_at()) {
            let State::Following(Following { stream: stream @ StreamState::Waiting, .. }) = &mut self.state else {
                return self.stream_silent(turn);
            };
            *stream = StreamState::Requested;
            self.head_at_stream = self.known_head();
            self.stream.on_request(turn.now);
            turn.act(Action::OpenStream { cursor: self.cursor.clone() });
        }
        if !is_due(self.poll_due_at(others)) {
            return;
        }
        let known_head = self.known_head();
        let State::Following(Following { greeting, poll, stream, is_current }) = &mut self.state else { return };
        let is_catching_up = *stream == StreamState::Waiting && !*is_current && greeting.is_none();
        match std::mem::replace(poll, PollState::Asked { is_outdated: false, known_head }) {
            PollState::Held { batch, .. } => self.streams_are_held_back(turn, batch, others),
            _ => turn.act(Action::Request(Request::Poll { cursor: self.cursor.clone(), is_catching_up })),
        }
    }

    /// The highest position that the server has named. The feed reaches it in each answer to a request that follows.
    fn known_head(&self) -> Option<i64> {
        match &self.state {
            State::Following(Following { greeting: Some(server), .. }) => server.feed_head.head,
            _ => self.head_at_contact.max(self.head_in_answers),
        }
    }

    /// Polls as soon as possible while no stream is requested or open: the server has new events, or a person waits.
    pub(super) fn poll_soon(&mut self, now: Millis) {
        if let State::Following(Following { stream: StreamState::Waiting, poll: PollState::Idle { next_at }, .. }) =
            &mut self.state
        {
            *next_at = now.min(*next_at);
        }
    }

    /// The stream tells something. What a stream that was closed tells does not count.
    pub(super) fn stream_told(&mut self, turn: &mut Turn, event: StreamEvent, others: Others) {
        let State::Following(following) = &mut self.state else { return };
        match (event, following.stream) {
            (StreamEvent::Opened, StreamState::Requested) => {
                self.stream.on_open(turn.now);
                following.stream = StreamState::Open;
                following.is_current |= hearth_simulated::planted(hearth_simulated::PlantedFault::LiveBeforeCaughtUp);
                if let Some(server) = following.greeting.take() {
                    self.begin_contact(turn, server);
                }
            }
            (StreamEvent::Active, StreamState::Open) => {
                if self.stream.on_bytes(turn.now) {
                    turn.act(Action::SaveFinding { holds_streams_back: false });
                }
                // Bytes prove contact, but not that the tables are current: a proxy may send comments too.
                if self.in_contact() && self.touched_at.is_none_or(|at| turn.now - at >= TOUCH_INTERVAL) {
                    self.touched_at = Some(turn.now);
                    turn.act(Action::TouchContact { is_current: false });
                }
            }
            (StreamEvent::Batch(batch), StreamState::Open) => self.stream_batch(turn, batch, others),
            (_, StreamState::Waiting) => {}
            (StreamEvent::Ended(Failure::NoAnswer(why)), _) => self.stream_failed(turn, why, None, others),
            (StreamEvent::Ended(Failure::Refused(refusal)), _) => match refusal.is_of_the_replica() {
                true => self.refused(turn, refusal, others),
                false => self.stream_failed(turn, refusal.message, refusal.retry_after, others),
            },
            _ => {}
        }
    }

    fn stream_batch(&mut self, turn: &mut Turn, batch: FeedBatch, others: Others) {
        if batch.ends_before(self.head_at_stream) {
            return self.lost(turn, RESTORED.to_owned(), None);
        }
        let State::Following(following) = &mut self.state else { return };
        // The present that a poll has reached lies before the events of a later stream.
        following.is_current = batch.is_at_present() || following.is_current && self.stream.has_batch;
        match &mut following.poll {
            PollState::Asked { is_outdated, .. } => *is_outdated = true,
            poll => *poll = PollState::Idle { next_at: turn.now },
        }
        if self.stream.on_batch(turn.now, batch.is_at_present()) {
            turn.act(Action::SaveFinding { holds_streams_back: false });
        }
        self.reason = None;
        self.hand_out(turn, batch, Transport::Stream, others);
    }

    /// No byte has come for too long: the connection is dead.
    fn stream_silent(&mut self, turn: &mut Turn) {
        self.leave_stream(turn);
        if self.stream.has_finding() {
            // Polls work, and streams are known not to.
            self.stream.on_finding(turn.now);
        } else {
            self.greet(turn);
        }
    }

    /// The stream was refused or has ended. `retry_after`: the server's pause in milliseconds.
    fn stream_failed(&mut self, turn: &mut Turn, why: String, retry_after: Option<Millis>, others: Others) {
        let carried_contact = self.is_stream_delivering();
        let pause = turn.backoff.pause(self.stream.failures(turn.now));
        let reason = format!("no stream is available ({}); polling", why.trim_end_matches('.'));
        if !self.stream.on_failure(turn.now, pause, retry_after, reason) {
            // The next stream follows soon: contact is lost until then.
            let retry_at = self.stream.next_at.unwrap_or(turn.now);
            return self.down(turn, why, retry_at, self.stream.held_until);
        }
        self.leave_stream(turn);
        if carried_contact {
            // The server may have been restored, and the next poll could reach another history than the stream.
            return self.greet(turn);
        }
        self.check(turn, others);
    }

    /// No stream is open any more, so the next poll is due. The answer to a poll beside the stream decides nothing now.
    fn leave_stream(&mut self, turn: &mut Turn) {
        turn.act(Action::CloseStream);
        let State::Following(following) = &mut self.state else { return };
        following.stream = StreamState::Waiting;
        if !matches!(following.poll, PollState::Asked { .. }) {
            following.poll = PollState::Idle { next_at: turn.now };
        }
    }

    /// A poll has an answer.
    pub(super) fn polled(&mut self, turn: &mut Turn, answer: Result<FeedBatch, Failure>, others: Others) {
        let State::Following(following) = &mut self.state else { return };
        let PollState::Asked { is_outdated, known_head } = following.poll else { return };
        let has_stream = following.stream != StreamState::Waiting;
        let interval = if has_stream { self.stream.check_interval() } else { POLL_INTERVAL };
        following.poll = PollState::Idle { next_at: turn.now + interval };
        let batch = match answer {
            Ok(batch) => batch,
            Err(Failure::NoAnswer(_)) if is_outdated => return,
            // A refused poll says nothing about the stream.
            Err(Failure::Refused(refusal)) if has_stream && !refusal.is_of_the_replica() => {
                let next_at = turn.now + interval.max(refusal.retry_after.unwrap_or(0));
                following.poll = PollState::Idle { next_at };
                return;
            }
            Err(failure) => return self.failed(turn, failure, others),
        };
        if batch.ends_before(known_head) {
            return self.lost(turn, RESTORED.to_owned(), None);
        }
        match has_stream {
            true if is_outdated => {}
            true if !batch.events.is_empty() || !batch.is_at_present() => {
                let decide_at = (turn.now + STREAM_LAG_MAX).max(self.stream.first_batch_due_at());
                following.poll = PollState::Held { batch, decide_at };
            }
            true => self.stream_checked(turn, batch, others),
            false => self.apply_poll(turn, batch, others),
        }
    }

    /// A poll beside the stream has found nothing that the stream did not bring.
    fn stream_checked(&mut self, turn: &mut Turn, batch: FeedBatch, others: Others) {
        if self.is_current() && self.stream.has_batch {
            return self.touch_now(turn, others);
        }
        if self.stream.is_single_run {
            self.leave_stream(turn);
            self.stream.give_up();
        }
        self.apply_poll(turn, batch, others);
    }

    /// A poll has found events, and the stream has not brought them in time.
    fn streams_are_held_back(&mut self, turn: &mut Turn, batch: FeedBatch, others: Others) {
        self.leave_stream(turn);
        self.stream.on_finding(turn.now);
        turn.act(Action::SaveFinding { holds_streams_back: true });
        self.apply_poll(turn, batch, others);
    }

    /// Applies the answer to a poll.
    fn apply_poll(&mut self, turn: &mut Turn, batch: FeedBatch, others: Others) {
        // Without this check, the same empty page would be requested without end.
        let is_cursor_new = batch.cursor.as_ref().is_some_and(|cursor| self.cursor.as_ref() != Some(cursor));
        if !batch.is_at_present() && batch.events.is_empty() && !is_cursor_new {
            return self.lost(turn, NO_EVENTS.to_owned(), None);
        }
        let State::Following(following) = &mut self.state else { return };
        following.is_current |= batch.is_at_present();
        let pause = if batch.is_at_present() { POLL_INTERVAL } else { 0 };
        following.poll = PollState::Idle { next_at: turn.now + pause };
        let why = if following.stream == StreamState::Waiting { self.stream.why.clone() } else { SILENT.to_owned() };
        if let Some(server) = following.greeting.take() {
            self.begin_contact(turn, server);
        }
        self.reason = Some(why);
        self.hand_out(turn, batch, Transport::Poll, others);
    }

    /// Hands a batch out.
    fn hand_out(&mut self, turn: &mut Turn, batch: FeedBatch, transport: Transport, others: Others) {
        if !others.is_reconciling {
            self.expired_cursors = 0;
        }
        self.is_filled |= batch.is_at_present() && !others.is_reconciling;
        self.touched_at = Some(turn.now);
        self.batches_pending += 1;
        turn.tell(Fact::BatchArrived { batch, transport });
    }
}

/// Whether the planted fault leaves silent streams open.
fn ignores_silence() -> bool {
    hearth_simulated::planted(hearth_simulated::PlantedFault::SilentStreamIgnored)
}
