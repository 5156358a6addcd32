//! Chooses the next request: the edits to send, alone or in a bulk call. Pure. Must not know the meaning of responses.

use hearth_contract::schema::Kind;

use super::super::clock::Millis;
use super::state::{Delay, Push};
use crate::model::ReadyEdits;

/// Operations of a bulk call (contract 7).
const OPERATIONS_MAX: usize = 50;
/// Bytes of a bulk call at most, approximately. A repetition sends the same bytes, and a call that is too large for a
/// slow line would never arrive within the 30 s that the server allows for a body (contract 12).
const BULK_BYTES_MAX: usize = 64 << 10;
/// A bulk call has at least this many edits, all of the same collection. Fewer edits arrive sooner in single requests.
const BULK_FROM: usize = 5;

impl Push {
    /// Chooses the edits of the next request, as indexes in [`Push::ready`]. Failed edits go last, and only one request with failed
    /// edits is in flight: such a request may again wait for the whole timeout. Err: nothing can be sent now; None inside when no
    /// time is awaited: no edit is ready, or only failed ones while another failed request is in flight.
    pub(super) fn choose(&self, now: Millis) -> Result<Vec<usize>, Option<Delay>> {
        let (mut soonest, mut is_limited): (Option<Millis>, bool) = (None, false);
        let mut not_before = |at: Millis| soonest = Some(soonest.map_or(at, |soonest| soonest.min(at)));
        // When single writes are scarce, a backlog uses bulk calls and leaves the single writes to new edits.
        let bulk_from = if self.writes.is_scarce(now) { 2 } else { BULK_FROM };
        let mut waits_for_bulk: Option<Kind> = None;
        let has_failed = |ready: &ReadyEdits| self.retries.failures(&ready.edits) > 0;
        let is_retrying = self.in_flight.iter().any(has_failed);
        let fresh = self.ready.iter().enumerate().filter(|(_, ready)| !has_failed(ready));
        let failed = self.ready.iter().enumerate().filter(|(_, ready)| !is_retrying && has_failed(ready));
        for (index, first) in fresh.chain(failed) {
            let due_at = self.due_at(first);
            if due_at > now {
                not_before(due_at);
                continue;
            }
            let can_join = self.can_join_bulk(now, first);
            if can_join && waits_for_bulk == Some(first.kind) {
                continue;
            }
            let indexes = if can_join { self.bulk_of(now, index, first, bulk_from) } else { vec![index] };
            let is_bulk = indexes.len() > 1 || (first.is_frozen && first.edits.len() > 1);
            let free_at = if is_bulk { self.bulk.free_at(now) } else { self.writes.free_at(now) };
            if free_at <= now {
                return Ok(indexes);
            }
            not_before(free_at);
            is_limited = true;
            if is_bulk && !first.is_frozen {
                waits_for_bulk = Some(first.kind);
            }
        }
        Err(soonest.map(|until| Delay { until, is_limited }))
    }

    /// True when a bulk call may contain the edits now.
    fn can_join_bulk(&self, now: Millis, ready: &ReadyEdits) -> bool {
        !ready.kind.is_singleton()
            && !ready.is_frozen
            && self.retries.failures(&ready.edits) == 0
            && self.due_at(ready) <= now
            && ready.edits.first().is_some_and(|edit| !self.send_alone.contains(edit))
    }

    /// The indexes in [`Push::ready`] of a bulk call that begins with `first`. Only `index` when the bulk call would
    /// have fewer than `bulk_from` edits.
    fn bulk_of(&self, now: Millis, index: usize, first: &ReadyEdits, bulk_from: usize) -> Vec<usize> {
        let joins = |ready: &ReadyEdits| ready.kind == first.kind && self.can_join_bulk(now, ready);
        let later = self.ready.iter().enumerate().skip(index + 1).filter(|(_, ready)| joins(ready));
        let mut bytes = first.bytes;
        let fits = |(_, ready): &(usize, &ReadyEdits)| {
            bytes += ready.bytes;
            bytes <= BULK_BYTES_MAX
        };
        let mut indexes = vec![index];
        indexes.extend(later.take_while(fits).map(|(index, _)| index).take(OPERATIONS_MAX - 1));
        if indexes.len() < bulk_from {
            indexes.truncate(1);
        }
        indexes
    }
}
