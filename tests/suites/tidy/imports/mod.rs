//! The import graph of Rust crates, read from their syntax. Must not know which imports are allowed.
//!
//! - [`workspace`]: the crates of a checkout. [`graph`]: the imports between files, and their cycles.
//! - [`modules`]: the scopes, names and paths of the code, by means of [`syntax`]. [`names`]: resolves paths to files.

mod graph;
mod modules;
mod names;
mod syntax;
#[cfg(test)]
mod tests;
mod workspace;

pub(super) use graph::Graph;
#[cfg(test)]
pub(super) use tests::graph_of;
pub(super) use workspace::read;
