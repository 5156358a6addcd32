//! The simulation: the real server and the real replicas in one thread, with simulated people, scripts and API clients,
//! on a network that loses and delays messages. A clock without waiting moves from event to event.
//!
//! A run takes a plan, which follows from a seed: who writes what, and which faults occur. The world then handles one
//! event after the other. After each step, the simulation reads what the server has committed (the expected state) and
//! checks every replica that may have changed: rows, edits, sync state. At the end all faults stop. Within a limit of
//! time and of requests, all replicas must then become equal to the server. Time, random numbers and the order of events
//! follow from the seed alone. `simulate --seed N --trace` therefore repeats a run exactly.
//!
//! Read in this order:
//!
//! 1. [`simulator`]: runs a plan in a world. [`world`]: the loop, the events and what each event causes.
//! 2. [`plan`], [`action`], [`environment_fault`], [`rng`]: who does what and what fails, from a seed.
//! 3. [`sim_event`], [`network`], [`server`], [`server_template`], [`machine`], [`sse_decoder`], [`interruptions`], [`actors`]: the parts of a world.
//! 4. [`model`], [`history`], [`event_log`], [`record`]: the expected state, read from the server's events.
//! 5. [`observer`], [`ledger`]: what a replica shows, and what it showed before. [`invariants`], [`settle`]: what must
//!    be true after each step, and at the end.
//! 6. [`enumerate`], [`scenarios`]: short runs with a crash at each interruption point. [`planted`]: faults in the code
//!    that the simulation must find.
//! 7. [`trace`], [`counters`], [`shrink`]: how a run and a failure are reported.

pub mod action;
pub mod actors;
pub mod counters;
pub mod enumerate;
pub mod environment_fault;
pub mod event_log;
pub mod history;
pub mod interruptions;
pub mod invariants;
pub mod ledger;
pub mod machine;
pub mod model;
pub mod network;
pub mod observer;
pub mod plan;
pub mod planted;
pub mod record;
pub mod rng;
pub mod scenarios;
pub mod server;
pub mod server_template;
pub mod settle;
pub mod shrink;
pub mod sim_event;
pub mod simulator;
pub mod sse_decoder;
pub mod trace;
pub mod world;
