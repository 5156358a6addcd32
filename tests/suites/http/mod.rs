//! The API over HTTP, against the real router and store. Where each section of the contract is proven:
//!
//! | section | tests |
//! | --- | --- |
//! | 2, 3 formats and resources | `contract::check` (unit tests), [`writing`] |
//! | 4 envelopes, headers, order of checks | [`envelope`] |
//! | 5 reading | [`reading`] |
//! | 6 writing | [`writing`], [`once`] |
//! | 7 bulk | [`bulk`] |
//! | 8 search | [`search`] |
//! | 9 change feed | [`feed`] |
//! | 10 property | [`writing`] |
//! | 11 keys, limits | [`keys`] |
//! | 12 errors | [`envelope`], [`hard`], [`discovery`] |
//! | 13 versions | [`versions`] |
//! | 14 discovery | [`discovery`], `clients/openapi.sh`, `clients/generated.sh` |
//! | 15 MCP | [`mcp`], and `clients/mcp.sh` with the official client |
//! | 16 exports | [`exports`] |
//! | 17 operating | [`crate::operating`], `server/tests/commands.rs` |

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
