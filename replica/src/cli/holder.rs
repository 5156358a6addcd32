//! Who has the right to sync a database, told to one that wanted it too. Must not take it.

use std::path::Path;

use hearth_replica::profile::Profile;
use hearth_replica::sync::SyncLock;

use super::{Exit, Failure};

/// Another process syncs, so this one cannot do what it was asked for.
pub(super) fn in_the_way(db: &Path, next: &str) -> Failure {
    let holder = SyncLock::holder(db).map(|pid| format!(", process {pid}")).unwrap_or_default();
    Failure::new(Exit::Failure, format!("another process syncs {}{holder}", db.display())).hint(next)
}

/// The same for who only wanted it to be kept in step: where that is done already, nothing is wrong.
pub(super) fn instead(db: &Path) -> Failure {
    let lasting = SyncLock::holder(db).and_then(|pid| Some((pid, kind(&arguments(pid)?)?)));
    match lasting {
        Some((pid, kind)) => {
            let text = format!(
                "{kind}, process {pid}, keeps {} in step already; nothing is wrong, and nothing needs to be done",
                db.display()
            );
            Failure::new(Exit::Failure, text).hint("hearth-replica run again, once that has ended")
        }
        None => in_the_way(db, "hearth-replica status; then the same again, if nothing syncs any more"),
    }
}

/// What to type to end the one that syncs, wherever it runs, before the same again.
pub(super) fn end(profile: &Profile) -> String {
    let pid = SyncLock::holder(&profile.db).filter(|pid| arguments(*pid).is_some_and(|found| is_ours(&found)));
    let kill = pid.map(|pid| format!("kill {pid}"));
    let stop = profile.unit().map(|unit| format!("systemctl --user stop {unit}"));
    let ways: Vec<String> = kill.into_iter().chain(stop).collect();
    let ways = if ways.is_empty() { "end it where it runs".to_owned() } else { ways.join(", or ") };
    format!("{ways}, then the same again")
}

/// What a process was started with, as far as this system tells without asking it.
fn arguments(pid: u32) -> Option<Vec<String>> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

/// Whether it is one of the programs that sync: a number may mean another process here, as in a container.
fn is_ours(arguments: &[String]) -> bool {
    matches!(program(arguments), Some("hearth" | "hearth-replica"))
}

fn program(arguments: &[String]) -> Option<&str> {
    Path::new(arguments.first()?).file_name()?.to_str()
}

/// What it is, if it keeps in step until it is ended. A command that syncs ends by itself, and of one that is not ours nothing
/// is known.
fn kind(arguments: &[String]) -> Option<&'static str> {
    let words = arguments.get(1..)?;
    match program(arguments)? {
        "hearth" => Some("the terminal UI"),
        "hearth-replica" if words.iter().any(|word| word == "run") => Some("the daemon"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lasts_makes_another_needless() {
        let of = |line: &str| kind(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("/home/a/.cargo/bin/hearth --profile cabin"), Some("the terminal UI"));
        assert_eq!(of("hearth-replica --db a.db run --log json"), Some("the daemon"));
        assert_eq!(of("hearth-replica sync"), None);
        assert_eq!(of("/usr/bin/vim run"), None);
        assert_eq!(of(""), None);
        let is_ours = |line: &str| super::is_ours(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(is_ours("hearth-replica sync") && is_ours("/usr/bin/hearth"));
        assert!(!is_ours("/usr/bin/vim hearth") && !is_ours(""), "it is not to be killed");
    }
}
