//! The paths and flags of one home, which the edge needs beside the replica. Must not open any of the files.

use std::path::PathBuf;

/// The paths and flags of one home.
#[derive(Debug, Clone)]
pub struct EdgeContext {
    /// The replica database.
    pub db: PathBuf,
    /// The session file of this process.
    pub session: PathBuf,
    /// The directory for exported files.
    pub exports: PathBuf,
    /// The command-line flags that select this home: `--profile cabin`. Empty for the default profile.
    pub flags: String,
}
