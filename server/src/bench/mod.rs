//! The test bench, for developers of clients that sync with this service. Not a part of the service: the library never
//! imports this folder, only the command line and tests do.
//!
//! - [`lab`]: `hearth-server lab` fills, changes, trims and rewinds a home.
//! - [`faults`]: `hearth-server serve --faults` injects failures into requests and streams.

pub mod faults;
pub mod lab;
