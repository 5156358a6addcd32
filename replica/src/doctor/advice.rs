//! Commands to type next, for faults with the same remedy everywhere. Must not look for faults.

use std::path::{Path, PathBuf};

use super::text::shell_quoted;
use crate::profile::{self, Profile};
use crate::sync::SyncLock;

/// The command that downloads everything again; the remedy for damage.
pub const REBUILD_COMMAND: &str = "hearth-replica rebuild";

/// The remedy when the records of the replica are on their way to an empty home.
pub const REFILL_ADVICE: &str = "hearth-replica restore-to with the same --server; it goes on where it was. To \
     give it up: restore-to with another empty home, or hearth-replica init --server URL with a key of this replica's own home";

/// The remedy when the server answers for another home than the replica's.
pub const OTHER_HOME_ADVICE: &str = "hearth-replica init with another --profile or --db, for the other home; if it \
     was filled from this one: hearth-replica init --server URL --take-over";

/// The remedy when many records would be deleted here. Kept apart from the question, because the database does not know
/// the flags of the home.
pub const DELETION_ADVICE: &str =
    "hearth-replica reconcile --accept-deletions, or hearth-replica reconcile to look again";

/// The remedy when changes by another program wait for a person.
pub const HELD_CHANGES_ADVICE: &str =
    "hearth-replica reconcile --accept-local, or hearth-replica reconcile --discard-local";

/// The command to give a profile another key.
pub const NEW_KEY_COMMAND: &str = "hearth-replica init --server URL, with another key";

/// The command to type where there is no replica. A complete profile needs only `sync`, without a new key.
pub fn setup_command(profile: &Profile) -> &'static str {
    if profile.server.is_some() && profile.key.is_some() {
        "hearth-replica sync"
    } else {
        "hearth-replica init --server URL"
    }
}

/// Where to put another key, depending on the source of the key in use.
pub fn new_key_advice(profile: &Profile) -> String {
    match profile.key_source() {
        None => "unset HEARTH_API_KEY, or put another key into it".to_owned(),
        Some(file) if file != profile.key_file() => format!("put another key into {}", file.display()),
        Some(_) => NEW_KEY_COMMAND.to_owned(),
    }
}

/// Where to put another key for another syncing process that has its key from its own environment. None: the process
/// uses the profile's key, or its environment is unreadable. Reads only the names of the variables and the paths of key
/// files, never a key.
pub fn other_process_key_advice(db: &Path) -> Option<String> {
    let pid = SyncLock::holder(db).filter(|pid| *pid != std::process::id() && SyncLock::is_held(db))?;
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = |name: &str| {
        let mut all = environment.split(|byte| *byte == 0);
        all.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")).filter(|value| !value.is_empty())
    };
    if value(profile::KEY).is_some() {
        return Some(format!("start process {pid} again with another key in {}", profile::KEY));
    }
    let path = |value: &[u8]| PathBuf::from(String::from_utf8_lossy(value).into_owned());
    if let Some(file) = value(profile::KEY_FILE).map(path) {
        return Some(format!("put another key into {}; process {pid} uses it at once", shell_quoted(&file)));
    }
    let credential = path(value(profile::CREDENTIALS)?).join(profile::CREDENTIAL);
    let unit = format!("put another key where the unit's credential {} comes from", profile::CREDENTIAL);
    credential.exists().then(|| format!("{unit}, and start the unit of process {pid} again"))
}

/// What to type about an unreadable key file. A file from the environment takes precedence over the file that `init`
/// saves.
pub fn key_file_advice(file: &Path) -> String {
    let named = profile::key_source_in_environment().filter(|(_, theirs)| theirs.as_deref() == Some(file));
    let other = match named {
        Some((variable, _)) => format!("unset {variable}"),
        None => "hearth-replica init with another key".to_owned(),
    };
    format!("ls -l {}, or {other}", shell_quoted(file))
}
