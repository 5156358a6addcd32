//! The actors that write: people at the terminal UI, scripts with plain SQL, clients of the API. Each written value
//! carries a mark of its own, which makes the value traceable. Must not know how sync works.

pub mod client;
pub mod person;
mod record_picker;
pub mod script;
