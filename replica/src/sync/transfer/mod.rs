//! Brings the bytes of files to the server and back, beside the sync of records: one file at a time, uploads first. An edit that
//! names a file waits in the plan of the edits until the table `files` says that the server has the bytes. Must not know edits.
//!
//! [`machine`] decides which file is next and what an answer means; pure. [`worker`] runs it with the database, a clock and a
//! client. [`carry`] carries one file over HTTP.

mod carry;
mod machine;
mod worker;

pub(super) use carry::upload;
pub(super) use machine::{Direction, TransferEnd};
pub use worker::fetch_files;
pub(super) use worker::{Store, TransferTask, carry_all};
