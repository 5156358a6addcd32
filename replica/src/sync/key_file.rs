//! Watches the key's file during a sync: a new key is used without a restart. Must not know the rights of a key.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use hearth_contract::key::parse_key;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::profile::key_from_file;

/// Time between two looks at the file.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The key's file and the key in use.
pub(super) struct KeyFile {
    path: Option<PathBuf>,
    key: SecretString,
    /// The stamp of the file when the last key was read. None: no key was read yet.
    stamp: Option<Stamp>,
    interval: Interval,
}

/// Modification time and length of a file: differ after most writes.
type Stamp = (Option<SystemTime>, u64);

impl KeyFile {
    /// Watches the file at `path`. None: the key has no file.
    pub(super) fn new(path: Option<PathBuf>, key: SecretString) -> KeyFile {
        let mut interval = interval(LOOK_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        KeyFile { path, key, stamp: None, interval }
    }

    /// Waits until a key is written to the file and returns the key. The same key counts too: the profile may name another
    /// server by now. Dropping the future loses nothing.
    pub(super) async fn next_key(&mut self) -> SecretString {
        if self.path.is_none() {
            return std::future::pending().await;
        }
        loop {
            self.interval.tick().await;
            if let Some(key) = self.changed_key().await {
                return key;
            }
        }
    }

    /// The key in the file. None: the file has not changed, or holds no complete key.
    async fn changed_key(&mut self) -> Option<SecretString> {
        let path = self.path.as_deref()?;
        let file = tokio::fs::metadata(path).await.ok()?;
        let stamp = Some((file.modified().ok(), file.len()));
        if stamp == self.stamp {
            return None;
        }
        // A file that is being written, or is not readable yet, is read again at the next look.
        let key = key_from_file(path).ok().filter(|key| parse_key(key.expose_secret()).is_some())?;
        let is_first = std::mem::replace(&mut self.stamp, stamp).is_none();
        if is_first && key.expose_secret() == self.key.expose_secret() {
            return None;
        }
        self.key = key.clone();
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::key::{Environment, key_text};

    use super::*;

    #[tokio::test]
    async fn complete_new_key_is_returned_once() {
        let file = std::env::temp_dir().join(format!("hearth-key-{}", uuid::Uuid::new_v4()));
        let [first, second] = [1, 2].map(|seed| key_text(Environment::Test, [seed; 32]));
        std::fs::write(&file, &first).unwrap();
        let mut watch = KeyFile::new(Some(file.clone()), first.into());
        assert!(watch.changed_key().await.is_none(), "the key in use");
        std::fs::write(&file, &second[..20]).unwrap();
        assert!(watch.changed_key().await.is_none(), "an incomplete key");
        std::fs::write(&file, format!("{second}\n")).unwrap();
        assert_eq!(watch.changed_key().await.unwrap().expose_secret(), second);
        assert!(watch.changed_key().await.is_none());
        std::fs::write(&file, format!("{second}\n\n")).unwrap();
        assert_eq!(watch.changed_key().await.unwrap().expose_secret(), second, "the same key written again");
        std::fs::remove_file(&file).unwrap();
        assert!(watch.changed_key().await.is_none(), "without a file");
    }

    #[tokio::test]
    async fn key_unreadable_at_first_is_returned_later() {
        let directory = tempfile::tempdir().unwrap();
        let [first, second] = [1, 2].map(|seed| key_text(Environment::Test, [seed; 32]));
        // Same length and modification time, as after a change of permissions only.
        let (file, moment) = (directory.path().join("key"), SystemTime::UNIX_EPOCH);
        let write = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            std::fs::File::options().write(true).open(&file).unwrap().set_modified(moment).unwrap();
        };
        let mut watch = KeyFile::new(Some(file.clone()), first.into());
        write(&vec![0xff; second.len()]);
        assert!(watch.changed_key().await.is_none(), "an unreadable file");
        write(second.as_bytes());
        assert_eq!(watch.changed_key().await.unwrap().expose_secret(), second);
    }
}
