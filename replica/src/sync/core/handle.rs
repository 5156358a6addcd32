//! Entry of the core: dispatches each event, then lets push, reconcile and status react. Must not contain rules of a single
//! activity.

use super::action::Action;
use super::clock::Millis;
use super::event::Event;
use super::goal::EndReason;
use super::push;
use super::reconcile::{self, Feed};
use super::state::{Core, Link};
use super::turn::{Fact, Turn};
use hearth_contract::schema::Kind;

impl Core {
    /// When to send [`Event::Timer`], if nothing else happens. None: no timer is needed.
    pub(crate) fn wake_at(&self) -> Option<Millis> {
        let link = match self.link {
            Link::Down { retry_at, .. } => Some(retry_at),
            _ => self.transport_due_at(),
        };
        link.into_iter().chain(self.push.wake_at()).chain(self.reconciler.wake_at().filter(|_| self.in_contact())).min()
    }

    /// Takes an event and returns the actions to carry out, in order.
    pub(crate) fn handle(&mut self, now: Millis, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        let is_start = matches!(event, Event::Started { .. });
        // A refused write revives an ended sync: the actions before the end were not saved, so the end was not reported.
        if self.link == Link::Ended && !is_start && !matches!(event, Event::WriteFailed { .. }) {
            return actions;
        }
        if matches!(event, Event::StopRequested) {
            actions.extend([Action::CloseStream, Action::Finish(EndReason::Done)]);
            self.link = Link::Ended;
            return actions;
        }
        self.dispatch(now, event, &mut actions);
        let mut turn = Turn::new(now, self.backoff.clone());
        self.push.send_due(&mut turn, self.in_contact());
        self.take(turn, &mut actions);
        let mut turn = Turn::new(now, self.backoff.clone());
        let feed = Feed { in_contact: self.in_contact(), position: self.position, cursor: self.cursor.as_ref() };
        self.reconciler.proceed(&mut turn, feed);
        self.take(turn, &mut actions);
        self.show(&mut actions);
        // A start never ends a sync: the control event that follows may answer the question on which a sync would end.
        if !is_start {
            self.finish_at_goal(&mut actions);
        }
        actions
    }

    /// Gives an input to the push.
    pub(super) fn push(&mut self, now: Millis, input: push::Input, actions: &mut Vec<Action>) {
        let mut turn = Turn::new(now, self.backoff.clone());
        self.push.handle(&mut turn, input, self.in_contact());
        self.take(turn, actions);
    }

    /// Gives an input to the reconcile.
    pub(super) fn reconcile(&mut self, now: Millis, input: reconcile::Input, actions: &mut Vec<Action>) {
        let mut turn = Turn::new(now, self.backoff.clone());
        let feed = Feed { in_contact: self.in_contact(), position: self.position, cursor: self.cursor.as_ref() };
        self.reconciler.handle(&mut turn, input, feed);
        self.take(turn, actions);
    }

    /// Takes the results of a machine.
    fn take(&mut self, turn: Turn, actions: &mut Vec<Action>) {
        self.backoff = turn.backoff;
        actions.extend(turn.actions);
        for fact in turn.facts {
            match fact {
                Fact::EditAccepted { rev } => {
                    self.accepted_head = self.accepted_head.max(rev);
                    self.poll_soon(turn.now);
                }
                Fact::FeedWanted => self.poll_soon(turn.now),
                Fact::CursorRefused(refusal) => self.refused(turn.now, refusal, actions),
                Fact::Compared => {
                    // A single run may end now, so the contact is saved at once.
                    self.touched_at = turn.now;
                    actions.push(Action::TouchContact { is_current: self.is_at_present() });
                    self.push(turn.now, push::Input::EditsChanged, actions);
                }
            }
        }
    }

    /// Collections that the key may not write, as far as known.
    pub(crate) fn forbidden_kinds(&self) -> Vec<Kind> {
        self.push.forbidden_kinds()
    }

    fn dispatch(&mut self, now: Millis, event: Event, actions: &mut Vec<Action>) {
        match event {
            Event::Started { cursor, is_filled, home_id, holds_streams_back, reconcile, is_paused } => {
                (self.cursor, self.is_filled, self.home_id) = (cursor, is_filled, home_id);
                if holds_streams_back && !self.stream.has_finding() {
                    self.stream.on_finding(now);
                }
                self.start(now, reconcile, is_paused, actions);
            }
            Event::ControlChanged { is_paused, reconcile, retry_now } => {
                self.set_paused(now, is_paused, actions);
                if let Some(accepted) = reconcile {
                    self.reconcile(now, reconcile::Input::Requested { accepted }, actions);
                }
                if retry_now {
                    self.retry_now(now, actions);
                }
            }
            Event::KeyChanged => self.key_changed(now, actions),
            Event::WriteFailed { reason, cause } => self.write_failed(now, reason, cause, actions),
            Event::Timer => self.timer(now, actions),
            Event::StopRequested => {}

            Event::IdentityReceived(answer) => self.identity_received(now, answer, actions),
            Event::FeedHeadReceived(answer) => self.feed_head_received(now, answer, actions),
            Event::StreamOpened => self.stream_opened(now, actions),
            Event::StreamActive => self.stream_active(now, actions),
            Event::StreamBatch(batch) => self.stream_batch(now, batch, actions),
            Event::StreamEnded { reason } => self.stream_failed(now, reason, None, actions),
            Event::StreamRefused(refusal) => self.stream_refused(now, refusal, actions),
            Event::Polled(answer) => self.polled(now, answer, actions),
            Event::BatchApplied { cursor, position, has_id_gap, affects_edits, confirms_edits } => {
                self.batch_applied(now, cursor, position, has_id_gap, actions);
                self.push(now, push::Input::FeedApplied { affects_edits, confirms_edits }, actions);
            }

            Event::Push(input) => self.push(now, input, actions),

            Event::Reconcile(input) => self.reconcile(now, input, actions),
        }
    }
}
