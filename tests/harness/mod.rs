//! What the suites and benches share: a home to try things on. Must not know what is tried.
//!
//! - [`client`]: one call, one answer. [`home`]: a home with replicas, by the real programs. [`device`]: one of these.
//! - [`server`]: a service in this process. [`process`]: the programs in processes of their own.
//! - [`simulation`]: the whole house in one thread, with everything that can go wrong.
//! - [`terminal`]: a program on a terminal of its own, as a person sees it.
//! - [`wire`]: the least that speaks HTTP, for loads where a client library would be what is measured.

pub mod client;
pub mod device;
pub mod home;
pub mod process;
pub mod server;
#[path = "../simulation/mod.rs"]
pub mod simulation;
pub mod terminal;
pub mod wire;
