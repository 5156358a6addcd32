//! Import jobs in the background (contract 23). Must not know who asks, nor HTTP.
//!
//! - `request`: the parameters of a job.
//! - `worker`: runs jobs one after the other until the shutdown.
//! - `permission`: what the key that asked may do now.
//! - `planning`: what the rows of a file do to the records of a home. `against_home`: what only the stored records tell of that.
//! - `writing`: applies a plan.

mod against_home;
mod permission;
mod planning;
pub mod request;
pub(crate) mod worker;
mod writing;
