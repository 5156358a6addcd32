//! The push sends edits up. It plans, chooses requests, and keeps them in flight. Must not know the link or a reconcile: whether
//! there is contact is an argument. Must not know how requests are built.
//!
//! States of an edit in the push, and what moves the edit from state to state. A test walks this table: whatever the table does
//! not name leaves state and actions as they are. In `delayed` the edit waits for a pause or a limit.
//!
//! ```text
//! state      input             next state  actions
//! unknown    planned           ready       -
//! ready      send              in flight   SendEdits
//! ready      settled           unknown     -
//! delayed    settled           unknown     -
//! delayed    send later        in flight   SendEdits
//! ready      send later        in flight   SendEdits
//! delayed    retry now         ready       -
//! delayed    contact           unknown     PlanEdits
//! in flight  accepted          unknown     save Sent, PlanEdits, tell FeedWanted
//! in flight  rejected          unknown     save Rejected, PlanEdits
//! in flight  value taken       unknown     save Rejected, PlanEdits
//! in flight  path refused      unknown     save Rejected, PlanEdits
//! in flight  record deleted    unknown     save Conflict, PlanEdits
//! in flight  outdated          unknown     save PreconditionFailed, PlanEdits
//! in flight  id taken          collided    PlanEdits
//! in flight  not sent          unknown     PlanEdits
//! in flight  stale             ready       save Later
//! in flight  no answer         delayed     save Later, PlanEdits
//! in flight  server error      delayed     save Later, PlanEdits
//! in flight  refused by proxy  delayed     save Later, PlanEdits
//! in flight  rate limited      delayed     save Later
//! in flight  unavailable       delayed     save Later
//! in flight  key refused       unknown     save KeyRefused, PlanEdits
//! in flight  scope missing     unknown     save KeyRefused, PlanEdits
//! collided   send              fetching    FetchRecord
//! collided   send later        fetching    FetchRecord
//! collided   contact           unknown     PlanEdits
//! fetching   same values       unknown     save Exists, PlanEdits
//! fetching   other values      unknown     save Conflict, PlanEdits
//! fetching   not fetched       delayed     save Later, PlanEdits
//! any        started           unknown     -
//! any        contact           same        PlanEdits
//! any        edits changed     same        PlanEdits
//! any        edits affected    same        PlanEdits
//! unknown    edits confirmed   same        PlanEdits
//! ready      edits confirmed   same        PlanEdits
//! delayed    edits confirmed   same        PlanEdits
//! unknown    feed applied      same        PlanEdits
//! ```
//!
//! `state` holds the fields, `choose` selects the next request, and `answers` decides what a response means.

mod answers;
mod choose;
mod retry_state;
mod state;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

pub(crate) use self::state::Push;
use super::action::{Action, Request};
use super::clock::Millis;
use super::identity::Limits;
use super::outcome::{EditAnswers, Failure};
use super::turn::{Fact, Turn};
use crate::model::ReadyEdits;

/// Requests in flight: while the server answers the first, the second is saved in the outbox.
const IN_FLIGHT_MAX: usize = 2;
/// Bulk calls in flight. New calls are added once half of them are answered: calls saved together share one disk flush.
const BULK_IN_FLIGHT_MAX: usize = 16;

/// An input of the push, besides [`Push::send_due`].
#[derive(Debug)]
pub(crate) enum Input {
    /// The sync starts from the state on disk. Frozen requests are repeated with the same bytes.
    Started,
    /// A person does not want to wait for the replica's own pauses.
    RetryNow,
    /// Another program has changed the edits.
    EditsChanged,
    /// The feed has brought a batch. `affects_edits`: unsent edits must be planned again. `confirms_edits`: events have
    /// confirmed edits.
    FeedApplied { affects_edits: bool, confirms_edits: bool },
    /// The plan of the edits is ready. `has_open_edits`: some edits are unsettled and need no person.
    Planned { ready: Vec<ReadyEdits>, has_open_edits: bool },
    /// A request with edits has ended. `sent`: the edits the push asked to send; `carried`: the edits in the request. An empty
    /// `answer`: nothing was sent, because the edits have ended or wait for a person. Without an answer, the edits may have been
    /// applied. `is_stale`: the response may be of a discarded history; `answer` is then `NoAnswer`, and says nothing of the
    /// line. A repetition with the same key gets the true answer.
    Completed { sent: Vec<i64>, carried: Vec<i64>, answer: Result<EditAnswers, Failure>, is_stale: bool },
    /// The record of a create whose id already exists was fetched: its revision, if it holds all values of the create, because
    /// an earlier attempt was applied and its answer was lost. None: it has other values, or is deleted by now.
    Fetched { edit: i64, existing: Result<Option<i64>, Failure> },
}

impl Push {
    /// Takes an input. What can be sent afterwards leaves with [`Push::send_due`].
    pub(super) fn handle(&mut self, turn: &mut Turn, input: Input, in_contact: bool) {
        match input {
            Input::Started => self.restart(),
            Input::RetryNow => self.clear_pauses(),
            Input::EditsChanged => self.plan(turn),
            Input::FeedApplied { affects_edits, confirms_edits } => {
                // While an answer is awaited, the plan follows after the answer.
                let has_waiting_edits = self.ready.is_empty() && self.has_open_edits != Some(false);
                if affects_edits || (!self.is_busy() && (confirms_edits || has_waiting_edits)) {
                    self.plan(turn);
                }
            }
            Input::Planned { ready, has_open_edits } => self.planned(ready, has_open_edits, in_contact),
            // Without contact, no answer says nothing about the request or the line.
            Input::Completed { sent, carried, answer, is_stale } => {
                self.completed(turn, &sent, carried, answer, is_stale || !in_contact);
            }
            Input::Fetched { edit, existing } => self.fetched(turn, edit, existing),
        }
    }

    /// Takes a fact that another machine tells.
    pub(super) fn hear(&mut self, turn: &mut Turn, fact: &Fact) {
        match fact {
            Fact::ContactBegan(limits) => {
                self.contact_began(*limits);
                self.plan(turn);
            }
            Fact::Paused | Fact::KeyChanged => {
                self.key_refusal = None;
                self.forbidden.clear();
            }
            Fact::Compared => self.plan(turn),
            _ => {}
        }
    }

    /// Forgets the edits, which are planned again from the database. Limits of the server stay.
    fn restart(&mut self) {
        let Push { writes, bulk, server_hold_until, .. } = std::mem::take(self);
        *self = Push { writes, bulk, server_hold_until, ..Push::default() };
    }

    /// Ends the replica's own pauses and takes the key's limits.
    fn contact_began(&mut self, limits: Option<Limits>) {
        (self.failures, self.is_slow_line) = (0, false);
        self.clear_pauses();
        if self.is_allowed_all() {
            self.key_refusal = None;
        }
        self.forbidden.values_mut().for_each(|until| *until = Millis::MIN);
        // The plan that follows decides whether frozen requests may be sent again.
        self.ready.retain(|ready| !ready.is_frozen);
        // The server may have been restored since the collision; the create is sent again and gets a new answer.
        self.id_collisions.truncate(usize::from(self.is_fetching));
        self.writes.set_limit(limits.map(|limits| limits.writes));
        self.bulk.set_limit(limits.map(|limits| limits.bulk));
    }

    /// Ends the replica's own pauses. Failed requests are still sent after the others.
    fn clear_pauses(&mut self) {
        self.hold_until = Millis::MIN;
        self.retries.clear_pauses();
    }

    /// Plans the edits. A plan that is under way shows every change that was reported before it: the engine reads the edits when it
    /// takes the action, and reports in order.
    fn plan(&mut self, turn: &mut Turn) {
        self.has_open_edits = None;
        if !std::mem::replace(&mut self.is_planning, true) {
            turn.act(Action::PlanEdits);
        }
    }

    /// The plan is ready.
    fn planned(&mut self, ready: Vec<ReadyEdits>, has_open_edits: bool, in_contact: bool) {
        self.is_planning = false;
        self.has_open_edits = Some(has_open_edits);
        let awaits_answer = |ready: &ReadyEdits| ready.edits.iter().any(|edit| self.awaits_answer(*edit));
        self.ready = ready.into_iter().filter(|ready| !awaits_answer(ready)).collect();
        self.forget_settled_edits();
        let was_allowed_all = self.is_allowed_all();
        let Push { forbidden, ready, in_flight, .. } = self;
        forbidden.retain(|kind, _| ready.iter().chain(&*in_flight).any(|ready| ready.kind == *kind));
        let is_idle = self.ready.is_empty() && !self.is_busy();
        if self.is_allowed_all() && (is_idle || !was_allowed_all) && in_contact {
            // No edit is left that needs a missing scope, and the key can read the feed.
            self.key_refusal = None;
        }
    }

    /// Drops what is known of edits that are neither ready nor in flight.
    fn forget_settled_edits(&mut self) {
        let first_edits = self.ready.iter().chain(&self.in_flight).filter_map(|ready| ready.edits.first().copied());
        let known: HashSet<i64> =
            first_edits.chain(self.id_collisions.iter().map(|collision| collision.again.edits[0])).collect();
        self.retries.retain(&known);
        self.send_alone.retain(|edit| known.contains(edit));
        self.outdated.retain(|edit| known.contains(edit));
    }

    /// Sends edits that are due, as many requests as may be in flight.
    pub(super) fn send_due(&mut self, turn: &mut Turn, in_contact: bool) {
        self.wait = None;
        if !in_contact {
            return;
        }
        if !self.is_fetching
            && let Some(collision) = self.id_collisions.front()
        {
            turn.act(Action::Request(Request::FetchRecord { edit: collision.again.edits[0] }));
            self.is_fetching = true;
        }
        let bulk_max = if self.in_flight.len() <= BULK_IN_FLIGHT_MAX / 2 { BULK_IN_FLIGHT_MAX } else { 0 };
        let mut requests = Vec::new();
        while self.in_flight.len() < IN_FLIGHT_MAX.max(bulk_max) {
            let indexes = match self.choose(turn.now) {
                Ok(indexes) => indexes,
                Err(wait) => {
                    self.wait = wait;
                    break;
                }
            };
            let Some(groups) = self.take_groups(turn, &indexes) else { break };
            requests.push(groups);
        }
        if !requests.is_empty() {
            turn.act(Action::SendEdits { requests });
        }
    }

    /// Moves ready edits into flight, in one request. None: too much is in flight already.
    fn take_groups(&mut self, turn: &Turn, indexes: &[usize]) -> Option<Vec<Vec<i64>>> {
        let chosen: Vec<&ReadyEdits> = indexes.iter().filter_map(|index| self.ready.get(*index)).collect();
        let first = *chosen.first()?;
        let (kind, is_frozen) = (first.kind, first.is_frozen);
        let is_bulk = indexes.len() > 1 || (first.is_frozen && first.edits.len() > 1);
        let bytes = chosen.iter().map(|ready| ready.bytes).sum();
        if !is_bulk && self.in_flight.len() >= IN_FLIGHT_MAX || !self.has_room_for(bytes) {
            return None;
        }
        let groups: Vec<Vec<i64>> = chosen.into_iter().map(|ready| ready.edits.clone()).collect();
        // From the back, so that the indexes before stay valid.
        for index in indexes.iter().rev() {
            self.ready.remove(*index);
        }
        self.limiter(is_bulk).take(turn.now);
        self.in_flight.push(ReadyEdits { edits: groups.concat(), kind, is_frozen, bytes });
        Some(groups)
    }
}
