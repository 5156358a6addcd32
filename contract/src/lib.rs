//! The contract between server and clients (`docs/contract.md`). Read the modules in this order:
//!
//! - [`schema`]: the types that describe a resource: kind, field, format.
//! - [`resources`]: the table of the six kinds. Validation, discovery, replica columns and forms read the table.
//! - [`formats`]: the exact rules of dates, timestamps, money, ids and texts.
//! - [`fields`], [`check`]: values by field name; checks a body against the table and reports all faults at once.
//! - [`typed_text`]: sums, whole numbers and dates as people type them. [`printed_text`]: foreign text made safe to print.
//! - [`search_text`]: the searched words of a record. [`recurrence`]: which task follows a completed one. [`time_zone`]: days.
//! - [`currency`]: the codes of currencies. [`units`]: how a home reads its sums and areas.
//! - [`record`], [`command`], [`event`]: a record, a change that a client asks for, a change that the server committed.
//! - [`media`]: the media type of a file by its bytes.
//! - [`record_limits`]: what a record may hold at most, for readers of a server's data.
//! - [`problem`]: refusals with status, retry rule and next step.
//! - [`envelope`], [`headers`], [`paths`], [`key`]: the parts of HTTP messages.
//!
//! No IO, clock, random numbers or async code: a function that needs a time or random bytes takes an argument.

pub mod amounts;
pub mod check;
pub mod command;
pub mod currency;
pub mod envelope;
pub mod event;
pub mod fields;
pub mod formats;
pub mod headers;
pub mod key;
pub mod media;
pub mod paths;
pub mod printed_text;
pub mod problem;
pub mod record;
pub mod record_limits;
pub mod recurrence;
pub mod resources;
pub mod schema;
pub mod search_text;
pub mod time_zone;
pub mod typed_text;
pub mod units;
