//! The suites, in one binary:
//!
//! - [`http`]: the API over HTTP, sentence by sentence of the contract.
//! - [`tidy`]: the rules of the house that a compiler does not check.

mod http;
mod tidy;
