//! The steps around every request: request id, panics, rate-limit bookkeeping, common headers, CORS, metrics, log line.
//! Handlers return errors with `?`; only the edge turns errors into responses. Must not know the meaning of a path.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use hearth_contract::headers::{SERVICE_API_VERSION, X_RATELIMIT_LIMIT, X_REQUEST_ID};
use hearth_contract::problem::{Problem, ProblemType};
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::io::AsyncReadExt;
use tokio_util::io::ReaderStream;

use super::connection::{Hangup, RequestId};
use super::map::{RouteMap, RouteMatch};
use super::pipeline::{NamedVersion, Pipeline, RequestFacts, Served};
use super::reply::{Payload, Refusal, Reply, ResponseContext};
use super::seen::Seen;
use super::streaming::{Streaming, head_text};
use super::{auth, cors};
use crate::app::App;
use crate::app::limits::RateClass;
use crate::compression::compress;
use crate::store::StoreError;
use crate::versions::Version;

/// Smallest response that is compressed, in bytes.
const COMPRESSED_MIN: u64 = 1024;
/// `Cache-Control` of responses: they are private (contract 4).
const NO_STORE: &str = "no-store";
/// Capacity for the headers of a response.
const HEADERS_USUAL: usize = 12;
/// Header names, parsed at compile time because every response needs them.
const API_VERSION: HeaderName = HeaderName::from_static(SERVICE_API_VERSION);
const REQUEST_ID: HeaderName = HeaderName::from_static(X_REQUEST_ID);
/// Bytes of a file that are read and sent in one piece.
const FILE_PIECE: usize = 64 * 1024;

/// The service at one of its addresses: passes each request to the route of its path. Cheap to clone.
#[derive(Clone)]
pub struct Edge {
    app: Arc<App>,
    map: &'static RouteMap,
}

impl Edge {
    /// An edge that serves the paths of a map.
    pub fn new(app: Arc<App>, map: &'static RouteMap) -> Edge {
        Edge { app, map }
    }

    /// Answers a request. At the paths that web pages of other origins may call, every response has the CORS headers.
    pub async fn answer(self, request: Request<Body>) -> Response<Body> {
        if !cors::is_shared(request.uri().path()) {
            return self.answer_encoded(request).await;
        }
        let origin = cors::allowed_origin(&self.app.config.allow_origins, request.headers());
        let mut response = self.answer_encoded(request).await;
        cors::mark(response.headers_mut(), origin);
        response
    }

    /// Answers a request, compressed if the client accepts a coding.
    async fn answer_encoded(&self, request: Request<Body>) -> Response<Body> {
        let accepted: Vec<HeaderValue> = request.headers().get_all(ACCEPT_ENCODING).iter().cloned().collect();
        let response = self.answer_plainly(request).await;
        if accepted.is_empty() || !is_compressible(&response) {
            return response;
        }
        let (head, body) = response.into_parts();
        // A body in memory cannot fail.
        let whole = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let (head, bytes) = Box::pin(compress(Response::from_parts(head, whole), accepted)).await.into_parts();
        let body = match head.extensions.get::<CountedKey>() {
            Some(CountedKey(key)) if head.headers.contains_key(CONTENT_ENCODING) => {
                Body::from(self.app.answer_bytes.count(key, bytes))
            }
            _ => Body::from(bytes),
        };
        Response::from_parts(head, body)
    }

    async fn answer_plainly(&self, mut request: Request<Body>) -> Response<Body> {
        let app = self.app.clone();
        request.extensions_mut().insert(Served(self.map));
        let found = self.map.find(request.uri().path());
        let Some(interceptor) = app.interceptor.get() else { return handle(app, found, request).await };
        let handle = |request| -> BoxFuture<'_, _> { Box::pin(handle(app.clone(), found.clone(), request)) };
        interceptor.intercept(&app, request, &handle).await
    }
}

/// The key whose bytes in flight the body of a response counts to.
#[derive(Clone)]
struct CountedKey(String);

/// Whether the body of a response may be compressed: a whole body from 1 KiB on (contract 4). Streams and files come in pieces,
/// and an asset was compressed before.
fn is_compressible(response: &Response<Body>) -> bool {
    let is_private = response.headers().get(CACHE_CONTROL).is_some_and(|value| value == NO_STORE);
    is_private && response.body().size_hint().exact().is_some_and(|size| size >= COMPRESSED_MIN)
}

/// Handles a request to its end. A write continues after the client disconnects, so its follow-up work is never lost; a
/// read is dropped with the connection.
async fn handle(app: Arc<App>, found: Option<RouteMatch<'static>>, request: Request<Body>) -> Response<Body> {
    let may_hang_up = request.extensions().get::<Hangup>().is_some();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let work = carry_out(app, found, request);
    if reads || !may_hang_up {
        return work.await;
    }
    match tokio::spawn(work).await {
        Ok(response) => response,
        // Only the end of the process ends the task early, and the process waits no longer then.
        Err(_) => std::future::pending().await,
    }
}

async fn carry_out(app: Arc<App>, found: Option<RouteMatch<'static>>, request: Request<Body>) -> Response<Body> {
    let began = app.clock.elapsed();
    // Discovery and tools use the current version, even in refusals before a route is found (contract 13).
    let is_versioned = found.as_ref().is_none_or(|found| found.entry.routes.iter().any(|route| route.is_versioned()));
    let named = if is_versioned { NamedVersion::of_request(&app, request.headers()) } else { NamedVersion::Absent };
    let mut context = ResponseContext {
        request_id: request.extensions().get().map_or_else(RequestId::new, RequestId::clone).0,
        base_url: app.base_url.clone(),
        // A supported version in the header applies from the start, also to the form of refusals (contract 13).
        version: if let NamedVersion::Supported(version) = named { version } else { Version::current() },
        challenge: None,
    };
    let method = request.method().clone();
    let web_refusal = match &found {
        Some(found) => found.entry.web_refusal(),
        None => request.extensions().get().and_then(|Served(map): &Served| map.refusal_above(request.uri().path())),
    };
    // The path of a page may hold the secret of a link, so the log gets the path of the route.
    let target = match (&found, web_refusal) {
        (Some(found), Some(_)) => found.entry.path.to_owned(),
        _ => request.uri().path().to_owned(),
    };
    let mut facts = RequestFacts { web_refusal, ..RequestFacts::default() };
    let pipeline = Pipeline { app: &app, named, context: &mut context, facts: &mut facts };
    let result = AssertUnwindSafe(pipeline.run(found, request)).catch_unwind().await;
    let refuse = web_refusal.unwrap_or(ResponseContext::problem_reply);
    let mut reply = match result {
        Ok(Ok(reply)) => reply,
        Ok(Err(Refusal::Reply(reply))) => *reply,
        Ok(Err(Refusal::Problem(problem))) => refuse(&context, &problem),
        Ok(Err(Refusal::StoreError(fault))) => refuse(&context, &context.fault_problem(&fault)),
        Err(_) => refuse(&context, &context.fault_problem(&StoreError::Panicked)),
    };
    if let Some(problem) = count_message(&app, &reply, &mut facts) {
        reply = context.problem_reply(&problem);
    }
    if let Err(problem) = check_answer_bytes(&app, &reply, &facts) {
        reply = context.problem_reply(&problem);
    }
    settle_refusal(&app, reply.status, &mut facts).await;
    let took = app.clock.elapsed() - began;
    app.metrics.record_response(facts.operation, reply.status, reply.error_type(), took);
    let seen = Seen::new(&method, &target, reply.status, took);
    seen.keep(&app, &context, &facts);
    // A stranger's requests, a key's 429 responses and MCP messages that count in no window have no other limit.
    let is_in_window = facts.rate_window.is_some() || reply.header(X_RATELIMIT_LIMIT).is_some();
    let is_unlimited = app.config.rate_limits.is_some() && !is_in_window;
    let is_sampled = facts.key.is_none() || reply.status == 429 || is_unlimited;
    if !is_sampled || app.log_sampler.admits(reply.status, app.clock.elapsed()) {
        tracing::info!(
            request_id = &*context.request_id,
            method = seen.method,
            path = seen.path,
            operation = facts.operation,
            key = facts.key.as_deref().unwrap_or("-"),
            status = reply.status,
            micros = took.as_micros() as u64,
            "request"
        );
    }
    finish(&app, reply, &context, &facts)
}

/// Refuses an answer to a read beyond the limits of bytes in flight. The answer to a write is sent: the write is done.
fn check_answer_bytes(app: &App, reply: &Reply, facts: &RequestFacts) -> Result<(), Problem> {
    match (&reply.payload, &facts.key, facts.counted) {
        (Payload::Json(text), Some(key), Some((RateClass::Read, _))) => app.answer_bytes.check(key, text.len()),
        _ => Ok(()),
    }
}

/// Counts an MCP message as a read, unless a tool counted the call. Some: the message exceeded the limit.
fn count_message(app: &App, reply: &Reply, facts: &mut RequestFacts) -> Option<Problem> {
    let is_counted = !facts.counts_late || reply.header(X_RATELIMIT_LIMIT).is_some();
    let key = facts.key.as_ref().filter(|_| !is_counted)?;
    let counted = app.clock.elapsed();
    facts.rate_window = app.limits.count_call(key, RateClass::Read, counted);
    let accepted = facts.rate_window.filter(|rate_window| !rate_window.is_refused);
    facts.counted = accepted.map(|_| (RateClass::Read, counted));
    facts.rate_window?.check().err()
}

/// Gives a refused call back to its window, and counts the refusal against the key.
async fn settle_refusal(app: &Arc<App>, status: u16, facts: &mut RequestFacts) {
    let (429, Some(key)) = (status, &facts.key) else { return };
    if let (Some(rate_window), Some((class, counted))) = (&mut facts.rate_window, facts.counted) {
        app.limits.refund(key, class, counted);
        rate_window.remaining += 1;
    }
    auth::record_refusal(app, key).await;
}

/// The complete response, as bytes, to a request head that did not arrive in time.
pub fn late_head_response(app: &App) -> Vec<u8> {
    let seconds = app.config.headers_time_max.as_secs_f32();
    let message = format!("The headers did not arrive within {seconds} s.");
    whole_response(app, &Problem::new(ProblemType::RequestTimeout, message))
}

/// The complete response, as bytes, to a request in plain HTTP where the service speaks HTTPS.
pub fn plain_http_response(app: &App) -> Vec<u8> {
    let message = "This port speaks HTTPS only: the address of the service begins with https://.";
    let problem = Problem::parameter("scheme", "http", Some("https"), message);
    whole_response(app, &problem.with_fix("Begin the address of the service with https://."))
}

/// A refusal as bytes, for a connection without a request.
fn whole_response(app: &App, problem: &Problem) -> Vec<u8> {
    let version = Version::current();
    let context =
        ResponseContext { request_id: RequestId::new().0, base_url: app.base_url.clone(), version, challenge: None };
    let reply = context.problem_reply(problem);
    let body = match &reply.payload {
        Payload::Json(text) => text.clone(),
        _ => String::new(),
    };
    let (head, _) = finish(app, reply, &context, &RequestFacts::default()).into_parts();
    let mut bytes = head_text(&head, &format!("content-length: {}\r\n", body.len()));
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

fn finish(app: &App, mut reply: Reply, context: &ResponseContext, facts: &RequestFacts) -> Response<Body> {
    let version = reply.version().unwrap_or(context.version);
    let mut streaming = None;
    let (media, body) = match reply.payload {
        Payload::Json(text) => {
            let body = match &facts.key {
                Some(key) => Body::from(app.answer_bytes.count(key, text.into())),
                None => Body::from(text),
            };
            (Some("application/json"), body)
        }
        Payload::Text(media, text) => (Some(media), Body::from(text)),
        Payload::Events(frames, over) => {
            streaming = Some(Streaming(over));
            (Some("text/event-stream"), Body::from_stream(frames.map(Ok::<_, Infallible>)))
        }
        Payload::File { media, file, length } => {
            reply.headers.push(("content-length", length.to_string()));
            (Some(media), Body::from_stream(ReaderStream::with_capacity(file.take(length), FILE_PIECE)))
        }
        Payload::Empty => (None, Body::empty()),
    };
    let mut response = Response::new(body);
    streaming.map(|streaming| response.extensions_mut().insert(streaming));
    facts.key.iter().for_each(|key| drop(response.extensions_mut().insert(CountedKey(key.clone()))));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.reserve(HEADERS_USUAL);
    if facts.web_refusal.is_none() {
        headers.insert(API_VERSION, HeaderValue::from_static(version.name));
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(NO_STORE));
    if let Some(media) = media {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    }
    if let Ok(id) = HeaderValue::from_str(&context.request_id) {
        headers.insert(REQUEST_ID, id);
    }
    // The header is already set, with the version of the reply itself.
    reply.headers.retain(|(name, _)| *name != SERVICE_API_VERSION);
    let warnings =
        if version.is_current() { vec![] } else { version.deprecation_headers(app.clock.now(), &context.base_url) };
    let limits = facts.rate_window.map(|rate_window| rate_window.headers(app.clock.now()));
    for (name, value) in warnings.into_iter().chain(limits.into_iter().flatten()).chain(reply.headers) {
        match (HeaderName::from_static(name), HeaderValue::try_from(value)) {
            // A response may set several cookies.
            (name, Ok(value)) if name == SET_COOKIE => drop(headers.append(name, value)),
            (name, Ok(value)) => drop(headers.insert(name, value)),
            (_, Err(_)) => (),
        }
    }
    response
}
