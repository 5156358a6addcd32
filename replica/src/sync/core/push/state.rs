//! Edits that are ready, edits in flight, and what delays each. Must not know what responses mean.

use std::collections::{BTreeMap, HashSet, VecDeque};

use hearth_contract::schema::Kind;

use super::super::clock::Millis;
use super::super::identity::Limits;
use super::super::outcome::Refusal;
use super::super::rate_limiter::RateLimiter;
use super::super::retry_state::RetryState;
use crate::model::ReadyEdits;

/// Bytes in flight at most, because all requests share the line: sent in 30 s at 13 kB/s.
const BYTES_IN_FLIGHT_MAX: usize = 384 << 10;
/// The same limit on a slow line: sent in 30 s at 4.4 kB/s.
const BYTES_IN_FLIGHT_SLOW: usize = 128 << 10;

/// A create answered with `already_exists`.
#[derive(Debug)]
pub(in super::super) struct IdCollision {
    pub edit: i64,
    /// What to send again if the existing record stays unknown.
    pub again: ReadyEdits,
    pub refusal: Refusal,
}

/// State of the push.
#[derive(Debug, Default)]
pub(in super::super) struct Push {
    pub(in super::super) ready: VecDeque<ReadyEdits>,
    pub(in super::super) in_flight: Vec<ReadyEdits>,
    /// Collisions whose records are not fetched yet. Records are fetched one at a time.
    pub(in super::super) id_collisions: VecDeque<IdCollision>,
    /// The collision whose record is being fetched.
    pub(in super::super) fetching: Option<IdCollision>,
    /// Edits of a bulk call that was refused as a whole: each is sent alone.
    pub(in super::super) send_alone: HashSet<i64>,
    /// Whether some edits are unsettled and need no person. None: unknown until the next plan.
    pub(in super::super) has_open_edits: Option<bool>,
    pub(in super::super) is_planning: bool,
    /// The edits have changed during the planning: plan again.
    pub(in super::super) must_plan_again: bool,
    pub(in super::super) failures: u32,
    /// A request got no answer in time since contact began, so fewer bytes are kept in flight.
    pub(in super::super) is_slow_line: bool,
    /// The replica's own pause. Ends with a new contact and with a retry-now request.
    pub(in super::super) hold_until: Millis,
    /// The pause requested by the server with `Retry-After`. Nothing ends the pause early.
    pub(in super::super) server_hold_until: Option<Millis>,
    pub(in super::super) retries: RetryState,
    /// Edits whose last answer was 412. The next plan forgets edits that wait for the feed.
    pub(in super::super) outdated: HashSet<i64>,
    /// Collections that the key may not write, and when the next attempt is made.
    pub(in super::super) forbidden: BTreeMap<Kind, Millis>,
    pub(in super::super) writes: RateLimiter,
    pub(in super::super) bulk: RateLimiter,
    /// Whether a rate limit of the server holds edits back.
    pub(in super::super) is_limited: bool,
    /// When something can be sent, if nothing else happens.
    pub(in super::super) wake_at: Option<Millis>,
}

impl Push {
    /// Whether an answer is awaited.
    pub(in super::super) fn is_busy(&self) -> bool {
        !self.in_flight.is_empty() || self.collisions().next().is_some()
    }

    /// A contact has begun: ends the replica's own pauses and takes the key's limits.
    pub(in super::super) fn on_contact(&mut self, limits: Option<Limits>) {
        (self.failures, self.is_slow_line) = (0, false);
        self.clear_pauses();
        self.forbidden.values_mut().for_each(|until| *until = Millis::MIN);
        // The plan that follows decides whether frozen requests may be sent again.
        self.ready.retain(|ready| !ready.is_frozen);
        // The server may have been restored since the collision; the create is sent again and gets a new answer.
        self.id_collisions.clear();
        self.writes.set_limit(limits.map(|limits| limits.writes));
        self.bulk.set_limit(limits.map(|limits| limits.bulk));
    }

    /// Ends the replica's own pauses. Failed requests are still sent after the others.
    pub(in super::super) fn clear_pauses(&mut self) {
        self.hold_until = Millis::MIN;
        self.retries.clear_pauses();
    }

    /// Whether an edit awaits an answer.
    pub(in super::super) fn awaits_answer(&self, edit: i64) -> bool {
        self.in_flight.iter().any(|ready| ready.edits.contains(&edit))
            || self.collisions().any(|collision| collision.edit == edit)
    }

    /// Collisions whose record is or will be fetched.
    pub(in super::super) fn collisions(&self) -> impl Iterator<Item = &IdCollision> {
        self.fetching.iter().chain(&self.id_collisions)
    }

    /// The earliest time to send these edits.
    pub(in super::super) fn due_at(&self, ready: &ReadyEdits) -> Millis {
        let next_attempt = ready.edits.first().and_then(|edit| self.retries.next_attempt_at(*edit));
        let forbidden = self.forbidden.get(&ready.kind).copied();
        next_attempt.into_iter().chain(forbidden).chain(self.server_hold_until).fold(self.hold_until, Millis::max)
    }

    /// Failures of this request in a row.
    pub(in super::super) fn failures_of(&self, ready: &ReadyEdits) -> u32 {
        ready.edits.first().map_or(0, |edit| self.retries.failures(*edit))
    }

    /// Refusals of this request by a proxy, in a row.
    pub(in super::super) fn forbidden_count(&self, ready: &ReadyEdits) -> u32 {
        ready.edits.first().map_or(0, |edit| self.retries.forbidden(*edit))
    }

    /// Whether the key may write all collections, as far as known.
    pub(in super::super) fn is_allowed_all(&self) -> bool {
        self.forbidden.is_empty()
    }

    /// Whether the only edits left are edits that the key may not write.
    pub(in super::super) fn waits_for_scopes_only(&self) -> bool {
        let allowed = |ready: &ReadyEdits| !self.forbidden.contains_key(&ready.kind);
        !self.is_allowed_all() && !self.is_busy() && !self.is_planning && !self.ready.iter().any(allowed)
    }

    /// Whether `bytes` more may be in flight.
    pub(in super::super) fn has_room_for(&self, bytes: usize) -> bool {
        let limit = if self.is_slow_line { BYTES_IN_FLIGHT_SLOW } else { BYTES_IN_FLIGHT_MAX };
        let in_flight: usize = self.in_flight.iter().map(|ready| ready.bytes).sum();
        in_flight == 0 || in_flight + bytes <= limit
    }
}
