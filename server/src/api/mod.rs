//! The handlers: thin turns of a call into a question to the home, and of its outcome into a reply. Must not speak
//! SQL or decide rules.

pub mod bulk;
pub mod discovery;
pub mod docs;
pub mod events;
pub mod exports;
pub mod health;
pub mod mcp;
pub mod me;
pub mod once;
mod projection;
pub mod records;
pub mod search;
pub mod stream;
