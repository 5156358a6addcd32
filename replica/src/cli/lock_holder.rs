//! Takes the sync lock, and explains which process holds the lock. Must not sync.

use std::path::Path;

use hearth_replica::doctor::directory;
use hearth_replica::profile::Profile;
use hearth_replica::sync::SyncLock;
use hearth_replica::{StoreError, can_be_replica};

use super::failure::{Exit, Failure};

/// The failure when another process syncs, so the command cannot run.
pub(super) fn lock_conflict(db: &Path, next: &str) -> Failure {
    let holder = SyncLock::holder(db).map(|pid| format!(", process {pid}")).unwrap_or_default();
    Failure::new(Exit::Failure, format!("another process syncs {}{holder}", db.display())).hint(next)
}

/// The failure of `run` when another process syncs. With a daemon or a terminal UI in charge, nothing is wrong.
pub(super) fn already_syncing(db: &Path) -> Failure {
    let holder_program = SyncLock::holder(db).and_then(|pid| Some((pid, lasting_program(&process_arguments(pid)?)?)));
    match holder_program {
        Some((pid, program)) => {
            let text =
                format!("{program}, process {pid}, already keeps {} in step; nothing needs to be done", db.display());
            Failure::new(Exit::Failure, text).hint("hearth-replica run again, when that process has ended")
        }
        None => lock_conflict(db, "hearth-replica status; repeat the command when no process syncs"),
    }
}

/// What to type to end the syncing process before a repetition of the command.
pub(super) fn stop_advice(profile: &Profile) -> String {
    let pid = SyncLock::holder(&profile.db)
        .filter(|pid| process_arguments(*pid).is_some_and(|found| is_hearth_program(&found)));
    let kill = pid.map(|pid| format!("kill {pid}"));
    let stop = profile.systemd_unit().map(|unit| format!("systemctl --user stop {unit}"));
    let ways: Vec<String> = kill.into_iter().chain(stop).collect();
    let ways = if ways.is_empty() { "end it where it runs".to_owned() } else { ways.join(", or ") };
    format!("{ways}, then repeat the command")
}

/// Takes the sync lock of a profile's database. Error: another process holds the lock; the next step ends that process.
pub(super) fn take_lock(profile: &Profile) -> Result<SyncLock, Failure> {
    try_lock(&profile.db)?.ok_or_else(|| lock_conflict(&profile.db, &stop_advice(profile)))
}

/// Takes the sync lock of a database. None: another process holds the lock.
pub(super) fn try_lock(db: &Path) -> Result<Option<SyncLock>, Failure> {
    can_be_replica(db)?;
    try_lock_opened(db)
}

/// Takes the sync lock of a database that the command has already opened, which proves that it is a replica's.
pub(super) fn try_lock_opened(db: &Path) -> Result<Option<SyncLock>, Failure> {
    // The lock is the first file to be written, so a full disk or a missing permission shows here first.
    let directory = directory(db).to_owned();
    SyncLock::try_take(db).map_err(|error| StoreError::File(directory, error).into())
}

/// The command line of a process, by /proc. None on other systems.
fn process_arguments(pid: u32) -> Option<Vec<String>> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

/// True for a program of Hearth. In a container the pid may belong to a foreign process.
fn is_hearth_program(arguments: &[String]) -> bool {
    matches!(program_name(arguments), Some("hearth" | "hearth-replica"))
}

fn program_name(arguments: &[String]) -> Option<&str> {
    Path::new(arguments.first()?).file_name()?.to_str()
}

/// The name of a program that syncs until stopped. None for a command that ends by itself, and for foreign programs.
fn lasting_program(arguments: &[String]) -> Option<&'static str> {
    let words = arguments.get(1..)?;
    match program_name(arguments)? {
        "hearth" => Some("the terminal UI"),
        "hearth-replica" if words.iter().any(|word| word == "run") => Some("the daemon"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_program_is_known_by_arguments() {
        let of = |line: &str| lasting_program(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("/home/a/.cargo/bin/hearth --profile cabin"), Some("the terminal UI"));
        assert_eq!(of("hearth-replica --db a.db run --log json"), Some("the daemon"));
        assert_eq!(of("hearth-replica sync"), None);
        assert_eq!(of("/usr/bin/vim run"), None);
        assert_eq!(of(""), None);
        let is_hearth_program =
            |line: &str| super::is_hearth_program(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(is_hearth_program("hearth-replica sync") && is_hearth_program("/usr/bin/hearth"));
        assert!(!is_hearth_program("/usr/bin/vim hearth") && !is_hearth_program(""), "it is not to be killed");
    }
}
