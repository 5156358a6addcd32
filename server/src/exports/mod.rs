//! Export jobs beside the database: their progress, their files, and the worker that writes the files (contract 16). Must
//! not know who asks.
//!
//! - `state`: the running jobs and the directory of the files.
//! - `worker`: runs jobs until the shutdown.
//! - `file`: writes the file of one job.

mod file;
mod state;
pub(crate) mod worker;

pub use state::Exports;
