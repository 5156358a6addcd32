//! Fault injection for tests of clients: slow, lost, repeated and refused requests, responses lost after the commit, and
//! streams that break, repeat frames or go silent. A service without `--faults` has none of this code in its path.
//!
//! - [`plan`]: the rules, each a fault with its schedule, routes and keys.
//! - [`grammar`]: the text format of a plan.
//! - [`injector`]: decides when a rule strikes, by count or by seeded randomness.
//! - `requests`: injects faults into requests, as the interceptor of the service. `body_copy`: keeps a body for a repeat.
//! - `frames`: injects faults into the frames of a stream.
//! - `subject`: the request and key of a fault, for the log.

mod body_copy;
mod frames;
pub mod grammar;
pub mod injector;
pub mod plan;
mod requests;
mod subject;

pub use injector::FaultInjector;
pub use plan::FaultPlan;
