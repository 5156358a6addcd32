//! The sync core: takes [`Event`]s and returns [`Action`]s. Pure: time and random numbers are arguments, so tests can play any
//! moment. Must not know HTTP, SQLite, files or a clock. Of a response, the core only knows the contract's statuses and error
//! types.
//!
//! Three machines run side by side. Each has its own fields, and none reads the fields of another:
//!
//! - [`Link`] brings the feed down, by stream or by polls.
//! - [`Push`] sends edits up. It starts only after the server has accepted the feed cursor. Otherwise edits could reach a
//!   restored server before the replica notices the restore.
//! - [`Reconciler`] compares all collections with the server after lost history.
//!
//! ```text
//!  Event ─▶ one machine ─▶ Facts ─▶ the other machines ─▶ what is due: Push, Reconciler ─▶ phase, end
//!                 └───────────────────────┴── Actions ──────────────┴──────────────────────┘
//! ```
//!
//! This file composes them: it gives each event to its machine, delivers what a machine tells, and passes what a machine needs
//! of another as an argument. `status` derives the phase and the end from all three.

mod action;
mod backoff;
mod clock;
mod event;
mod goal;
mod identity;
mod link;
mod outcome;
mod push;
mod rate_limiter;
mod reconcile;
mod status;
#[cfg(test)]
mod tests;
mod turn;

use hearth_contract::schema::Kind;

pub(crate) use action::{Action, Request};
pub(crate) use backoff::{Backoff, KEY_RETRY};
pub use clock::Millis;
pub(crate) use event::Event;
pub use goal::{EndReason, Until};
pub(crate) use identity::{FeedHead, ServerInfo};
pub use identity::{Identity, Limits};
pub(crate) use link::{Control, Greeting, Input as LinkInput, Start, StreamEvent};
pub(crate) use outcome::{EditAnswers, ErrorType, Expired, Failure, Refusal};
pub(crate) use push::Input as PushInput;
pub(crate) use rate_limiter::RateLimiter;
pub(crate) use reconcile::{Answer as ReconcileAnswer, Input as ReconcileInput};

use self::link::{Link, Others};
use self::push::Push;
use self::reconcile::Reconciler;
use self::turn::{Fact, Turn};
use crate::model::Phase;
pub use crate::model::{BatchEnd, FeedBatch};

/// One sync.
#[derive(Debug)]
pub(crate) struct Core {
    until: Until,
    link: Link,
    push: Push,
    reconciler: Reconciler,
    backoff: Backoff,
    /// Phase, reason and retry time as saved last.
    shown: Option<(Phase, Option<String>, Option<Millis>)>,
}

impl Core {
    /// A core with the goal `until`. `seed` spreads the retry times of many replicas.
    pub(crate) fn new(until: Until, seed: u64) -> Core {
        let (link, backoff) = (Link::new(until), Backoff::new(seed));
        Core { until, link, push: Push::default(), reconciler: Reconciler::default(), backoff, shown: None }
    }

    /// When the link needs [`LinkInput::Timer`], if nothing else happens. None: no timer is needed.
    pub(crate) fn wake_at(&self) -> Option<Millis> {
        let comparison = self.reconciler.wake_at().filter(|_| self.link.in_contact());
        self.link
            .wake_at(self.others())
            .into_iter()
            .chain(self.push.wait.map(|wait| wait.until))
            .chain(comparison)
            .min()
    }

    /// Collections that the key may not write, as far as known.
    pub(crate) fn forbidden_kinds(&self) -> Vec<Kind> {
        self.push.forbidden.keys().copied().collect()
    }

    /// Takes an event and returns the actions to carry out, in order.
    pub(crate) fn handle(&mut self, now: Millis, event: Event) -> Vec<Action> {
        let is_start = matches!(event, Event::Started { .. });
        // A refused write revives an ended sync: the actions before the end were not saved, so the end was not reported.
        if self.link.is_ended() && !is_start && !matches!(event, Event::Link(LinkInput::WriteFailed { .. })) {
            return Vec::new();
        }
        let mut turn = Turn::new(now, self.backoff.clone());
        self.dispatch(&mut turn, event);
        while let Some(fact) = turn.facts.pop_front() {
            let others = self.others();
            self.link.hear(&mut turn, &fact, others);
            self.push.hear(&mut turn, &fact);
            self.reconciler.hear(&fact);
            if let Fact::BatchArrived { batch, transport } = fact {
                self.apply(&mut turn, batch, transport);
            }
        }
        self.push.send_due(&mut turn, self.link.in_contact());
        self.reconciler.proceed(&mut turn, self.link.feed());
        self.show(&mut turn);
        // A start never ends a sync: the control event that follows may answer the question on which a sync would end.
        if !is_start {
            self.finish_at_goal(&mut turn);
        }
        self.backoff = turn.backoff;
        turn.actions
    }

    fn dispatch(&mut self, turn: &mut Turn, event: Event) {
        match event {
            Event::Started { link, reconcile } => {
                self.push(turn, PushInput::Started);
                self.reconcile(turn, ReconcileInput::Begun(reconcile));
                self.link(turn, LinkInput::Started(link));
            }
            Event::ControlChanged { is_paused, reconcile, retry_now } => {
                self.link(turn, LinkInput::Control(Control::Pause(is_paused)));
                if let Some(accepted) = reconcile {
                    self.reconcile(turn, ReconcileInput::Requested { accepted });
                }
                if retry_now {
                    self.link(turn, LinkInput::Control(Control::RetryNow));
                    self.push(turn, PushInput::RetryNow);
                }
            }
            Event::BatchApplied { cursor, position, has_id_gap, affects_edits, confirms_edits } => {
                self.link(turn, LinkInput::Applied { cursor, position, has_id_gap });
                self.push(turn, PushInput::FeedApplied { affects_edits, confirms_edits });
            }
            Event::Link(input) => self.link(turn, input),
            Event::Push(input) => self.push(turn, input),
            Event::Reconcile(input) => self.reconcile(turn, input),
        }
    }

    fn link(&mut self, turn: &mut Turn, input: LinkInput) {
        let others = self.others();
        self.link.handle(turn, input, others);
    }

    fn push(&mut self, turn: &mut Turn, input: PushInput) {
        self.push.handle(turn, input, self.link.in_contact());
    }

    fn reconcile(&mut self, turn: &mut Turn, input: ReconcileInput) {
        self.reconciler.handle(turn, input, self.link.feed());
    }

    fn others(&self) -> Others {
        Others { is_pushing: self.push.is_busy(), is_reconciling: self.reconciler.is_running() }
    }
}
