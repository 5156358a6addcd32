//! What a home does: writes, the rules of the kinds, the feed and its cursors. Functions of a transaction; time, random
//! numbers and ids are arguments. Must not know HTTP.
//!
//! - [`apply`]: a command becomes records and events, or a refusal. The only place where records change.
//! - [`rules`]: how references to deleted records are cleared. [`series`]: which task follows a completed one.
//! - `document_file`: the file that a document names, its size and type.
//! - [`receipts`]: a write with an idempotency key happens once.
//! - [`cursor`]: the opaque texts that name a place in a list or in the feed.
//! - [`feed`]: pages of the feed after a cursor, and whether a cursor is still valid.
//! - [`lag`]: how far a reader lies behind. [`latest`]: the latest events in words for people.
//! - [`retention`]: compaction of events that are older than retention.
//! - [`rewind`]: returns a home to an earlier position.
//! - [`search`]: words of a question, and the snippet of a hit.
//! - [`sandbox`]: the example data of sandbox homes.
//! - [`calendar`]: the days of a home for calendar programs.
//! - [`audit`]: whether the current records agree with the tables.

pub mod apply;
pub mod audit;
pub mod calendar;
pub mod clock_reset;
pub mod cursor;
pub(crate) mod document_file;
pub mod feed;
pub mod lag;
pub mod latest;
pub mod receipts;
pub mod retention;
pub mod rewind;
pub mod rules;
pub mod sandbox;
pub mod search;
pub mod series;
