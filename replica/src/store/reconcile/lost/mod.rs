//! What a restored server has lost. Revisions of the discarded history mean nothing any more, and edits that only that history
//! contained are offered again. Must not send.
//!
//! - [`candidate`]: an edit that is compared with the server's records. [`compare`]: whether the server shows the effect of an edit.
//! - [`forget`](mod@forget): when the restore is noticed. [`notice`](mod@notice): with each batch of the feed. [`end`]: at the end
//!   of the reconcile. [`offer`]: lost edits wait for a person.

mod candidate;
mod compare;
mod end;
mod forget;
mod notice;
mod offer;

pub(super) use self::compare::note_overwritten;
pub(super) use self::end::{offer_accepted, offer_confirmed};
pub(super) use self::forget::forget;
pub(crate) use self::notice::compare_head;
pub(in crate::store) use self::notice::{Passed, forget_skipped, notice};
pub(super) use self::offer::is_any_offered;
