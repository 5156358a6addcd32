//! The OpenAPI 3.1 description (contract 14), generated from the routes and the resource table, so the description
//! always matches the service. Must not know the table of routes: callers pass the routes.
//!
//! - `schemas`: all named schemas: `records` from the resource table, `envelopes`, `services`, `rpc`.
//!   `schema` builds them.
//! - `operations`: all paths, with parameters, request bodies and `responses`.
//! - `parts`: shared parameters, headers and error responses.
//! - `examples`: an example record of each kind. `answers`: the example answer of each operation.

mod answers;
mod captures;
mod envelopes;
mod examples;
mod files;
mod imports;
mod operations;
mod parts;
mod records;
mod responses;
mod rpc;
mod schema;
mod schemas;
mod services;

use bytes::Bytes;
use hearth_contract::headers::CURRENT_VERSION;
use serde_json::{Value, json};

use crate::http::route::Route;
use crate::versions::STABILITY;

/// The description as texts.
pub struct Document {
    /// The description as JSON.
    pub json: Bytes,
    /// The description as YAML.
    pub yaml: Bytes,
}

/// The description as JSON and YAML. `base_url` is the public URL of the service.
pub fn document(base_url: &str, routes: &[Route]) -> Document {
    let value = describe(base_url, routes);
    let yaml = serde_saphyr::to_string(&value).expect("a JSON value is a YAML value");
    Document { json: value.to_string().into(), yaml: yaml.into() }
}

/// The description as a JSON value.
pub fn describe(base_url: &str, routes: &[Route]) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Hearth",
            "version": semantic_version(),
            "summary": "What a household knows about its home.",
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
            "x-stability": STABILITY,
        },
        "servers": [{ "url": base_url, "description": "This service" }],
        "security": [{ "apiKey": [] }],
        "tags": operations::TAGS.map(|(name, about)| json!({ "name": name, "description": about })),
        "paths": operations::paths(routes),
        "components": {
            "securitySchemes": { "apiKey": {
                "type": "http",
                "scheme": "bearer",
                "description": "An API key, `svc_live_…` for the live home or `svc_test_…` for the sandbox.",
            } },
            "schemas": schemas::all(routes),
            "parameters": parts::parameters(),
            "headers": parts::headers(),
            "responses": parts::responses(),
        },
    })
}

/// The groups of operations, in the order of the description.
pub fn tags() -> impl Iterator<Item = &'static str> {
    operations::TAGS.iter().map(|(name, _)| *name)
}

/// The current version as a semantic version: `2026.6.1`. Generators make it the version of a package, and package
/// managers such as cargo refuse a date.
fn semantic_version() -> String {
    CURRENT_VERSION.split('-').map(|part| part.trim_start_matches('0')).collect::<Vec<_>>().join(".")
}

const ABOUT: &str = "Inventory, vehicles, documents, tasks, rooms and the home's profile, with a change feed that can be \
    polled or streamed. Responses are `{ data, meta }`, errors `{ error, meta }`. Parameters are strict: an unknown, repeated \
    or empty one is refused. Send an `Idempotency-Key` with every write, and a retry happens once.";
