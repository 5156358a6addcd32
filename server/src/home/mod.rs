//! What a home does: the one way a write happens, the rules of its kinds, its feed and cursors. Plain functions of a
//! transaction; time, chance and ids are arguments. Must not know HTTP.
//!
//! - [`apply`]: a command becomes records and events, or a refusal.
//! - [`rules`]: what the kinds do beyond holding values.
//! - [`receipts`]: a write with an idempotency key happens once.
//! - [`cursor`]: the opaque texts that name a place in a list or feed.
//! - [`feed`]: reading on from a cursor, and whether a cursor is still good.
//! - [`retention`]: thinning out what is older than the feed keeps.
//! - [`rewind`]: putting a home back to an earlier position.
//! - [`search`]: what of a record can be found.
//! - [`sandbox`]: the fixture home.
//! - [`audit`]: whether images and tables agree.

pub mod apply;
pub mod audit;
pub mod cursor;
pub mod feed;
pub mod receipts;
pub mod retention;
pub mod rewind;
pub mod rules;
pub mod sandbox;
pub mod search;
