//! Answers the methods of MCP: lists the tools, and turns each tool call into a call of the route behind the tool. Must not
//! know HTTP, nor the effect of a tool.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use hearth_contract::headers::IDEMPOTENCY_REPLAYED;
use hearth_contract::problem::{Problem, ProblemType, QUOTED_NAME_MAX, shorten};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, ErrorCode, Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::pictures;
use super::tools::{GET_CAPTURE, TOOLS, Tool, nearest_tool};
use crate::app::App;
use crate::app::keyring::Principal;
use crate::app::limits::{RateClass, RateWindow};
use crate::app::usage::Counted;
use crate::http::call::Call;
use crate::http::reply::{Payload, Refusal, Reply, ResponseContext};
use crate::http::route::{Handler, Route};
use crate::store::StoreError;

/// Facts of a tool call, for the headers of the HTTP response.
#[derive(Clone, Copy, Default)]
pub(super) struct CallFacts {
    /// The rate-limit window that counted the call. None: no limit applies, or no tool was called.
    pub(super) rate_window: Option<RateWindow>,
    /// Whether the reply is stored from an earlier call.
    pub(super) is_replayed: bool,
}

/// Answers one message of a client.
#[derive(Clone)]
pub(super) struct McpHandler {
    routes: &'static [Route],
    app: Arc<App>,
    principal: Arc<Principal>,
    context: ResponseContext,
    /// The idempotency key in the HTTP header.
    key: Option<Arc<str>>,
    facts: Arc<Mutex<CallFacts>>,
}

impl McpHandler {
    /// A handler for the message in a call.
    pub(super) fn new(call: &Call, routes: &'static [Route]) -> McpHandler {
        McpHandler {
            routes,
            app: call.app.clone(),
            principal: call.principal.clone(),
            context: call.context.clone(),
            key: call.ticket.as_ref().map(|ticket| ticket.key.as_str().into()),
            facts: Arc::default(),
        }
    }

    /// The facts of the tool call, shared with all clones of the handler.
    pub(super) fn facts(&self) -> Arc<Mutex<CallFacts>> {
        self.facts.clone()
    }
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("hearth", env!("CARGO_PKG_VERSION")).with_title("Hearth"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let is_allowed =
            |tool: &&Tool| tool.routes(self.routes).any(|route| route.check_scope(&self.principal).is_ok());
        let allowed = TOOLS.iter().filter(is_allowed);
        let mut list = ListToolsResult::with_all_items(allowed.map(|tool| tool.describe(self.routes)).collect());
        // Another key may see other tools.
        list.cache_scope = Some(CacheScope::Private);
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            let hint = nearest_tool(&request.name)
                .map_or("; tools/list gives all.".to_owned(), |near| format!("; did you mean {near}?"));
            let name = shorten(&request.name, QUOTED_NAME_MAX);
            return Err(ErrorData::invalid_params(format!("There is no tool {name}{hint}"), None));
        };
        // The SDK runs a call in a task of its own, where the edge cannot catch a panic.
        let work = AssertUnwindSafe(self.run(tool, request.arguments.unwrap_or_default())).catch_unwind();
        let outcome = match work.await.unwrap_or(Err(StoreError::Panicked.into())) {
            Err(Refusal::Reply(reply)) => Ok(*reply),
            Ok(reply) => Ok(reply),
            Err(Refusal::Problem(problem)) => Err(*problem),
            Err(Refusal::StoreError(fault)) => Err(self.context.fault_problem(&fault)),
        };
        let problem = match outcome {
            Ok(reply) => match result_off_async(reply).await {
                Ok(result) if tool.name == GET_CAPTURE => {
                    return Ok(pictures::added(&self.app, &self.principal, result).await.into());
                }
                Ok(result) => return Ok(result.into()),
                Err(fault) => self.context.fault_problem(&fault),
            },
            Err(problem) => problem,
        };
        let error = problem.to_value(&self.context.base_url);
        Ok(CallToolResult::structured_error(json!({ "error": error })).into())
    }

    // The service declares tools only. The SDK's default for these methods would be an empty list.

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(no_method("resources/list"))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(no_method("resources/templates/list"))
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(no_method("prompts/list"))
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(no_method("completion/complete"))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(if METHODS.contains(&method.as_str()) {
            ErrorData::invalid_params(params_error(&method, request.params.as_ref()), None)
        } else {
            no_method(&method)
        })
    }
}

fn no_method(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("There is no method {method}."), None)
}

/// The message for a known method with malformed parameters.
fn params_error(method: &str, params: Option<&Value>) -> String {
    let param = |name: &str| params.and_then(|params| params.get(name));
    let is_object = |name| param(name).is_some_and(Value::is_object);
    let wrong = match method {
        "tools/call" if !param("name").is_some_and(Value::is_string) => "name must be the name of a tool",
        "tools/call" if param("arguments").is_some() && !is_object("arguments") => {
            "arguments must be an object, not the text of one"
        }
        "initialize" if !param("protocolVersion").is_some_and(Value::is_string) => "protocolVersion must be a string",
        "initialize" if !is_object("capabilities") => "capabilities must be an object; it may be empty",
        "initialize" if !is_object("clientInfo") => "clientInfo must be an object with name and version",
        _ => return format!("The parameters of {method} are not of their form."),
    };
    format!("The parameters of {method} are not of their form: {wrong}.")
}

/// The supported methods. The SDK reports a supported method as unknown if its parameters are malformed.
const METHODS: [&str; 5] = ["initialize", "ping", "server/discover", "tools/list", "tools/call"];

impl McpHandler {
    /// Runs a tool call with the checks of every request: rate limit, scope, then arguments (contract 4).
    async fn run(&self, tool: &'static Tool, mut arguments: JsonObject) -> Result<Reply, Refusal> {
        let route = tool.route(self.routes);
        let rate_window = self.app.limits.count_call(&self.principal.key.id, route.class, self.app.clock.elapsed());
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).rate_window = rate_window;
        rate_window.map_or(Ok(()), RateWindow::check)?;
        // The edge does not know the window of a tool.
        self.app.usage.count(&self.principal.key.id, Counted::In(route.class), self.app.clock.now());
        let route = tool.chosen(self.routes, &mut arguments)?;
        route.check_scope(&self.principal)?;
        let input = tool.parse_input(route, arguments, self.key.as_deref())?;
        let Handler::Keyed(handler) = route.handler else {
            return Err(Problem::new(ProblemType::InternalError, "The tool has no handler.").into());
        };
        let answered = handler(Call {
            app: self.app.clone(),
            principal: self.principal.clone(),
            kind: route.kind,
            id: input.id,
            name: input.name,
            query: input.query,
            body: input.body,
            upload: None,
            ticket: input.ticket,
            if_match: None,
            if_none_match: None,
            last_event_id: None,
            headers: Default::default(),
            context: self.context.clone(),
        });
        let reply = answered.await?;
        if let (RateClass::Read, Payload::Json(text)) = (route.class, &reply.payload) {
            self.app.answer_bytes.check(&self.principal.key.id, text.len())?;
        }
        let is_replayed = reply.header(IDEMPOTENCY_REPLAYED).is_some();
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).is_replayed = is_replayed;
        Ok(reply)
    }
}

/// The largest reply that becomes a result on an async thread, in bytes: well under a millisecond.
const INLINE_BYTES_MAX: usize = 64 * 1024;
/// Permit for a larger reply: one at a time, because its values take several times its bytes.
static LARGE_REPLY: Semaphore = Semaphore::const_new(1);

/// The result of a tool; of a large reply made off the async threads. Error: the work panicked.
async fn result_off_async(reply: Reply) -> Result<CallToolResult, StoreError> {
    if !matches!(&reply.payload, Payload::Json(text) if text.len() > INLINE_BYTES_MAX) {
        return Ok(tool_result(reply));
    }
    let _permit = LARGE_REPLY.acquire().await;
    tokio::task::spawn_blocking(move || tool_result(reply)).await.map_err(|_| StoreError::Panicked)
}

/// The result of a tool, from the envelope of a reply: data with the page, or an error.
fn tool_result(reply: Reply) -> CallToolResult {
    let Payload::Json(text) = reply.payload else { return CallToolResult::structured(json!({ "data": null })) };
    let mut envelope: Value = serde_json::from_str(&text).unwrap_or_default();
    if reply.status >= 400 {
        return CallToolResult::structured_error(json!({ "error": envelope["error"].take() }));
    }
    let mut result = json!({ "data": envelope["data"].take() });
    if let Some(page) = envelope["meta"].get_mut("page") {
        result["page"] = page.take();
    }
    CallToolResult::structured(result)
}

/// Describes the service to a language model.
const INSTRUCTIONS: &str = "Hearth keeps what a household knows about its home: inventory, vehicles, documents, tasks, \
    rooms and the home's profile. Ids are UUIDs; find them by search or by listing. Lists give pages: send \
    page.next_cursor as cursor while page.has_more is true. Money is a decimal string, dates are YYYY-MM-DD. A failed \
    call tells in error.fix what to do next.";
