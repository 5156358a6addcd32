//! Lists the homes on this machine. A mistyped name of an existing home gets a list of names instead of an empty home.
//! Must not know the screen.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hearth_replica::profile::Profile;

/// The most names in a sentence.
const NAMES_MAX: usize = 6;

/// The names of all homes on this machine: homes with a profile file, and homes with a database and no server.
pub fn home_names(profile: &Profile) -> BTreeSet<String> {
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

/// The sentence for a home that is not set up. `others`: the names of all homes on this machine.
pub fn missing_home_sentence(name: &str, others: &BTreeSet<String>) -> String {
    if others.is_empty() {
        return "No home is set up on this machine yet.".to_owned();
    }
    let mut names: Vec<&str> = others.iter().map(String::as_str).take(NAMES_MAX).collect();
    if others.len() > NAMES_MAX {
        names.push("and more");
    }
    let example = &names[0];
    format!(
        "No home “{name}” is set up on this machine. Existing homes: {}. To open a home: hearth --profile {example}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_name_lists_existing_homes() {
        let directory = tempfile::tempdir().unwrap();
        let home = |name: &str| {
            let db = directory.path().join("data").join(name).join("replica.db");
            Profile::locate(name, Some(&db), true).unwrap()
        };
        let typo = home("typo");
        let sentence = || missing_home_sentence("typo", &home_names(&typo));
        assert_eq!(sentence(), "No home is set up on this machine yet.");
        for name in ["cabin", "flat"] {
            fs::create_dir_all(home(name).db.parent().unwrap()).unwrap();
            fs::write(&home(name).db, "").unwrap();
        }
        fs::create_dir_all(directory.path().join("data/empty")).unwrap();
        assert_eq!(
            sentence(),
            "No home “typo” is set up on this machine. Existing homes: cabin, flat. To open a home: hearth --profile cabin"
        );
    }
}
