//! Reads files and makes drafts of records from them, in the background (contract 22). Must not know who asks, nor HTTP.
//!
//! - `worker`: one file or job after the other until the shutdown.
//! - `process`: runs the confined program that reads a file.
//! - `drafting`: from what was read to drafts and facts. `matches`: records of the home that a draft may be about.

mod drafting;
mod matches;
mod process;
pub(crate) mod worker;
