//! `POST /mcp`: the Model Context Protocol (contract 15). The SDK speaks the protocol, stateless and with `initialize`
//! alike; each tool call becomes a call of the route behind it. Must not know what a tool does.
//!
//! - [`tools`]: the table of tools, and how arguments become a call.
//! - [`schemas`]: what tools take and give, in JSON Schema.

mod schemas;
mod tools;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Request, Uri};
use futures_util::FutureExt;
use hearth_contract::headers::IDEMPOTENCY_REPLAYED;
use hearth_contract::paths;
use hearth_contract::problem::{NAME_SHOWN, Problem, ProblemType, shortened};
use http_body_util::{BodyExt, Full};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, ErrorCode, Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

use self::tools::{TOOLS, Tool};
use crate::app::App;
use crate::config::origin;
use crate::http::auth::refused;
use crate::http::call::Call;
use crate::http::edge::broken;
use crate::http::keyring::Principal;
use crate::http::limits::Standing;
use crate::http::parts::BODY_MAX;
use crate::http::reply::{Payload, Refusal, Reply, Wording};
use crate::http::route::Handler;
use crate::store::Fault;

/// Answers one message of the protocol.
pub async fn serve(call: Call) -> Result<Reply, Refusal> {
    let agent = Agent {
        app: call.app.clone(),
        principal: call.principal.clone(),
        wording: call.wording.clone(),
        key: call.ticket.as_ref().map(|ticket| ticket.key.as_str().into()),
        learnt: Arc::default(),
    };
    let learnt = agent.learnt.clone();
    let service = StreamableHttpService::new(
        move || Ok(agent.clone()),
        Arc::new(NeverSessionManager::default()),
        rules(&call.app),
    );
    let response = service.handle(message(&call)).await;
    let (head, body) = response.into_parts();
    let text = match body.collect().await {
        Ok(body) => String::from_utf8_lossy(&body.to_bytes()).into_owned(),
        Err(never) => match never {},
    };
    let is_json = head.headers.get(CONTENT_TYPE).is_some_and(|media| media == "application/json");
    let status = head.status.as_u16();
    let payload = match (is_json, head.status.is_success()) {
        (true, _) => Payload::Json(text),
        (false, true) => Payload::Empty,
        (false, false) => return Err(refusal(status, text).into()),
    };
    let Learnt { standing, replayed } = *learnt.lock().unwrap_or_else(PoisonError::into_inner);
    let mut headers: Vec<(&str, String)> =
        standing.iter().flat_map(|standing| standing.headers(call.app.clock.now())).collect();
    if let Some(standing) = standing.filter(|standing| standing.refused) {
        // This refusal leaves as HTTP 200, so the edge cannot see it.
        refused(&call.app, &call.principal.key.id).await;
        headers.push(("retry-after", standing.retry_after_seconds().to_string()));
    }
    if replayed {
        headers.push((IDEMPOTENCY_REPLAYED, "true".to_owned()));
    }
    Ok(Reply { status, headers, payload })
}

/// No sessions and no streams: every answer is one JSON message. Pages in a browser may call from the service's own
/// origin and from those the operator allows. A service on the loopback address answers to loopback names and its own,
/// so that a page whose name was pointed there reaches nothing; elsewhere its names are not known to it, and the key
/// is the guard.
fn rules(app: &App) -> StreamableHttpServerConfig {
    let own = app.base_url.parse::<Uri>().ok();
    let host = own.as_ref().and_then(Uri::host).unwrap_or_default();
    let (loopback, port) = (app.config.listen.ip().is_loopback(), app.config.listen.port());
    let names = || LOOPBACK.into_iter().filter(move |_| loopback);
    let own_origins = names().map(|name| format!("http://{name}:{port}"));
    let origins = own_origins.chain(origin(&app.base_url)).chain(app.config.allow_origins.iter().cloned());
    let hosts = names().map(str::to_owned).chain(loopback.then(|| host.to_owned()));
    StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .with_max_request_body_bytes(BODY_MAX)
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins)
        .enforce_origin_validation()
}

/// What a machine calls itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The message as the SDK reads it. Accept was judged by the edge: a client need not admit streams, for none come.
fn message(call: &Call) -> Request<Full<bytes::Bytes>> {
    let mut request = Request::new(Full::from(call.body.to_string()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static(paths::MCP);
    *request.headers_mut() = call.headers.clone();
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    request
}

/// What the SDK refuses without speaking JSON-RPC.
fn refusal(status: u16, text: String) -> Problem {
    match status {
        403 if text.contains("Host") => Problem::new(ProblemType::OriginNotAllowed, text)
            .fixed_by("Use a loopback name, or start the service with --base-url and the name it is reached by."),
        403 => Problem::new(ProblemType::OriginNotAllowed, text),
        500.. => Problem::new(ProblemType::InternalError, "The service failed on this message."),
        415 => Problem::new(ProblemType::InvalidRequest, "The body is not one JSON-RPC 2.0 message of MCP.")
            .fixed_by("Send one message, a JSON object with jsonrpc and method; batches are not read."),
        _ if text.contains("Unsupported MCP-Protocol-Version") => {
            let known: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
            Problem::new(ProblemType::InvalidRequest, text)
                .fixed_by(format!("Send one of {} as MCP-Protocol-Version.", known.join(", ")))
        }
        _ => {
            Problem::new(ProblemType::InvalidRequest, text).fixed_by("Send the headers as the protocol's version asks.")
        }
    }
}

/// What is learnt of a tool's call, for the headers of its answer.
#[derive(Clone, Copy, Default)]
struct Learnt {
    standing: Option<Standing>,
    /// Whether this was answered before.
    replayed: bool,
}

/// Who speaks to us in one message, and what was learnt on the way.
#[derive(Clone)]
struct Agent {
    app: Arc<App>,
    principal: Arc<Principal>,
    wording: Wording,
    /// The idempotency key in the header of the message.
    key: Option<Arc<str>>,
    learnt: Arc<Mutex<Learnt>>,
}

impl ServerHandler for Agent {
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
        let allowed = TOOLS.iter().filter(|tool| tool.route().check_scope(&self.principal).is_ok());
        let mut list = ListToolsResult::with_all_items(allowed.map(Tool::describe).collect());
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
            let hint = tools::nearest_tool(&request.name)
                .map_or("; tools/list gives all.".to_owned(), |near| format!("; did you mean {near}?"));
            let name = shortened(&request.name, NAME_SHOWN);
            return Err(ErrorData::invalid_params(format!("There is no tool {name}{hint}"), None));
        };
        // The SDK runs a call as a task of its own, out of the edge's reach: a panic would leave it without an answer.
        let work = AssertUnwindSafe(self.run(tool, request.arguments.unwrap_or_default())).catch_unwind();
        let said = match work.await.unwrap_or(Err(Fault::Panicked.into())) {
            Ok(reply) => said(reply),
            Err(Refusal::Problem(problem)) => Err(problem.to_value(&self.wording.base_url)),
            Err(Refusal::Fault(fault)) => Err(broken(&fault, &self.wording).to_value(&self.wording.base_url)),
        };
        Ok(match said {
            Ok(result) => CallToolResult::structured(result),
            Err(error) => CallToolResult::structured_error(json!({ "error": error })),
        }
        .into())
    }

    // What was not declared is no method. Without these, the SDK answers that there is nothing of it.

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
            ErrorData::invalid_params(misformed(&method, request.params.as_ref()), None)
        } else {
            no_method(&method)
        })
    }
}

fn no_method(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("There is no method {method}."), None)
}

/// What is wrong with the parameters of a request that is understood.
fn misformed(method: &str, params: Option<&Value>) -> String {
    let of = |name: &str| params.and_then(|params| params.get(name));
    let is_object = |name| of(name).is_some_and(Value::is_object);
    let wrong = match method {
        "tools/call" if !of("name").is_some_and(Value::is_string) => "name must be the name of a tool",
        "tools/call" if of("arguments").is_some() && !is_object("arguments") => {
            "arguments must be an object, not the text of one"
        }
        "initialize" if !of("protocolVersion").is_some_and(Value::is_string) => "protocolVersion must be a string",
        "initialize" if !is_object("capabilities") => "capabilities must be an object; it may be empty",
        "initialize" if !is_object("clientInfo") => "clientInfo must be an object with name and version",
        _ => return format!("The parameters of {method} are not of their form."),
    };
    format!("The parameters of {method} are not of their form: {wrong}.")
}

/// The requests that are understood. One that reaches us as unknown has parameters that could not be read.
const METHODS: [&str; 5] = ["initialize", "ping", "server/discover", "tools/list", "tools/call"];

impl Agent {
    /// A tool call, checked in the order of any other: window, scope, then what was sent (contract 4).
    async fn run(&self, tool: &'static Tool, arguments: JsonObject) -> Result<Reply, Refusal> {
        let route = tool.route();
        let standing = self.app.limits.take(&self.principal.key.id, route.class, self.app.clock.elapsed());
        self.learnt.lock().unwrap_or_else(PoisonError::into_inner).standing = standing;
        standing.map_or(Ok(()), Standing::check)?;
        route.check_scope(&self.principal)?;
        let sent = tool.read(arguments, self.key.as_deref())?;
        let Handler::Keyed(handler) = route.handler else {
            return Err(Problem::new(ProblemType::InternalError, "The tool has no handler.").into());
        };
        let answered = handler(Call {
            app: self.app.clone(),
            principal: self.principal.clone(),
            kind: route.kind,
            id: sent.id,
            query: sent.query,
            body: sent.body,
            ticket: sent.ticket,
            if_match: None,
            if_none_match: None,
            last_event_id: None,
            headers: Default::default(),
            wording: self.wording.clone(),
        });
        let reply = answered.await?;
        let replayed = reply.header(IDEMPOTENCY_REPLAYED).is_some();
        self.learnt.lock().unwrap_or_else(PoisonError::into_inner).replayed = replayed;
        Ok(reply)
    }
}

/// The envelope of a reply as a tool's result: its data with the page, or its error.
fn said(reply: Reply) -> Result<Value, Value> {
    let Payload::Json(text) = reply.payload else { return Ok(json!({ "data": null })) };
    let mut envelope: Value = serde_json::from_str(&text).unwrap_or_default();
    if reply.status >= 400 {
        return Err(envelope["error"].take());
    }
    let mut result = json!({ "data": envelope["data"].take() });
    if let Some(page) = envelope["meta"].get_mut("page") {
        result["page"] = page.take();
    }
    Ok(result)
}

/// What a model is told of the service as a whole.
const INSTRUCTIONS: &str = "Hearth keeps what a household knows about its home: inventory, vehicles, documents, tasks, \
    rooms and the home's profile. Ids are UUIDs; find them by search or by listing. Lists give pages: send \
    page.next_cursor as cursor while page.has_more is true. Money is a decimal string, dates are YYYY-MM-DD. A failed \
    call tells in error.fix what to do next.";
