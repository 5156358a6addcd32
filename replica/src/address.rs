//! Adds the flags of a home to a command to type: the command then works on the same home. Must not know what the
//! command is for.

use std::path::Path;

use crate::doctor::{Diagnosis, shell_quoted};
use crate::profile;

const PROGRAM: &str = "hearth-replica ";

/// The flags `--profile NAME` and `--db FILE` that name this home again. Empty for the default home. `db` is the path
/// from the command line, if one was given.
pub fn home_flags(name: &str, db: Option<&Path>) -> String {
    // With HEARTH_PROFILE set, a command without `--profile` would use the profile of the variable.
    let named = name != profile::DEFAULT || std::env::var_os("HEARTH_PROFILE").is_some();
    let profile = (named && !db.is_some_and(profile::has_profile_beside)).then(|| format!("--profile {name}"));
    let db = db.map(|db| format!("--db {}", shell_quoted(db)));
    profile.into_iter().chain(db).collect::<Vec<_>>().join(" ")
}

/// A text with commands to type, with `flags` (from [`home_flags`]) after each `hearth-replica`. Commands with a
/// `--profile` or `--db` of their own stay unchanged.
pub fn with_home_flags(command: &str, flags: &str) -> String {
    if flags.is_empty() {
        return command.to_owned();
    }
    let mut parts = command.split(PROGRAM);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(PROGRAM);
        if !part.contains("--profile") && !part.contains("--db") {
            text.push_str(flags);
            text.push(' ');
        }
        text.push_str(part);
    }
    text
}

/// A diagnosis as one line: the sentence, then the command to type next, for the home of `flags`.
pub fn diagnosis_text(diagnosis: &Diagnosis, flags: &str) -> String {
    format!("{}; next: {}", diagnosis.text, with_home_flags(&diagnosis.next, flags))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::diagnose;
    use crate::{Origin, Replica};

    #[test]
    fn flags_name_profile_and_database() {
        assert_eq!(home_flags("cabin", None), "--profile cabin");
        let db = Path::new("/tmp/my home.db");
        assert!(home_flags("cabin", Some(db)).ends_with("--db '/tmp/my home.db'"));
    }

    #[test]
    fn command_gets_home_flags() {
        let next = |command: &str| with_home_flags(command, "--profile cabin");
        assert_eq!(next("hearth-replica sync"), "hearth-replica --profile cabin sync");
        assert_eq!(
            next("sqlite3 \"$(hearth-replica path)\", or hearth-replica run"),
            "sqlite3 \"$(hearth-replica --profile cabin path)\", or hearth-replica --profile cabin run"
        );
        let another = "hearth-replica init with another --profile or --db, for the other home";
        assert_eq!(next(another), another);
        assert_eq!(with_home_flags("hearth-replica sync", ""), "hearth-replica sync");
    }

    #[test]
    fn diagnosis_text_has_next_step() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("notes.db");
        std::fs::write(&db, "Milk, eggs, and a text that is long enough to be taken for a database by nobody at all.")
            .unwrap();
        let error = Replica::open(&db, Origin::Tui).unwrap_err();
        let text = diagnosis_text(&diagnose(&db, &error), "--db notes.db");
        assert!(text.contains("; next: "), "{text}");
    }
}
