//! Changes by other programs that no trigger has seen: a program has dropped or altered triggers, views or tables of the
//! replica, or made a table anew. The objects are restored, and changed rows become edits. Must not send.
//!
//! - [`restore`](mod@restore): the steps, for a new and for an outdated database too. [`found_table`]: the shape of a typed table.
//! - [`compare`]: the rows as found, against the rows that the replica knows. [`change`]: one difference.
//! - [`queue`]: a found change becomes an edit. [`refused`]: one that breaks a rule. [`held`]: changes that wait until a person agrees.
//! - [`unchecked`]: edits that were queued while the triggers that check values were missing.

mod change;
mod compare;
mod found_table;
pub(crate) mod held;
mod queue;
mod refused;
mod restore;
mod unchecked;

pub use self::held::HeldChanges;
pub use self::restore::Restored;
pub(crate) use self::restore::restore;
