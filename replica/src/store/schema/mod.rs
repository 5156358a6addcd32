//! The typed tables, triggers and list indexes, made from the contract's resource table, and the views. Must not know how edits are
//! sent or how events arrive.
//!
//! - [`renew`]: is the database made from this description, and is everything there? [`table_sql`]: the typed tables.
//! - [`triggers`], [`trigger_sql`], [`rules`], [`computed`], [`mod@search`], [`protected`]: the triggers. [`views`]: the views.
//!   [`order`]: the indexes behind the lists.
//! - [`worth`]: what an item is worth. [`plain_words`]: the plain form of searched texts. [`user_objects`]: what people have added to
//!   the replica's tables.

mod computed;
pub(crate) mod order;
mod plain_words;
pub(super) mod protected;
mod renew;
pub(super) mod rules;
pub(crate) mod search;
pub(crate) mod table_sql;
pub(super) mod trigger_sql;
mod triggers;
pub(crate) mod user_objects;
mod views;
pub(crate) mod worth;

pub(crate) use self::renew::{SchemaState, altered_objects, state};
pub(super) use self::renew::{check_tables, create_generated, drop_generated, tables_without_checks};
