//! Turns the arguments of a tool into the input of its route, as strictly as a request: all known, each of its type. Must
//! not know single tools.

use axum::http::Method;
use hearth_contract::headers::{IDEMPOTENCY_KEY_MAX, idempotency_key};
use hearth_contract::paths;
use hearth_contract::problem::Problem;
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::home::receipts::Ticket;
use crate::http::bodies::RequestBody;
use crate::http::query::Query;
use crate::http::route::Route;

/// The input of a tool call, in the form that the handler of the route expects.
pub(crate) struct ToolInput {
    /// The id of the record.
    pub(crate) id: Option<String>,
    /// The name in the path behind the id.
    pub(crate) name: Option<String>,
    /// The query parameters.
    pub(crate) query: Query,
    /// The body; null when the route has none.
    pub(crate) body: Value,
    /// The idempotency key with a digest of the call.
    pub(crate) ticket: Option<Ticket>,
}

/// Parses the arguments of a tool. `header_key` is the idempotency key in the HTTP header.
pub(super) fn parse_input(
    tool: &str,
    route: &Route,
    mut arguments: JsonObject,
    header_key: Option<&str>,
) -> Result<ToolInput, Problem> {
    let key = if takes_idempotency_key(route) { arguments.shift_remove(IDEMPOTENCY_ARGUMENT) } else { None };
    let key = merge_keys(key.filter(|key| !key.is_null()), header_key)?;
    let whole = arguments.clone();
    let id = if route.has_id() { Some(path_argument("id", &mut arguments)?) } else { None };
    let name = if route.has_name() { Some(path_argument("name", &mut arguments)?) } else { None };
    if route.request_body == RequestBody::None {
        return Ok(ToolInput { id, name, query: query(arguments, route)?, body: Value::Null, ticket: None });
    }
    let ticket = key.map(|key| ticket(tool, &key, whole));
    if route.request_body == RequestBody::Suggestion
        && let Some(record) = arguments.shift_remove(RECORD_ARGUMENT)
    {
        arguments.insert("id".to_owned(), record);
    }
    Ok(ToolInput { id, name, query: Query::default(), body: Value::Object(arguments), ticket })
}

/// REST and MCP share one space of idempotency keys (contract 6.4).
fn ticket(tool: &str, key: &str, arguments: JsonObject) -> Ticket {
    let target = format!("{}/{tool}", paths::MCP);
    Ticket::new(key, Method::POST.as_str(), &target, &Value::Object(arguments), "")
}

/// The idempotency key from the argument or the HTTP header. Error: the two differ.
fn merge_keys(argument: Option<Value>, header: Option<&str>) -> Result<Option<String>, Problem> {
    let Some(argument) = argument else { return Ok(header.map(str::to_owned)) };
    let Some(key) = argument.as_str().and_then(idempotency_key) else {
        let message =
            format!("{IDEMPOTENCY_ARGUMENT} must be a string of 1 to {IDEMPOTENCY_KEY_MAX} visible ASCII characters.");
        return Err(Problem::parameter(IDEMPOTENCY_ARGUMENT, &argument_text(&argument), None, message));
    };
    if header.is_some_and(|header| header != key) {
        let message = format!("{IDEMPOTENCY_ARGUMENT} and the header Idempotency-Key name different keys.");
        return Err(Problem::parameter(IDEMPOTENCY_ARGUMENT, key, None, message)
            .with_fix("Send one of them, or the same key in both."));
    }
    Ok(Some(key.to_owned()))
}

/// The argument with the record that a draft changes: `id` names the job.
pub(super) const RECORD_ARGUMENT: &str = "record_id";
/// The argument with the idempotency key.
pub(super) const IDEMPOTENCY_ARGUMENT: &str = "idempotency_key";

/// Whether a tool accepts an idempotency key: only creates do.
pub(super) fn takes_idempotency_key(route: &Route) -> bool {
    route.request_body == RequestBody::Create
}

/// An argument that stands in the path of the route.
fn path_argument(name: &str, arguments: &mut JsonObject) -> Result<String, Problem> {
    match arguments.shift_remove(name) {
        Some(Value::String(text)) => Ok(text),
        None | Some(Value::Null) => Err(Problem::parameter(name, "", None, format!("The argument {name} is missing."))),
        Some(other) => Err(Problem::parameter(name, &argument_text(&other), None, format!("{name} must be a string."))),
    }
}

/// The arguments as query parameters: numbers as text, lists joined by commas. Null counts as absent.
fn query(arguments: JsonObject, route: &Route) -> Result<Query, Problem> {
    let sent = arguments.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
        let known = route.parameters.iter().find(|known| known.name == name);
        let is_list = known.is_some_and(|it| it.value_type.is_list());
        let value = match &value {
            Value::Array(items) if is_list => items.iter().map(argument_text).collect::<Vec<String>>().join(","),
            // An unknown argument is reported as unknown, whatever its type.
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

/// The text of a value in a query string. `3.0` is an integer in JSON Schema.
pub(super) fn argument_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(whole) if whole.fract() == 0.0 && whole.abs() <= WHOLE_MAX => (whole as i64).to_string(),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// 2^53: up to this number, a double represents every integer exactly.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
