//! The replica database: all SQL of this crate. Must not know HTTP, timing, or the layers above (sync, doctor, profile, cli).
//!
//! Read in this order:
//! - [`files`], [`presence`], [`connection`], [`migrations`], [`open`], [`read_only`]: files, connections, migrations.
//!   [`lock`]: the right to sync. [`disk_reserve`]: room for the status when the disk is full. [`error`]: what can go wrong.
//! - [`mod@schema`]: the tables, triggers and views that are generated from the contract. [`gate`]: the two kinds of write
//!   transaction. [`rows`]: rows as values. [`select`]: the rows of a query.
//! - [`feed`], [`mirror`], [`base`], [`merge`]: the server's events and lists become rows, under the pending edits.
//!   [`reconcile`]: after lost history or a restored server. [`refill`]: records for another server, after the loss of the own one.
//! - [`edits`]: local changes, their way to the server, their end, and the decisions of people.
//! - [`sync_state`], [`status`], [`control`], [`sync_log`]: how far the replica is, what people ask of it, what happened.
//!   [`stream_finding`]: whether streams to the server are held back on the way.
//! - [`read`]: what screens, commands and scripts read. [`export`]: a copy of the whole database. [`import`]: many
//!   records from a file.
//! - [`file_store`]: the files that documents name, and their bytes beside the database.
//! - [`captures`]: photos and papers from which the server makes drafts of records.
//! - [`outside`]: other programs have removed or altered objects of the replica. [`health`], [`integrity`],
//!   [`marks`], [`salvage`]: damaged databases. [`trial_write`]: triggers of people that make each sync fail.

pub(crate) mod base;
pub(crate) mod captures;
pub(crate) mod connection;
pub(crate) mod control;
pub(crate) mod disk_reserve;
pub(crate) mod edits;
mod error;
pub(crate) mod export;
pub(crate) mod feed;
pub(crate) mod file_store;
pub(crate) mod files;
pub(crate) mod gate;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod integrity;
pub(crate) mod lock;
pub(crate) mod marks;
pub(crate) mod merge;
mod migrations;
pub(crate) mod mirror;
pub(crate) mod open;
pub(crate) mod outside;
pub(crate) mod presence;
pub(crate) mod read;
pub(crate) mod read_only;
pub(crate) mod reconcile;
pub(crate) mod refill;
mod rows;
pub(crate) mod salvage;
pub(crate) mod schema;
mod select;
mod sql_words;
pub(crate) mod status;
pub(crate) mod stream_finding;
pub(crate) mod sync_log;
pub(crate) mod sync_state;
pub(crate) mod trial_write;

#[cfg(test)]
mod tests;

pub use self::error::StoreError;
pub(crate) use self::sync_log::log;

/// A connection to a replica database. The layers above only pass a connection on.
pub(crate) use rusqlite::Connection;
