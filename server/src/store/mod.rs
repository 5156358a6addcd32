//! The only module that contains SQL: one writer connection, several readers, and one file per stored thing. Must not
//! know HTTP, or why a write is wanted.
//!
//! - [`Db`]: runs closures over a [`Tx`] on a reader or on the writer.
//! - [`directory`]: the data directory, its permissions and locks. [`open`]: files, pragmas, migrations.
//! - [`StoreError`], [`OpenError`]: what can fail.
//! - [`notifier`]: tells subscribers after each commit that a home has new events.
//! - [`homes`], [`records`], [`events`], [`field_values`], [`search`], [`receipts`], [`keys`], [`people`], [`sessions`],
//!   [`partners`], [`exports`], [`imports`], [`calendars`], [`stored_files`], [`readings`],
//!   [`looks`], [`captures`], [`usage`], [`refills`], [`service`]: the tables.
//! - [`record_keys`]: records by what stands on them. [`lists`]: a page of records; [`filter`]: the filters of a list;
//!   [`deletions`]: a page of deleted ids.
//! - [`rewind`]: earlier states of a home. [`clock_reset`]: moments ahead of the clock. [`copies`]: backup and restore; [`file_copies`]: the bytes of files in a backup. [`check`], [`schema`]: integrity. [`tables`]: export files.
//!
//! `migrations/server/V1__initial.sql` explains the tables and their invariants.

pub mod calendars;
mod capture_files;
pub mod captures;
pub mod check;
pub mod clock_reset;
pub mod copies;
pub mod counters;
pub mod days;
mod db;
pub mod deletions;
pub mod directory;
mod error;
pub mod events;
pub mod exports;
pub mod field_values;
pub mod file_copies;
mod file_hash;
mod files;
pub mod filter;
mod home_number;
pub mod homes;
mod import_job;
pub mod imports;
mod inline_readers;
pub mod keys;
pub mod lists;
pub mod looks;
pub mod notifier;
pub mod open;
pub mod partners;
pub mod people;
mod queue;
mod readers;
pub mod readings;
pub mod receipts;
pub mod record_keys;
pub mod records;
pub mod refills;
pub mod rewind;
pub mod schema;
pub mod search;
pub mod service;
pub mod sessions;
pub mod stored_files;
pub mod tables;
mod tx;
pub mod usage;
mod wal;
mod writer;

pub use db::{Db, ExclusiveUse};
pub use error::{OpenError, StoreError};
pub use home_number::HomeNumber;
pub use tx::Tx;
