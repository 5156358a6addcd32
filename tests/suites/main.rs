//! The test suites, in one binary. Only `simulation.rs` has a binary of its own.
//!
//! - [`http`]: the API over HTTP, by the sections of the contract.
//! - [`citations`]: each citation of the contract names a section of `docs/contract.md`.
//! - [`operating`]: the operator's commands of the built server program.
//! - [`console_access`]: who is let into the console after a kill and after a restore.
//! - [`crash`]: server and daemon killed without warning.
//! - [`edits`]: local edits against the real server: conflicts, rejected edits, bulk calls, undo, exactly once.
//! - [`first_contact`]: what a home has done before it first meets a server.
//! - [`files`]: files of documents: attach, upload, fetch.
//! - [`recovery`]: replicas that reconcile after lost history. [`restore_to`]: a replica fills an empty home.
//! - [`device_flow`]: a device that a person approves in a browser.
//! - [`lab`]: the test bench for developers. [`drills`]: drills of the replica. [`docs`]: the recipes of the documents.
//! - [`partners`]: partner authorization through kills and restores of the server.
//! - [`reader`]: the process that reads photos and papers.
//! - [`stored_files`]: files of homes through kills, a full disk, backup and restore.
//! - [`storm`]: concurrent writers on one replica database.
//! - [`streams`]: streams that are cut, refused or held back.
//! - [`strain`]: the server with stalled readers, and on a full disk.
//! - [`terminal`]: the terminal UI on a pseudo-terminal.
//! - [`terminal_sync`]: the terminal UI with the real server.
//! - [`tidy`]: rules of the code that the compiler does not check.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

mod citations;
mod console_access;
mod crash;
mod device_flow;
mod docs;
mod drills;
mod edits;
mod files;
mod first_contact;
mod http;
mod lab;
mod operating;
mod partners;
mod reader;
mod recovery;
mod restore_to;
mod stored_files;
mod storm;
mod strain;
mod streams;
mod terminal;
mod terminal_sync;
mod tidy;
