//! The wrapper around every request. It alone gives request ids, reads what is sent, turns refusals and faults into
//! answers, adds the common headers and logs; so what is inside may simply use `?`. Must not know what a path does.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use bytes::Bytes;
use futures_util::FutureExt;
use hearth_contract::headers::{IDEMPOTENCY_KEY, LAST_EVENT_ID, SERVICE_API_VERSION, X_RATELIMIT_LIMIT, X_REQUEST_ID};
use hearth_contract::key::holds_key;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType, nearest};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio_util::io::ReaderStream;
use tower::{Layer, ServiceExt, service_fn};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use super::auth;
use super::bodies::Carries;
use super::call::{Call, Visit};
use super::endless::{Endless, head_text};
use super::json;
use super::limits::{self, Class, Standing};
use super::listener::Hangup;
use super::map::{Found, Map};
use super::parts::{
    check_accept, check_conditions, check_content_type, check_host, check_size, joined, read_body, ticket,
};
use super::query::Query;
use super::reply::{Payload, Refusal, Reply, Wording};
use super::route::{Handler, Route};
use super::routes::{OPERATING, ROUTES};
use crate::app::App;
use crate::interceptor::ForcedRefusal;
use crate::random::unique_bytes;
use crate::store::Fault;
use crate::versions::{self, Version};

/// Least body in bytes that is compressed.
const COMPRESSED_MIN: u64 = 1024;
/// A media type that is compressed by itself.
const ZIP: &str = "application/zip";
/// Headers for which there is room from the start.
const HEADERS_USUAL: usize = 12;
/// Names that are asked of every request or stand in every answer, read when this is built.
const API_VERSION: HeaderName = HeaderName::from_static(SERVICE_API_VERSION);
const IDEMPOTENCY: HeaderName = HeaderName::from_static(IDEMPOTENCY_KEY);
const LAST_EVENT: HeaderName = HeaderName::from_static(LAST_EVENT_ID);
const REQUEST_ID: HeaderName = HeaderName::from_static(X_REQUEST_ID);
/// Bytes of a file that are read and sent at once.
const FILE_PIECE: usize = 64 * 1024;

/// The address of the peer's socket, put into a request by whoever accepted it.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The paths that are served where a request came in.
#[derive(Clone, Copy)]
struct Served(&'static Map);

/// The id of a request, put into it by whoever must know it before it is carried out.
#[derive(Clone)]
pub struct RequestId(pub Arc<str>);

impl RequestId {
    /// One that no other request has.
    pub(crate) fn new() -> RequestId {
        RequestId(request_id(unique_bytes()))
    }
}

/// The service at one of its addresses: gives every request to the route of its path. Cheap to clone.
#[derive(Clone)]
pub struct Edge {
    app: Arc<App>,
    map: &'static Map,
}

impl Edge {
    /// What clients ask.
    pub fn new(app: Arc<App>) -> Edge {
        static MAP: LazyLock<Map> = LazyLock::new(|| Map::of(&ROUTES));
        Edge { app, map: &MAP }
    }

    /// What is told on an address of its own to whoever watches the service.
    pub fn operating(app: Arc<App>) -> Edge {
        static MAP: LazyLock<Map> = LazyLock::new(|| Map::of(&OPERATING));
        Edge { app, map: &MAP }
    }

    /// Answers a request, compressed when it asks for that. What does not ask is kept from the layer that compresses,
    /// because even where that does nothing it makes room in each answer for every compressor there is.
    pub async fn answer(self, request: Request<Body>) -> Response<Body> {
        if !request.headers().contains_key(ACCEPT_ENCODING) {
            return self.answer_plainly(request).await;
        }
        let status = OnceLock::new();
        let plain = service_fn(async |request| {
            let response = self.answer_plainly(request).await;
            let _ = status.set(response.status());
            Ok::<_, Infallible>(response)
        });
        let mut response = match Box::pin(compression().layer(plain).oneshot(request)).await {
            Ok(response) => response.map(Body::new),
            Err(never) => match never {},
        };
        // Where no coding pleases, not even none, the layer makes a 406 of an answer to what is done already. It goes as it
        // is, which RFC 9110 12.5.3 allows.
        if let Some(status) = status.into_inner() {
            *response.status_mut() = status;
        }
        response
    }

    async fn answer_plainly(&self, mut request: Request<Body>) -> Response<Body> {
        let app = self.app.clone();
        request.extensions_mut().insert(Served(self.map));
        let found = self.map.find(request.uri().path());
        let Some(interceptor) = app.interceptor.get() else { return handle(app, found, request).await };
        let handle = |request| -> futures_util::future::BoxFuture<'_, _> {
            Box::pin(handle(app.clone(), found.clone(), request))
        };
        interceptor.intercept(&app, request, &handle).await
    }
}

/// Answers from 1 KiB up are compressed when the client asks for it; streams never are, because each frame must leave
/// at once (contract 4).
fn compression() -> CompressionLayer<impl Predicate> {
    let worth_it = SizeAbove::new(COMPRESSED_MIN).and(NotForContentType::SSE).and(NotForContentType::const_new(ZIP));
    CompressionLayer::new().compress_when(worth_it)
}

/// What is learnt of a request on its way, needed for its answer however it ends.
#[derive(Default)]
struct Learnt {
    operation: &'static str,
    key: Option<String>,
    standing: Option<Standing>,
    /// The window in which the call was counted, and when.
    counted: Option<(Class, Duration)>,
    /// A message of MCP counts as a read, unless it counts as a tool's call, or is one of those that are free.
    counts_late: bool,
}

/// Carries a request out to its end, whatever becomes of the connection: what was written is to be followed by all that
/// belongs to it. Reading ends with who reads.
async fn handle(app: Arc<App>, found: Option<Found<'static>>, request: Request<Body>) -> Response<Body> {
    let may_hang_up = request.extensions().get::<Hangup>().is_some();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let work = carry_out(app, found, request);
    if reads || !may_hang_up {
        return work.await;
    }
    match tokio::spawn(work).await {
        Ok(response) => response,
        // Only the end of the process ends it before its end, and then nobody waits here either.
        Err(_) => std::future::pending().await,
    }
}

async fn carry_out(app: Arc<App>, found: Option<Found<'static>>, request: Request<Body>) -> Response<Body> {
    let began = app.clock.elapsed();
    // Discovery and tools speak the current version, also in what is refused before a route is found (contract 13).
    let speaks = found.as_ref().is_none_or(|found| found.place.routes.iter().any(|route| route.is_versioned()));
    let named = named_version(&app, request.headers()).filter(|_| speaks);
    let mut wording = Wording {
        request_id: request.extensions().get().map_or_else(RequestId::new, RequestId::clone).0,
        base_url: app.base_url.clone(),
        // A version in service that is named holds from the start, also for the form of refusals (contract 13).
        version: named.flatten().unwrap_or_else(Version::current),
    };
    let (method, target) = (request.method().clone(), request.uri().path().to_owned());
    let mut learnt = Learnt::default();
    let work = AssertUnwindSafe(answer(&app, found, request, named, &mut wording, &mut learnt)).catch_unwind();
    let mut reply = match work.await {
        Ok(Ok(reply)) => reply,
        Ok(Err(Refusal::Problem(problem))) => wording.problem(&problem),
        Ok(Err(Refusal::Fault(fault))) => wording.problem(&broken(&fault, &wording)),
        Err(_) => wording.problem(&broken(&Fault::Panicked, &wording)),
    };
    if let Some(key) = learnt.key.as_ref().filter(|_| learnt.counts_late && reply.header(X_RATELIMIT_LIMIT).is_none()) {
        let counted = app.clock.elapsed();
        learnt.standing = app.limits.take(key, Class::Read, counted);
        learnt.counted = learnt.standing.filter(|standing| !standing.refused).map(|_| (Class::Read, counted));
        if let Some(Err(problem)) = learnt.standing.map(Standing::check) {
            reply = wording.problem(&problem);
        }
    }
    if let (429, Some(key)) = (reply.status, &learnt.key) {
        if let (Some(standing), Some((class, counted))) = (&mut learnt.standing, learnt.counted) {
            app.limits.give_back(key, class, counted);
            standing.remaining += 1;
        }
        auth::refused(&app, key).await;
    }
    let took = app.clock.elapsed() - began;
    app.metrics.record_response(learnt.operation, &reply, took);
    tracing::info!(
        request_id = &*wording.request_id,
        method = without_secrets(method.as_str()),
        path = without_secrets(&target),
        operation = learnt.operation,
        key = learnt.key.as_deref().unwrap_or("-"),
        status = reply.status,
        micros = took.as_micros() as u64,
        "request"
    );
    finish(&app, reply, &wording, learnt.standing)
}

/// Everything between a request and its answer, in the contract's order of checks (section 4).
async fn answer(
    app: &Arc<App>,
    found: Option<Found<'static>>,
    request: Request<Body>,
    named: Option<Option<&'static Version>>,
    wording: &mut Wording,
    learnt: &mut Learnt,
) -> Result<Reply, Refusal> {
    let (parts, body) = request.into_parts();
    check_size(&parts)?;
    check_host(&parts)?;
    let route = find_route(found.as_ref(), &parts)?;
    let name = found.and_then(|found| found.name);
    learnt.operation = &route.operation;
    if let Some(ForcedRefusal { problem, standing }) = ForcedRefusal::find(&parts.extensions) {
        learnt.standing = standing;
        return Err(problem.into());
    }
    let handler = match route.handler {
        Handler::Keyed(handler) => handler,
        Handler::Open(handler) => {
            wording.version = Version::current();
            let media = check_accept(route, &parts.headers)?;
            if route.path.starts_with(paths::ROOT) {
                Query::read(parts.uri.query().unwrap_or_default(), route.parameters, |_, _| ())?;
            }
            let name = name.unwrap_or_default();
            return handler(Visit { app: app.clone(), name, media, wording: wording.clone() }).await;
        }
    };
    let peer = parts.extensions.get::<Peer>().map_or(SocketAddr::from(([0, 0, 0, 0], 0)), |peer| peer.0);
    let principal = auth::identify(app, &parts.headers).await?;
    wording.version = match named {
        _ if !route.is_versioned() => Version::current(),
        Some(Some(version)) => version,
        _ => Version::of_pin(&principal.key.pinned, app.clock.now()),
    };
    auth::admit(app, &principal, &parts.headers, peer)?;
    learnt.key = Some(principal.key.id.clone());
    learnt.counts_late = route.carries == Carries::Rpc;
    let passed = app.clock.elapsed();
    learnt.standing = app.limits.take(&principal.key.id, route.class, passed);
    learnt.standing.map_or(Ok(()), Standing::check)?;
    learnt.counted = Some((route.class, passed));
    route.check_scope(&principal)?;
    if let (Some(None), true) = (named, route.is_versioned()) {
        let name = joined(&parts.headers, API_VERSION).unwrap_or_default();
        return Err(versions::unsupported(&name, app.clock.now()).into());
    }
    check_accept(route, &parts.headers)?;
    check_content_type(route, &parts.headers)?;
    let bytes = match route.carries {
        // What names itself is compared with its first time, its body too (contract 6.4).
        Carries::Nothing if !(route.takes_ticket() && parts.headers.contains_key(IDEMPOTENCY)) => Bytes::new(),
        _ => read_body(body, &parts.headers, app.config.body_time_max).await?,
    };
    let ticket = ticket(route, &parts, &bytes)?;
    let mut body = match route.carries {
        Carries::Nothing => Value::Null,
        _ => json::read(&bytes)?,
    };
    learnt.counts_late &= !limits::is_free(&body);
    let raise = |name: &str, value: &mut String| wording.version.raise_parameter(name, value);
    let query = Query::read(parts.uri.query().unwrap_or_default(), route.parameters, raise)?;
    check_conditions(route, &parts.headers)?;
    if !wording.version.is_current() {
        wording.version.raise_body(&mut body);
    }
    handler(Call {
        app: app.clone(),
        principal,
        kind: route.kind,
        id: name,
        query,
        body,
        ticket,
        if_match: joined(&parts.headers, IF_MATCH),
        if_none_match: joined(&parts.headers, IF_NONE_MATCH),
        last_event_id: joined(&parts.headers, LAST_EVENT),
        headers: parts.headers,
        wording: wording.clone(),
    })
    .await
}

/// The path that was meant, if any was: what most of them begin with makes none of them like another.
fn nearest_path<'a>(target: &str, known: &[&'a str]) -> Option<&'a str> {
    let within = |path: &'a str| path.strip_prefix(paths::ROOT)?.strip_prefix('/');
    let Some(rest) = target.strip_prefix(paths::ROOT).and_then(|rest| rest.strip_prefix('/')) else {
        return nearest(target, known.iter().copied());
    };
    let near = nearest(rest, known.iter().copied().filter_map(within))?;
    known.iter().copied().find(|path| within(path) == Some(near))
}

fn find_route(found: Option<&Found<'static>>, parts: &Parts) -> Result<&'static Route, Problem> {
    let (method, target) = (&parts.method, parts.uri.path());
    let Some(Found { place, .. }) = found else {
        let problem = Problem::new(ProblemType::RouteNotFound, format!("There is no path {target}."));
        let known = parts.extensions.get::<Served>().map_or(&[][..], |Served(map)| map.paths());
        return Err(match nearest_path(target, known) {
            Some(near) => problem.fixed_by(format!("Did you mean {near}? Paths are exact in case and slashes.")),
            // Where the API is not served, there is little enough to tell all of it.
            None if !known.contains(&paths::ROOT) => problem.fixed_by(format!("The paths here: {}.", known.join(", "))),
            None => problem,
        });
    };
    let wanted = if method == Method::HEAD { &Method::GET } else { method };
    place.routes.iter().find(|route| route.method == wanted).copied().ok_or_else(|| {
        let mut allowed: Vec<&str> = place.routes.iter().map(|route| route.method.as_str()).collect();
        if allowed.contains(&"GET") {
            allowed.push("HEAD");
        }
        Problem::new(ProblemType::MethodNotAllowed, format!("{method} is not a method of this path."))
            .with("allowed", allowed)
    })
}

/// The version that a request names. None: it names none; `Some(None)`: one that is not in service.
fn named_version(app: &App, headers: &HeaderMap) -> Option<Option<&'static Version>> {
    joined(headers, API_VERSION).map(|name| Version::find(&name, app.clock.now()))
}

/// The whole answer to a head that did not arrive in time: there was no request, so nothing is known but that.
pub fn too_late(app: &App) -> Vec<u8> {
    let version = Version::current();
    let wording = Wording { request_id: RequestId::new().0, base_url: app.base_url.clone(), version };
    let seconds = app.config.headers_time_max.as_secs_f32();
    let message = format!("The headers did not arrive within {seconds} s.");
    let reply = wording.problem(&Problem::new(ProblemType::RequestTimeout, message));
    let body = match &reply.payload {
        Payload::Json(text) => text.clone(),
        _ => String::new(),
    };
    let (head, _) = finish(app, reply, &wording, None).into_parts();
    let mut bytes = head_text(&head, &format!("content-length: {}\r\n", body.len()));
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// What a client is told of a fault; the cause goes to the log under the request's id.
pub(crate) fn broken(fault: &Fault, wording: &Wording) -> Problem {
    tracing::error!(request_id = &*wording.request_id, %fault, "a request broke");
    if fault.is_passing() {
        Problem::new(ProblemType::Unavailable, "The service cannot take this now.").with("retry_after_seconds", 1)
    } else {
        Problem::new(ProblemType::InternalError, "The service failed on this request.")
    }
}

fn finish(app: &App, mut reply: Reply, wording: &Wording, standing: Option<Standing>) -> Response<Body> {
    let version = reply.version().unwrap_or(wording.version);
    let mut endless = None;
    let (media, body) = match reply.payload {
        Payload::Json(text) => (Some("application/json"), Body::from(text)),
        Payload::Text(media, text) => (Some(media), Body::from(text)),
        Payload::Events(frames, over) => {
            use futures_util::StreamExt;
            endless = Some(Endless(over));
            (Some("text/event-stream"), Body::from_stream(frames.map(Ok::<_, Infallible>)))
        }
        Payload::File { media, file, length } => {
            reply.headers.push(("content-length", length.to_string()));
            (Some(media), Body::from_stream(ReaderStream::with_capacity(file, FILE_PIECE)))
        }
        Payload::Empty => (None, Body::empty()),
    };
    let mut response = Response::new(body);
    endless.map(|endless| response.extensions_mut().insert(endless));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.reserve(HEADERS_USUAL);
    headers.insert(API_VERSION, HeaderValue::from_static(version.name));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(media) = media {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    }
    if let Ok(id) = HeaderValue::from_str(&wording.request_id) {
        headers.insert(REQUEST_ID, id);
    }
    // The version stands there already: an answer names its own.
    reply.headers.retain(|(name, _)| *name != SERVICE_API_VERSION);
    let warnings = if version.is_current() { vec![] } else { version.warnings(app.clock.now(), &wording.base_url) };
    let limits = standing.map(|standing| standing.headers(app.clock.now()));
    for (name, value) in warnings.into_iter().chain(limits.into_iter().flatten()).chain(reply.headers) {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    response
}

/// A method or a path as it may be logged: a key that strayed into it, escaped or not, is left out.
fn without_secrets(text: &str) -> &str {
    if holds_key(&percent_decode_str(text).decode_utf8_lossy()) { "(holds a key)" } else { text }
}

/// `req_` and 26 characters of Crockford base32 for 128 random bits.
fn request_id(entropy: [u8; 16]) -> Arc<str> {
    let mut text = *b"req_00000000000000000000000000";
    let mut rest = u128::from_be_bytes(entropy);
    for place in text[4..].iter_mut().rev() {
        *place = CROCKFORD[(rest % 32) as usize];
        rest /= 32;
    }
    std::str::from_utf8(&text).unwrap_or_default().into()
}

const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_a_path_is_not_logged_however_it_is_written() {
        for path in ["/v1/rooms/svc_live_9f", "/v1/rooms/svc%5Flive_9f", "/v1/%73vc_te%73t_9f"] {
            assert_eq!(without_secrets(path), "(holds a key)");
        }
        assert_eq!(without_secrets("/v1/rooms/a%20b"), "/v1/rooms/a%20b");
    }

    #[test]
    fn request_ids_have_their_form() {
        let id = request_id([0xff; 16]);
        assert_eq!(id.len(), 30);
        assert!(id.starts_with("req_7ZZZ"));
    }
}
