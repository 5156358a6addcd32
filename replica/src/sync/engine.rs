//! A whole sync without network and clock: takes [`DriverEvent`]s, lets the core decide, carries actions out on the database
//! and returns [`Command`]s. Calls block while SQLite works. Must not decide what to do next.
//!
//! `handle` runs the loop, `actions` writes to the database, `requests` and `responses` translate between the core and
//! HTTP, `database` retries and guards writes, `phase_log` writes the log.

mod actions;
mod database;
mod disk;
mod handle;
mod messages;
mod phase_log;
mod requests;
mod responses;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use actions::stored_home;
pub(crate) use disk::write_failure_text;
pub use messages::{Command, DriverEvent, Moment, RandomBits, StepOutput};
pub use state::Engine;
