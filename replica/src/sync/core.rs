//! The sync state machine: takes [`Event`]s and returns [`Action`]s. Pure: time and random numbers are arguments, so tests
//! can play any moment. Must not know HTTP, SQLite, files or a clock. Of a response, the core only knows the contract's
//! statuses and error types.
//!
//! Three activities run side by side:
//!
//! - The *link* brings the feed down, by stream or by polls.
//! - The *push* sends edits up. The push starts only after the server has accepted the feed cursor. Otherwise edits could
//!   reach a restored server before the replica notices the restore.
//! - A *reconcile* compares all collections with the server after lost history.
//!
//! States of the link, and what moves the link from state to state:
//!
//! ```text
//!  Started ─────▶ Greeting ────────────────────────▶ Following ───────────────────────────────────────┐
//!                 ▲  ▲  ▲   identity and feed head    stream:  Waiting ──▶ Requested ──▶ Open          │
//!                 │  │  │   received                     ▲       next_at      │  opened     │           │
//!                 │  │  │                                └────────────────────┴─────────────┘           │
//!                 │  │  │                                  refused, cut, held back: a long wait         │
//!                 │  │  │                              poll:    Idle ──▶ Asked ──▶ Held                 │
//!                 │  │  │                                        ▲  due     │        │ events that the  │
//!                 │  │  │                                        └──────────┴────────┘ stream lacks     │
//!                 │  │  └──────────────────────── silent for 45 s ───────────────────────────────────── ┤
//!                 │  │                                                                                 │
//!                 │  └ retry_at, retry-now ── Down (offline) ◀── no answer, or the next stream follows soon
//!                 │
//!  any state ─── a person pauses ───────────────▶ Paused ─── a person resumes ───▶ Greeting
//!  any state ─── refused write ─────────────────▶ Down, then ReloadState and Started
//!  any state ─── expired cursor ────────────────▶ Greeting, with a reconcile
//!  any state ─── goal reached, stopped, blocked ▶ Ended
//! ```
//!
//! Contact lasts from the first stream or poll that the server accepts until the link leaves `Following`.
//!
//! `state` holds the fields, `handle` dispatches events, `link` and `transport` move the link, `push` and `reconcile` do
//! what their names say, and `status` derives the phase and the end.

mod action;
#[cfg(test)]
mod arrows;
mod backoff;
mod clock;
mod event;
mod goal;
mod handle;
mod identity;
mod link;
mod outcome;
mod push;
mod rate_limiter;
mod reconcile;
mod state;
mod status;
mod stream_health;
#[cfg(test)]
mod tests;
mod transport;
mod turn;

pub(crate) use action::{Action, Request};
pub(crate) use backoff::Backoff;
pub use clock::Millis;
pub(crate) use event::Event;
pub use goal::{EndReason, Until};
pub(crate) use identity::{FeedHead, ServerInfo};
pub use identity::{Identity, Limits};
pub(crate) use outcome::{EditResponse, ErrorType, ExistingRecord, Expired, Failure, Refusal, SendOutcome};
pub(crate) use push::Input as PushInput;
pub(crate) use reconcile::{Answer as ReconcileAnswer, Input as ReconcileInput};
pub(crate) use state::Core;

pub use crate::model::{BatchEnd, FeedBatch};
