//! The dated versions of the API (contract 13). Handlers use the current version: older requests are upgraded change by
//! change, and responses are downgraded. Must not know routes.
//!
//! To add a version: change `CURRENT_VERSION` of the contract, write a file with the end of the previous version and the
//! difference, and add the file to [`VERSIONS`].
//!
//! - `version`: a version and its dates.
//! - `table`: all versions, look-ups and conversions. `v…`: one file per older version.

mod table;
mod v2026_03_01;
mod version;

pub use table::{VERSIONS, supported, unsupported};
pub use version::{Change, Past, Version};

/// The stability level of the API, for discovery (contract 14).
pub const STABILITY: &str = "public_preview";
