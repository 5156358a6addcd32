//! What both sides of Hearth agree on. Read in this order:
//!
//! - [`schema`]: the words a resource is described in: kinds, fields, formats.
//! - [`resources`]: the one table of the six kinds. Validation, discovery, replica columns and forms read it.
//! - [`formats`]: the exact rules of dates, timestamps, money, ids and texts.
//! - [`check`]: a body against the table; every fault at once.
//! - [`question`]: the words by which records are found.
//! - [`record`], [`command`], [`event`]: a thing, a wish, and what was committed.
//! - [`problem`]: every refusal: its status, whether to retry, what to do next.
//! - [`envelope`], [`headers`], [`paths`], [`key`]: the wire around them.
//!
//! No IO, no clock, no randomness, no async: whatever needs one of these takes it as an argument.

pub mod check;
pub mod command;
pub mod envelope;
pub mod event;
pub mod formats;
pub mod headers;
pub mod key;
pub mod paths;
pub mod problem;
pub mod question;
pub mod record;
pub mod resources;
pub mod schema;
