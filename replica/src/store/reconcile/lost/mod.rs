//! What a restored server has lost. Revisions of the discarded history mean nothing any more, and edits that only that history
//! contained are offered again. Must not send.
//!
//! - [`candidate`]: an edit that may be lost. [`compare`]: whether the server shows the effect of an edit.
//! - [`forget`](mod@forget), [`end`], [`notice`](mod@notice): the three moments. [`offer`]: lost edits wait for a person.

mod candidate;
mod compare;
mod end;
mod forget;
mod notice;
mod offer;

pub(super) use self::compare::note_overwritten;
pub(super) use self::end::{offer_accepted, offer_confirmed, offer_creates};
pub(super) use self::forget::forget;
pub(in crate::store) use self::notice::{Passed, acked_and_seen, end_deletes, forget_skipped, notice};
pub(crate) use self::notice::{acked_edits, compare_head};
pub(super) use self::offer::is_any_offered;
