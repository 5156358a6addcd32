//! Tests of everything that is derived from the routes: paths, MCP tools, the OpenAPI description.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::*;
use crate::api::mcp::tools::TOOLS;
use crate::openapi;
use crate::scopes::SCOPES;

#[test]
fn mcp_tools_name_routes_with_a_scope() {
    for tool in &TOOLS {
        let route = tool.route(&ROUTES);
        assert!(matches!(route.access, Access::Scope(_)), "{}", tool.name);
        let described = tool.describe(&ROUTES);
        assert_eq!(described.input_schema["type"], "object", "{}", tool.name);
        assert_eq!(described.output_schema.expect("a schema")["type"], "object", "{}", tool.name);
    }
}

#[test]
fn mcp_list_argument_needs_list_parameter() {
    let read = |tool: &str, arguments: serde_json::Value| {
        let tool = TOOLS.iter().find(|one| one.name == tool).unwrap();
        let arguments = arguments.as_object().cloned().unwrap();
        tool.parse_input(tool.route(&ROUTES), arguments, None).map(|input| input.query)
    };
    let listed = read("svc_search", serde_json::json!({ "q": "oil", "types": ["room", "task"] })).unwrap();
    assert_eq!(listed.get("types"), Some("room,task"));
    let refused = read("svc_search", serde_json::json!({ "q": ["oil", "x"] })).unwrap_err();
    assert_eq!(refused.message, "q must be a string or a number.");
}

#[test]
fn target_names_one_path_and_its_open_segment() {
    for (target, path, name) in [
        ("/v1/tasks", Some("/v1/tasks"), None),
        ("/v1/tasks/bulk", Some("/v1/tasks/bulk"), None),
        ("/v1/tasks/a%20b", Some("/v1/tasks/{id}"), Some("a b")),
        ("/v1/tasks/%ff", Some("/v1/tasks/{id}"), None),
        ("/v1/exports/7/download", Some("/v1/exports/{id}/download"), Some("7")),
        ("/v1/tasks/", None, None),
        ("/v1/tasks/a/b", None, None),
        ("/V1/tasks", None, None),
        ("*", None, None),
    ] {
        let found = API.find(target);
        assert_eq!(found.as_ref().map(|found| found.entry.path), path, "{target}");
        assert_eq!(found.and_then(|found| found.segment).as_deref(), name, "{target}");
    }
}

#[test]
fn path_has_a_route_for_each_method() {
    let found = API.find("/v1/tasks/1").unwrap();
    let methods: Vec<_> = found.entry.routes.iter().map(|route| &route.method).collect();
    assert_eq!(methods, ["GET", "PATCH", "DELETE"]);
}

#[test]
fn routes_have_unique_names_and_known_scopes() {
    let mut names = HashSet::new();
    for route in ROUTES.iter() {
        assert!(names.insert(&route.operation), "{}", route.operation);
        assert!(!route.summary.is_empty());
        if let Access::Scope(scopes) = &route.access {
            assert!(scopes.split(' ').all(|scope| SCOPES.contains(&scope)), "{scopes}");
        }
    }
}

/// Collects every `$ref` inside a value.
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
fn openapi_references_resolve_and_parts_are_used() {
    let document = openapi::describe("http://localhost", &ROUTES);
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

/// The faults of a schema, and of all values inside, that break generators of clients.
fn generator_faults(name: &str, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    match value {
        Value::Array(items) => items.iter().for_each(|item| faults.extend(generator_faults(name, item))),
        Value::Object(members) => {
            let words = members.get("enum").and_then(Value::as_array).into_iter().flatten();
            let fixed: Vec<&Value> = words.chain(members.get("const")).collect();
            let types = members.get("type").and_then(Value::as_array).map_or(&[][..], |types| &types[..]);
            let subschemas = members.get("properties").and_then(Value::as_object).into_iter().flatten();
            for (is_fault, about) in [
                (
                    fixed.iter().any(|word| !word.is_string()),
                    "a fixed value that is no string becomes an enum of texts",
                ),
                (
                    !fixed.is_empty() && members.contains_key("format"),
                    "an enum of dates gets names that do not compile",
                ),
                (types.iter().filter(|word| **word != "null").count() > 1, "the limits of one type are put on all"),
                (subschemas.into_iter().any(|(_, schema)| schema.is_boolean()), "a boolean schema is read as a type"),
            ] {
                faults.extend(is_fault.then(|| format!("{name}: {about}: {value}")));
            }
            for (name, member) in members.iter().filter(|(name, _)| !["example", "examples"].contains(&name.as_str())) {
                faults.extend(generator_faults(name, member));
            }
        }
        _ => (),
    }
    faults
}

#[test]
fn openapi_suits_generators_of_clients() {
    let document = openapi::describe("http://localhost", &ROUTES);
    assert_eq!(generator_faults("", &document), Vec::<String>::new());
    let version = document["info"]["version"].as_str().unwrap();
    let parts: Vec<u16> = version.split('.').map(|part| part.parse().unwrap()).collect();
    assert_eq!((parts.len(), format!("{}.{}.{}", parts[0], parts[1], parts[2])), (3, version.to_owned()));
}

#[test]
fn openapi_json_equals_yaml() {
    let document = openapi::document("http://localhost", &ROUTES);
    let json: Value = serde_json::from_slice(&document.json).unwrap();
    let yaml: Value = serde_saphyr::from_str(std::str::from_utf8(&document.yaml).unwrap()).unwrap();
    assert_eq!(json, yaml);
}
