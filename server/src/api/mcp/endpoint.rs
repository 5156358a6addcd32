//! The HTTP side of MCP: hands the body to the SDK, and turns its response into a reply. Must not know tools.

use std::sync::{Arc, PoisonError};

use axum::http::header::{ACCEPT, CONTENT_TYPE, HOST};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Uri};
use hearth_contract::headers::IDEMPOTENCY_REPLAYED;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};
use http_body_util::{BodyExt, Full};
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::handler::{CallFacts, McpHandler};
use crate::app::App;
use crate::config::origin;
use crate::http::auth::record_refusal;
use crate::http::bodies::BODY_MAX;
use crate::http::call::Call;
use crate::http::cors::allowed_origin;
use crate::http::reply::{Payload, Refusal, Reply};
use crate::http::route::Route;

/// The names of the loopback address.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// The header with the version of MCP.
const PROTOCOL_VERSION: &str = "mcp-protocol-version";

/// Answers one MCP message. Tools call the handlers of `routes`.
pub async fn serve(call: Call, routes: &'static [Route]) -> Result<Reply, Refusal> {
    let handler = McpHandler::new(&call, routes);
    let facts = handler.facts();
    let hosts = allowed_hosts(&call.app);
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(NeverSessionManager::default()),
        sdk_config(&call, &hosts),
    );
    let response = service.handle(sdk_request(&call)).await;
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
        (false, false) => return Err(refusal_cause(status, &call.headers, &hosts).problem(text).into()),
    };
    let CallFacts { rate_window, is_replayed } = *facts.lock().unwrap_or_else(PoisonError::into_inner);
    let mut headers: Vec<(&str, String)> =
        rate_window.iter().flat_map(|rate_window| rate_window.headers(call.app.clock.now())).collect();
    if let Some(rate_window) = rate_window.filter(|rate_window| rate_window.is_refused) {
        // The refusal leaves with status 200, so the edge cannot see the refusal.
        record_refusal(&call.app, &call.principal.key.id).await;
        headers.push(("retry-after", rate_window.retry_after_seconds().to_string()));
    }
    if is_replayed {
        headers.push((IDEMPOTENCY_REPLAYED, "true".to_owned()));
    }
    Ok(Reply { status, headers, payload })
}

/// The host names that the service answers to, without ports. Empty: all names.
///
/// On the loopback address a foreign name in `Host` means DNS rebinding: a web page pointed its own name to the machine.
/// Elsewhere the service does not know all its names, and the key protects the service.
fn allowed_hosts(app: &App) -> Vec<String> {
    if !app.config.listen.ip().is_loopback() {
        return Vec::new();
    }
    let own = app.base_url.parse::<Uri>().ok();
    let own = own.as_ref().and_then(Uri::host).unwrap_or_default();
    LOOPBACK.into_iter().chain([own]).map(str::to_owned).collect()
}

/// No sessions and no streams: every response is one JSON message. Web pages may call from the origin of the service and
/// from the origins in `--allow-origin`.
fn sdk_config(call: &Call, hosts: &[String]) -> StreamableHttpServerConfig {
    let app = &call.app;
    let (loopback, port) = (app.config.listen.ip().is_loopback(), app.config.listen.port());
    let own_origins = LOOPBACK.into_iter().filter(|_| loopback).map(|name| format!("http://{name}:{port}"));
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .with_max_request_body_bytes(BODY_MAX)
        .with_allowed_hosts(hosts);
    // The SDK does not know `*`.
    if allowed_origin(&app.config.allow_origins, &call.headers).is_some() {
        return config.disable_allowed_origins();
    }
    config.with_allowed_origins(own_origins.chain(origin(&app.base_url))).enforce_origin_validation()
}

/// The request for the SDK. The edge checked `Accept`: a client need not accept streams, because none are sent.
fn sdk_request(call: &Call) -> Request<Full<bytes::Bytes>> {
    let mut request = Request::new(Full::from(call.body.to_string()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static(paths::MCP);
    *request.headers_mut() = call.headers.clone();
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    request
}

/// The cause of a refusal that the SDK sent as plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RefusalCause {
    /// The name in `Host` is foreign.
    Host,
    /// The origin of the web page is not allowed.
    Origin,
    /// The body is no JSON-RPC message of MCP.
    Message,
    /// The version of MCP is unknown.
    ProtocolVersion,
    /// Other headers are missing or malformed.
    Headers,
    /// The SDK failed.
    StoreError,
}

/// Finds the cause of a refusal. The SDK tells statuses only, so the headers of the request decide.
fn refusal_cause(status: u16, headers: &HeaderMap, hosts: &[String]) -> RefusalCause {
    match status {
        403 if !is_allowed_host(headers, hosts) => RefusalCause::Host,
        403 => RefusalCause::Origin,
        500.. => RefusalCause::StoreError,
        415 => RefusalCause::Message,
        _ if has_unknown_version(headers) => RefusalCause::ProtocolVersion,
        _ => RefusalCause::Headers,
    }
}

/// Whether `Host` names the service. A missing or malformed header is refused for its form, not for its name.
fn is_allowed_host(headers: &HeaderMap, hosts: &[String]) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).and_then(|host| host.parse::<Authority>().ok());
    let names = |host: &Authority| hosts.iter().any(|name| name.eq_ignore_ascii_case(host.host()));
    hosts.is_empty() || host.as_ref().is_none_or(names)
}

fn has_unknown_version(headers: &HeaderMap) -> bool {
    let version = headers.get(PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
    version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.iter().all(|known| known.as_str() != version))
}

impl RefusalCause {
    /// The problem for the client. `text` is the message of the SDK.
    fn problem(self, text: String) -> Problem {
        match self {
            RefusalCause::Host => Problem::new(ProblemType::OriginNotAllowed, text)
                .with_fix("Use a loopback name, or start the service with --base-url and the name it is reached by."),
            RefusalCause::Origin => Problem::new(ProblemType::OriginNotAllowed, text),
            RefusalCause::Message => {
                Problem::new(ProblemType::InvalidRequest, "The body is not one JSON-RPC 2.0 message of MCP.")
                    .with_fix("Send one message, a JSON object with jsonrpc and method; batches are not read.")
            }
            RefusalCause::ProtocolVersion => {
                let known: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
                Problem::new(ProblemType::InvalidRequest, text)
                    .with_fix(format!("Send one of {} as MCP-Protocol-Version.", known.join(", ")))
            }
            RefusalCause::Headers => Problem::new(ProblemType::InvalidRequest, text)
                .with_fix("Send the headers as the protocol's version asks."),
            RefusalCause::StoreError => Problem::new(ProblemType::InternalError, "The service failed on this message."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_cause_follows_from_status_and_headers() {
        let hosts = ["localhost".to_owned(), "[::1]".to_owned(), "hearth.example".to_owned()];
        for (status, host, version, cause) in [
            (403, "evil.example", None, RefusalCause::Host),
            (403, "evil.example:7425", Some("2025-06-18"), RefusalCause::Host),
            (403, "LOCALHOST:7425", None, RefusalCause::Origin),
            (403, "[::1]:7425", None, RefusalCause::Origin),
            (403, "hearth.example", None, RefusalCause::Origin),
            (400, "localhost", Some("1999-01-01"), RefusalCause::ProtocolVersion),
            (400, "localhost", Some("2025-06-18"), RefusalCause::Headers),
            (400, "localhost", None, RefusalCause::Headers),
            (415, "localhost", None, RefusalCause::Message),
            (500, "localhost", None, RefusalCause::StoreError),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            if let Some(version) = version {
                headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(version));
            }
            assert_eq!(refusal_cause(status, &headers, &hosts), cause, "{status} {host} {version:?}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("any.example"));
        assert_eq!(refusal_cause(403, &headers, &[]), RefusalCause::Origin);
    }
}
