//! Keeps a replica in step with its server. Four layers, each with a vocabulary of its own:
//!
//! ```text
//!  core     Event        → Vec<Action>      decides what to do next; pure, without clock, network or database
//!  engine   DriverEvent  → Event            carries out actions on the database, turns requests into HTTP requests
//!           Action       → SQL or Command
//!  driver   Command      → network          sockets and timers; reports responses, stream and timer as DriverEvents
//!  wire     HttpRequest, HttpResponse       requests and responses as plain values
//! ```
//!
//! Besides: `client`, `stream` and `sse` move bytes; `page_buffer` collects list pages; `key_file` watches for a new key;
//! `inspector` looks for damage; `excerpt` shortens texts of the server; `calendars` makes links for calendar programs; `listings` reads all records for a comparison; `refill` sends all records to an empty home.
//!
//! `transfer` brings the bytes of files to the server and back; `captures` sends captures and reads what became of them. `runtime`: the clock and the threads.
//!
//! `device_flow` gets a key from a person in a browser, `device_code` decides when to ask; `tls_fault` has sentences about TLS.
//!
//! Must not know commands of a program or the terminal.

mod calendars;
mod captures;
mod client;
mod config;
mod core;
mod device_code;
mod device_flow;
mod driver;
mod engine;
mod error;
mod excerpt;
mod inspector;
mod key_file;
mod listings;
mod page_buffer;
mod refill;
mod retry;
mod runtime;
mod sse;
mod stream;
mod tls_fault;
mod transfer;
mod wire;

pub use self::core::{BatchEnd, EndReason, FeedBatch, Identity, Limits, Millis, Until};
pub use crate::store::lock::SyncLock;
pub use calendars::{CalendarLink, create_calendar, list_calendars, remove_calendar};
pub use captures::exchange_captures;
pub(crate) use client::fetch_identity_and_time;
pub use client::{ClientError, fetch_feed_head, fetch_identity, redact_address};
pub use config::SyncConfig;
pub use device_code::{DeviceCode, NotApproved};
pub use device_flow::{Begun, DeviceFlow, DeviceFlowError, machine_name};
pub use driver::run;
pub use engine::{Command, DriverEvent, Engine, Moment, RandomBits, StepOutput};
pub(crate) use engine::{stored_home, write_failure_text};
pub use error::SyncError;
pub use listings::fetch_listings;
pub use refill::{RefillError, RefillPlan, RefillReport, plan_refill, refill_home};
pub use runtime::wall_clock;
pub use sse::{Frame, extend_batch, stream_frames};
pub use transfer::fetch_files;
pub use wire::{HttpRequest, HttpResponse};
