//! The table of MCP tools. A tool is a route with another name; scope, rate limit, kind and parameters come from the
//! route. Must not know the messages of the protocol beyond the description of a tool.

use std::sync::Arc;

use axum::http::Method;
use hearth_contract::problem::{Problem, nearest};
use rmcp::model::{JsonObject, ToolAnnotations};
use serde_json::{Value, json};

use super::arguments::{self, ToolInput};
use super::schemas;
use crate::app::limits::RateClass;
use crate::http::route::Route;
use crate::store::captures::Purpose;

/// An MCP tool.
pub(crate) struct Tool {
    /// The name, with the prefix `svc_`.
    pub(crate) name: &'static str,
    /// The operation id of the route.
    operation: &'static str,
    /// The operation id of the route for the purpose `extract`. None: the tool has no argument `purpose`.
    extract: Option<&'static str>,
    /// The title, for people.
    title: &'static str,
    /// The description, for the language model that selects a tool.
    about: &'static str,
}

const fn tool(name: &'static str, operation: &'static str, title: &'static str, about: &'static str) -> Tool {
    Tool { name, operation, extract: None, title, about }
}

/// A tool for jobs with drafts, of photos or of papers.
const fn drafts(
    name: &'static str,
    [operation, extract]: [&'static str; 2],
    title: &'static str,
    about: &'static str,
) -> Tool {
    Tool { name, operation, extract: Some(extract), title, about }
}

/// All tools in listing order (contract 15).
#[rustfmt::skip]
pub(crate) const TOOLS: [Tool; 19] = [
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
    drafts("svc_list_captures", ["list_smart_add", "list_extract"], "List captures", "List photos or papers of which records are to be made, with their drafts, newest first."),
    drafts(GET_CAPTURE, ["get_smart_add", "get_extract"], "Get a capture", "See the pictures of one capture, what was read in them, and the drafts."),
    drafts("svc_suggest_draft", ["suggest_smart_add", "suggest_extract"], "Suggest a draft", "Propose fields of a record. A person decides; no record is written."),
];

/// The tool whose result has pictures.
pub(super) const GET_CAPTURE: &str = "svc_get_capture";
/// The argument that chooses the sort of jobs.
const PURPOSE: &str = "purpose";

/// The tool name that resembles an unknown name most, if any. The common prefix does not count as a resemblance.
pub(crate) fn nearest_tool(name: &str) -> Option<&'static str> {
    let bare = |name| str::strip_prefix(name, PREFIX).unwrap_or(name);
    let near = nearest(bare(name), TOOLS.iter().map(|tool| bare(tool.name)))?;
    TOOLS.iter().map(|tool| tool.name).find(|name| bare(name) == near)
}

/// The prefix of all tool names.
const PREFIX: &str = "svc_";

/// The words of [`PURPOSE`].
const PURPOSES: [&str; 2] = [Purpose::SmartAdd.as_str(), Purpose::Extract.as_str()];

/// The route with an operation id.
///
/// # Panics
/// If the table names an unknown operation, which a test excludes.
fn operation(routes: &'static [Route], name: &str) -> &'static Route {
    let found = routes.iter().find(|route| route.operation == name);
    found.expect("every tool names an operation")
}

impl Tool {
    /// The route of the tool; the first one of a tool with the argument `purpose`.
    pub(crate) fn route(&self, routes: &'static [Route]) -> &'static Route {
        operation(routes, self.operation)
    }

    /// All routes of the tool. A key that may use one of them sees the tool.
    pub(crate) fn routes(&self, routes: &'static [Route]) -> impl Iterator<Item = &'static Route> {
        [Some(self.operation), self.extract].into_iter().flatten().map(move |name| operation(routes, name))
    }

    /// The route that the arguments choose. Takes the argument `purpose` away.
    pub(crate) fn chosen(
        &self,
        routes: &'static [Route],
        arguments: &mut JsonObject,
    ) -> Result<&'static Route, Problem> {
        let Some(extract) = self.extract else { return Ok(self.route(routes)) };
        match arguments.shift_remove(PURPOSE) {
            None | Some(Value::Null) => Ok(self.route(routes)),
            Some(Value::String(word)) if word == Purpose::SmartAdd.as_str() => Ok(self.route(routes)),
            Some(Value::String(word)) if word == Purpose::Extract.as_str() => Ok(operation(routes, extract)),
            Some(other) => {
                let message = format!("{PURPOSE} must be one of {}.", PURPOSES.join(", "));
                Err(Problem::parameter(PURPOSE, &arguments::argument_text(&other), None, message))
            }
        }
    }

    /// The tool as MCP describes it. Reads change nothing; patches are idempotent but overwrite; creates add.
    pub(crate) fn describe(&self, routes: &'static [Route]) -> rmcp::model::Tool {
        let route = self.route(routes);
        let reads = route.class == RateClass::Read;
        let patches = route.method == Method::PATCH;
        let replaces = patches || route.method == Method::PUT;
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(reads)
            .idempotent(reads || replaces)
            .destructive(patches)
            .open_world(false);
        let mut input = schemas::input(route);
        if self.extract.is_some() {
            let about = "Photos of things, or papers";
            let purpose = json!({ "type": "string", "enum": PURPOSES, "default": PURPOSES[0], "description": about });
            input["properties"][PURPOSE] = purpose;
        }
        rmcp::model::Tool::new(self.name, self.about, Arc::new(input))
            .with_title(self.title)
            .with_raw_output_schema(Arc::new(schemas::output(route)))
            .with_annotations(annotations)
    }

    /// Parses arguments as strictly as a request. `key` is the idempotency key in the HTTP header.
    pub(crate) fn parse_input(
        &self,
        route: &Route,
        arguments: JsonObject,
        key: Option<&str>,
    ) -> Result<ToolInput, Problem> {
        arguments::parse_input(self.name, route, arguments, key)
    }
}
