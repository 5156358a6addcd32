//! The handlers: each translates a call into a request to the home, and the outcome into a reply. Must not contain SQL
//! or rules, nor know the table of routes.

pub(crate) mod assets;
pub mod bulk;
pub mod calendars;
mod capture_bodies;
pub(crate) mod capture_json;
pub mod capture_suggestions;
pub mod captures;
pub mod deletions;
pub mod discovery;
pub mod docs;
pub mod events;
pub mod exports;
pub mod file_upload;
pub mod files;
mod filters;
pub mod health;
pub mod imports;
pub mod mcp;
pub mod me;
pub mod once;
mod projection;
pub mod records;
pub mod refill;
mod refilling;
pub mod search;
pub mod stream;
