//! The connection that brings the feed: greeting, contact, loss, pause and blocking. How the feed comes, by stream or by
//! polls, is in `transport`. Must not know how responses are read.

use hearth_contract::problem::ProblemType;

use super::action::{Action, Request};
use super::backoff::KEY_RETRY;
use super::clock::Millis;
use super::goal::EndReason;
use super::identity::{FeedHead, Identity, ServerInfo};
use super::outcome::{Expired, Failure, Refusal};
use super::push;
use super::reconcile;
use super::state::{Core, Link};
use crate::model::{BlockCause, FeedBatch, Phase, Reconcile, ReconcileCause, Transport};

/// After a refused write, the next attempt comes at the latest after 5 s: only the local disk is asked.
const DISK_RETRY: Millis = 5000;
/// Shortest time between two saves of the last contact. With a keepalive every 15 s (contract 9.4), the saved time is at
/// most 17 s old; `sync_status` trusts it for 20 s.
const TOUCH_INTERVAL: Millis = 2000;

impl Core {
    /// Starts from the state on disk.
    pub(super) fn start(
        &mut self,
        now: Millis,
        reconcile: Option<Reconcile>,
        is_paused: bool,
        actions: &mut Vec<Action>,
    ) {
        (self.disk, self.batches_pending) = (None, 0);
        self.push(now, push::Input::Started, actions);
        self.reconcile(now, reconcile::Input::Begun(reconcile), actions);
        if is_paused {
            self.pause(now, actions);
        } else {
            self.greet(actions);
        }
    }

    /// Pauses or resumes, as a person asks.
    pub(super) fn set_paused(&mut self, now: Millis, is_paused: bool, actions: &mut Vec<Action>) {
        match (is_paused, &self.link) {
            (true, Link::Paused) => {}
            (true, _) => self.pause(now, actions),
            (false, Link::Paused) => self.greet(actions),
            (false, _) => {}
        }
    }

    /// Ends the replica's own pauses. A pause requested by the server stays.
    pub(super) fn retry_now(&mut self, now: Millis, actions: &mut Vec<Action>) {
        if matches!(self.link, Link::Down { not_before, .. } if not_before <= now) {
            self.stream.end_pause();
            self.greet(actions);
        }
        self.poll_soon(now);
        self.push(now, push::Input::RetryNow, actions);
    }

    /// Requests identity and feed head side by side. The stream follows afterwards.
    pub(super) fn greet(&mut self, actions: &mut Vec<Action>) {
        if self.disk.is_some() {
            return actions.push(Action::ReloadState);
        }
        self.link = Link::Greeting { identity: None, feed_head: None };
        actions.extend([Action::Request(Request::Identity), Action::Request(Request::FeedHead)]);
    }

    /// Closes the stream. Answers to requests already sent are still accepted.
    fn pause(&mut self, now: Millis, actions: &mut Vec<Action>) {
        actions.push(Action::CloseStream);
        self.link = Link::Paused;
        (self.reason, self.key_refusal, self.failures) = (None, None, 0);
        self.push(now, push::Input::KeyForgotten, actions);
    }

    /// Starts a new contact, because a new key may belong to another home or have other scopes. Nothing is sent before.
    pub(super) fn key_changed(&mut self, now: Millis, actions: &mut Vec<Action>) {
        if self.link == Link::Paused || self.disk.is_some() {
            return; // The contact after the pause uses the new key.
        }
        (self.key_refusal, self.failures) = (None, 0);
        self.stream.on_key_change();
        self.push(now, push::Input::KeyForgotten, actions);
        // Responses to requests with the old key are discarded.
        self.reconcile(now, reconcile::Input::KeyChanged, actions);
        actions.push(Action::CloseStream);
        self.greet(actions);
    }

    /// The database refused a write: memory is ahead of the disk, so the next attempt reloads the state.
    pub(super) fn write_failed(&mut self, now: Millis, reason: String, cause: BlockCause, actions: &mut Vec<Action>) {
        self.lost(now, reason, None, actions);
        if let Link::Down { retry_at, .. } = &mut self.link {
            *retry_at = (*retry_at).min(now + DISK_RETRY);
        }
        self.disk = Some(cause);
    }

    pub(super) fn timer(&mut self, now: Millis, actions: &mut Vec<Action>) {
        if matches!(self.link, Link::Down { retry_at, .. } if retry_at <= now) {
            self.greet(actions);
        }
        self.check_transport(now, actions);
    }

    pub(super) fn identity_received(
        &mut self,
        now: Millis,
        answer: Result<Identity, Failure>,
        actions: &mut Vec<Action>,
    ) {
        match answer {
            Ok(received) => {
                if let Link::Greeting { identity, .. } = &mut self.link {
                    *identity = Some(received);
                }
                self.open_when_greeted(now, actions);
            }
            Err(failure) => self.greeting_failed(now, failure, actions),
        }
    }

    pub(super) fn feed_head_received(
        &mut self,
        now: Millis,
        answer: Result<FeedHead, Failure>,
        actions: &mut Vec<Action>,
    ) {
        match answer {
            Ok(received) => {
                if let Link::Greeting { feed_head, .. } = &mut self.link {
                    *feed_head = Some(received);
                }
                self.open_when_greeted(now, actions);
            }
            Err(failure) => self.greeting_failed(now, failure, actions),
        }
    }

    fn greeting_failed(&mut self, now: Millis, failure: Failure, actions: &mut Vec<Action>) {
        if matches!(self.link, Link::Greeting { .. }) {
            match failure {
                Failure::NoAnswer(reason) => self.lost(now, reason, None, actions),
                Failure::Refused(refusal) => self.refused(now, refusal, actions),
            }
        }
    }

    /// Opens the stream once the server's home and feed head are known.
    fn open_when_greeted(&mut self, now: Millis, actions: &mut Vec<Action>) {
        let Link::Greeting { identity: Some(identity), feed_head: Some(feed_head) } = &self.link else { return };
        let server = ServerInfo { identity: identity.clone(), feed_head: *feed_head };
        let home_id = &server.identity.home_id;
        if let Some(ours) = self.home_id.as_ref().filter(|ours| *ours != home_id) {
            let why = format!("this replica is of home {ours}, but the server answers as home {home_id}");
            return self.block(BlockCause::AnotherHome, why, actions);
        }
        self.follow(now, server, actions);
    }

    /// The server has accepted the feed cursor, by stream or by poll: contact begins.
    pub(super) fn begin_contact(&mut self, now: Millis, server: ServerInfo, actions: &mut Vec<Action>) {
        let limits = server.identity.limits;
        self.home_id = Some(server.identity.home_id.clone());
        (self.head_at_contact, self.accepted_head) = (server.feed_head.head, None);
        actions.push(Action::SaveContact(server));
        (self.reason, self.failures) = (None, 0);
        self.key_refusal = None;
        self.reconcile(now, reconcile::Input::ContactBegan(limits), actions);
        self.push(now, push::Input::ContactBegan(limits), actions);
    }

    /// Hands a batch out, together with the phase that the batch proves.
    pub(super) fn apply(&mut self, now: Millis, batch: FeedBatch, transport: Transport, actions: &mut Vec<Action>) {
        self.has_expired_cursor = false;
        self.is_filled |= batch.is_at_present() && !self.reconciler.is_running();
        self.touched_at = now;
        self.batches_pending += 1;
        let (phase, reason) = (self.phase(), self.reason());
        self.shown = Some((phase, reason.clone(), None));
        let is_current = self.is_at_present() && (transport == Transport::Stream || batch.is_at_present());
        actions.push(Action::ApplyBatch { batch, phase, reason, transport, is_current });
    }

    /// The database has applied a batch. An id gap means a restored server: pending answers may be of the old history.
    pub(super) fn batch_applied(
        &mut self,
        now: Millis,
        cursor: Option<String>,
        position: i64,
        has_id_gap: bool,
        actions: &mut Vec<Action>,
    ) {
        if has_id_gap {
            self.reconcile(now, reconcile::Input::HistoryGap, actions);
        }
        self.cursor = cursor.or(self.cursor.take());
        self.position = position;
        self.batches_pending = self.batches_pending.saturating_sub(1);
    }

    /// Saves the time of contact now and then. Bytes prove contact, but not that the tables are current: a proxy may send
    /// comments too.
    pub(super) fn touch(&mut self, now: Millis, actions: &mut Vec<Action>) {
        if self.in_contact() && now - self.touched_at >= TOUCH_INTERVAL {
            self.touched_at = now;
            actions.push(Action::TouchContact { is_current: false });
        }
    }

    /// Contact is lost; the next attempt follows after a pause. `retry_after`: the server's pause in milliseconds.
    pub(super) fn lost(&mut self, now: Millis, reason: String, retry_after: Option<Millis>, actions: &mut Vec<Action>) {
        actions.push(Action::CloseStream);
        let retry_after = retry_after.unwrap_or(0);
        let pause = self.backoff.pause(self.failures).max(retry_after);
        self.failures += 1;
        self.link = Link::Down { retry_at: now + pause, not_before: now + retry_after };
        self.reason = Some(reason);
    }

    /// The stream has failed, and the next stream follows soon: contact is lost until then.
    pub(super) fn wait_for_stream(&mut self, now: Millis, reason: String, actions: &mut Vec<Action>) {
        actions.push(Action::CloseStream);
        let retry_at = self.stream.next_at().unwrap_or(now);
        self.link = Link::Down { retry_at, not_before: self.stream.held_until() };
        self.reason = Some(reason);
    }

    /// The server refuses identity, feed head, stream or poll.
    pub(super) fn refused(&mut self, now: Millis, refusal: Refusal, actions: &mut Vec<Action>) {
        if refusal.status == 410 {
            return self.cursor_expired(now, refusal, actions);
        }
        if refusal.is_of_the_key() {
            self.key_refusal = Some(refusal.message.clone());
            self.lost(now, refusal.message, None, actions);
            if let Link::Down { retry_at, .. } = &mut self.link {
                *retry_at = (*retry_at).max(now + KEY_RETRY);
            }
            return;
        }
        if refusal.status == 400 && refusal.is(ProblemType::InvalidCursor) {
            let why = format!("the server does not know where this replica stands: {}", refusal.message);
            return self.block(BlockCause::UnknownCursor, why, actions);
        }
        self.lost(now, refusal.message, refusal.retry_after, actions);
    }

    /// 410: continues from the cursor in the response, and compares with the server for the lost events (contract 9.3).
    fn cursor_expired(&mut self, now: Millis, refusal: Refusal, actions: &mut Vec<Action>) {
        let Some(Expired { restored, resume, fork }) = refusal.expired else {
            return self.lost(now, refusal.message, None, actions);
        };
        (self.cursor, self.position) = (Some(resume.clone()), 0);
        let cause = if restored { ReconcileCause::Restored { resume, fork } } else { ReconcileCause::Gap { resume } };
        actions.extend([Action::CloseStream, Action::StartReconcile(cause)]);
        // The new cursor may have expired by now as well. A second expiry in a row waits, to avoid an endless loop.
        if std::mem::replace(&mut self.has_expired_cursor, true) {
            self.lost(now, refusal.message, None, actions);
        } else {
            self.greet(actions);
        }
    }

    /// Ends the sync: to continue would mix data of different homes or histories, and only a person can help.
    fn block(&mut self, cause: BlockCause, why: String, actions: &mut Vec<Action>) {
        actions.push(Action::CloseStream);
        actions.push(Action::ShowPhase {
            phase: Phase::Blocked,
            blocked_by: Some(cause),
            reason: Some(why.clone()),
            retry_at: None,
        });
        actions.push(Action::Finish(EndReason::Blocked(cause, why)));
        self.link = Link::Ended;
    }
}
