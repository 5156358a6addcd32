//! Test support that the suites and benches share. Must not know the tests.
//!
//! - [`client`]: an HTTP client of the API. [`wire`]: a minimal HTTP client for benches.
//! - [`browser`]: a person's browser with cookies and forms.
//! - [`home`]: a home with the real server program. [`device`]: a replica with its command line.
//! - [`server`]: a service inside the test process. [`process`]: the built programs as child processes.
//! - [`partner`]: a program of a partner, and the browser of an owner. [`tls`]: a local issuer of certificates.
//! - [`terminal`]: a program on a pseudo-terminal, with its screen.
//! - [`simulation`]: servers and replicas in one thread, with simulated faults.

pub mod browser;
pub mod client;
pub mod device;
pub mod home;
pub mod partner;
pub mod process;
pub mod server;
#[path = "../simulation/mod.rs"]
pub mod simulation;
pub mod terminal;
pub mod tls;
pub mod wire;
