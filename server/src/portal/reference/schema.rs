//! The named schemas with their members. Must not know operations.

use serde_json::Value;

use super::json::{list, members, resolve, text};
use super::types::{Piece, describe};
use crate::portal::markup::Markup;

/// A named schema.
pub(super) struct Schema<'r> {
    /// The name, as in the description.
    pub(super) name: &'r str,
    /// What a value of the schema is.
    pub(super) about: Markup,
    /// The type of a schema without members.
    pub(super) kind: Vec<Piece>,
    /// The members of an object.
    pub(super) members: Vec<Member>,
}

/// A member of an object.
pub(super) struct Member {
    /// The name; of a member inside of another both names, as `page.limit`.
    pub(super) name: String,
    /// The type in words.
    pub(super) kind: Vec<Piece>,
    /// Whether the member must be there.
    pub(super) is_required: bool,
    /// What the member means.
    pub(super) about: Markup,
}

/// All named schemas, in alphabetical order.
pub(super) fn all(document: &Value) -> Vec<Schema<'_>> {
    let mut schemas: Vec<Schema> = members(&document["components"]["schemas"])
        .map(|(name, schema)| {
            let mut members = Vec::new();
            add_members(document, schema, "", &mut members);
            Schema {
                name,
                about: Markup::sentence(text(&schema["description"])),
                kind: if members.is_empty() { describe(schema) } else { Vec::new() },
                members,
            }
        })
        .collect();
    schemas.sort_unstable_by_key(|schema| schema.name);
    schemas
}

/// Adds the members of an object, and those of the unnamed objects inside.
fn add_members(document: &Value, schema: &Value, outer: &str, found: &mut Vec<Member>) {
    for (name, member) in members(&schema["properties"]) {
        let name = format!("{outer}{name}");
        let is_required = list(&schema["required"]).iter().any(|required| *required == name[outer.len()..]);
        let about = Markup::sentence(meaning(document, member));
        found.push(Member { kind: describe(member), is_required, about, name: name.clone() });
        add_members(document, member, &format!("{name}."), found);
    }
}

/// The description of a member, or that of the schema that the member names, also beside null.
fn meaning<'r>(document: &'r Value, member: &'r Value) -> &'r str {
    let named = resolve(document, if member["anyOf"].is_array() { &member["anyOf"][0] } else { member });
    text(member.get("description").unwrap_or(&named["description"]))
}
