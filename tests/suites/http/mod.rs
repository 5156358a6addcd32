//! The API over HTTP, against the real router and store. Where each part of the contract is proven stands in
//! `contract.md` beside this file.

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
