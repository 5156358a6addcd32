//! The rules of the house that a compiler does not check: who may know whom, and that every file says what it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// The Rust files under a directory of the tree, with their texts.
fn files(under: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![root().join(under)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).expect("a directory").map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|end| end == "rs") {
            let name = path.strip_prefix(root()).expect("inside").to_string_lossy().into_owned();
            found.push((name, fs::read_to_string(&path).expect("text")));
        }
    }
    assert!(!found.is_empty(), "{under} has no files");
    found
}

/// The code of a file: its tests and comments may speak of anything. A file's own tests are its end; what is only named for
/// tests takes a line.
fn code(text: &str) -> String {
    let mut code = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            match lines.next() {
                Some(named) if named.ends_with(';') => continue,
                _ => break,
            }
        }
        if !line.trim_start().starts_with("//") {
            code.push(line);
        }
    }
    code.join("\n")
}

/// Nothing under a directory, save what is excepted, may hold one of these words.
fn forbid(under: &str, except: &[&str], words: &[&str]) {
    for (name, text) in files(under) {
        if except.iter().any(|except| name.starts_with(except)) {
            continue;
        }
        let code = code(&text);
        for word in words {
            assert!(!code.contains(word), "{name} must not know {word}");
        }
    }
}

#[test]
fn sql_stays_in_the_stores() {
    forbid("server/src", &["server/src/store/"], &["rusqlite", "SELECT ", "INSERT INTO"]);
    forbid("replica/src", &["replica/src/store/"], &["rusqlite"]);
    // The demo opens one plain connection, to do what a script does.
    forbid("tui/src", &["tui/src/demo/"], &["rusqlite", "SELECT ", "INSERT INTO"]);
}

#[test]
fn homes_and_stores_know_no_http() {
    forbid("server/src/home", &[], &["axum", "hyper", "crate::http", "crate::api"]);
    forbid("server/src/store", &[], &["axum", "hyper", "crate::http", "crate::api", "crate::home"]);
}

#[test]
fn a_sync_is_driven_from_outside_in() {
    let edge = ["reqwest", "tokio", "sync::driver", "super::driver", "sync::stream", "sync::client"];
    for core in ["replica/src/sync/core.rs", "replica/src/sync/core"] {
        forbid(core, &[], &edge);
        forbid(core, &[], &["crate::store", "sync::engine", "super::engine"]);
    }
    for engine in ["replica/src/sync/engine.rs", "replica/src/sync/engine"] {
        forbid(engine, &[], &edge);
    }
    forbid("replica/src/store", &[], &edge);
    forbid("replica/src/store", &[], &["sync::core", "sync::engine"]);
}

#[test]
fn what_is_pure_asks_neither_clock_nor_chance() {
    let impure = ["SystemTime::now", "Instant::now", "now_utc", "new_v4", "now_v7", "getrandom", "async"];
    forbid("contract/src", &[], &impure);
    forbid("server/src/home", &[], &impure);
    for core in ["replica/src/sync/core.rs", "replica/src/sync/core"] {
        forbid(core, &["replica/src/sync/core/tests", "replica/src/sync/core/reconcile/tests"], &impure);
    }
    for app in ["app.rs", "app", "state", "typed", "words", "layout", "view"] {
        forbid(&format!("tui/src/{app}"), &["tui/src/app/tests", "tui/src/view/tests"], &impure);
    }
}

#[test]
fn a_screen_does_not_reach_outside() {
    for inside in ["app.rs", "app", "state", "typed", "words", "layout", "view"] {
        forbid(&format!("tui/src/{inside}"), &["tui/src/app/fuzz.rs"], &["crate::edge", "std::fs", "std::thread"]);
    }
}

#[test]
fn the_contract_knows_only_its_libraries() {
    forbid("contract/src", &[], &["std::fs", "std::net", "std::io", "tokio", "reqwest"]);
}

#[test]
fn only_the_demo_knows_both_sides() {
    forbid("replica/src", &[], &["hearth_server"]);
    forbid("server/src", &[], &["hearth_replica"]);
    forbid("tui/src", &["tui/src/demo/"], &["hearth_server"]);
}

#[test]
fn every_file_says_what_it_is() {
    for under in ["contract", "server/src", "replica/src", "tui/src", "tests"] {
        for (name, text) in files(under) {
            assert!(text.starts_with("//! "), "{name} does not open with what it is");
        }
    }
}

/// Whoever prints an error with its causes would say them twice.
#[test]
fn a_cause_that_an_error_tells_itself_is_not_handed_on() {
    for under in ["contract/src", "server/src", "replica/src", "tui/src"] {
        for (name, text) in files(under) {
            for (said, rest) in text.split("#[error(").skip(1).filter_map(|rest| rest.split_once(")]")) {
                let variant = rest.split(",\n").next().unwrap_or_default();
                let handed_on = variant.contains("#[from]") || variant.contains("#[source]");
                assert!(!(handed_on && said.contains('{')), "{name}: {said} tells the cause that {variant} hands on");
            }
        }
    }
}

/// The tests in some files, each as `file::function`.
fn tests(under: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (name, text) in files(under) {
        let file = Path::new(&name).file_stem().expect("a name").to_string_lossy().into_owned();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate() {
            if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                let function = lines[at..].iter().find_map(|line| line.split_once("fn ")).expect("a function").1;
                found.insert(format!("{file}::{}", function.split('(').next().unwrap_or_default()));
            }
        }
    }
    found
}

#[test]
fn the_table_of_the_contract_names_tests_that_exist_and_all_of_the_api() {
    let table = fs::read_to_string(root().join("tests/suites/http/contract.md")).expect("the table");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let known: BTreeSet<String> =
        ["tests/suites", "server", "contract"].iter().flat_map(|under| tests(under)).collect();
    let mut named = BTreeSet::new();
    for row in rows.iter().skip(2) {
        let tests: Vec<&str> = row[3].split_whitespace().map(|word| word.trim_matches('`')).collect();
        assert!(!tests.is_empty(), "nothing holds {} {}", row[1], row[2]);
        for test in tests {
            let exists = match test.strip_suffix(".sh") {
                Some(_) => root().join("tests/clients").join(test).exists(),
                None => known.contains(test),
            };
            assert!(exists, "the table of the contract names {test}, which does not exist");
            named.insert(test.to_owned());
        }
    }
    for test in tests("tests/suites/http") {
        assert!(named.contains(&test), "{test} is not in the table of the contract");
    }
    for section in 1..=17 {
        let begins = |row: &Vec<&str>| row[1].split('.').next() == Some(&section.to_string());
        assert!(rows.iter().any(begins), "the table of the contract leaves out section {section}");
    }
}
