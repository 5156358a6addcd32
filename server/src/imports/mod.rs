//! Import jobs in the background (contract 23). Must not know who asks, nor HTTP.
//!
//! - `request`: the parameters of a job.
//! - `worker`: runs jobs one after the other until the shutdown.
//! - `planning`: what the rows of a file do to the records of a home.
//! - `writing`: applies a plan.

mod planning;
pub mod request;
pub(crate) mod worker;
mod writing;
