//! Reads the production code of crates into scopes: the names of each scope, and the paths in its code. Must not know
//! the definition behind a path.
//!
//! Items under `#[cfg(test)]` are left out. Method calls and paths in string literals are not found.

use std::collections::BTreeMap;

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, Meta, UseTree, Visibility};

use super::syntax::{Segments, colons, is_production, is_upper, item_attributes, path_attribute, plain, segments};

/// The root file of a library or program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    /// The name of the library in paths (`hearth_contract`); None for a program, which no other crate can name.
    pub name: Option<String>,
    /// The path of the file from the workspace, with slashes: `contract/src/lib.rs`.
    pub file: String,
}

/// The meaning of a name in a scope.
pub(super) enum Name {
    /// A struct, enum, union, trait or type alias: further segments of a path name its parts.
    Type,
    /// A function, constant, static or macro: always the last segment of a path.
    Value,
    /// A child module, as a position in [`Crates::scopes`].
    Module(usize),
    /// An import, with the path behind its `use`.
    Import(Segments),
}

/// A module, or a block with items of its own.
pub(super) struct Scope {
    pub file: String,
    /// The scope around this scope; None for the root of a crate.
    pub parent: Option<usize>,
    /// A block sees all names of the scopes around it; a module sees only its own names.
    pub is_block: bool,
    pub names: BTreeMap<String, Vec<Name>>,
    /// The paths before each `::*`.
    pub globs: Vec<Segments>,
    /// The folder of the files that `mod child;` declares.
    folder: String,
}

impl Scope {
    fn module(file: &str, parent: Option<usize>, folder: String) -> Scope {
        let (names, globs) = Default::default();
        Scope { file: file.to_owned(), parent, is_block: false, names, globs, folder }
    }
}

/// A path in the code of a scope.
pub(super) struct Mention {
    pub scope: usize,
    pub path: Segments,
    /// Whether the path stands in a `pub use` or `pub(...) use`.
    pub is_reexport: bool,
}

/// The production code of some crates.
#[derive(Default)]
pub(super) struct Crates {
    pub scopes: Vec<Scope>,
    /// The root scope of each library, by its name in paths.
    pub libraries: BTreeMap<String, usize>,
    pub mentions: Vec<Mention>,
}

impl Crates {
    /// Reads the crates from their roots; `text` returns the text of a file, None when the file does not exist.
    ///
    /// # Panics
    /// When a declared module has no file, and when a file is not valid Rust.
    pub(super) fn read(roots: &[Root], text: &dyn Fn(&str) -> Option<String>) -> Crates {
        let mut reader = Reader { crates: Crates::default(), scope: 0, text };
        for root in roots {
            let scope = reader.read_file(&root.file, None, folder_of(&root.file));
            if let Some(name) = &root.name {
                reader.crates.libraries.insert(name.clone(), scope);
            }
        }
        reader.crates
    }
}

/// Walks syntax trees and records the names and paths of their production code.
struct Reader<'t> {
    crates: Crates,
    /// The scope around the current node.
    scope: usize,
    text: &'t dyn Fn(&str) -> Option<String>,
}

impl Reader<'_> {
    /// Reads a file as a module whose child modules have their files in `folder`.
    fn read_file(&mut self, file: &str, parent: Option<usize>, folder: String) -> usize {
        let text = (self.text)(file).unwrap_or_else(|| panic!("the module {file} does not exist"));
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        self.walk_scope(Scope::module(file, parent, folder), |reader| reader.visit_file(&syntax))
    }

    /// Adds a scope and runs `walk` inside the scope.
    fn walk_scope(&mut self, scope: Scope, walk: impl FnOnce(&mut Self)) -> usize {
        let position = self.crates.scopes.len();
        self.crates.scopes.push(scope);
        let around = std::mem::replace(&mut self.scope, position);
        walk(self);
        self.scope = around;
        position
    }

    fn current(&mut self) -> &mut Scope {
        &mut self.crates.scopes[self.scope]
    }

    fn define(&mut self, name: String, meaning: Name) {
        self.current().names.entry(name).or_default().push(meaning);
    }

    fn record(&mut self, path: Segments, is_reexport: bool) {
        let scope = self.scope;
        self.crates.mentions.push(Mention { scope, path, is_reexport });
    }

    /// Records the names that a `use` imports. `path` is the part before `tree`.
    fn record_use(&mut self, tree: &UseTree, mut path: Segments, is_reexport: bool) {
        let name = match tree {
            UseTree::Path(tree) => {
                path.push(plain(&tree.ident));
                return self.record_use(&tree.tree, path, is_reexport);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.record_use(tree, path.clone(), is_reexport));
            }
            UseTree::Glob(_) => return self.current().globs.push(path),
            UseTree::Name(name) if name.ident == "self" => path.last().cloned().unwrap_or_default(),
            UseTree::Name(name) => {
                path.push(plain(&name.ident));
                plain(&name.ident)
            }
            UseTree::Rename(tree) => {
                if tree.ident != "self" {
                    path.push(plain(&tree.ident));
                }
                plain(&tree.rename)
            }
        };
        self.record(path.clone(), is_reexport);
        self.define(name, Name::Import(path));
    }

    /// Records paths among the arguments of a macro or attribute. A lone lower-case name is mostly a field or a
    /// variable and does not count.
    fn scan_tokens(&mut self, mut at: Cursor<'_>) {
        let mut before = ' ';
        while !at.eof() {
            if let Some((inside, _, _, next)) = at.any_group() {
                self.scan_tokens(inside);
                (before, at) = (' ', next);
            } else if let Some((first, mut next)) = at.ident() {
                let mut path = vec![plain(&first)];
                while let Some((segment, after)) = colons(next).and_then(Cursor::ident) {
                    path.push(plain(&segment));
                    next = after;
                }
                let is_part = before == '.' || (before == '$' && path[0] != "crate");
                if !is_part && (path.len() > 1 || is_upper(&path[0])) {
                    self.record(path, false);
                }
                (before, at) = (' ', next);
            } else if let Some((punct, next)) = at.punct() {
                (before, at) = (punct.as_char(), next);
            } else {
                let lifetime = at.lifetime().map(|(_, next)| next);
                let Some(next) = lifetime.or_else(|| at.token_tree().map(|(_, next)| next)) else { return };
                (before, at) = (' ', next);
            }
        }
    }
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        if !is_production(item_attributes(item)) {
            return;
        }
        match item {
            Item::Fn(item) => self.define(plain(&item.sig.ident), Name::Value),
            Item::Const(item) => self.define(plain(&item.ident), Name::Value),
            Item::Static(item) => self.define(plain(&item.ident), Name::Value),
            Item::Struct(item) => self.define(plain(&item.ident), Name::Type),
            Item::Enum(item) => self.define(plain(&item.ident), Name::Type),
            Item::Union(item) => self.define(plain(&item.ident), Name::Type),
            Item::Trait(item) => self.define(plain(&item.ident), Name::Type),
            Item::Type(item) => self.define(plain(&item.ident), Name::Type),
            Item::Macro(item) => item.ident.iter().for_each(|name| self.define(plain(name), Name::Value)),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        let (name, parent) = (plain(&item.ident), self.scope);
        let Scope { file, folder, .. } = self.current();
        let (file, folder) = (file.clone(), folder.clone());
        let child = format!("{folder}/{name}");
        let scope = match (&item.content, path_attribute(&item.attrs)) {
            (Some((_, items)), _) => self.walk_scope(Scope::module(&file, Some(parent), child), |reader| {
                items.iter().for_each(|item| reader.visit_item(item));
            }),
            (None, Some(path)) => {
                let file = joined(&folder_of(&file), &path);
                self.read_file(&file, Some(parent), folder_of(&file))
            }
            (None, None) => {
                let (beside, inside) = (format!("{child}.rs"), format!("{child}/mod.rs"));
                let file = if (self.text)(&beside).is_some() { beside } else { inside };
                self.read_file(&file, Some(parent), child)
            }
        };
        self.define(name, Name::Module(scope));
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let start = item.leading_colon.as_ref().map(|_| "::".to_owned()).into_iter().collect();
        self.record_use(&item.tree, start, !matches!(item.vis, Visibility::Inherited));
    }

    fn visit_impl_item(&mut self, item: &'a ImplItem) {
        let attributes = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            ImplItem::Macro(item) => &item.attrs,
            _ => return,
        };
        if is_production(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_block(&mut self, block: &'a syn::Block) {
        if block.stmts.iter().any(|statement| matches!(statement, syn::Stmt::Item(_))) {
            let around = &self.crates.scopes[self.scope];
            let module = Scope::module(&around.file, Some(self.scope), around.folder.clone());
            self.walk_scope(Scope { is_block: true, ..module }, |reader| visit::visit_block(reader, block));
        } else {
            visit::visit_block(self, block);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.record(segments(path), false);
        visit::visit_path(self, path);
    }

    /// A lone lower-case name is mostly a variable.
    fn visit_expr_path(&mut self, expression: &'a syn::ExprPath) {
        let is_variable = expression.path.get_ident().is_some_and(|name| !is_upper(&plain(name)));
        if !is_variable {
            visit::visit_expr_path(self, expression);
        }
    }

    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        if let syn::Expr::Path(function) = &*call.func {
            self.record(segments(&function.path), false);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.record(segments(&call.path), false);
        self.scan_tokens(TokenBuffer::new2(call.tokens.clone()).begin());
    }

    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        if attribute.path().segments.len() > 1 {
            self.record(segments(attribute.path()), false);
        }
        if let Meta::List(list) = &attribute.meta {
            self.scan_tokens(TokenBuffer::new2(list.tokens.clone()).begin());
        }
    }

    /// The path in `pub(in path)` imports nothing.
    fn visit_vis_restricted(&mut self, _: &'a syn::VisRestricted) {}
}

/// The folder of a file; empty for a file without a folder.
fn folder_of(file: &str) -> String {
    file.rsplit_once('/').map(|(folder, _)| folder.to_owned()).unwrap_or_default()
}

/// A path relative to a folder, without `..`.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
