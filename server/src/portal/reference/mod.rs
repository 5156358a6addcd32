//! The API reference: every operation and every schema on one page, made from the OpenAPI description and the table of
//! routes. Must not know single operations.
//!
//! - [`operation`]: an operation with its parameters, request and answers. [`request`]: its curl command.
//! - [`schema`]: the named schemas. [`types`]: the type of a value in words. [`json`]: parts of the description.
//!
//! Anchors: `#<operation id>`, `#<operation id>-request`, `#<operation id>-answer`, `#tag-<name>`, `#schema-<name>`,
//! `#status-<number>`.

mod json;
mod operation;
mod request;
mod schema;
mod types;

use askama::Template;
use serde_json::Value;

use self::json::{members, pretty, text};
use self::operation::Operation;
use self::schema::Schema;
use super::markup::{Markup, html};
use crate::http::route::Route;

/// The page.
pub(super) fn page(document: &Value, routes: &[Route]) -> String {
    html(&Reference {
        here: hearth_contract::paths::REFERENCE,
        title: "Reference",
        server: text(&document["servers"][0]["url"]),
        about: Markup::sentence(text(&document["info"]["description"])),
        groups: groups(document, routes),
        schemas: schema::all(document),
        statuses: statuses(document),
        headers: headers(document),
    })
}

#[derive(Template)]
#[template(path = "docs/reference.html")]
struct Reference<'r> {
    here: &'r str,
    title: &'r str,
    server: &'r str,
    about: Markup,
    groups: Vec<Group<'r>>,
    schemas: Vec<Schema<'r>>,
    statuses: Vec<Status<'r>>,
    headers: Vec<(&'r str, Markup)>,
}

/// The operations of a tag.
struct Group<'r> {
    name: &'r str,
    anchor: String,
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
