//! The API over HTTP, against the real router and store. `contract.md` in this directory lists the tests of each
//! section of the contract.

mod access;
mod account;
mod authors;
mod bulk;
mod calendars;
mod clock;
mod console;
mod cors;
mod deletions;
mod devices;
mod discovery;
mod envelope;
mod exports;
mod feed;
mod files;
mod filters;
mod home;
mod idempotency;
mod imports;
mod keys;
mod mcp;
mod order;
mod pages;
mod partners;
mod reading;
mod recurrence;
mod refill;
mod resources;
mod robustness;
mod search;
mod sign_in;
mod tls;
mod versions;
mod watching;
mod writing;
