//! What must be true of a replica after each step (`docs/architecture.md`, invariants) and at the end of a run. All
//! checks read the database with plain SQL, as a program of a user would. Must not know how a state came about.
//!
//! - `after_step`: all checks after a step. Calls `edits` and `tables`.
//! - `edits`: the state of each edit. `tables`: the rows compared with the expected state.
//! - `end_state`: what must also be true when nothing is in transit any more.

mod after_step;
mod edits;
mod end_state;
mod tables;

pub use after_step::check;
pub use end_state::{check_confirmed_edits, check_waiting_edits};
pub use tables::compare;
