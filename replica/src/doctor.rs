//! What is wrong with a replica, and what to type about it. Reads everything, changes nothing; must not decide how it
//! is shown.
//!
//! - [`files`]: places, modes, room on the disk. - [`database`]: the file, its tables, its edits, who syncs it.
//! - [`server`]: whether it answers, what it says of the key, what its clock says.
//! - [`mod@trouble`]: why a database cannot be used, for whoever tries.

mod database;
mod files;
mod server;
mod trouble;

use std::path::{Path, PathBuf};

use crate::profile::{self, Profile, ProfileError};
use crate::sync::SyncLock;

pub use files::directory;
pub use server::{scopes, told};
pub use trouble::{Cause, Trouble, after_block, make_room, trouble};

/// What to type where only all of it anew helps.
pub const REBUILD: &str = "hearth-replica rebuild";

/// What to type where the server answers for another home than the replica's.
pub const ANOTHER_HOME: &str = "hearth-replica init with another --profile or --db, for the other home";

/// What to type where many records would be deleted here. The question itself does not say it: the database knows no flags
/// that say which home is meant.
pub const AGREE: &str = "hearth-replica reconcile --accept-deletions, or hearth-replica reconcile to look again";

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matter {
    /// What was never set up, or the program itself.
    Setup,
    /// Files and directories.
    Files,
    /// The disk.
    Disk,
    /// The database.
    Database,
    /// Who syncs.
    Process,
    /// Local changes.
    Edits,
    /// Whether the replica keeps up with the feed.
    Feed,
    /// The server and the way to it.
    Server,
    /// The API key.
    Key,
    /// This machine's clock.
    Clock,
}

impl Matter {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Matter::Setup => "setup",
            Matter::Files => "files",
            Matter::Disk => "disk",
            Matter::Database => "database",
            Matter::Process => "process",
            Matter::Edits => "edits",
            Matter::Feed => "feed",
            Matter::Server => "server",
            Matter::Key => "key",
            Matter::Clock => "clock",
        }
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As it should be.
    Fine,
    /// Worth knowing; nothing needs to be done.
    Notice,
    /// Something will go wrong, or cannot be seen.
    Warning,
    /// Something does not work.
    Fault,
}

impl Grade {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Grade::Fine => "ok",
            Grade::Notice => "note",
            Grade::Warning => "warning",
            Grade::Fault => "fault",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub matter: Matter,
    /// How bad it is.
    pub grade: Grade,
    /// What is so, in a sentence.
    pub text: String,
    /// What to type about it.
    pub next: Option<String>,
}

impl Finding {
    fn fine(matter: Matter, text: impl Into<String>) -> Finding {
        Finding { matter, grade: Grade::Fine, text: text.into(), next: None }
    }

    fn new(matter: Matter, grade: Grade, text: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding { matter, grade, text: text.into(), next: Some(next.into()) }
    }

    fn fault(matter: Matter, text: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding::new(matter, Grade::Fault, text, next)
    }
}

/// Looks at everything of a profile.
pub async fn examine(profile: &Profile) -> Vec<Finding> {
    let mut findings = files::examine(profile);
    let seen = database::examine(profile);
    let of_server = server::examine(profile, seen.home_id.as_deref()).await;
    let has_key = of_server.iter().any(|finding| finding.matter == Matter::Key && finding.grade == Grade::Fine);
    findings.extend(seen.findings);
    findings.extend(seen.status.map(|status| database::feed(profile, &status, has_key)));
    findings.extend(of_server);
    findings
}

/// Looks at what there is of a profile that could not be read, and why it could not.
pub fn examine_unread(profile: &Profile, error: &ProfileError) -> Vec<Finding> {
    let (matter, next) = match error {
        ProfileError::Key(file, _) => (Matter::Key, put_right(file)),
        ProfileError::Malformed(file, _) => (Matter::Setup, format!("correct {}", file.display())),
        ProfileError::File(file, _) => (Matter::Setup, format!("ls -l {}", quoted(file))),
        ProfileError::Name(_) | ProfileError::NoHome => (Matter::Setup, "hearth-replica --profile NAME".to_owned()),
    };
    // First: until it is right, every other command says the same, also those that would be advised about the rest.
    let mut findings = vec![Finding::fault(matter, error.to_string(), next)];
    findings.extend(files::examine(profile));
    let seen = database::examine(profile);
    findings.extend(seen.findings);
    findings.extend(seen.status.map(|status| database::feed(profile, &status, false)));
    findings
}

/// What to type where there is no replica: what was set up needs no key again.
pub fn first_step(profile: &Profile) -> &'static str {
    if profile.sync_config().is_some() { "hearth-replica sync" } else { "hearth-replica init --server URL" }
}

/// What to type for another key, wherever the one in use comes from.
pub fn another_key(profile: &Profile) -> String {
    match profile.key_source() {
        None => "unset HEARTH_API_KEY, or put another key into it".to_owned(),
        Some(file) if file != profile.key_file() => format!("put another key into {}", file.display()),
        Some(_) => "hearth-replica init --server URL, with another key".to_owned(),
    }
}

/// What to do about the key of another process that syncs, where it comes from that one's own environment: what is put right
/// here does not reach it. Of a key there, nothing but its variable is looked at.
pub fn key_elsewhere(db: &Path) -> Option<String> {
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
        return Some(format!("put another key into {}; process {pid} takes it up at once", quoted(&file)));
    }
    let credential = path(value(profile::CREDENTIALS)?).join(profile::CREDENTIAL);
    let unit = format!("put another key where the unit's credential {} comes from", profile::CREDENTIAL);
    credential.exists().then(|| format!("{unit}, and start the unit of process {pid} again"))
}

/// What to type about the file of a key that cannot be read. One that the environment names goes before whatever `init` saves.
pub fn put_right(file: &Path) -> String {
    let named = profile::key_in_environment().filter(|(_, theirs)| theirs.as_deref() == Some(file));
    let other = match named {
        Some((variable, _)) => format!("unset {variable}"),
        None => "hearth-replica init with another key".to_owned(),
    };
    format!("ls -l {}, or {other}", quoted(file))
}

/// A path in a command, as a shell takes it.
pub fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    shlex::try_quote(&text).map_or_else(|_| text.to_string(), Into::into)
}

/// A number of bytes as people say it.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// A number of seconds as people say it.
fn span(seconds: i64) -> String {
    let (number, unit) = match seconds {
        ..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    count(number, unit, &format!("{unit}s"))
}

/// A number of things as people say it.
fn count(number: i64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}
