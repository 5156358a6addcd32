//! The table of tools (sixteen): each is a route under another name. Scope, window, kind and parameters are
//! the route's and are not said again. Must not know the protocol's messages beyond a tool's description.

use std::sync::Arc;

use axum::http::Method;
use hearth_contract::headers::{IDEMPOTENCY_KEY_MAX, idempotency_key};
use hearth_contract::paths;
use hearth_contract::problem::{Problem, nearest};
use rmcp::model::{JsonObject, ToolAnnotations};
use serde_json::Value;

use super::schemas;
use crate::app::limits::RateClass;
use crate::home::receipts::Ticket;
use crate::http::bodies::RequestBody;
use crate::http::parameters::ParameterType;
use crate::http::query::Query;
use crate::http::route::Route;

/// One tool.
pub(crate) struct Tool {
    /// Its name.
    pub(crate) name: &'static str,
    /// The route it calls.
    operation: &'static str,
    /// Its name for people.
    title: &'static str,
    /// What it does, for a model that chooses among tools.
    about: &'static str,
}

const fn tool(name: &'static str, operation: &'static str, title: &'static str, about: &'static str) -> Tool {
    Tool { name, operation, title, about }
}

/// All tools, in the order in which they are listed (contract 15).
#[rustfmt::skip]
pub(crate) const TOOLS: [Tool; 16] = [
    tool("svc_search", "search", "Search", "Find records of all kinds by the beginnings of their words. Best match first; use it to find ids."),
    tool("svc_list_inventory", "list_inventory", "List inventory", "List the things the household owns, newest first."),
    tool("svc_get_inventory_item", "get_inventory", "Get an inventory item", "Read one thing the household owns."),
    tool("svc_create_inventory", "create_inventory", "Create an inventory item", "Add a thing the household owns."),
    tool("svc_list_vehicles", "list_vehicles", "List vehicles", "List the household's vehicles, newest first."),
    tool("svc_get_vehicle", "get_vehicle", "Get a vehicle", "Read one vehicle."),
    tool("svc_create_vehicle", "create_vehicle", "Create a vehicle", "Add a vehicle."),
    tool("svc_list_tasks", "list_tasks", "List tasks", "List what is to be done, newest first."),
    tool("svc_create_task", "create_task", "Create a task", "Add something to do."),
    tool("svc_update_task", "update_task", "Update a task", "Change fields of a task; what is not sent stays. Finishing a task that recurs makes the next one."),
    tool("svc_list_documents", "list_documents", "List documents", "List the household's documents, newest first."),
    tool("svc_get_document", "get_document", "Get a document", "Read what is known of one document."),
    tool("svc_create_document", "create_document", "Create a document", "Add a document, about the home, an item or a vehicle."),
    tool("svc_list_rooms", "list_rooms", "List rooms", "List the rooms of the home, newest first."),
    tool("svc_get_property", "get_property", "Get the home's profile", "Read the home's profile; data is null until something is set."),
    tool("svc_update_property", "update_property", "Update the home's profile", "Set fields of the home's profile; what is not sent stays."),
];

/// The tool that was meant by a name that none has, if any was: what all names begin with makes none like another.
pub(crate) fn nearest_tool(name: &str) -> Option<&'static str> {
    let bare = |name| str::strip_prefix(name, PREFIX).unwrap_or(name);
    let near = nearest(bare(name), TOOLS.iter().map(|tool| bare(tool.name)))?;
    TOOLS.iter().map(|tool| tool.name).find(|name| bare(name) == near)
}

/// What every tool's name begins with.
const PREFIX: &str = "svc_";

/// What a tool was called with, as its route's handler takes it.
pub(crate) struct ToolInput {
    /// The record's id.
    pub(crate) id: Option<String>,
    /// Parameters.
    pub(crate) query: Query,
    /// The body; null when the route takes none.
    pub(crate) body: Value,
    /// The idempotency key with the call's digest.
    pub(crate) ticket: Option<Ticket>,
}

impl Tool {
    /// The route it calls.
    ///
    /// # Panics
    /// When the table names a route that does not exist; a test holds that it does not.
    pub(crate) fn route(&self, routes: &'static [Route]) -> &'static Route {
        let found = routes.iter().find(|route| route.operation == self.operation);
        found.expect("every tool names an operation")
    }

    /// The tool as the protocol shows it. Reads change nothing, patches come to the same when repeated but overwrite,
    /// creates add.
    pub(crate) fn describe(&self, routes: &'static [Route]) -> rmcp::model::Tool {
        let route = self.route(routes);
        let reads = route.class == RateClass::Read;
        let patches = route.method == Method::PATCH;
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(reads)
            .idempotent(reads || patches)
            .destructive(patches)
            .open_world(false);
        rmcp::model::Tool::new(self.name, self.about, Arc::new(schemas::input(route, routes)))
            .with_title(self.title)
            .with_raw_output_schema(Arc::new(schemas::output(route, routes)))
            .with_annotations(annotations)
    }

    /// Reads arguments as strictly as a request: every one known, each of its type. `named` is the key in the header of
    /// the message.
    pub(crate) fn read(
        &self,
        route: &Route,
        mut arguments: JsonObject,
        named: Option<&str>,
    ) -> Result<ToolInput, Problem> {
        let key = if takes_idempotency_key(route) { arguments.shift_remove(IDEMPOTENCY_ARGUMENT) } else { None };
        let key = merge_keys(key.filter(|key| !key.is_null()), named)?;
        let whole = arguments.clone();
        let id = if route.path.ends_with("{id}") { Some(record_id(&mut arguments)?) } else { None };
        if route.request_body == RequestBody::None {
            return Ok(ToolInput { id, query: query(arguments, route)?, body: Value::Null, ticket: None });
        }
        let ticket = key.map(|key| self.ticket(&key, whole));
        Ok(ToolInput { id, query: Query::default(), body: Value::Object(arguments), ticket })
    }

    /// REST and MCP share one space of keys (contract 6.4). The order of arguments means nothing.
    fn ticket(&self, key: &str, arguments: JsonObject) -> Ticket {
        let mut body = Value::Object(arguments);
        body.sort_all_objects();
        let target = format!("{}/{}", paths::MCP, self.name);
        Ticket::new(key, Method::POST.as_str(), &target, body.to_string().as_bytes(), b"")
    }
}

/// The key of a call, said by its argument, by the header of its message, or by both alike.
fn merge_keys(argument: Option<Value>, named: Option<&str>) -> Result<Option<String>, Problem> {
    let Some(argument) = argument else { return Ok(named.map(str::to_owned)) };
    let Some(key) = argument.as_str().and_then(idempotency_key) else {
        let message =
            format!("{IDEMPOTENCY_ARGUMENT} must be a string of 1 to {IDEMPOTENCY_KEY_MAX} visible ASCII characters.");
        return Err(Problem::parameter(IDEMPOTENCY_ARGUMENT, &argument_text(&argument), None, message));
    };
    if named.is_some_and(|named| named != key) {
        let message = format!("{IDEMPOTENCY_ARGUMENT} and the header Idempotency-Key name different keys.");
        return Err(Problem::parameter(IDEMPOTENCY_ARGUMENT, key, None, message)
            .fixed_by("Send one of them, or the same key in both."));
    }
    Ok(Some(key.to_owned()))
}

/// The argument that makes a create repeatable.
pub(crate) const IDEMPOTENCY_ARGUMENT: &str = "idempotency_key";

/// Whether a tool takes an idempotency key: those that create.
pub(crate) fn takes_idempotency_key(route: &Route) -> bool {
    route.request_body == RequestBody::Create
}

fn record_id(arguments: &mut JsonObject) -> Result<String, Problem> {
    match arguments.shift_remove("id") {
        Some(Value::String(id)) => Ok(id),
        None | Some(Value::Null) => Err(Problem::parameter("id", "", None, "The argument id is missing.")),
        Some(other) => Err(Problem::parameter("id", &argument_text(&other), None, "id must be a string.")),
    }
}

/// Arguments as parameters of the route: numbers as they are written, lists joined by commas. Null is as absent.
fn query(arguments: JsonObject, route: &Route) -> Result<Query, Problem> {
    let sent = arguments.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
        let known = route.parameters.iter().find(|known| known.name == name);
        let is_list = known.is_some_and(|it| {
            matches!(it.value_type, ParameterType::Kinds(_) | ParameterType::Fields | ParameterType::Relations)
        });
        let value = match &value {
            Value::Array(items) if is_list => items.iter().map(argument_text).collect::<Vec<String>>().join(","),
            // What the route does not know is said to be unknown, whatever its value.
            Value::Object(_) | Value::Bool(_) | Value::Array(_) if known.is_some() => {
                let message = format!("{name} must be a string or a number.");
                return Err(Problem::parameter(&name, &argument_text(&value), None, message));
            }
            one => argument_text(one),
        };
        Ok((name, value))
    });
    Query::from_pairs(sent.collect::<Result<Vec<_>, Problem>>()?, route.parameters)
}

/// A value as it would be written in a query. `3.0` is an integer, as in JSON Schema.
fn argument_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(whole) if whole.fract() == 0.0 && whole.abs() <= WHOLE_MAX => (whole as i64).to_string(),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Up to here a fraction's every whole number is itself: 2^53.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
