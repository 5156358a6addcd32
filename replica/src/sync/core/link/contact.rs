//! Greeting, contact, loss, pause and blocking. Must not know how the feed comes.

use hearth_contract::problem::ProblemType;

use super::super::action::{Action, Request};
use super::super::backoff::KEY_RETRY;
use super::super::clock::Millis;
use super::super::goal::EndReason;
use super::super::identity::ServerInfo;
use super::super::outcome::{Expired, Failure, Refusal};
use super::super::turn::{Fact, Turn};
use super::state::{Following, Link, PollState, State};
use super::{Control, Greeting, Others, Start};
use crate::model::{BlockCause, Phase, ReconcileCause};

/// After a refused write, the next attempt comes at the latest after 5 s: only the local disk is asked.
const DISK_RETRY: Millis = 5000;
impl Link {
    /// Starts from the state on disk.
    pub(super) fn start(&mut self, turn: &mut Turn, start: Start) {
        let Start { cursor, is_filled, home_id, holds_streams_back, is_paused } = start;
        (self.cursor, self.is_filled, self.home_id) = (cursor, is_filled, home_id);
        (self.disk, self.batches_pending) = (None, 0);
        if holds_streams_back && !self.stream.has_finding() {
            self.stream.on_finding(turn.now);
        }
        if is_paused { self.pause(turn) } else { self.greet(turn) }
    }

    pub(super) fn control(&mut self, turn: &mut Turn, control: Control) {
        match control {
            Control::Pause(is_paused) if is_paused == self.is_paused() => {}
            Control::Pause(true) => self.pause(turn),
            Control::Pause(false) => self.greet(turn),
            Control::RetryNow => {
                // A pause requested by the server stays.
                if matches!(self.state, State::Down { not_before, .. } if not_before <= turn.now) {
                    self.stream.end_pause();
                    self.greet(turn);
                }
                self.poll_soon(turn.now);
            }
            // The contact after the pause uses the new key.
            Control::KeyChanged if self.is_paused() || self.disk.is_some() => {}
            Control::KeyChanged => {
                // The new key may belong to another home or have other scopes. Nothing is sent before the greeting.
                (self.key_refusal, self.failures) = (None, 0);
                self.stream.on_key_change();
                turn.tell(Fact::KeyChanged);
                turn.act(Action::CloseStream);
                self.greet(turn);
            }
            Control::End(reason) => self.end(turn, reason),
        }
    }

    /// Closes the stream. Answers to requests already sent are still accepted.
    fn pause(&mut self, turn: &mut Turn) {
        turn.act(Action::CloseStream);
        turn.tell(Fact::Paused);
        self.state = State::Paused;
        (self.reason, self.key_refusal, self.failures) = (None, None, 0);
    }

    /// Ends the sync.
    fn end(&mut self, turn: &mut Turn, reason: EndReason) {
        turn.actions.extend([Action::CloseStream, Action::Finish(reason)]);
        self.state = State::Ended;
    }

    /// Requests identity and feed head side by side. The stream follows afterwards.
    pub(super) fn greet(&mut self, turn: &mut Turn) {
        if self.disk.is_some() {
            return turn.act(Action::ReloadState);
        }
        self.state = State::Greeting { identity: None, feed_head: None };
        turn.act(Action::Request(Request::Identity));
        turn.act(Action::Request(Request::FeedHead));
    }

    /// Follows the feed once the server's home and feed head are known.
    pub(super) fn greeted(&mut self, turn: &mut Turn, answer: Result<Greeting, Failure>, others: Others) {
        let State::Greeting { identity, feed_head } = &mut self.state else { return };
        match answer {
            Ok(Greeting::Identity(received)) => *identity = Some(received),
            Ok(Greeting::FeedHead(received)) => *feed_head = Some(received),
            Err(failure) => return self.failed(turn, failure, others),
        }
        let (Some(identity), Some(feed_head)) = (&identity, *feed_head) else { return };
        let home = &identity.home_id;
        if let Some(ours) = self.home_id.as_ref().filter(|ours| *ours != home) {
            let is_filled_from_ours = identity.refilled_from.as_ref() == Some(ours);
            let how = if is_filled_from_ours { ", which a replica of this home has filled" } else { "" };
            let why = format!("this replica is of home {ours}, but the server answers as home {home}{how}");
            return self.block(turn, BlockCause::AnotherHome, why);
        }
        let server = ServerInfo { identity: identity.clone(), feed_head };
        self.follow(turn, server, others);
    }

    /// The server has accepted the feed cursor, by stream or by poll: contact begins.
    pub(super) fn begin_contact(&mut self, turn: &mut Turn, server: ServerInfo) {
        self.home_id = Some(server.identity.home_id.clone());
        (self.head_at_contact, self.head_in_answers) = (server.feed_head.head, None);
        (self.reason, self.key_refusal, self.failures) = (None, None, 0);
        turn.tell(Fact::ContactBegan(server.identity.limits));
        turn.act(Action::SaveContact(server));
    }

    /// Saves the time of contact at once, because the server has shown how current the tables are.
    pub(super) fn touch_now(&mut self, turn: &mut Turn, others: Others) {
        self.touched_at = Some(turn.now);
        turn.act(Action::TouchContact { is_current: self.is_current() && !others.is_reconciling });
    }

    /// The database refused a write: memory is ahead of the disk, so the next attempt reloads the state.
    pub(super) fn write_failed(&mut self, turn: &mut Turn, reason: String, cause: BlockCause) {
        let pause = self.next_pause(turn).min(DISK_RETRY);
        self.down(turn, reason, turn.now + pause, turn.now);
        self.disk = Some(cause);
    }

    /// Greeting or poll have no usable answer.
    pub(super) fn failed(&mut self, turn: &mut Turn, failure: Failure, others: Others) {
        match failure {
            Failure::NoAnswer(reason) => self.lost(turn, reason, None),
            Failure::Refused(refusal) => self.refused(turn, refusal, others),
        }
    }

    /// The server refuses identity, feed head, stream or poll.
    pub(super) fn refused(&mut self, turn: &mut Turn, refusal: Refusal, others: Others) {
        if refusal.status == 410 {
            self.cursor_expired(turn, refusal, others);
        } else if refusal.is_of_the_key() {
            self.key_refusal = Some(refusal.message.clone());
            let pause = self.next_pause(turn).max(KEY_RETRY);
            self.down(turn, refusal.message, turn.now + pause, turn.now);
        } else if refusal.status == 400 && refusal.is(ProblemType::InvalidCursor) {
            let why = format!("the server does not know where this replica stands: {}", refusal.message);
            self.block(turn, BlockCause::UnknownCursor, why);
        } else {
            self.lost(turn, refusal.message, refusal.retry_after);
        }
    }

    /// 410: continues from the cursor in the response, and compares with the server for the lost events (contract 9.3).
    fn cursor_expired(&mut self, turn: &mut Turn, refusal: Refusal, others: Others) {
        let Some(Expired { restored, resume, fork }) = refusal.expired else {
            return self.lost(turn, refusal.message, None);
        };
        (self.cursor, self.position) = (Some(resume.clone()), 0);
        let cause = if restored {
            ReconcileCause::Restored { resume: Some(resume), fork }
        } else {
            ReconcileCause::Gap { resume }
        };
        turn.actions.extend([Action::CloseStream, Action::StartReconcile(cause)]);
        // The new cursor may have expired by now as well. From the second expiry in a row the link waits, longer each time.
        self.expired_cursors += 1;
        if self.expired_cursors > 1 {
            self.failures = self.failures.max(self.expired_cursors - 2);
            return self.lost(turn, refusal.message, None);
        }
        match &self.state {
            // The link has had no contact since the greeting, so the greeting still holds. While a poll is on its way, a new
            // greeting makes the link ignore the answer, which is about the old cursor.
            State::Following(Following { greeting: Some(server), poll, .. })
                if !matches!(poll, PollState::Asked { .. }) =>
            {
                let server = server.clone();
                self.follow(turn, server, others);
            }
            _ => self.greet(turn),
        }
    }

    /// Contact is lost; the next attempt follows after a pause. `retry_after`: the server's pause in milliseconds.
    pub(super) fn lost(&mut self, turn: &mut Turn, reason: String, retry_after: Option<Millis>) {
        let retry_after = retry_after.unwrap_or(0);
        let pause = self.next_pause(turn).max(retry_after);
        self.down(turn, reason, turn.now + pause, turn.now + retry_after);
    }

    /// The pause before the next attempt, in milliseconds.
    fn next_pause(&mut self, turn: &mut Turn) -> Millis {
        self.failures += 1;
        turn.backoff.pause(self.failures - 1)
    }

    /// No contact until `retry_at`. A retry-now request waits until `not_before`.
    pub(super) fn down(&mut self, turn: &mut Turn, reason: String, retry_at: Millis, not_before: Millis) {
        turn.act(Action::CloseStream);
        self.state = State::Down { retry_at, not_before };
        self.reason = Some(reason);
    }

    /// Ends the sync: to continue would mix data of different homes or histories, and only a person can help.
    fn block(&mut self, turn: &mut Turn, cause: BlockCause, why: String) {
        let (phase, blocked_by, reason) = (Phase::Blocked, Some(cause), Some(why.clone()));
        turn.act(Action::ShowPhase { phase, blocked_by, reason, retry_at: None });
        self.end(turn, EndReason::Blocked(cause, why));
    }
}
