//! What one input of the core carries through the machines: the time, the source of pauses, and the results so far. Must not
//! decide anything.

use std::collections::VecDeque;

use super::action::Action;
use super::backoff::Backoff;
use super::clock::Millis;
use super::identity::Limits;
use super::outcome::Refusal;
use crate::model::{FeedBatch, Transport};

/// One input at work. A machine adds actions for the engine, and facts for the other machines.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) now: Millis,
    pub(super) backoff: Backoff,
    /// Carried out in this order.
    pub(super) actions: Vec<Action>,
    /// Not delivered yet, in this order.
    pub(super) facts: VecDeque<Fact>,
}

/// What a machine tells the other machines.
#[derive(Debug, PartialEq)]
pub(super) enum Fact {
    /// The server has accepted the feed cursor. Limits of the key; None: unlimited.
    ContactBegan(Option<Limits>),
    /// A batch is to be applied.
    BatchArrived { batch: FeedBatch, transport: Transport },
    /// The feed skips event ids: the server was restored.
    IdsSkipped,
    /// A person has paused the sync.
    Paused,
    /// Requests carry another key from now on.
    KeyChanged,
    /// An answer to an edit or to the reconcile named this position, and the feed may not have brought it yet. None: the answer
    /// names no position.
    FeedWanted { position: Option<i64> },
    /// The reconcile has learnt that the server refuses the feed cursor.
    CursorRefused(Refusal),
    /// The reconcile has ended: the tables are compared.
    Compared,
}

/// What a reconcile needs to know of the feed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Feed<'l> {
    pub(super) in_contact: bool,
    /// The position up to which the feed is applied.
    pub(super) position: i64,
    /// The feed cursor. None: the feed is read from the first event.
    pub(super) cursor: Option<&'l String>,
}

impl Turn {
    pub(super) fn new(now: Millis, backoff: Backoff) -> Turn {
        Turn { now, backoff, actions: Vec::new(), facts: VecDeque::new() }
    }

    /// Adds an action.
    pub(super) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Tells the other machines.
    pub(super) fn tell(&mut self, fact: Fact) {
        self.facts.push_back(fact);
    }
}
