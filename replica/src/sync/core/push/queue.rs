//! What waits to be sent, what is under way, and what may go next. Must not know what answers mean.

use std::collections::{BTreeMap, HashSet, VecDeque};

use hearth_contract::schema::Kind;

use super::super::pace::Pace;
use super::super::stumbles::Stumbles;
use super::super::{Limits, Millis, Ready, Refusal};

/// Operations of one bulk call (contract 7).
const OPERATIONS_MAX: usize = 50;
/// Bytes of one bulk call, as far as that is known before it is fixed. Its bytes stay the same for ever, so a call that a
/// slow line cannot carry within the 30 s that the server gives a body (contract 12) would never come through.
const BULK_BYTES_MAX: usize = 64 << 10;
/// Bytes under way at once, because they share the line: in 30 s these come through at 13 kB a second.
const BYTES_UNDER_WAY_MAX: usize = 384 << 10;
/// The same once a call got no answer, though contact lasts: at 4.4 kB a second.
const BYTES_UNDER_WAY_LEAST: usize = 128 << 10;
/// From so many edits of one collection on, they go as one call. Fewer are soonest there one by one.
const BULK_FROM: usize = 5;

/// A create that met its own id.
#[derive(Debug)]
pub(super) struct Met {
    pub edit: i64,
    /// What goes again should nothing be learnt.
    pub again: Ready,
    pub refusal: Refusal,
}

/// Where the push stands.
#[derive(Debug, Default)]
pub(in super::super) struct Push {
    pub(super) ready: VecDeque<Ready>,
    pub(super) in_flight: Vec<Ready>,
    /// Creates that met their own id, and why they were refused; their records are looked at one by one.
    pub(super) met_their_ids: VecDeque<Met>,
    pub(super) looking: Option<Met>,
    /// Edits that a bulk call was refused with as a whole: each goes by itself.
    pub(super) alone: HashSet<i64>,
    /// Whether an edit is not settled and waits for nobody but the server; None: unknown until the next plan.
    pub(in super::super) open: Option<bool>,
    pub(super) planning: bool,
    pub(super) plan_again: bool,
    pub(super) failures: u32,
    /// Since contact began, a call got no answer in time: the line may be too slow for many at once.
    pub(super) narrow: bool,
    /// Our own pause, which ends with new contact and for who is in a hurry.
    pub(super) hold_until: Millis,
    /// The pause that the server asked for, which nothing ends.
    pub(super) asked_until: Option<Millis>,
    pub(super) stumbles: Stumbles,
    /// Edits whose record had moved on when they were answered last. Those that wait for the feed to tell of it are forgotten
    /// by the next plan.
    pub(super) overtaken: HashSet<i64>,
    /// Collections that the key may not write, and when that is tried again.
    pub(super) forbidden: BTreeMap<Kind, Millis>,
    pub(super) writes: Pace,
    pub(super) bulk: Pace,
    pub(super) wake_at: Option<Millis>,
}

impl Push {
    /// When something may be sent, if nothing else happens.
    pub(in super::super) fn wake_at(&self) -> Option<Millis> {
        self.wake_at
    }

    /// Whether an answer is awaited.
    pub(in super::super) fn is_busy(&self) -> bool {
        !self.in_flight.is_empty() || self.met().next().is_some()
    }

    /// Contact is back: what waited for it is tried at once.
    pub(in super::super) fn contact(&mut self, limits: Option<Limits>) {
        (self.failures, self.narrow) = (0, false);
        self.hurry();
        self.forbidden.values_mut().for_each(|until| *until = Millis::MIN);
        // Whether what was sent before may go again depends on what was read since: the plan that follows says so.
        self.ready.retain(|ready| !ready.frozen);
        // What it has met was on a server that may have been put back since; it goes again and is told anew.
        self.met_their_ids.clear();
        self.writes.set_limit(limits.map(|limits| limits.writes));
        self.bulk.set_limit(limits.map(|limits| limits.bulk));
    }

    /// Ends the pauses that nobody has asked for. What has failed before still goes after the others.
    pub(in super::super) fn hurry(&mut self) {
        self.hold_until = Millis::MIN;
        self.stumbles.hurry();
    }

    pub(super) fn holds(&self, edit: i64) -> bool {
        self.in_flight.iter().any(|ready| ready.edits.contains(&edit)) || self.met().any(|met| met.edit == edit)
    }

    /// Creates whose records are looked at, or will be.
    pub(super) fn met(&self) -> impl Iterator<Item = &Met> {
        self.looking.iter().chain(&self.met_their_ids)
    }

    pub(super) fn due_at(&self, ready: &Ready) -> Millis {
        let stumbled = ready.edits.first().and_then(|edit| self.stumbles.due_at(*edit));
        let forbidden = self.forbidden.get(&ready.kind).copied();
        stumbled.into_iter().chain(forbidden).chain(self.asked_until).fold(self.hold_until, Millis::max)
    }

    /// How often in a row this request has failed.
    pub(super) fn stumbles_over(&self, ready: &Ready) -> u32 {
        ready.edits.first().map_or(0, |edit| self.stumbles.of(*edit))
    }

    /// How often in a row somebody on the way has forbidden this request.
    pub(super) fn forbids(&self, ready: &Ready) -> u32 {
        ready.edits.first().map_or(0, |edit| self.stumbles.forbidden(*edit))
    }

    /// Whether the key may write everything, as far as it was told.
    pub(in super::super) fn is_allowed_all(&self) -> bool {
        self.forbidden.is_empty()
    }

    /// Collections that the key may not write.
    pub(in super::super) fn forbidden(&self) -> Vec<Kind> {
        self.forbidden.keys().copied().collect()
    }

    /// Whether the key is too weak for some of what waits, and nothing else is left to be sent or heard of.
    pub(in super::super) fn waits_for_scopes_alone(&self) -> bool {
        let allowed = |ready: &Ready| !self.forbidden.contains_key(&ready.kind);
        !self.is_allowed_all() && !self.is_busy() && !self.planning && !self.ready.iter().any(allowed)
    }

    /// Nothing is known any more of what the key may do.
    pub(in super::super) fn forget_scopes(&mut self) {
        self.forbidden.clear();
    }

    /// Whether so many more bytes may be under way.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        let most = if self.narrow { BYTES_UNDER_WAY_LEAST } else { BYTES_UNDER_WAY_MAX };
        let under_way: usize = self.in_flight.iter().map(|ready| ready.bytes).sum();
        under_way == 0 || under_way + bytes <= most
    }

    /// The next parcels to be sent as one, by their places in `ready`; or when something may be sent.
    pub(super) fn choose(&self, now: Millis) -> Result<Vec<usize>, Option<Millis>> {
        let mut soonest: Option<Millis> = None;
        let mut not_before = |at: Millis| soonest = Some(soonest.map_or(at, |soonest| soonest.min(at)));
        // Backlogs go by bulk alone, so that single writes are left for what comes meanwhile.
        let bulk_from = if self.writes.is_scarce(now) { 2 } else { BULK_FROM };
        let mut waits_for_bulk: Option<Kind> = None;
        // What has failed before goes after all others, and one at a time: it may hold its place as long as an answer can take.
        let has_failed = |ready: &Ready| self.stumbles_over(ready) > 0;
        let is_tried_again = self.in_flight.iter().any(has_failed);
        let fresh = self.ready.iter().enumerate().filter(|(_, ready)| !has_failed(ready));
        let again = self.ready.iter().enumerate().filter(|(_, ready)| !is_tried_again && has_failed(ready));
        for (place, first) in fresh.chain(again) {
            let due_at = self.due_at(first);
            if due_at > now {
                not_before(due_at);
                continue;
            }
            let together = |ready: &Ready| {
                ready.kind == first.kind
                    && !ready.frozen
                    && !has_failed(ready)
                    && self.due_at(ready) <= now
                    && ready.edits.first().is_some_and(|edit| !self.alone.contains(edit))
            };
            let mut places = vec![place];
            if together(first) && !first.kind.is_singleton() {
                if waits_for_bulk == Some(first.kind) {
                    continue;
                }
                let later = self.ready.iter().enumerate().skip(place + 1).filter(|(_, ready)| together(ready));
                let mut bytes = first.bytes;
                let fits = |(_, ready): &(usize, &Ready)| {
                    bytes += ready.bytes;
                    bytes <= BULK_BYTES_MAX
                };
                places.extend(later.take_while(fits).map(|(place, _)| place).take(OPERATIONS_MAX - 1));
                if places.len() < bulk_from {
                    places.truncate(1);
                }
            }
            let is_bulk = places.len() > 1 || (first.frozen && first.edits.len() > 1);
            let free_at = if is_bulk { self.bulk.free_at(now) } else { self.writes.free_at(now) };
            if free_at <= now {
                return Ok(places);
            }
            not_before(free_at);
            if is_bulk && !first.frozen {
                waits_for_bulk = Some(first.kind);
            }
        }
        Err(soonest)
    }
}
