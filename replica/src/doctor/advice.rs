//! Commands to type next, for faults with the same remedy everywhere. Must not look for faults.

use std::path::{Path, PathBuf};

use super::text::shell_quoted;
use crate::profile::{self, Profile};
use crate::sync::SyncLock;

/// What to type where only all of it anew helps.
pub const REBUILD_COMMAND: &str = "hearth-replica rebuild";

/// What to type where the server answers for another home than the replica's.
pub const OTHER_HOME_ADVICE: &str = "hearth-replica init with another --profile or --db, for the other home";

/// What to type where many records would be deleted here. The question itself does not say it: the database knows no flags
/// that say which home is meant.
pub const DELETION_ADVICE: &str =
    "hearth-replica reconcile --accept-deletions, or hearth-replica reconcile to look again";

/// The command to give a profile another key.
pub const NEW_KEY_COMMAND: &str = "hearth-replica init --server URL, with another key";

/// What to type where there is no replica: what was set up needs no key again.
pub fn setup_command(profile: &Profile) -> &'static str {
    if profile.server.is_some() && profile.key.is_some() {
        "hearth-replica sync"
    } else {
        "hearth-replica init --server URL"
    }
}

/// What to type for another key, wherever the one in use comes from.
pub fn new_key_advice(profile: &Profile) -> String {
    match profile.key_source() {
        None => "unset HEARTH_API_KEY, or put another key into it".to_owned(),
        Some(file) if file != profile.key_file() => format!("put another key into {}", file.display()),
        Some(_) => NEW_KEY_COMMAND.to_owned(),
    }
}

/// What to do about the key of another process that syncs, where it comes from that one's own environment: what is put right
/// here does not reach it. Of a key there, nothing but its variable is looked at.
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
        return Some(format!("put another key into {}; process {pid} takes it up at once", shell_quoted(&file)));
    }
    let credential = path(value(profile::CREDENTIALS)?).join(profile::CREDENTIAL);
    let unit = format!("put another key where the unit's credential {} comes from", profile::CREDENTIAL);
    credential.exists().then(|| format!("{unit}, and start the unit of process {pid} again"))
}

/// What to type about the file of a key that cannot be read. One that the environment names goes before whatever `init` saves.
pub fn key_file_advice(file: &Path) -> String {
    let named = profile::key_source_in_environment().filter(|(_, theirs)| theirs.as_deref() == Some(file));
    let other = match named {
        Some((variable, _)) => format!("unset {variable}"),
        None => "hearth-replica init with another key".to_owned(),
    };
    format!("ls -l {}, or {other}", shell_quoted(file))
}
