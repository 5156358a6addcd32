//! The homes that are set up on this machine, beside one that is not: a name that was mistyped is no first run. Must not know
//! the screen.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hearth_replica::profile::Profile;

/// More names than this are not said.
const SAID_MAX: usize = 6;

/// The names of the homes there are: those that have settings, and those that have a database and never met a server.
pub fn names(profile: &Profile) -> BTreeSet<String> {
    let settings = profile.ui_config();
    let settings = settings.parent().into_iter().flat_map(entries).filter_map(|name| {
        let name = name.strip_suffix(".toml")?;
        (!name.ends_with(".tui")).then(|| name.to_owned())
    });
    let data = profile.db.parent().and_then(Path::parent);
    let databases = data.into_iter().flat_map(|data| {
        let file = profile.db.file_name().unwrap_or_default();
        entries(data).filter(move |name| data.join(name).join(file).exists())
    });
    settings.chain(databases).collect()
}

fn entries(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

/// What is said of a home that is not set up, in a sentence.
pub fn said(name: &str, others: &BTreeSet<String>) -> String {
    if others.is_empty() {
        return "No home is set up on this machine yet.".to_owned();
    }
    let mut there: Vec<&str> = others.iter().map(String::as_str).take(SAID_MAX).collect();
    if others.len() > SAID_MAX {
        there.push("and more");
    }
    let example = &there[0];
    format!(
        "No home “{name}” is set up on this machine; there is {}. To open one: hearth --profile {example}",
        there.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_is_told_the_homes_there_are() {
        let directory = tempfile::tempdir().unwrap();
        let home = |name: &str| {
            let db = directory.path().join("data").join(name).join("replica.db");
            Profile::locate(name, Some(&db), true).unwrap()
        };
        let typo = home("typo");
        assert_eq!(said("typo", &names(&typo)), "No home is set up on this machine yet.");
        for name in ["cabin", "flat"] {
            fs::create_dir_all(home(name).db.parent().unwrap()).unwrap();
            fs::write(&home(name).db, "").unwrap();
        }
        fs::create_dir_all(directory.path().join("data/empty")).unwrap();
        let said = said("typo", &names(&typo));
        assert_eq!(
            said,
            "No home “typo” is set up on this machine; there is cabin, flat. To open one: hearth --profile cabin"
        );
    }
}
