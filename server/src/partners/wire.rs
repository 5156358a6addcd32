//! Forms and answers of the protocol: between the tokens of the library and those that clients see, and refusals in the
//! form of the standards. Must not know what an endpoint does.

use axum::http::{HeaderMap, Method, Request, header};
use bytes::Bytes;
use hearth_contract::key::{Environment, TokenKind, key_text, parse_token};
use hearth_contract::problem::{Problem, ProblemType};
use http_body_util::Full;
use serde_json::{Value, json};

use super::sealing::{to_shown, token_bytes};
use super::service;
use crate::app::App;
use crate::http::reply::{Refusal, Reply, ResponseContext};
use crate::http::web::{self, Fields};

/// The fields of a form that may stand several times. Another field that stands twice is refused, because two programs could read two
/// different values.
const MAY_REPEAT: [&str; 2] = ["resource", "grant"];

/// A refusal: `{error, error_description}`.
pub(super) fn error(status: u16, code: &str, description: &str) -> Reply {
    web::json(status, json!({ "error": code, "error_description": description }).to_string())
        .with_header("content-type", "application/json")
}

/// A refusal of the steps before an endpoint, such as a wrong media type.
pub fn refuse(_: &ResponseContext, problem: &Problem) -> Reply {
    let code = match problem.kind {
        ProblemType::InternalError => "server_error",
        ProblemType::Unavailable | ProblemType::RateLimited => "temporarily_unavailable",
        _ => "invalid_request",
    };
    let fix = problem.fix.as_deref().unwrap_or(problem.kind.fix());
    let mut reply = error(problem.kind.status(), code, &format!("{} {fix}", problem.message));
    if let Some(allowed) = problem.details.get("allowed").and_then(Value::as_array) {
        let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        reply.headers.push(("allow", allowed.join(", ")));
    }
    reply
}

/// The fields of a form, with tokens and resources as the library knows them. Err: a field stands twice.
pub(super) fn read_fields(app: &App, fields: Fields) -> Result<Fields, Reply> {
    let mut read: Vec<(String, String)> = Vec::with_capacity(fields.0.len());
    for (name, value) in fields.0 {
        if !MAY_REPEAT.contains(&&*name) && read.iter().any(|(known, _)| *known == name) {
            return Err(error(400, "invalid_request", &format!("The parameter {} stands twice.", shown(&name))));
        }
        let value = match &*name {
            "refresh_token" => from_shown(TokenKind::Refresh, &value),
            "token" => {
                let kind =
                    if value.starts_with(TokenKind::Access.prefix()) { TokenKind::Access } else { TokenKind::Refresh };
                from_shown(kind, &value)
            }
            "resource" => audience(app, &value),
            _ => value,
        };
        if name == "resource" && read.contains(&(name.clone(), value.clone())) {
            continue;
        }
        read.push((name, value));
    }
    Ok(Fields(read))
}

/// A parameter name in a sentence.
fn shown(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_graphic()).take(40).collect()
}

/// A token as the library knows it. Another text stays as it is, and the library does not know it.
pub(super) fn from_shown(kind: TokenKind, text: &str) -> String {
    parse_token(kind, text)
        .map_or_else(|| format!("unknown {}", text.len()), |bytes| data_encoding::HEXLOWER.encode(&bytes))
}

/// The base URL for each address that means this API (contract 20). Another address stays, and the library refuses it.
fn audience(app: &App, resource: &str) -> String {
    let is_ours = service::resources(app).iter().any(|known| known == resource.trim_end_matches('/'));
    if is_ours { app.base_url.to_string() } else { resource.to_owned() }
}

/// Passes a form or a JSON text to the library.
pub(super) async fn call(
    app: &App,
    path: &str,
    headers: &HeaderMap,
    body: Vec<u8>,
) -> Result<(u16, Value, Reply), Refusal> {
    let mut request = Request::new(Full::new(Bytes::from(body)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = path.parse().unwrap_or_default();
    for name in [header::AUTHORIZATION, header::CONTENT_TYPE] {
        for value in headers.get_all(&name) {
            request.headers_mut().append(&name, value.clone());
        }
    }
    let (service, storage) = service::service(app)?;
    let (head, body) = Box::pin(service.handle(request)).await.into_parts();
    if storage.has_ended_access() {
        // The tokens are remembered for half a second, and streams look up their grant when they are told.
        app.keys_changed();
    }
    let body = body.into_bytes();
    let value = serde_json::from_slice(&body).unwrap_or_default();
    let status = head.status.as_u16();
    let text = String::from_utf8_lossy(&body).into_owned();
    let mut reply = match &value {
        Value::Null if text.is_empty() => web::json(status, "{}".to_owned()),
        Value::Null => error(status, "invalid_request", &text),
        _ => web::json(status, text),
    };
    if let Some(challenge) = head.headers.get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()) {
        reply.headers.push(("www-authenticate", challenge.to_owned()));
    }
    Ok((status, value, reply))
}

/// Replaces the tokens in an answer by those that clients see.
pub(super) fn show_tokens(answer: &mut Value) {
    for (member, kind) in [("access_token", TokenKind::Access), ("refresh_token", TokenKind::Refresh)] {
        if let Some(shown) = answer[member].as_str().and_then(|token| to_shown(kind, token)) {
            answer[member] = shown.into();
        }
    }
}

/// The text of the key that a token of the library became, in an environment. None: no token of the library.
pub(super) fn to_key(token: &str, environment: Environment) -> Option<String> {
    token_bytes(token).map(|bytes| key_text(environment, bytes))
}

/// The fields as a form.
pub(super) fn write_form(fields: &Fields) -> Vec<u8> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(&fields.0);
    form.finish().into_bytes()
}
