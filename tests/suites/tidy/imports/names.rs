//! Resolves a path to the file that defines its name. Must not know which imports are allowed.

use super::modules::{Crates, Name, Scope};
use super::syntax::Segments;

/// The meaning of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// A name that a file of the workspace defines, or re-exports from a crate outside the workspace.
    Item { file: String, name: String },
    /// A module, as a position in the scopes.
    Module(usize),
    /// A path of a crate outside the workspace, or a name of the language.
    External(Segments),
}

impl Target {
    fn is_external(&self) -> bool {
        matches!(self, Target::External(_))
    }
}

/// Resolves a path in a scope. Several targets when a name is both a module and a function.
pub(super) fn resolve(crates: &Crates, scope: usize, path: &[String]) -> Vec<Target> {
    Search { crates, file: &crates.scopes[scope].file, open: Vec::new() }.resolve(scope, path)
}

/// The search for the definition of one path.
struct Search<'c> {
    crates: &'c Crates,
    /// The file with the path.
    file: &'c str,
    /// The imports that the search is inside of. An import can lead back to itself: `use uuid;`.
    open: Vec<&'c Segments>,
}

impl<'c> Search<'c> {
    fn resolve(&mut self, scope: usize, path: &[String]) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        match first.as_str() {
            "Self" => Vec::new(),
            "::" => self.resolve_in_library(rest),
            "crate" => self.resolve_in_module(self.crate_root(scope), rest),
            "self" => self.resolve_in_module(self.enclosing_module(scope), rest),
            "super" => {
                let ups = path.iter().take_while(|segment| *segment == "super").count();
                let module = (0..ups).fold(self.enclosing_module(scope), |module, _| {
                    self.scope(module).parent.map_or(module, |parent| self.enclosing_module(parent))
                });
                self.resolve_in_module(module, &path[ups..])
            }
            _ => {
                let mut around = Some(scope);
                while let Some(scope) = around {
                    let found = self.resolve_name(scope, path);
                    if !found.is_empty() || self.is_defined(scope, first) {
                        return found;
                    }
                    around = self.scope(scope).parent.filter(|_| self.scope(scope).is_block);
                }
                self.resolve_in_library(path)
            }
        }
    }

    /// Resolves a path that begins with the name of a library.
    fn resolve_in_library(&mut self, path: &[String]) -> Vec<Target> {
        match path.first().and_then(|name| self.crates.libraries.get(name)) {
            Some(root) => self.resolve_in_module(*root, &path[1..]),
            None => vec![Target::External(path.to_vec())],
        }
    }

    /// Resolves the rest of a path behind a module. A name without a visible definition comes from a macro: the target
    /// is the module's file.
    fn resolve_in_module(&mut self, module: usize, path: &[String]) -> Vec<Target> {
        let Some(name) = path.first() else { return vec![Target::Module(module)] };
        let found = self.resolve_name(module, path);
        let is_from_macro = found.is_empty() && !self.is_defined(module, name);
        if is_from_macro { vec![self.item(module, name)] } else { found }
    }

    /// Resolves a path by the names of one scope. Empty when the scope does not have the first name.
    fn resolve_name(&mut self, scope: usize, path: &[String]) -> Vec<Target> {
        let (name, rest) = (&path[0], &path[1..]);
        let mut found = Vec::new();
        let crates = self.crates;
        for meaning in crates.scopes[scope].names.get(name).into_iter().flatten() {
            match meaning {
                Name::Type => found.push(self.item(scope, name)),
                Name::Value if rest.is_empty() => found.push(self.item(scope, name)),
                Name::Value => {}
                Name::Module(module) => found.extend(self.resolve_in_module(*module, rest)),
                Name::Import(import) => {
                    let path: Segments = import.iter().chain(rest).cloned().collect();
                    found.extend(self.follow(import, |search| search.resolve(scope, &path)));
                }
            }
        }
        // For other files, a re-export from outside the workspace is a definition.
        if crates.scopes[scope].file != self.file {
            for target in found.iter_mut().filter(|target| target.is_external()) {
                *target = self.item(scope, name);
            }
        }
        if found.is_empty() {
            for glob in &crates.scopes[scope].globs {
                found.extend(self.follow(glob, |search| {
                    let modules = search.resolve(scope, glob).into_iter().filter_map(|target| match target {
                        Target::Module(module) => Some(module),
                        _ => None,
                    });
                    modules.flat_map(|module| search.resolve_name(module, path)).collect()
                }));
            }
        }
        found
    }

    /// Runs `search` for the path of an import. Empty when the search is inside this import already.
    fn follow(&mut self, import: &'c Segments, search: impl FnOnce(&mut Self) -> Vec<Target>) -> Vec<Target> {
        if self.is_open(import) {
            return Vec::new();
        }
        self.open.push(import);
        let found = search(self);
        self.open.pop();
        found
    }

    fn is_open(&self, import: &Segments) -> bool {
        self.open.iter().any(|open| std::ptr::eq(*open, import))
    }

    /// Whether a scope has a name for something else than the imports that the search is inside of.
    fn is_defined(&self, scope: usize, name: &str) -> bool {
        let mut meanings = self.scope(scope).names.get(name).into_iter().flatten();
        meanings.any(|meaning| !matches!(meaning, Name::Import(import) if self.is_open(import)))
    }

    fn item(&self, scope: usize, name: &str) -> Target {
        Target::Item { file: self.scope(scope).file.clone(), name: name.to_owned() }
    }

    fn scope(&self, scope: usize) -> &Scope {
        &self.crates.scopes[scope]
    }

    /// The module around a block; a module itself.
    fn enclosing_module(&self, mut scope: usize) -> usize {
        while let (true, Some(parent)) = (self.scope(scope).is_block, self.scope(scope).parent) {
            scope = parent;
        }
        scope
    }

    fn crate_root(&self, mut scope: usize) -> usize {
        while let Some(parent) = self.scope(scope).parent {
            scope = parent;
        }
        scope
    }
}
