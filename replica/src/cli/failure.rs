//! The failure of a command: exit code, sentence, and next step. Must not know the command.

use std::path::Path;

use hearth_replica::doctor::{
    NEW_KEY_COMMAND, REBUILD_COMMAND, block_advice, diagnose, key_file_advice, new_key_advice, shell_quoted,
};
use hearth_replica::profile::{Profile, ProfileError};
use hearth_replica::sync::{ClientError, RefillError, SyncError};
use hearth_replica::{EditError, StoreError};

use super::text;

/// The exit codes; scripts depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Failure = 1,
    Usage = 2,
    NotFound = 3,
    Key = 4,
    NeedsYou = 5,
    Unreachable = 6,
    StillWaiting = 7,
    DatabaseDamaged = 8,
    /// 128 + SIGINT, the convention of shells.
    Interrupted = 130,
    /// 128 + SIGTERM.
    Terminated = 143,
}

/// The exit codes as text for `--help` and the manual.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed
  2  wrong usage, or a value is not allowed
  3  there is no such record, edit or replica, or the profile has no server
  4  the key is missing or wrong, or lacks a scope
  5  an edit, a conflict or a question waits for your decision
  6  the server cannot be reached, or the sync did not finish in time
  7  done, but edits still wait to be sent or confirmed
  8  the database is damaged, or was removed while in use
  130, 143  stopped by Ctrl-C or SIGTERM";

/// A failed command: the exit code, the fault, and the next step.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    pub(super) text: String,
    /// What to type next. The text may hold several commands with words between them.
    pub(super) next: Option<String>,
    /// The database error, until [`Failure::about`] adds the path of the database.
    store: Option<StoreError>,
}

impl Failure {
    pub(super) fn new(exit: Exit, text: impl Into<String>) -> Failure {
        Failure { exit, text: text.into(), next: None, store: None }
    }

    /// The same failure with another next step.
    pub(super) fn hint(mut self, next: impl Into<String>) -> Failure {
        self.next = Some(next.into());
        self
    }

    /// True when a rebuild may help: the database failed, or the next step is a rebuild.
    pub(super) fn calls_for_rebuild(&self) -> bool {
        self.store.is_some() || self.next.as_deref() == Some(REBUILD_COMMAND)
    }

    /// Adds the diagnosis of a database error, and the place for a new key, for the home of a profile. Damage is reported to
    /// the process that syncs.
    pub(super) fn about(mut self, profile: &Profile) -> Failure {
        if let Some(error) = self.store.take().filter(|_| self.next.is_none()) {
            if error.is_damaged() {
                hearth_replica::report_damage(&profile.db);
            }
            let diagnosis = diagnose(&profile.db, &error);
            self.text = diagnosis.text;
            self.next = Some(diagnosis.next);
        }
        if self.next.as_deref() == Some(NEW_KEY_COMMAND) {
            self.next = Some(new_key_advice(profile));
        }
        self
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        // With no file at the path, a restart would create another replica, or fail on the remaining log.
        let holds_bytes = |db: &Path| std::fs::metadata(db).is_ok_and(|file| file.len() > 0);
        let is_gone = matches!(&error, StoreError::Moved(db) if !holds_bytes(db));
        let exit = if error.is_damaged() || is_gone { Exit::DatabaseDamaged } else { Exit::Failure };
        Failure { exit, text: error.to_string(), next: None, store: Some(error) }
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Failure {
        match error {
            EditError::Refused(sentence) => Failure::new(Exit::Usage, sentence),
            EditError::NotFound => Failure::new(Exit::NotFound, error.to_string()),
            EditError::Store(error) => error.into(),
        }
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Failure {
        Failure::from(&error)
    }
}

impl From<&ProfileError> for Failure {
    fn from(error: &ProfileError) -> Failure {
        let text = error.to_string();
        match error {
            ProfileError::Name(_) => Failure::new(Exit::Usage, text).hint("hearth-replica --profile NAME"),
            ProfileError::Key(file, _) => Failure::new(Exit::Key, text).hint(key_file_advice(file)),
            ProfileError::Malformed(file, _) => Failure::new(Exit::Failure, text)
                .hint(format!("correct {}, then: hearth-replica doctor", file.display())),
            ProfileError::File(file, _) => {
                Failure::new(Exit::Failure, text).hint(format!("ls -l {}", shell_quoted(file)))
            }
            ProfileError::NoHome => Failure::new(Exit::Failure, text),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::new(Exit::Failure, error.to_string())
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        let text = text::one_line(&error.to_string());
        match error {
            ClientError::Address(_) => {
                Failure::new(Exit::Usage, text).hint("hearth-replica init --server http://HOST:PORT")
            }
            ClientError::Refused(401 | 403, _) | ClientError::Key => {
                Failure::new(Exit::Key, text).hint(NEW_KEY_COMMAND)
            }
            ClientError::Unreachable(server, _) => Failure::new(Exit::Unreachable, text)
                .hint(format!("curl -i {server}/v1, and repeat the command when the server answers")),
            ClientError::NotHearth(server, _) => {
                Failure::new(Exit::Failure, text).hint(format!("curl -i {server}/v1: is that the right address?"))
            }
            ClientError::Refused(..) => Failure::new(Exit::Failure, text).hint("repeat the command later"),
        }
    }
}

impl From<RefillError> for Failure {
    fn from(error: RefillError) -> Failure {
        let why = text::one_line(&error.to_string());
        match error {
            RefillError::Client(ClientError::Refused(404, _)) => {
                Failure::new(Exit::Failure, "this server takes no records of a replica: it is older than this program")
                    .hint("update hearth-server, and repeat the command")
            }
            RefillError::Client(error) => error.into(),
            RefillError::Store(error) => error.into(),
            RefillError::NotEmpty(_) => Failure::new(Exit::NeedsYou, why)
                .hint("hearth-server team create NAME for an empty home, then key create --team NAME"),
            RefillError::Refused(_) => Failure::new(Exit::NeedsYou, why).hint(
                "repeat the command after you update hearth-server or raise its --max-file; it goes on where it was",
            ),
        }
    }
}

impl From<SyncError> for Failure {
    fn from(error: SyncError) -> Failure {
        match error {
            SyncError::Store(error) => error.into(),
            SyncError::Client(error) => error.into(),
            SyncError::Profile(error) => error.into(),
            SyncError::NeedsKey(_) => Failure::new(Exit::Key, text::one_line(&error.to_string())).hint(NEW_KEY_COMMAND),
            SyncError::AnotherServer(..) => Failure::new(Exit::Failure, error.to_string()).hint("hearth-replica run"),
            SyncError::RebuildWanted => Failure::new(Exit::Failure, error.to_string()).hint(REBUILD_COMMAND),
            SyncError::Paused => Failure::new(Exit::Failure, error.to_string()).hint("hearth-replica resume"),
            SyncError::Blocked(cause, why) => {
                let mut failure = Failure::new(Exit::NeedsYou, text::one_line(&why));
                // Only a disk's advice names the path, and a disk ends no sync.
                failure.next = block_advice(Path::new(""), Some(cause));
                failure
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hearth_replica::BlockCause;
    use hearth_replica::doctor::OTHER_HOME_ADVICE;

    use super::*;

    /// The exit code stops systemd from restarting the daemon, which would create another replica.
    #[test]
    fn moved_database_exits_as_damaged() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let exit = || Failure::from(StoreError::Moved(db.clone())).exit;
        assert_eq!(exit(), Exit::DatabaseDamaged);
        std::fs::write(directory.path().join("replica.db-wal"), "its log").unwrap();
        assert_eq!(exit(), Exit::DatabaseDamaged, "only its log is there");
        std::fs::write(&db, "").unwrap();
        assert_eq!(exit(), Exit::DatabaseDamaged, "it was emptied");
        std::fs::write(&db, "another").unwrap();
        assert_eq!(exit(), Exit::Failure);
    }

    #[test]
    fn block_cause_sets_next_step() {
        let next = |cause| Failure::from(SyncError::Blocked(cause, "why".to_owned())).next.unwrap();
        assert_eq!(next(BlockCause::UnknownCursor), REBUILD_COMMAND);
        assert_eq!(next(BlockCause::AnotherHome), OTHER_HOME_ADVICE);
    }
}
