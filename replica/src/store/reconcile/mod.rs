//! A reconcile on disk: its progress, what the server's responses do to rows, and its end. A response and the progress that
//! follows from it are one transaction, and an interrupted reconcile resumes there. Must not know what is requested next.
//!
//! Until the end, `_sync.position` keeps its value: the rows between `position` and the tail are not complete. The tail has no
//! position while the server has named a cursor to resume from and the feed has told nothing after that cursor.
//!
//! - [`progress`], [`begin`](mod@begin), [`response`], [`sweep`](mod@sweep), [`finish`](mod@finish): the steps. [`listing`]: the
//!   ids that the server has.
//! - [`lost`]: edits that a restored server lost. [`replay`]: the feed read again after a rebuild. [`verify`]: a comparison of
//!   everything. [`sentences`]: lines for `sync_log`.

mod begin;
mod finish;
mod listing;
pub(crate) mod lost;
mod progress;
pub(super) mod replay;
mod response;
mod sentences;
mod sweep;
pub(crate) mod verify;

pub(crate) use self::begin::begin;
pub(super) use self::begin::begin_at_the_present;
pub(crate) use self::finish::finish;
pub(crate) use self::listing::records_to_fetch;
pub(crate) use self::progress::{ask_person, load, note_wish, set_step};
pub(crate) use self::response::save_response;
pub(crate) use self::sweep::sweep;
