//! The result of a rebuild. Must not know how a database is rebuilt.

use std::path::PathBuf;

/// The result of a rebuild.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct RebuildReport {
    /// The path at which the old file is kept. None when the database was sound and stays in place.
    pub kept_as: Option<PathBuf>,
    /// The number of records that the new database shows, until the server shows them again. 0 when the database was sound.
    #[serde(default)]
    pub records: usize,
    /// The number of edits that continue.
    pub edits: usize,
    /// A sentence for each object or edit that could not be carried over.
    pub lost: Vec<String>,
    /// The number of edits that wait for a person, because the damaged file does not tell which home they belong to.
    pub parked: usize,
}
