//! Finds the crates of a checkout by its `Cargo.toml` files. Must not know what the crates contain.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

use super::graph::Graph;
use super::modules::Root;

/// The import graph of the product's crates below a folder.
pub(crate) fn read(folder: &Path) -> Graph {
    Graph::read(&roots(folder), &|file| fs::read_to_string(folder.join(file)).ok())
}

/// The libraries and programs of all members but `tests`.
pub(super) fn roots(folder: &Path) -> Vec<Root> {
    let manifest = |path: &Path| -> Table {
        let text = fs::read_to_string(path.join("Cargo.toml")).expect("a Cargo.toml");
        text.parse().expect("valid TOML")
    };
    let workspace = manifest(folder);
    let members = workspace["workspace"]["members"].as_array().expect("a list of members");
    let mut roots = Vec::new();
    for member in members.iter().filter_map(Value::as_str).filter(|member| *member != "tests") {
        let package = manifest(&folder.join(member));
        let name = package["package"]["name"].as_str().expect("a package with a name").replace('-', "_");
        for (file, name) in [("lib.rs", Some(name)), ("main.rs", None)] {
            let file = format!("{member}/src/{file}");
            if folder.join(&file).exists() {
                roots.push(Root { name, file });
            }
        }
    }
    roots
}
