//! What to type about a home that is in trouble: a command is of use only where it names the home that was opened. Must not
//! know what the trouble is.

use std::path::Path;

use hearth_replica::doctor::{Trouble, quoted};
use hearth_replica::profile;

/// The flags that mean the home of a profile, and of a database where one was given by path.
pub fn flags(name: &str, db: Option<&Path>) -> String {
    // Where the environment names a profile, leaving the flag out would mean that one.
    let named = name != profile::DEFAULT || std::env::var_os("HEARTH_PROFILE").is_some();
    let profile = (named && !db.is_some_and(profile::is_beside)).then(|| format!("--profile {name}"));
    let db = db.map(|db| format!("--db {}", quoted(db)));
    profile.into_iter().chain(db).collect::<Vec<_>>().join(" ")
}

/// A command that somebody is told to type, with the flags of the home it is for.
pub fn addressed(command: &str, flags: &str) -> String {
    if flags.is_empty() { command.to_owned() } else { command.replace(PROGRAM, &format!("{PROGRAM}{flags} ")) }
}

/// What is so, and what to type about it.
pub fn next(trouble: &Trouble, flags: &str) -> String {
    format!("{}; next: {}", trouble.text, addressed(&trouble.next, flags))
}

const PROGRAM: &str = "hearth-replica ";

#[cfg(test)]
mod tests {
    use hearth_replica::doctor::trouble;
    use hearth_replica::{Origin, Replica};

    use super::*;

    #[test]
    fn a_command_names_the_home_it_is_for() {
        assert_eq!(flags("cabin", None), "--profile cabin");
        let db = Path::new("/tmp/my home.db");
        assert_eq!(addressed("hearth-replica doctor", "--profile cabin"), "hearth-replica --profile cabin doctor");
        assert!(flags("cabin", Some(db)).ends_with("--db '/tmp/my home.db'"));
        assert_eq!(addressed("df -h /, then: hearth-replica doctor", ""), "df -h /, then: hearth-replica doctor");
    }

    #[test]
    fn what_cannot_be_opened_is_said_with_the_next_step() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("notes.db");
        std::fs::write(&db, "Milk, eggs, and a text that is long enough to be taken for a database by nobody at all.")
            .unwrap();
        let error = Replica::open(&db, Origin::Tui).unwrap_err();
        let said = next(&trouble(&db, &error), "--db notes.db");
        assert!(said.contains("; next: "), "{said}");
    }
}
