//! Who has the right to sync a database, told to one that wanted it too. Must not take it.

use std::path::Path;

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

/// What a process was started with, as far as this system tells without asking it.
fn arguments(pid: u32) -> Option<Vec<String>> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

/// What it is, if it keeps in step until it is ended. A command that syncs ends by itself, and of a number that means another
/// process here, as in a container, nothing is known.
fn kind(arguments: &[String]) -> Option<&'static str> {
    let (program, words) = arguments.split_first()?;
    match Path::new(program).file_name()?.to_str()? {
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
    }
}
