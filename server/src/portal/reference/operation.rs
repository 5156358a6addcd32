//! An operation as the page shows it. Must not know single operations.

use serde_json::Value;

use super::json::{list, members, pretty, resolve, text};
use super::request::command;
use super::types::{Piece, describe};
use crate::app::limits::RateClass;
use crate::http::route::{Access, Route};
use crate::portal::markup::Markup;

/// An operation.
pub(super) struct Operation<'r> {
    /// The operation id, and the anchor.
    pub(super) id: &'r str,
    /// The name of the group.
    pub(super) tag: &'r str,
    /// The method in capitals.
    pub(super) method: &'r str,
    /// The path with `{id}` for an open segment.
    pub(super) path: &'r str,
    /// What the operation does.
    pub(super) summary: &'r str,
    /// Which key may call it.
    pub(super) access: Markup,
    /// The window of the rate limit that counts a call. None: no window.
    pub(super) window: Option<&'static str>,
    /// The parameters in path, query and headers.
    pub(super) parameters: Vec<Parameter<'r>>,
    /// The body of the request, with its media types.
    pub(super) body: Option<Body>,
    /// The answers that are no refusals.
    pub(super) answers: Vec<Answer<'r>>,
    /// The statuses of refusals.
    pub(super) refusals: Vec<&'r str>,
    /// A request as a curl command.
    pub(super) request: String,
    /// The body of the answer to this request. None: a file.
    pub(super) answer: Option<String>,
}

/// A parameter.
pub(super) struct Parameter<'r> {
    /// The name.
    pub(super) name: &'r str,
    /// `path`, `query` or `header`.
    pub(super) place: &'r str,
    /// The type in words.
    pub(super) kind: Vec<Piece>,
    /// Whether the parameter must be sent.
    pub(super) is_required: bool,
    /// What the parameter means.
    pub(super) about: Markup,
}

/// A body of a request.
pub(super) struct Body {
    /// The media types, separated by commas.
    pub(super) media: String,
    /// The type in words.
    pub(super) kind: Vec<Piece>,
}

/// An answer that is no refusal.
pub(super) struct Answer<'r> {
    /// The status.
    pub(super) status: &'r str,
    /// What the answer is.
    pub(super) about: Markup,
    /// The media types, separated by commas.
    pub(super) media: String,
    /// The type in words; empty without a body.
    pub(super) kind: Vec<Piece>,
    /// The names of the headers, separated by commas.
    pub(super) headers: String,
}

impl<'r> Operation<'r> {
    /// The operation of a route, from its entry in the description. None: the description has no such entry.
    pub(super) fn read(document: &'r Value, route: &'r Route) -> Option<Operation<'r>> {
        let operation = document["paths"][&route.path].get(route.method.as_str().to_lowercase())?;
        let (refusals, answers): (Vec<_>, Vec<_>) =
            members(&operation["responses"]).partition(|(status, _)| status.starts_with(['4', '5']));
        Some(Operation {
            id: &route.operation,
            tag: text(&operation["tags"][0]),
            method: route.method.as_str(),
            path: &route.path,
            summary: text(&operation["summary"]),
            access: access(&route.access),
            window: window(route.class),
            parameters: list(&operation["parameters"]).iter().map(|one| parameter(resolve(document, one))).collect(),
            body: body(&operation["requestBody"]),
            answers: answers.iter().map(|(status, response)| answer(status, response)).collect(),
            refusals: refusals.iter().map(|(status, _)| *status).collect(),
            request: command(document, route, operation),
            answer: answers.first().and_then(|(_, response)| example(response)),
        })
    }
}

fn access(access: &Access) -> Markup {
    match access {
        Access::Open => Markup::sentence("no key"),
        Access::Key => Markup::sentence("a key of any scope"),
        Access::Scope(scopes) => match scopes.split_once(' ') {
            Some((one, other)) => Markup::sentence(&format!("a key with the scopes `{one}` and `{other}`")),
            None => Markup::sentence(&format!("a key with the scope `{scopes}`")),
        },
    }
}

fn window(class: RateClass) -> Option<&'static str> {
    match class {
        RateClass::Free => None,
        RateClass::Read => Some("reads"),
        RateClass::Write => Some("writes"),
        RateClass::Bulk => Some("bulk"),
    }
}

fn parameter(parameter: &Value) -> Parameter<'_> {
    Parameter {
        name: text(&parameter["name"]),
        place: text(&parameter["in"]),
        kind: describe(&parameter["schema"]),
        is_required: parameter["required"] == true,
        about: Markup::sentence(text(&parameter["description"])),
    }
}

fn body(body: &Value) -> Option<Body> {
    let (_, content) = members(&body["content"]).next()?;
    Some(Body { media: media(body), kind: describe(&content["schema"]) })
}

fn answer<'r>(status: &'r str, response: &'r Value) -> Answer<'r> {
    let content = members(&response["content"]).next();
    Answer {
        status,
        about: Markup::sentence(text(&response["description"])),
        media: media(response),
        kind: content.map(|(_, content)| describe(&content["schema"])).unwrap_or_default(),
        headers: members(&response["headers"]).map(|(name, _)| name).collect::<Vec<_>>().join(", "),
    }
}

/// The media types of a body, separated by commas.
fn media(body: &Value) -> String {
    members(&body["content"]).map(|(media, _)| media).collect::<Vec<_>>().join(", ")
}

/// The example of a response: JSON, YAML, or the text of another media type.
fn example(response: &Value) -> Option<String> {
    let (media, content) = members(&response["content"]).next()?;
    let example = content.get("example")?;
    match example.as_str() {
        Some(text) if !media.ends_with("json") => Some(text.to_owned()),
        None if media.ends_with("yaml") => serde_saphyr::to_string(example).ok(),
        _ => Some(pretty(example)),
    }
}
