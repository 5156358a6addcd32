//! All named schemas: those of records from the resource table, the others from the contract's envelopes. Must not know
//! how a schema is referenced by an operation.

use std::collections::HashSet;

use hearth_contract::resources::RESOURCES;
use serde_json::{Map, Value, json};

use super::{captures, envelopes, files, imports, operations, parts, records, rpc, services};
use crate::http::parameters::{Parameter, ParameterType};
use crate::http::route::Route;

/// All schemas by name, without those that no route uses.
pub(super) fn all(routes: &[Route]) -> Map<String, Value> {
    let mut schemas = Map::new();
    for resource in &RESOURCES {
        records::describe(resource, &mut schemas);
    }
    for (name, words) in choices(routes) {
        schemas.insert(name, json!({ "type": "string", "enum": words }));
    }
    schemas.extend(
        envelopes::all()
            .chain(services::all())
            .chain(rpc::all())
            .chain(files::all())
            .chain(imports::all())
            .chain(captures::all())
            .map(|(name, schema)| (name.to_owned(), schema)),
    );
    prune(&mut schemas, routes);
    schemas
}

/// The named word lists of query parameters.
fn choices(routes: &[Route]) -> impl Iterator<Item = (String, &'static [&'static str])> {
    routes.iter().flat_map(|route| route.parameters).filter_map(|parameter: &Parameter| match parameter.value_type {
        ParameterType::Choice { schema, words } | ParameterType::Word { schema, words } => {
            Some((schema.to_owned(), words))
        }
        _ => None,
    })
}

/// Removes the schemas that no operation references.
fn prune(schemas: &mut Map<String, Value>, routes: &[Route]) {
    let mut open = vec![operations::paths(routes), parts::parameters(), parts::headers(), parts::responses()];
    let mut known = HashSet::new();
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.into_iter().map(|(_, value)| value)),
            Value::String(text) => {
                if let Some(name) = text.strip_prefix("#/components/schemas/")
                    && known.insert(name.to_owned())
                {
                    open.extend(schemas.get(name).cloned());
                }
            }
            _ => (),
        }
    }
    schemas.retain(|name, _| known.contains(name));
}
