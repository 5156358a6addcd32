//! The API's description, OpenAPI 3.1 (contract 14): written once out of the routes and the resource table, so
//! that it cannot say anything else than the service does.
//!
//! - [`schemas`]: every named schema: [`records`] out of the resource table, [`envelopes`], [`services`], [`rpc`].
//! - [`operations`]: every path, with its parameters, bodies and [`answers`].
//! - [`parts`]: shared parameters, headers and error answers.
//! - [`examples`]: one believable record of each kind.

mod answers;
mod envelopes;
mod examples;
mod operations;
mod parts;
mod records;
mod rpc;
pub(crate) mod schemas;
mod services;

use bytes::Bytes;
use hearth_contract::headers::CURRENT_VERSION;
use serde_json::{Value, json};

/// How firm the interface is (contract 14).
pub const STABILITY: &str = "public_preview";

/// The description in both its forms.
pub struct Document {
    /// As JSON.
    pub json: Bytes,
    /// As YAML.
    pub yaml: Bytes,
}

impl Document {
    /// The description of a service that is reached at an address.
    pub fn new(base_url: &str) -> Document {
        let value = describe(base_url);
        let yaml = serde_saphyr::to_string(&value).expect("a JSON value is a YAML value");
        Document { json: value.to_string().into(), yaml: yaml.into() }
    }
}

/// The description as a value.
pub fn describe(base_url: &str) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Hearth",
            "version": CURRENT_VERSION,
            "summary": "What a household knows about its home.",
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
            "x-stability": STABILITY,
        },
        "servers": [{ "url": base_url, "description": "This service" }],
        "security": [{ "apiKey": [] }],
        "tags": operations::TAGS.map(|(name, about)| json!({ "name": name, "description": about })),
        "paths": operations::paths(),
        "components": {
            "securitySchemes": { "apiKey": {
                "type": "http",
                "scheme": "bearer",
                "description": "An API key, `svc_live_…` for the live home or `svc_test_…` for the sandbox.",
            } },
            "schemas": schemas::all(),
            "parameters": parts::parameters(),
            "headers": parts::headers(),
            "responses": parts::responses(),
        },
    })
}

const ABOUT: &str = "Inventory, vehicles, documents, tasks, rooms and the home's profile, with a change feed that can be \
    polled or streamed. Answers are `{ data, meta }`, refusals `{ error, meta }`. Parameters are strict: an unknown, repeated \
    or empty one is refused. Send an `Idempotency-Key` with every write, and a retry happens once.";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every `$ref` under a value.
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Object(members) => {
                for (name, value) in members {
                    match value {
                        Value::String(target) if name == "$ref" => drop(found.insert(target.clone())),
                        _ => references(value, found),
                    }
                }
            }
            _ => (),
        }
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_part_is_used() {
        let document = describe("http://localhost");
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        for target in &found {
            let pointer = target.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{target}");
        }
        for part in ["schemas", "parameters", "headers", "responses"] {
            for name in document["components"][part].as_object().unwrap().keys() {
                assert!(found.contains(&format!("#/components/{part}/{name}")), "{part} {name} is not used");
            }
        }
    }

    #[test]
    fn both_forms_say_the_same() {
        let document = Document::new("http://localhost");
        let json: Value = serde_json::from_slice(&document.json).unwrap();
        let yaml: Value = serde_saphyr::from_str(std::str::from_utf8(&document.yaml).unwrap()).unwrap();
        assert_eq!(json, yaml);
    }
}
