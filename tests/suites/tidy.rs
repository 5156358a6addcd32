//! The rules of the tree that a compiler does not check: which file may import which, and that each file opens with its
//! purpose. Must not know how the product behaves.

mod imports;
mod layers;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use self::imports::Graph;
use self::layers::{Ban, is_in_any, missing_places, violations};

/// The layers of each crate, from top to bottom.
const LAYERS: &[&[&str]] = &[
    &[
        "server/src/cli",
        "server/src/lib",
        "server/src/routes",
        "server/src/partners",
        "server/src/console",
        "server/src/api",
        "server/src/portal",
        "server/src/openapi",
        "server/src/http",
        "server/src/app",
        "server/src/operate",
        "server/src/home",
        "server/src/files",
        "server/src/store",
    ],
    &["replica/src/cli", "replica/src/doctor", "replica/src/sync", "replica/src/store", "replica/src/model"],
    &["tui/src/lib", "tui/src/edge", "tui/src/app", "tui/src/state", "tui/src/keys"],
    &["tui/src/app", "tui/src/state", "tui/src/words"],
    &["tui/src/app", "tui/src/state", "tui/src/parse"],
];

/// The folders with SQL. The demo of the terminal UI opens the replica's database directly, to show a write of a script.
const SQL: &[&str] = &["server/src/store", "replica/src/store", "tui/src/demo"];

/// The decisions of the terminal UI, without files and threads.
const SCREENS: &[&str] =
    &["tui/src/app", "tui/src/state", "tui/src/parse", "tui/src/words", "tui/src/layout", "tui/src/view"];

const BANS: &[Ban] = &[
    Ban {
        files: &["contract/src"],
        except: &[],
        imports: &["std::fs", "std::net", "std::io", "tokio", "reqwest", "hyper", "axum"],
    },
    Ban {
        files: &["contract/src", "exchange/src", "reader/src", "simulated/src", "server/src", "replica/src", "tui/src"],
        except: SQL,
        imports: &["rusqlite"],
    },
    Ban { files: &["server/src/home", "server/src/store"], except: &[], imports: &["axum", "hyper"] },
    // The test bench for developers of clients.
    Ban {
        files: &["server/src"],
        except: &["server/src/bench", "server/src/cli", "server/src/lib", "server/src/main"],
        imports: &["server/src/bench"],
    },
    Ban { files: &["server/src"], except: &[], imports: &["replica/src"] },
    Ban { files: &["replica/src"], except: &[], imports: &["server/src"] },
    Ban { files: &["tui/src"], except: &["tui/src/demo"], imports: &["server/src"] },
    Ban { files: &["replica/src/model"], except: &[], imports: &["replica/src"] },
    Ban {
        files: &["replica/src/sync/core"],
        except: &[],
        imports: &["replica/src/store", "replica/src/sync/engine", "rusqlite"],
    },
    Ban {
        files: &["replica/src/sync/core", "replica/src/sync/engine", "replica/src/store"],
        except: &[],
        imports: &["replica/src/sync/driver", "replica/src/sync/client", "replica/src/sync/stream", "tokio", "reqwest"],
    },
    Ban { files: SCREENS, except: &[], imports: &["tui/src/edge", "std::fs", "std::thread"] },
];

/// The imports of the production code: without tests.
static IMPORTS: LazyLock<Graph> = LazyLock::new(|| imports::read(&root()));

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// The Rust files in a folder, each as path from the root of the tree and text.
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

/// The code of a file, without comments and without the tests at the end of the file.
fn code(text: &str) -> String {
    let mut code = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            match lines.next() {
                Some(item) if item.ends_with(';') => continue,
                _ => break,
            }
        }
        if !line.trim_start().starts_with("//") {
            code.push(line);
        }
    }
    code.join("\n")
}

/// Fails when production code in one of the places contains one of the words.
fn forbid_words(places: &[&str], except: &[&str], words: &[&str]) {
    for file in IMPORTS.files.iter().filter(|file| is_in_any(file, places) && !is_in_any(file, except)) {
        let code = code(&fs::read_to_string(root().join(file)).expect("UTF-8"));
        for word in words {
            assert!(!code.contains(word), "{file} must not contain {word}");
        }
    }
}

#[test]
fn imports_have_no_cycle() {
    let cycles: String = IMPORTS.cycles().iter().map(|cycle| format!("\n{cycle}")).collect();
    assert!(cycles.is_empty(), "import cycles:{cycles}");
}

#[test]
fn imports_follow_the_layers() {
    let broken = violations(&IMPORTS, LAYERS, BANS);
    assert!(broken.is_empty(), "imports against the layers:\n{}", broken.join("\n"));
}

#[test]
fn layers_name_existing_files() {
    let missing = missing_places(&IMPORTS, LAYERS, BANS);
    assert!(missing.is_empty(), "the rules name files that do not exist: {missing:?}");
}

#[test]
fn sql_stands_in_stores_only() {
    forbid_words(&["server/src", "tui/src"], SQL, &["SELECT ", "INSERT INTO"]);
}

#[test]
fn pure_code_reads_no_clock_or_random() {
    let pure =
        [&["contract/src", "exchange/src", "reader/src/draft", "server/src/home", "replica/src/sync/core"], SCREENS]
            .concat();
    let impure = ["SystemTime::now", "Instant::now", "now_utc", "new_v4", "now_v7", "getrandom", "async"];
    forbid_words(&pure, &[], &impure);
}

#[test]
fn files_open_with_their_purpose() {
    for under in ["contract", "exchange", "reader", "server/src", "replica/src", "tui/src", "tests"] {
        for (name, text) in files(under) {
            assert!(text.starts_with("//! "), "{name} does not open with `//! ` and its purpose");
        }
    }
}

/// An error printed with its sources would repeat a source that stands in its own text.
#[test]
fn error_text_leaves_out_its_source() {
    for under in ["contract/src", "exchange/src", "reader/src", "server/src", "replica/src", "tui/src"] {
        for (name, text) in files(under) {
            for (message, rest) in text.split("#[error(").skip(1).filter_map(|rest| rest.split_once(")]")) {
                let variant = rest.split(",\n").next().unwrap_or_default();
                let has_source = variant.contains("#[from]") || variant.contains("#[source]");
                assert!(!(has_source && message.contains('{')), "{name}: {message} repeats the source of {variant}");
            }
        }
    }
}

/// The names of the tests in a folder, each as `file::function`.
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
fn contract_table_and_tests_match() {
    let table = fs::read_to_string(root().join("tests/suites/http/contract.md")).expect("the table");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let known: BTreeSet<String> =
        ["tests/suites", "server", "contract", "exchange", "reader"].iter().flat_map(|under| tests(under)).collect();
    let mut named = BTreeSet::new();
    for row in rows.iter().skip(2) {
        let tests: Vec<&str> = row[3].split_whitespace().map(|word| word.trim_matches('`')).collect();
        assert!(!tests.is_empty(), "no test for {} {}", row[1], row[2]);
        for test in tests {
            let exists = match test.strip_suffix(".sh") {
                Some(_) => root().join("tests/clients").join(test).exists(),
                None => known.contains(test),
            };
            assert!(exists, "contract.md names the test {test}, which does not exist");
            named.insert(test.to_owned());
        }
    }
    for test in tests("tests/suites/http") {
        assert!(named.contains(&test), "{test} is missing in contract.md");
    }
    for section in 1..=19 {
        let begins = |row: &Vec<&str>| row[1].split('.').next() == Some(&section.to_string());
        assert!(rows.iter().any(begins), "contract.md has no row for section {section}");
    }
}
