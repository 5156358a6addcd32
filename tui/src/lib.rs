//! The terminal UI of Hearth. Read the modules in this order:
//!
//! - [`message`]: events that the application receives, and effects that the application requests.
//! - [`app`]: the state and its changes, without IO: `update(now, message)` returns effects. [`state`] has the parts of
//!   the state, one for each area of the screen.
//! - [`keys`]: the table of actions. The footer, the list of actions and `hearth keys` read this table.
//! - [`parse`]: parsers for typed text. [`words`], [`write_text`], [`record_text`]: texts for people. [`layout`]: lines
//!   and columns.
//! - [`view`]: one file per screen, drawing only.
//! - [`edge`]: threads, files and the terminal. Turns outside events into messages, and carries effects out.
//! - [`run`]: the main loop. [`config`]: settings. [`welcome`]: the first run. [`demo`]: server and replica in one
//!   process.
//!
//! A module imports only from modules below: `words` and `parse` at the bottom; then `keys`, `layout`; `state` and
//! `message` on one level; `app`, `view`, `edge`; `run`, `welcome` and `demo` at the top. SQL and HTTP belong to
//! `hearth_replica`; only the demo's tour runs one SQL statement.

pub mod app;
pub mod config;
pub mod demo;
pub mod edge;
#[cfg(test)]
mod fixtures;
pub mod keys;
pub mod layout;
pub mod message;
pub mod now;
pub mod parse;
pub mod record_text;
pub mod run;
pub mod state;
pub mod view;
pub mod welcome;
pub mod words;
pub mod write_text;

pub use run::{UiOptions, another_key_command, run_ui};
