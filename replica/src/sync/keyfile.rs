//! The key's file while syncing: a key that is put there is taken up without a restart. Must not know what a key is good
//! for.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use hearth_contract::key::parse_key;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::profile::key_from_file;

/// How often the file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A file that a key came from, and the key that is in use.
pub(super) struct KeyFile {
    path: Option<PathBuf>,
    key: SecretString,
    /// The file as it was when a key was last read from it.
    seen: Option<Stamp>,
    looks: Interval,
}

/// What tells one writing of a file from another.
type Stamp = (Option<SystemTime>, u64);

impl KeyFile {
    /// Watches a file, if there is one.
    pub(super) fn new(path: Option<PathBuf>, key: SecretString) -> KeyFile {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        KeyFile { path, key, seen: None, looks }
    }

    /// Waits until the file is written anew, which the same key may be too, for another server. May be dropped and asked again at any time.
    pub(super) async fn another(&mut self) -> SecretString {
        if self.path.is_none() {
            return std::future::pending().await;
        }
        loop {
            self.looks.tick().await;
            if let Some(key) = self.look().await {
                return key;
            }
        }
    }

    /// The key in the file, if that is another than the one in use, or was written since.
    async fn look(&mut self) -> Option<SecretString> {
        let path = self.path.as_deref()?;
        let file = tokio::fs::metadata(path).await.ok()?;
        let stamp = Some((file.modified().ok(), file.len()));
        if stamp == self.seen {
            return None;
        }
        // A file that is being written, or that may not be read yet, holds no whole key; it is read again until it does.
        let key = key_from_file(path).ok().filter(|key| parse_key(key.expose_secret()).is_some())?;
        let begins = std::mem::replace(&mut self.seen, stamp).is_none();
        if begins && key.expose_secret() == self.key.expose_secret() {
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
    async fn a_whole_key_that_is_written_is_noticed_and_nothing_else() {
        let file = std::env::temp_dir().join(format!("hearth-key-{}", uuid::Uuid::new_v4()));
        let [first, second] = [1, 2].map(|seed| key_text(Environment::Test, [seed; 32]));
        std::fs::write(&file, &first).unwrap();
        let mut watch = KeyFile::new(Some(file.clone()), first.into());
        assert!(watch.look().await.is_none(), "it is the one in use");
        std::fs::write(&file, &second[..20]).unwrap();
        assert!(watch.look().await.is_none(), "half a key is none");
        std::fs::write(&file, format!("{second}\n")).unwrap();
        assert_eq!(watch.look().await.unwrap().expose_secret(), second);
        assert!(watch.look().await.is_none());
        std::fs::write(&file, format!("{second}\n\n")).unwrap();
        assert_eq!(watch.look().await.unwrap().expose_secret(), second, "written anew");
        std::fs::remove_file(&file).unwrap();
        assert!(watch.look().await.is_none(), "without a file the key stays");
    }

    #[tokio::test]
    async fn a_key_that_could_not_be_read_at_first_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let [first, second] = [1, 2].map(|seed| key_text(Environment::Test, [seed; 32]));
        // Of one length and one moment, as a file is whose permissions alone are changed.
        let (file, moment) = (directory.path().join("key"), SystemTime::UNIX_EPOCH);
        let write = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            std::fs::File::options().write(true).open(&file).unwrap().set_modified(moment).unwrap();
        };
        let mut watch = KeyFile::new(Some(file.clone()), first.into());
        write(&vec![0xff; second.len()]);
        assert!(watch.look().await.is_none(), "it cannot be read");
        write(second.as_bytes());
        assert_eq!(watch.look().await.unwrap().expose_secret(), second);
    }
}
