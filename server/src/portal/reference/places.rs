//! The page on which each schema is described: that of the only group which uses the schema, or the page of shared schemas.
//! Must not know how a schema looks.

use std::collections::{BTreeMap, BTreeSet};

use hearth_contract::paths;
use serde_json::Value;

use super::json::{list, members, text};
use crate::http::route::Route;

/// The section of schemas that several groups use.
pub(super) const SCHEMAS: &str = "schemas";

/// The section of a tag.
pub(super) fn section_of(tag: &str) -> String {
    tag.to_lowercase().replace(' ', "-")
}

/// The path of a section.
pub(super) fn path_of(section: &str) -> String {
    paths::REFERENCE_SECTION.replace("{section}", section)
}

/// The page of each schema.
pub(super) struct Places<'r> {
    /// By the name of the schema: the path of the page.
    pages: BTreeMap<&'r str, String>,
    shared: String,
}

impl<'r> Places<'r> {
    /// Follows all references of all operations.
    pub(super) fn read(document: &'r Value, routes: &[Route]) -> Places<'r> {
        let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for tag in list(&document["tags"]).iter().map(|tag| text(&tag["name"])) {
            let mut seen = BTreeSet::new();
            let operations = routes.iter().map(|route| &document["paths"][&route.path]).flat_map(members);
            for (_, operation) in operations.filter(|(_, operation)| operation["tags"][0] == tag) {
                follow(document, operation, &mut seen);
            }
            for name in seen.iter().filter_map(|reference| reference.strip_prefix("#/components/schemas/")) {
                users.entry(name).or_default().insert(tag);
            }
        }
        let alone = users.into_iter().filter(|(_, tags)| tags.len() == 1);
        let pages = alone.filter_map(|(name, tags)| Some((name, path_of(&section_of(tags.first()?))))).collect();
        Places { pages, shared: path_of(SCHEMAS) }
    }

    /// The path of the page that describes a schema.
    pub(super) fn path(&self, schema: &str) -> &str {
        self.pages.get(schema).unwrap_or(&self.shared)
    }
}

/// Collects the references of a value, and those of what they point to.
fn follow<'r>(document: &'r Value, value: &'r Value, seen: &mut BTreeSet<&'r str>) {
    if let Some(reference) = value["$ref"].as_str()
        && seen.insert(reference)
        && let Some(target) = document.pointer(reference.trim_start_matches('#'))
    {
        follow(document, target, seen);
    }
    match value {
        Value::Object(object) => object.values().for_each(|value| follow(document, value, seen)),
        Value::Array(items) => items.iter().for_each(|value| follow(document, value, seen)),
        _ => (),
    }
}
