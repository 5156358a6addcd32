//! The API over HTTP, against the real router and store. `contract.md` in this directory lists the tests of each
//! section of the contract.

mod bulk;
mod discovery;
mod envelope;
mod exports;
mod feed;
mod hard;
mod keys;
mod mcp;
mod once;
mod order;
mod reading;
mod resources;
mod search;
mod versions;
mod writing;
