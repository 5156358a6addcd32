//! Reads photos and papers on the household's own machine (contract 22). Must not know HTTP, SQL or the clock.
//!
//! - `reading`: what was read in one file, as plain data. It crosses from the confined process to the server as JSON.
//! - `draft`: drafts of records from readings. Pure.

pub mod draft;
pub mod reading;
