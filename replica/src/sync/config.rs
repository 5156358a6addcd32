//! What a sync needs to know before it starts. Plain values.

use std::path::PathBuf;

use secrecy::SecretString;

use crate::model::ConflictPolicy;

/// Database, server and key of a sync.
#[derive(Debug, Clone)]
pub struct SyncConfig {
    /// The replica database.
    pub db: PathBuf,
    /// The server's address without `/v1`, such as `https://hearth.example`.
    pub server: String,
    /// The API key.
    pub key: SecretString,
    /// The file of the key. A new key in the file is used without a restart. None: the key has no file.
    pub key_file: Option<PathBuf>,
    /// The profile file, read again with a new key: the new key belongs to the server named in the profile. None: no
    /// profile.
    pub profile: Option<PathBuf>,
    /// What to do with a field changed both in the replica and on the server.
    pub conflict_policy: ConflictPolicy,
}

#[cfg(test)]
impl SyncConfig {
    /// A config for a database in this directory. The server does not exist.
    pub(crate) fn unreachable(directory: &std::path::Path) -> SyncConfig {
        SyncConfig {
            db: directory.join("replica.db"),
            server: "http://127.0.0.1:9".to_owned(),
            key: hearth_contract::key::key_text(hearth_contract::key::Environment::Test, [1; 32]).into(),
            key_file: None,
            profile: None,
            conflict_policy: ConflictPolicy::Ask,
        }
    }
}
