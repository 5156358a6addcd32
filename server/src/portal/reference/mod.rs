//! The API reference, made from the OpenAPI description and the table of routes: a page of contents, one page for each group
//! of operations, one for schemas of several groups, and one for refusals and headers. Must not know single operations.
//!
//! - [`operation`]: an operation with its parameters, request and answers. [`request`]: its curl command.
//! - [`schema`]: the named schemas. [`places`]: the page of each schema. [`types`]: the type of a value in words. [`json`]:
//!   parts of the description.
//!
//! Anchors: `#<operation id>`, `#<operation id>-request`, `#<operation id>-answer`, `#tag-<name>`, `#schema-<name>`,
//! `#status-<number>`. The page of contents has all of them, so that an address without a section leads on.

mod json;
mod operation;
mod places;
mod request;
mod schema;
mod types;

use askama::Template;
use hearth_contract::paths;
use serde_json::Value;

use self::json::{members, pretty, text};
use self::operation::Operation;
use self::places::{Places, SCHEMAS, path_of, section_of};
use self::schema::Schema;
use super::markup::{Markup, html};
use crate::http::route::Route;
use crate::openapi;

/// The section of refusals and headers.
const REFUSALS: &str = "refusals";

/// The names of all sections: the last segment of the path of each page.
pub(super) fn sections() -> Vec<String> {
    openapi::tags().map(section_of).chain([SCHEMAS, REFUSALS].map(str::to_owned)).collect()
}

/// The page of contents.
pub(super) fn index_page(document: &Value, routes: &[Route]) -> String {
    let places = Places::read(document, routes);
    html(&Index {
        here: paths::REFERENCE,
        title: "Reference",
        server: text(&document["servers"][0]["url"]),
        about: Markup::sentence(text(&document["info"]["description"])),
        groups: groups(document, routes),
        schemas: schema::all(document)
            .iter()
            .map(|schema| (schema.name, places.path(schema.name).to_owned()))
            .collect(),
        statuses: statuses(document),
        refusals: path_of(REFUSALS),
        shared: path_of(SCHEMAS),
    })
}

/// The page of a section.
pub(super) fn section_page(section: &str, document: &Value, routes: &[Route]) -> String {
    let (places, here) = (Places::read(document, routes), path_of(section));
    let group = groups(document, routes).into_iter().find(|group| group.path == here);
    let (title, about) = match (section, &group) {
        (_, Some(group)) => (group.name, group.about),
        (REFUSALS, None) => ("Refusals and headers", "What every operation may answer"),
        (_, None) => ("Schemas", "Values that several groups of operations use"),
    };
    let is_refusals = section == REFUSALS;
    html(&Section {
        here: &here,
        title,
        anchor: group.as_ref().map(|group| group.anchor.clone()),
        about,
        schemas: schema::all(document).into_iter().filter(|schema| places.path(schema.name) == here).collect(),
        operations: group.map(|group| group.operations).unwrap_or_default(),
        statuses: if is_refusals { statuses(document) } else { Vec::new() },
        headers: if is_refusals { headers(document) } else { Vec::new() },
        sections: openapi::tags()
            .chain(["Schemas", "Refusals"])
            .map(|name| (name, path_of(&section_of(name))))
            .collect(),
        refusals: path_of(REFUSALS),
        places,
    })
}

#[derive(Template)]
#[template(path = "docs/reference.html")]
struct Index<'r> {
    here: &'r str,
    title: &'r str,
    server: &'r str,
    about: Markup,
    groups: Vec<Group<'r>>,
    /// Each schema with the path of its page.
    schemas: Vec<(&'r str, String)>,
    statuses: Vec<Status<'r>>,
    /// The path of the refusals.
    refusals: String,
    /// The path of the schemas that several groups use.
    shared: String,
}

#[derive(Template)]
#[template(path = "docs/reference_section.html")]
struct Section<'r> {
    here: &'r str,
    title: &'r str,
    /// The anchor of a group. None: the page shows no group.
    anchor: Option<String>,
    about: &'r str,
    operations: Vec<Operation<'r>>,
    schemas: Vec<Schema<'r>>,
    statuses: Vec<Status<'r>>,
    headers: Vec<(&'r str, Markup)>,
    /// The names of all sections, with their paths.
    sections: Vec<(&'r str, String)>,
    /// The path of the refusals.
    refusals: String,
    places: Places<'r>,
}

/// The operations of a tag.
struct Group<'r> {
    name: &'r str,
    anchor: String,
    path: String,
    about: &'r str,
    operations: Vec<Operation<'r>>,
}

/// The refusals of a status.
struct Status<'r> {
    number: &'r str,
    types: Vec<(&'r str, Markup)>,
    /// The body of the first type.
    example: String,
}

fn groups<'r>(document: &'r Value, routes: &'r [Route]) -> Vec<Group<'r>> {
    let mut operations: Vec<Operation> = routes.iter().filter_map(|route| Operation::read(document, route)).collect();
    let group = |tag: &'r Value| {
        let name = text(&tag["name"]);
        Group {
            name,
            anchor: format!("tag-{}", name.to_lowercase()),
            path: path_of(&section_of(name)),
            about: text(&tag["description"]),
            operations: operations.extract_if(.., |operation| operation.tag == name).collect(),
        }
    };
    json::list(&document["tags"]).iter().map(group).collect()
}

fn statuses(document: &Value) -> Vec<Status<'_>> {
    members(&document["components"]["responses"])
        .map(|(name, response)| {
            let examples = &response["content"]["application/json"]["examples"];
            let about =
                |(kind, example): (_, &Value)| (kind, Markup::sentence(text(&example["value"]["error"]["message"])));
            Status {
                number: name.trim_start_matches("Error"),
                types: members(examples).map(about).collect(),
                example: members(examples).next().map(|(_, example)| pretty(&example["value"])).unwrap_or_default(),
            }
        })
        .collect()
}

fn headers(document: &Value) -> Vec<(&str, Markup)> {
    let described = members(&document["components"]["headers"]);
    described.map(|(name, header)| (name, Markup::sentence(text(&header["description"])))).collect()
}
