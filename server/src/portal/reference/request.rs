//! The example request of an operation as a curl command. The key comes from a file, because every user of a machine can
//! see the arguments of a program. Must not know single operations.

use std::fmt::Write;

use axum::http::Method;
use serde_json::Value;

use super::json::{list, members, pretty, resolve, text};
use crate::http::bodies::{RequestBody, ResponseBody};
use crate::http::route::{Access, Route};

/// The command. `operation` is the route's entry in the description.
pub(super) fn command(document: &Value, route: &Route, operation: &Value) -> String {
    let mut command = "curl".to_owned();
    let mut add = |option: &str| _ = write!(command, " \\\n  {option}");
    let url = format!("\"{}{}\"", text(&document["servers"][0]["url"]), target(document, route, operation));
    add(&url);
    if !matches!(route.method, Method::GET | Method::POST) {
        add(&format!("-X {}", route.method));
    }
    match route.response_body {
        ResponseBody::Stream => add("--no-buffer"),
        ResponseBody::File => add("--output export.zip"),
        ResponseBody::FileBytes => add("--output file"),
        ResponseBody::Thumbnail => add("--output small.jpg"),
        _ => (),
    }
    if route.access != Access::Open {
        add("-H @header");
    }
    if route.takes_ticket() && route.request_body != RequestBody::Rpc {
        add(&format!("-H \"Idempotency-Key: {}-1\"", route.operation));
    }
    match body(operation) {
        _ if route.request_body == RequestBody::File => add("--data-binary @file"),
        Some((media, body)) => {
            add(&format!("-H \"Content-Type: {media}\""));
            add(&format!("-d '{}'", pretty(body).replace('\'', "'\\''")));
        }
        None if route.method == Method::POST => add("-X POST"),
        None => (),
    }
    command.replacen(" \\\n  ", " ", 1)
}

/// The first media type of the request's body, and its example.
fn body(operation: &Value) -> Option<(&str, &Value)> {
    let (media, content) = members(&operation["requestBody"]["content"]).next()?;
    Some((media, &content["example"]))
}

/// The path with its query: examples for the open segment and for required parameters.
fn target(document: &Value, route: &Route, operation: &Value) -> String {
    let (mut path, mut query) = (route.path.clone(), String::new());
    for parameter in list(&operation["parameters"]).iter().map(|parameter| resolve(document, parameter)) {
        let (name, example) = (text(&parameter["name"]), text(&parameter["example"]));
        match text(&parameter["in"]) {
            "path" => path = path.replace(&format!("{{{name}}}"), example),
            "query" if !example.is_empty() => {
                let mark = if query.is_empty() { '?' } else { '&' };
                _ = write!(query, "{mark}{name}={example}");
            }
            _ => (),
        }
    }
    path + &query
}
