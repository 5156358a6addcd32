//! Sends captures and the decisions about them, reads what became of them, and reads the text of files. Beside the sync of records,
//! one request at a time, so that records are never delayed.
//!
//! [`ask`]: the requests, and what their answers mean. [`worker`]: when they are sent, with the database and a clock.

mod ask;
mod worker;

pub use worker::exchange_captures;
pub(super) use worker::{run, run_once};
