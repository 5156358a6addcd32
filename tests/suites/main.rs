//! The suites, in one binary but for `simulation.rs`, which has its own:
//!
//! - [`http`]: the API over HTTP, sentence by sentence of the contract.
//! - [`citations`]: each citation of the contract names a section of `docs/contract.md`.
//! - [`operating`]: the operator's commands on the real program.
//! - [`crash`]: the real programs, killed without warning.
//! - [`edits`]: local edits against the real server: conflicts, poison, bulk, undo, exactly once.
//! - [`recovery`]: replicas that fell out of the feed find back.
//! - [`lab`]: the test bench for developers. [`drills`]: the replica in bad weeks. [`docs`]: recipes, run as they stand.
//! - [`storm`]: everybody at once on one database.
//! - [`strain`]: the real program with readers that do not read, and on a full disk.
//! - [`terminal`]: the terminal UI on a terminal, as a person drives it.
//! - [`together`]: the terminal UI in step with the real server.
//! - [`tidy`]: the rules of the house that a compiler does not check.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod citations;
mod crash;
mod docs;
mod drills;
mod edits;
mod http;
mod lab;
mod operating;
mod recovery;
mod storm;
mod strain;
mod terminal;
mod tidy;
mod together;
