//! The tables, triggers, views and indexes that are generated from the contract's resource table. Must not know edits or events.
//!
//! - [`renew`]: is the database made from this description? If not, it is renewed. [`table_sql`]: the typed tables.
//! - [`triggers`], [`trigger_sql`], [`rules`], [`computed`], [`mod@search`], [`protected`]: the triggers. [`views`]; [`order`]: the indexes behind the lists.
//! - [`user_objects`]: what people have added to the replica's tables.

mod computed;
pub(crate) mod order;
pub(super) mod protected;
mod renew;
mod rules;
pub(crate) mod search;
mod table_sql;
pub(super) mod trigger_sql;
mod triggers;
pub(crate) mod user_objects;
mod views;

pub(crate) use self::renew::is_current;
pub(super) use self::renew::{missing_objects, renew};
