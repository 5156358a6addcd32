//! Reads photos and papers on the household's own machine (contract 22). Must not know HTTP, SQL or the clock.
//!
//! - `reading`: what was read in one file, as plain data. It crosses from the confined process to the server as JSON.
//! - `look`: from the bytes of a file to a reading. Runs inside of the confined process. Only with the feature `look`.
//! - `confine`: takes rights from the process before it looks.
//! - `draft`: drafts of records from readings. Pure.

#[cfg(feature = "look")]
pub mod confine;
pub mod draft;
#[cfg(feature = "look")]
pub mod look;
pub mod reading;
