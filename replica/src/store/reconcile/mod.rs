//! A reconcile in the database: the progress, the effect of responses on rows, and the end. One transaction saves a
//! response together with the next step, and an interrupted reconcile resumes at the saved step. Must not know which
//! request comes next.
//!
//! Until the end, `_sync.position` keeps its value, because the rows lack changes between `position` and the tail.
//! The tail has no position until the feed has brought an event after the cursor from which the server lets the feed
//! resume.
//!
//! - [`progress`], [`begin`](mod@begin), [`response`], [`sweep`](mod@sweep), [`finish`](mod@finish): the steps. [`listing`]: the
//!   ids that the server has.
//! - [`lost`]: edits that a restored server lost. [`verify`]: a comparison of all records. [`sentences`]: lines for `sync_log`.

mod begin;
mod finish;
mod listing;
pub(crate) mod lost;
mod progress;
mod response;
mod sentences;
mod sweep;
pub(crate) mod verify;

pub(crate) use self::begin::{begin, is_whole};
pub(super) use self::begin::{begin_anew, begin_at_the_present, begin_with_unknown_history, cause_to_reconcile};
pub(crate) use self::finish::finish;
pub(crate) use self::listing::records_to_fetch;
pub(crate) use self::progress::{ask_person, compare_everything, load, note_request, set_step};
pub(crate) use self::response::save_responses;
pub(crate) use self::sweep::sweep;
