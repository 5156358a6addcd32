//! The phase shown to status readers, and the end of a sync with a goal. Must not change the state of link, push or
//! reconcile, except to end.

use super::action::Action;
use super::goal::{EndReason, Until};
use super::reconcile::Reconciler;
use super::state::{Core, Following, Link, StreamState};
use crate::model::{BlockCause, Phase};

/// The reason while a rate limit of the server holds edits back (contract 11).
pub(super) const RATE_LIMITED: &str =
    "the rate limit of the server holds edits back; they are sent as soon as the limit allows";

impl Core {
    pub(super) fn phase(&self) -> Phase {
        match (&self.link, self.key_refusal()) {
            (Link::Paused, _) => Phase::Paused,
            (_, Some(_)) => Phase::NeedsKey,
            _ if self.disk.is_some() => Phase::Blocked,
            _ if self.in_contact() && self.reconciler.is_running() => self.reconcile_phase(),
            _ if !self.in_contact() => Phase::Offline,
            _ if self.is_feed_current() && self.is_stream_delivering() => Phase::Live,
            _ if self.is_feed_current() => Phase::Polling,
            _ if self.is_filled => Phase::CatchingUp,
            _ => Phase::Backfilling,
        }
    }

    /// The server's message about a refused key.
    fn key_refusal(&self) -> Option<&String> {
        self.key_refusal.as_ref().or(self.push.key_refusal())
    }

    fn reconcile_phase(&self) -> Phase {
        match self.reconciler.question() {
            Some(_) => Phase::Blocked,
            None if self.reconciler.key_refusal().is_some() => Phase::NeedsKey,
            None => Phase::Reconciling,
        }
    }

    /// Why the phase is [`Phase::Blocked`]. None in other phases.
    fn blocked_by(&self) -> Option<BlockCause> {
        (self.phase() == Phase::Blocked).then(|| self.disk.unwrap_or(BlockCause::Deletions))
    }

    /// Whether the server has accepted the feed cursor, by stream or by poll, since the last loss of contact.
    pub(super) fn in_contact(&self) -> bool {
        matches!(self.link, Link::Following(Following { greeting: None, .. }))
    }

    /// Whether files may be sent and fetched: the server is known to be the replica's, it accepts the key, and the disk takes what is written.
    pub(crate) fn may_carry_files(&self) -> bool {
        self.in_contact() && self.disk.is_none()
    }

    /// Whether the open stream has brought a batch.
    pub(super) fn is_stream_delivering(&self) -> bool {
        matches!(self.link, Link::Following(Following { stream: StreamState::Open, .. })) && self.stream.has_batch()
    }

    /// Whether the feed has reached the present, perhaps during a reconcile.
    fn is_feed_current(&self) -> bool {
        matches!(self.link, Link::Following(Following { is_current: true, .. }))
    }

    /// Whether the tables show the present. The phase may still name a problem, such as a key without a scope for an edit.
    pub(super) fn is_at_present(&self) -> bool {
        self.is_feed_current() && self.disk.is_none() && !self.reconciler.is_running()
    }

    /// The sentence about the phase for people. A refused key and a question for a person go first.
    pub(super) fn reason(&self) -> Option<String> {
        let reconciler = Some(&self.reconciler).filter(|_| self.in_contact());
        let blocking = reconciler.and_then(|reconciler| reconciler.key_refusal().or(reconciler.question()));
        let failure = || reconciler.and_then(Reconciler::failure_text);
        let limited = || (self.in_contact() && self.push.is_limited()).then(|| RATE_LIMITED.to_owned());
        let own = || self.reason.clone().or_else(limited);
        self.key_refusal().or(blocking).cloned().or_else(failure).or_else(own)
    }

    /// Saves the phase, if phase, reason or retry time have changed.
    pub(super) fn show(&mut self, actions: &mut Vec<Action>) {
        if matches!(
            self.link,
            Link::Greeting { .. } | Link::Following(Following { greeting: Some(_), .. }) | Link::Ended
        ) {
            return; // Nothing new is proven, so the saved phase stays.
        }
        let retry_at = match self.link {
            Link::Down { retry_at, .. } => Some(retry_at),
            _ => None,
        };
        let state = (self.phase(), self.reason(), retry_at);
        if self.shown.as_ref() != Some(&state) {
            let (phase, reason, retry_at) = state.clone();
            let blocked_by = self.blocked_by();
            actions.push(Action::ShowPhase { phase, blocked_by, reason, retry_at });
            self.shown = Some(state);
        }
    }

    /// Ends a sync that has reached the goal or can never reach the goal.
    pub(super) fn finish_at_goal(&mut self, actions: &mut Vec<Action>) {
        if self.until.is_single_run()
            && let Some(reason) = self.end_reason()
        {
            actions.extend([Action::CloseStream, Action::Finish(reason)]);
            self.link = Link::Ended;
        }
    }

    /// Why a single run ends now. None: the run continues.
    fn end_reason(&self) -> Option<EndReason> {
        let is_current = self.is_feed_current() && self.batches_pending == 0 && !self.reconciler.is_running();
        let question = self.reconciler.question();
        // A key that may not write some collections still serves for the others and for all reads.
        let only_scopes_left = is_current && self.until != Until::Current && self.push.waits_for_scopes_only();
        let continues = self.in_contact() && !self.push.is_allowed_all() && !only_scopes_left;
        let key_refusal = self.key_refusal().filter(|_| !continues).or(self.reconciler.key_refusal());
        match (key_refusal, question) {
            _ if self.link == Link::Paused => Some(EndReason::Paused),
            (Some(why), _) => Some(EndReason::NeedsKey(why.clone())),
            (None, Some(question)) => Some(EndReason::Asks(question.clone())),
            (None, None) if is_current && (self.push.is_done() || self.until == Until::Current) => {
                Some(EndReason::Done)
            }
            (None, None) => None,
        }
    }
}
