//! The import graph of some crates: the names that each file uses of other files and crates. Must not know which
//! imports are allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

use super::modules::{Crates, Root};
use super::names::{Target, resolve};

/// A use of a name of another file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    /// The importing file.
    pub from: String,
    /// The file that defines the name, behind all re-exports.
    pub to: String,
    /// The name: an item, not its variant or associated function.
    pub name: String,
    /// Whether the import is a re-export (`pub use`).
    pub is_reexport: bool,
}

/// A use of a crate outside the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct External {
    /// The importing file.
    pub from: String,
    /// The path, beginning with the name of the crate: `std::fs::read`.
    pub path: String,
}

/// The imports of the production code of some crates.
pub(crate) struct Graph {
    /// The files of the production code.
    pub files: BTreeSet<String>,
    /// The uses of names of other files.
    pub imports: BTreeSet<Import>,
    /// The uses of other crates.
    pub externals: BTreeSet<External>,
}

/// The imports among files that import each other, directly or through other files. Re-exports are left out.
pub(crate) struct Cycle(pub Vec<Import>);

impl Graph {
    /// Reads the crates with these roots; `text` returns the text of a file, None when the file does not exist.
    ///
    /// # Panics
    /// When a declared module has no file, and when a file is not valid Rust.
    pub(crate) fn read(roots: &[Root], text: &dyn Fn(&str) -> Option<String>) -> Graph {
        let crates = Crates::read(roots, text);
        let files = crates.scopes.iter().map(|scope| scope.file.clone()).collect();
        let (mut imports, mut externals) = (BTreeSet::new(), BTreeSet::new());
        for mention in &crates.mentions {
            let from = &crates.scopes[mention.scope].file;
            for target in resolve(&crates, mention.scope, &mention.path) {
                match target {
                    Target::Item { file: to, name } if to != *from => {
                        imports.insert(Import { from: from.clone(), to, name, is_reexport: mention.is_reexport });
                    }
                    Target::External(path) => {
                        externals.insert(External { from: from.clone(), path: path.join("::") });
                    }
                    Target::Item { .. } | Target::Module(_) => {}
                }
            }
        }
        Graph { files, imports, externals }
    }

    /// The import cycles. A pure re-export is no import here: the re-exporting file does not need the name.
    pub(crate) fn cycles(&self) -> Vec<Cycle> {
        let imports = || self.imports.iter().filter(|import| !import.is_reexport);
        let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for import in imports() {
            next.entry(&import.from).or_default().insert(&import.to);
        }
        let reached: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|file| (*file, reachable(file, &next))).collect();
        let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|files| files.contains(to));
        let mut cycles: BTreeMap<&str, Vec<Import>> = BTreeMap::new();
        for import in imports().filter(|import| reaches(&import.to, &import.from)) {
            // The first file of the cycle names the cycle.
            let peers = &reached[import.from.as_str()];
            let first = peers.iter().find(|peer| reaches(peer, &import.from)).expect("the file reaches itself");
            cycles.entry(first).or_default().push(import.clone());
        }
        cycles.into_values().map(Cycle).collect()
    }
}

/// The files that a file reaches by one or more imports.
fn reachable<'g>(file: &'g str, next: &BTreeMap<&'g str, BTreeSet<&'g str>>) -> BTreeSet<&'g str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![file];
    while let Some(file) = open.pop() {
        open.extend(next.get(file).into_iter().flatten().filter(|next| reached.insert(**next)));
    }
    reached
}

impl Display for Cycle {
    /// One line for each pair of files: `a.rs -> b.rs (names)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files: BTreeSet<&str> = self.0.iter().map(|import| import.from.as_str()).collect();
        writeln!(f, "cycle of {} files:", files.len())?;
        let mut names: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
        for import in &self.0 {
            names.entry((&import.from, &import.to)).or_default().insert(&import.name);
        }
        for ((from, to), names) in names {
            writeln!(f, "  {from} -> {to} ({})", names.into_iter().collect::<Vec<_>>().join(", "))?;
        }
        Ok(())
    }
}
