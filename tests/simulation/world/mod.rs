//! A simulated world: one server, several machines with replicas, and a network between them. One thread handles all
//! events in order of time, on a clock that only the events move. Must not judge: the invariants do.
//!
//! - `state`: the world and its loop. `events`: what each event causes.
//! - `actions`: what actors write. `faults`: the faults of the plan.
//! - `files`: files travel from machines to the server, beside the records.
//! - `processes`: machines and server start, act and end. `requests`, `streams`: HTTP between machines and server.

mod actions;
mod events;
mod faults;
mod files;
mod processes;
mod requests;
mod state;
mod streams;

pub use state::World;
