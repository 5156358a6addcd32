//! `hearth-server lab`: fills, changes, trims and rewinds a home, for developers of clients. Works on the database while a
//! server runs, as all commands of an operator do; only rewind needs the server stopped.
//!
//! - [`home`]: one home and a method for each command.
//! - [`activity`]: the changes of a simulated family. Pure.
//! - [`generator`]: any number of realistic records. Pure.
//! - [`catalog`]: words for both.
//! - [`script`]: parser of a timed list of commands. Pure.
//! - `commands`: converts changes to commands of the contract.

pub mod activity;
pub mod catalog;
mod commands;
pub mod generator;
pub mod home;
pub mod script;

pub use home::LabHome;
