//! The settings of a sync, made from a profile. Stands above `profile` and `sync`, which do not import each other.

use crate::profile::Profile;
use crate::sync::SyncConfig;

impl Profile {
    /// The settings to sync this profile. None while the profile has no server or no key.
    pub fn sync_config(&self) -> Option<SyncConfig> {
        Some(SyncConfig {
            db: self.db.clone(),
            server: self.server.clone()?,
            key: self.key.clone()?,
            key_file: self.key_source(),
            profile: Some(self.config.clone()),
            conflict_policy: self.conflict_policy,
        })
    }
}
