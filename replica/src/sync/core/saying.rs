//! How it stands, as others read it, and when that is what was asked for. Must not change where it stands.

use super::gap::Recovering;
use super::{BlockCause, Core, Effect, Link, Phase, Verdict};
use crate::sync::Until;

impl Core {
    pub(super) fn phase(&self) -> Phase {
        match (&self.link, &self.key_refused) {
            (Link::Paused, _) => Phase::Paused,
            (_, Some(_)) => Phase::NeedsKey,
            _ if self.disk.is_some() => Phase::Blocked,
            _ if self.in_contact() && self.recovering.is_some() => self.recovery_phase(),
            (Link::Open { current: true }, _) => Phase::Live,
            (Link::Polling { current: true, .. }, _) => Phase::Polling,
            _ if self.in_contact() && self.backfilled => Phase::CatchingUp,
            _ if self.in_contact() => Phase::Backfilling,
            _ => Phase::Offline,
        }
    }

    fn recovery_phase(&self) -> Phase {
        match &self.recovering {
            Some(recovering) if recovering.question().is_some() => Phase::Blocked,
            Some(recovering) if recovering.key_refused.is_some() => Phase::NeedsKey,
            _ => Phase::Reconciling,
        }
    }

    /// Why the phase is `blocked`; None in other phases.
    fn blocked_by(&self) -> Option<BlockCause> {
        (self.phase() == Phase::Blocked).then(|| self.disk.unwrap_or(BlockCause::Deletions))
    }

    /// Whether the feed is being told, so that what is asked beside it is covered by it.
    pub(super) fn in_contact(&self) -> bool {
        matches!(self.link, Link::Open { .. } | Link::Polling { proven: true, .. })
    }

    /// Whether the feed has reached the present and the tables show it. The phase may speak of something else, as of a key
    /// that is too weak for an edit.
    pub(super) fn is_at_present(&self) -> bool {
        let current = matches!(self.link, Link::Open { current: true } | Link::Polling { current: true, .. });
        current && self.disk.is_none() && self.recovering.is_none()
    }

    /// What a person must do something about, contact or not.
    pub(super) fn hindrance(&self) -> Option<&String> {
        let held = self.recovering.as_ref().filter(|_| self.in_contact());
        let held = held.and_then(|recovering| recovering.key_refused.as_ref().or(recovering.question()));
        self.key_refused.as_ref().or(held)
    }

    /// Why it stands as it does, when there is more to say.
    pub(super) fn reason(&self) -> Option<String> {
        let recovering = self.recovering.as_ref().filter(|_| self.in_contact());
        let hitch = || recovering.and_then(Recovering::hitch);
        self.hindrance().cloned().or_else(hitch).or_else(|| self.reason.clone())
    }

    pub(super) fn show(&mut self, effects: &mut Vec<Effect>) {
        if matches!(
            self.link,
            Link::Greeting { .. } | Link::Opening { .. } | Link::Polling { proven: false, .. } | Link::Ended
        ) {
            return; // nothing is proven yet; the last word stands
        }
        let reason = self.reason();
        let phase = self.phase();
        let retry_at = match self.link {
            Link::Down { retry_at, .. } => Some(retry_at),
            _ => None,
        };
        let state = (phase, reason, retry_at);
        if self.shown.as_ref() != Some(&state) {
            let (phase, reason, retry_at) = state.clone();
            let blocked_by = self.blocked_by();
            effects.push(Effect::Show { phase, blocked_by, reason, retry_at });
            self.shown = Some(state);
        }
    }

    pub(super) fn finish(&mut self, effects: &mut Vec<Effect>) {
        if self.until == Until::Stopped {
            return;
        }
        let current = matches!(self.link, Link::Open { current: true } | Link::Polling { current: true, .. });
        let current = current && self.applying == 0 && self.recovering.is_none();
        let question = self.recovering.as_ref().and_then(|recovering| recovering.question());
        let key_refused = self.recovering.as_ref().and_then(|recovering| recovering.key_refused.as_ref());
        let pushed = self.push.open == Some(false) && !self.push.is_busy();
        // A key that may not write some of it is good for the rest, and for all that is read.
        let goes_on = self.in_contact() && !self.push.is_allowed_all();
        let is_through = current && self.until != Until::Current && self.push.waits_for_scopes_alone();
        let goes_on = goes_on && !is_through;
        let verdict = match self.key_refused.as_ref().filter(|_| !goes_on).or(key_refused) {
            _ if self.link == Link::Paused => Verdict::Paused,
            Some(why) => Verdict::NeedsKey(why.clone()),
            None if question.is_some() => Verdict::Asks(question.cloned().unwrap_or_default()),
            None if current && (pushed || self.until == Until::Current) => Verdict::Done,
            None => return,
        };
        effects.extend([Effect::CloseStream, Effect::Finish(verdict)]);
        self.link = Link::Ended;
    }
}
