//! The import graphs of small crates in memory.

use std::collections::BTreeMap;

use super::graph::{Graph, Import};
use super::modules::Root;

/// Reads a library `home` from pairs of path and text; the first pair is its root.
pub(in super::super) fn graph_of(files: &[(&str, &str)]) -> Graph {
    let texts: BTreeMap<&str, &str> = files.iter().copied().collect();
    let root = Root { name: Some("home".to_owned()), file: files[0].0.to_owned() };
    Graph::read(&[root], &|file| texts.get(file).map(|text| (*text).to_owned()))
}

fn line(import: &Import) -> String {
    let kind = if import.is_reexport { "re-exports" } else { "->" };
    format!("{} {kind} {} ({})", import.from, import.to, import.name)
}

/// `store.rs` re-exports an error from a leaf file, which its sibling and the layer above import.
const WITHOUT_CYCLE: [(&str, &str); 5] = [
    ("src/lib.rs", "pub mod store; mod sync;"),
    ("src/store.rs", "mod error; mod open; pub use self::error::StoreError; pub use open::open;"),
    ("src/store/error.rs", "pub struct StoreError;"),
    ("src/store/open.rs", "use super::StoreError; pub fn open() -> StoreError { StoreError }"),
    ("src/sync.rs", "use crate::store::{StoreError, open}; pub struct Lock(StoreError); fn lock() { open(); }"),
];

#[test]
fn cycle_through_reexport_is_found() {
    let mut files = WITHOUT_CYCLE;
    files[2].1 = "use crate::sync::Lock; pub struct StoreError(Lock);";
    let cycles: Vec<String> = graph_of(&files).cycles().iter().map(ToString::to_string).collect();
    assert_eq!(
        cycles,
        ["cycle of 3 files:\n  \
          src/store/error.rs -> src/sync.rs (Lock)\n  \
          src/store/open.rs -> src/store/error.rs (StoreError)\n  \
          src/sync.rs -> src/store/error.rs (StoreError)\n  \
          src/sync.rs -> src/store/open.rs (open)\n"]
    );
}

#[test]
fn reexport_of_leaf_file_is_no_cycle() {
    let graph = graph_of(&WITHOUT_CYCLE);
    assert!(graph.cycles().is_empty());
    let imports: Vec<String> = graph.imports.iter().map(line).collect();
    assert_eq!(
        imports,
        [
            "src/store.rs re-exports src/store/error.rs (StoreError)",
            "src/store.rs re-exports src/store/open.rs (open)",
            "src/store/open.rs -> src/store/error.rs (StoreError)",
            "src/sync.rs -> src/store/error.rs (StoreError)",
            "src/sync.rs -> src/store/open.rs (open)",
        ]
    );
}

#[test]
fn parent_that_calls_its_child_is_a_cycle() {
    let graph = graph_of(&[
        ("src/lib.rs", "pub struct Home; mod room; fn enter() { room::enter(); }"),
        ("src/room/mod.rs", "use super::Home; pub fn enter() {}"),
    ]);
    assert_eq!(graph.cycles().len(), 1);
}

/// The code of `src/b.rs`. The macro defines `Generated`.
const B: &str =
    "pub mod inner; pub use inner::{Beside, inner}; pub use uuid::Uuid; pub struct B; pub fn b() {} define!();";

/// Each case is the code of `src/a.rs`.
#[test]
fn imports_are_found_in_each_form() {
    let expected = "src/a.rs -> src/b.rs (B)";
    for (code, expected) in [
        ("use crate::b::B;", expected),
        ("use super::b::B as Other; type A = Other;", expected),
        ("use crate::b; type A = b::B;", expected),
        ("use crate::b::{self as other}; type A = Vec<other::B>;", expected),
        ("use crate::b::*; type A = Option<B>;", expected),
        ("use home::b::B;", expected),
        ("type A = crate::b::B;", expected),
        ("fn a() { use crate::b::B; }", expected),
        ("fn a() -> u8 { { use crate::b; b::B::new() } }", expected),
        ("mod inside { type A = super::super::b::B; }", expected),
        ("fn a() { assert!(matches!(1, crate::b::B::ONE)); }", expected),
        ("#[derive(crate::b::B)] struct A;", expected),
        ("struct A<T: crate::b::B>(T);", expected),
        ("use crate::Shown; type A = Shown;", expected),
        ("use super::*; type A = Shown;", expected),
        ("fn a() { crate::b::b() }", "src/a.rs -> src/b.rs (b)"),
        ("type A = crate::b::inner::Deep;", "src/a.rs -> src/b/inner.rs (Deep)"),
        ("use crate::b::Generated;", "src/a.rs -> src/b.rs (Generated)"),
        ("use crate::b::Uuid;", "src/a.rs -> src/b.rs (Uuid)"),
        ("use crate::b::Beside;", "src/a.rs -> src/b/inner.rs (Beside)"),
        ("pub(crate) use crate::b::B;", "src/a.rs re-exports src/b.rs (B)"),
    ] {
        let graph = graph_of(&[
            ("src/lib.rs", "mod a; pub mod b; pub use a::*; pub use b::B as Shown;"),
            ("src/a.rs", code),
            ("src/b.rs", B),
            ("src/b/inner.rs", "pub struct Deep; pub struct Beside; pub fn inner() {}"),
        ]);
        let imports: Vec<String> = graph.imports.iter().filter(|import| import.from == "src/a.rs").map(line).collect();
        assert_eq!(imports, [expected], "{code}");
    }
}

#[test]
fn what_imports_nothing_is_left_out() {
    for code in [
        "#[cfg(test)] mod tests { use crate::b::B; }",
        "#[cfg(all(test, unix))] use crate::b::B;",
        "struct A; impl A { #[cfg(test)] fn a() { crate::b::b() } }",
        "use crate::b;",
        "use crate::b::*; fn a(b: u8) -> u8 { b }",
        "pub(in crate::b) struct A;",
        "fn a() { println!(\"crate::b::B\"); } // crate::b::B",
        "struct B; type A = B;",
    ] {
        let graph = graph_of(&[
            ("src/lib.rs", "mod a; pub mod b;"),
            ("src/a.rs", code),
            ("src/b.rs", "pub struct B; pub fn b() {}"),
        ]);
        assert!(graph.imports.is_empty(), "{code}: {:?}", graph.imports);
    }
}

#[test]
fn external_paths_are_found_behind_local_names() {
    for (code, expected) in [
        ("use rusqlite::Connection;", "rusqlite::Connection"),
        ("use tokio as runtime; fn a() { runtime::spawn(); }", "tokio::spawn"),
        ("use std::fs; fn a() { fs::read(); }", "std::fs::read"),
        ("fn a() { ::reqwest::get(); }", "reqwest::get"),
        ("pub use axum::Router;", "axum::Router"),
    ] {
        let graph = graph_of(&[("src/lib.rs", code)]);
        let paths: Vec<&str> = graph.externals.iter().map(|external| external.path.as_str()).collect();
        assert!(paths.contains(&expected), "{code}: {paths:?}");
    }
}

#[test]
fn module_files_follow_the_path_rules() {
    let graph = graph_of(&[
        ("src/lib.rs", "mod a; #[path = \"../other/d.rs\"] mod d; mod inline { mod e; }"),
        ("src/a/mod.rs", "mod b;"),
        ("src/a/b.rs", "mod c;"),
        ("src/a/b/c.rs", ""),
        ("other/d.rs", "mod f;"),
        ("other/f.rs", ""),
        ("src/inline/e.rs", ""),
    ]);
    assert_eq!(graph.files.len(), 7);
}
