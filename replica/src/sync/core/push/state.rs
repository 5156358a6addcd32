//! Edits that are ready, edits in flight, and what delays each. Must not know what responses mean.

use std::collections::{BTreeMap, HashSet, VecDeque};

use hearth_contract::schema::Kind;

use super::super::clock::Millis;
use super::super::outcome::Refusal;
use super::super::rate_limiter::RateLimiter;
use super::retry_state::RetryState;
use crate::model::ReadyEdits;

/// Bytes in flight at most, because all requests share the line: sent in 30 s at 13 kB/s.
const BYTES_IN_FLIGHT_MAX: usize = 384 << 10;
/// The same limit on a slow line: sent in 30 s at 4.4 kB/s.
const BYTES_IN_FLIGHT_SLOW: usize = 128 << 10;

/// A create answered with `already_exists`.
#[derive(Debug)]
pub(super) struct IdCollision {
    /// The create, to be sent again if the existing record stays unknown.
    pub(super) again: ReadyEdits,
    pub(super) refusal: Refusal,
}

/// Why nothing is sent although edits are ready.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Delay {
    pub(in super::super) until: Millis,
    /// A rate limit of the server holds edits back.
    pub(in super::super) is_limited: bool,
}

/// State of the push.
#[derive(Debug, Default)]
pub(crate) struct Push {
    pub(super) ready: VecDeque<ReadyEdits>,
    pub(super) in_flight: Vec<ReadyEdits>,
    /// Collisions whose records are not known yet. Records are fetched one at a time.
    pub(super) id_collisions: VecDeque<IdCollision>,
    /// The record of the first collision is being fetched.
    pub(super) is_fetching: bool,
    /// Edits of a bulk call that was refused as a whole: each is sent alone.
    pub(super) send_alone: HashSet<i64>,
    /// Whether some edits are unsettled and need no person. None: unknown until the next plan.
    pub(super) has_open_edits: Option<bool>,
    /// The plan of the edits is under way.
    pub(super) is_planning: bool,
    pub(super) failures: u32,
    /// A request got no answer in time since contact began, so fewer bytes are kept in flight.
    pub(super) is_slow_line: bool,
    /// The replica's own pause. Ends with a new contact and with a retry-now request.
    pub(super) hold_until: Millis,
    /// The pause requested by the server with `Retry-After`. Nothing ends the pause early.
    pub(super) server_hold_until: Option<Millis>,
    pub(super) retries: RetryState,
    /// Edits whose last answer was 412. The next plan forgets edits that wait for the feed.
    pub(super) outdated: HashSet<i64>,
    /// Collections that the key may not write, and when the next attempt is made.
    pub(in super::super) forbidden: BTreeMap<Kind, Millis>,
    /// The server's message about a key that may not write.
    pub(in super::super) key_refusal: Option<String>,
    pub(super) writes: RateLimiter,
    pub(super) bulk: RateLimiter,
    /// What the edits wait for. None: for nothing that a timer ends.
    pub(in super::super) wait: Option<Delay>,
}

impl Push {
    /// Whether an answer is awaited.
    pub(in super::super) fn is_busy(&self) -> bool {
        !self.in_flight.is_empty() || !self.id_collisions.is_empty()
    }

    /// Whether all edits are settled or wait for a person.
    pub(in super::super) fn is_done(&self) -> bool {
        self.has_open_edits == Some(false) && !self.is_busy()
    }

    /// Whether the plan is known and names no edit to send, and no answer is awaited. Edits may still wait for the feed or for a
    /// reconcile.
    pub(in super::super) fn is_idle(&self) -> bool {
        self.has_open_edits.is_some() && self.ready.is_empty() && !self.is_busy() && !self.is_planning
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

    /// Whether an edit awaits an answer.
    pub(super) fn awaits_answer(&self, edit: i64) -> bool {
        self.in_flight.iter().any(|ready| ready.edits.contains(&edit))
            || self.id_collisions.iter().any(|collision| collision.again.edits.contains(&edit))
    }

    /// The limiter of bulk calls, or of single writes.
    pub(super) fn limiter(&mut self, is_bulk: bool) -> &mut RateLimiter {
        if is_bulk { &mut self.bulk } else { &mut self.writes }
    }

    /// The earliest time to send these edits.
    pub(super) fn due_at(&self, ready: &ReadyEdits) -> Millis {
        let forbidden = self.forbidden.get(&ready.kind).copied();
        self.retries
            .next_attempt_at(&ready.edits)
            .into_iter()
            .chain(forbidden)
            .chain(self.server_hold_until)
            .fold(self.hold_until, Millis::max)
    }

    /// Whether `bytes` more may be in flight.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        let limit = if self.is_slow_line { BYTES_IN_FLIGHT_SLOW } else { BYTES_IN_FLIGHT_MAX };
        let in_flight: usize = self.in_flight.iter().map(|ready| ready.bytes).sum();
        in_flight == 0 || in_flight + bytes <= limit
    }
}
