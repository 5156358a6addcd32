//! Judges an import graph by the rules of a table. Must not know the crates that the rules are for.
//!
//! A place is a folder or file without `.rs` (`server/src/store`), or an external path (`rusqlite`, `std::fs`).

use std::collections::BTreeSet;

use super::imports::Graph;

/// Files that must not import from some places. When a banned place is around the files, the files may still import
/// from each other.
pub(super) struct Ban {
    pub files: &'static [&'static str],
    /// Files that the ban leaves out.
    pub except: &'static [&'static str],
    pub imports: &'static [&'static str],
}

impl Ban {
    fn forbids(&self, from: &str, to: &str) -> bool {
        let Some(own) = self.files.iter().find(|place| is_in(from, place)) else { return false };
        let is_inner = |place: &str| is_in(own, place) && is_in(to, own);
        !is_in_any(from, self.except) && self.imports.iter().any(|place| is_in(to, place) && !is_inner(place))
    }
}

/// The imports that break a rule, each as `a.rs -> b.rs (name)`. `layers` lists the places of a crate from top to
/// bottom: a file must not import from a layer above its own.
pub(super) fn violations(graph: &Graph, layers: &[&[&str]], bans: &[Ban]) -> Vec<String> {
    let files = graph.imports.iter().map(|import| (&import.from, &import.to, format!(" ({})", import.name)));
    let externals = graph.externals.iter().map(|external| (&external.from, &external.path, String::new()));
    let broken = files.chain(externals).filter(|(from, to, _)| {
        let is_upward = layers.iter().any(|layers| match (layer(from, layers), layer(to, layers)) {
            (Some(own), Some(other)) => other < own,
            _ => false,
        });
        is_upward || bans.iter().any(|ban| ban.forbids(from, to))
    });
    broken.map(|(from, to, name)| format!("{from} -> {to}{name}")).collect()
}

/// The files and folders of the rules that do not exist. A rule for a missing folder would pass without effect.
pub(super) fn missing_places<'r>(graph: &Graph, layers: &[&[&'r str]], bans: &[Ban]) -> BTreeSet<&'r str> {
    let of_bans = bans.iter().flat_map(|ban| [ban.files, ban.except, ban.imports]).flatten();
    let places = layers.iter().copied().flatten().chain(of_bans).copied().filter(|place| place.contains('/'));
    places.filter(|place| !graph.files.iter().any(|file| is_in(file, place))).collect()
}

fn layer(file: &str, layers: &[&str]) -> Option<usize> {
    layers.iter().position(|layer| is_in(file, layer))
}

pub(super) fn is_in_any(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| is_in(path, place))
}

/// Whether a file or an external path is a place or inside the place.
fn is_in(path: &str, place: &str) -> bool {
    let rest = path.strip_prefix(place);
    rest.is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/') || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::super::imports::graph_of;
    use super::*;

    const FILES: [(&str, &str); 4] = [
        ("src/lib.rs", "mod api; mod http; mod store;"),
        ("src/api.rs", "use crate::http::Call; pub struct Route;"),
        ("src/http/mod.rs", "pub struct Call;"),
        ("src/store.rs", "use rusqlite::Connection; use std::fs; fn read() { fs::read(); }"),
    ];
    const LAYERS: [&[&str]; 1] = [&["src/api", "src/http", "src/store"]];
    const BANS: [Ban; 1] = [Ban { files: &["src"], except: &["src/store"], imports: &["rusqlite", "std::fs"] }];

    #[test]
    fn downward_import_is_allowed() {
        let graph = graph_of(&FILES);
        assert!(violations(&graph, &LAYERS, &BANS).is_empty());
        assert!(missing_places(&graph, &LAYERS, &BANS).is_empty());
    }

    #[test]
    fn upward_import_is_a_violation() {
        for code in ["use crate::api::Route; pub struct Call;", "pub use crate::api::Route; pub struct Call;"] {
            let mut files = FILES;
            files[2].1 = code;
            let broken = violations(&graph_of(&files), &LAYERS, &BANS);
            assert_eq!(broken, ["src/http/mod.rs -> src/api.rs (Route)"]);
        }
    }

    #[test]
    fn banned_crate_is_a_violation() {
        let mut files = FILES;
        files[2].1 = "pub struct Call; fn read() { std::fs::read(); std::fsync::f(); rusqlite_other::f(); }";
        let broken = violations(&graph_of(&files), &LAYERS, &BANS);
        assert_eq!(broken, ["src/http/mod.rs -> std::fs::read"]);
    }

    #[test]
    fn model_imports_only_itself() {
        let bans = [Ban { files: &["src/model"], except: &[], imports: &["src"] }];
        let mut files = [
            ("src/lib.rs", "mod model; mod log;"),
            ("src/model/mod.rs", "mod edit; mod phase; pub use self::phase::Phase;"),
            ("src/model/edit.rs", "use super::phase::Phase; pub struct Edit(Phase);"),
            ("src/model/phase.rs", "pub struct Phase;"),
            ("src/log.rs", "use crate::model::Phase; pub struct Line(Phase);"),
        ];
        assert!(violations(&graph_of(&files), &[], &bans).is_empty());
        files[3].1 = "use crate::log::Line; pub struct Phase(Line);";
        assert_eq!(violations(&graph_of(&files), &[], &bans), ["src/model/phase.rs -> src/log.rs (Line)"]);
    }

    #[test]
    fn rule_for_missing_folder_is_reported() {
        let missing = missing_places(&graph_of(&FILES[..]), &[&["src/api", "src/home"]], &[]);
        assert_eq!(missing, BTreeSet::from(["src/home"]));
    }
}
