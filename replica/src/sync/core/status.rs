//! The phase shown to status readers, and the end of a sync with a goal, from the views of the three machines. Must not change
//! their state, except to end.

use super::action::Action;
use super::goal::{EndReason, Until};
use super::turn::Turn;
use super::{Control, Core, LinkInput};
use crate::model::{BlockCause, FeedBatch, Phase, Transport};

/// The reason while a rate limit of the server holds edits back (contract 11).
pub(super) const RATE_LIMITED: &str =
    "the rate limit of the server holds edits back; they are sent as soon as the limit allows";

impl Core {
    fn phase(&self) -> Phase {
        match self.link.in_contact() {
            _ if self.link.is_paused() => Phase::Paused,
            _ if self.key_refusal().is_some() => Phase::NeedsKey,
            _ if self.link.disk.is_some() => Phase::Blocked,
            false => Phase::Offline,
            true if self.reconciler.question().is_some() => Phase::Blocked,
            true if self.reconciler.key_refusal().is_some() => Phase::NeedsKey,
            true if self.reconciler.is_running() => Phase::Reconciling,
            true if self.link.is_current() && self.link.is_stream_delivering() => Phase::Live,
            true if self.link.is_current() => Phase::Polling,
            true if self.link.is_filled => Phase::CatchingUp,
            true => Phase::Backfilling,
        }
    }

    /// The server's message about a refused key.
    fn key_refusal(&self) -> Option<&String> {
        self.link.key_refusal.as_ref().or(self.push.key_refusal.as_ref())
    }

    /// Whether files may be sent and fetched: the server is known to be the replica's, it accepts the key, and the disk takes what is written.
    pub(crate) fn may_carry_files(&self) -> bool {
        self.link.in_contact() && self.link.disk.is_none()
    }

    /// The sentence about the phase for people. A refused key and a question for a person go first.
    pub(super) fn reason(&self) -> Option<String> {
        let in_contact = self.link.in_contact();
        let reconciler = Some(&self.reconciler).filter(|_| in_contact);
        let blocking = reconciler.and_then(|reconciler| reconciler.key_refusal().or(reconciler.question()));
        let failing = || reconciler.and_then(|reconciler| reconciler.failure_text());
        let limited =
            || (in_contact && self.push.wait.is_some_and(|wait| wait.is_limited)).then(|| RATE_LIMITED.to_owned());
        let own = || self.link.reason.clone().or_else(limited);
        self.key_refusal().or(blocking).cloned().or_else(failing).or_else(own)
    }

    /// Hands a batch to the database, together with the phase that the batch proves.
    pub(super) fn apply(&mut self, turn: &mut Turn, batch: FeedBatch, transport: Transport) {
        let (phase, reason) = (self.phase(), self.reason());
        self.shown = Some((phase, reason.clone(), None));
        // The phase may name a problem, such as a key without a scope for an edit, and the tables show the present anyway.
        let is_at_present = self.link.is_current() && !self.reconciler.is_running();
        let is_current = is_at_present && (transport == Transport::Stream || batch.is_at_present());
        turn.act(Action::ApplyBatch { batch, phase, reason, transport, is_current });
    }

    /// Saves the phase, if phase, reason or retry time have changed.
    pub(super) fn show(&mut self, turn: &mut Turn) {
        if self.link.is_undecided() || self.link.is_ended() {
            return;
        }
        let state = (self.phase(), self.reason(), self.link.retry_at());
        if self.shown.as_ref() != Some(&state) {
            let (phase, reason, retry_at) = state.clone();
            let blocked_by = (phase == Phase::Blocked).then(|| self.link.disk.unwrap_or(BlockCause::Deletions));
            turn.act(Action::ShowPhase { phase, blocked_by, reason, retry_at });
            self.shown = Some(state);
        }
    }

    /// Ends a sync that has reached the goal or can never reach the goal.
    pub(super) fn finish_at_goal(&mut self, turn: &mut Turn) {
        if self.until.is_single_run()
            && !self.link.is_ended()
            && let Some(reason) = self.end_reason()
        {
            self.link(turn, LinkInput::Control(Control::End(reason)));
        }
    }

    /// Why a single run ends now. None: the run continues. An open question ends a run only when nothing else is left to do:
    /// until then edits are sent and changes are read, and a person's request can begin the reconcile again.
    fn end_reason(&self) -> Option<EndReason> {
        let question = self.reconciler.question();
        let is_current = self.link.is_applied() && (question.is_some() || !self.reconciler.is_running());
        // With a question, an edit may wait for the end of the reconcile.
        let is_pushed = if question.is_some() { self.push.is_idle() } else { self.push.is_done() };
        let is_push_finished = is_pushed || self.until == Until::Current;
        // A key that may not write some collections still serves for the others and for all reads.
        let only_scopes_left = is_current && !is_push_finished && self.push.waits_for_scopes_only();
        let continues = self.link.in_contact() && !self.push.is_allowed_all() && !only_scopes_left;
        let key_refusal = self.key_refusal().filter(|_| !continues).or(self.reconciler.key_refusal());
        match key_refusal {
            _ if self.link.is_paused() => Some(EndReason::Paused),
            Some(why) => Some(EndReason::NeedsKey(why.clone())),
            None if is_current && is_push_finished => Some(match question {
                Some(question) => EndReason::Blocked(BlockCause::Deletions, question.clone()),
                None => EndReason::Done,
            }),
            None => None,
        }
    }
}
