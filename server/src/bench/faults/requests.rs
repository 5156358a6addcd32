//! Injects faults into requests, as the interceptor of the service: delays, loses, repeats and refuses requests, and
//! names each fault in the log and in a response header. Must not know what a request does.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use hearth_contract::key::parse_key;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::{Value, json};

use super::body_copy::copy_body;
use super::frames;
use super::injector::FaultInjector;
use super::plan::{FaultKind, RouteSet, Rule};
use super::subject::Subject;
use crate::app::App;
use crate::app::keyring::Principal;
use crate::app::limits::RateWindow;
use crate::http::auth;
use crate::http::bodies::RequestBody;
use crate::http::connection::Hangup;
use crate::http::connection::RequestId;
use crate::http::map::RouteMap;
use crate::http::route::{Access, Route};
use crate::interceptor::{ForcedRefusal, Handle, Interceptor};
use crate::routes::ROUTES;
use crate::store::keys::Key;

/// Names the injected faults in every response of a service with `--faults`.
const HEADER: &str = "x-hearth-faults";

impl FaultInjector {
    /// Puts the injector in front of all requests of a service. Only the first call for a service has an effect.
    pub fn install(self, app: &App) {
        let _ = app.interceptor.set(Box::new(self));
    }
}

impl Interceptor<App> for FaultInjector {
    fn intercept<'a>(
        &'a self,
        app: &'a Arc<App>,
        request: Request<Body>,
        handle: Handle<'a>,
    ) -> BoxFuture<'a, Response<Body>> {
        Box::pin(inject(self, app, request, handle))
    }

    fn describe(&self, key: &Key) -> Value {
        let plan = self.plan();
        let rules: Vec<&str> = plan.rules.iter().map(|rule| rule.text.as_str()).collect();
        json!({ "rules": rules, "seed": plan.seed, "reaches_this_key": plan.reaches_key(key) })
    }
}

/// The faults of one request.
#[derive(Default)]
struct Injection {
    latency: Duration,
    /// The number of the rule and its fault, of those faults that exclude each other.
    fault: Option<(usize, FaultKind)>,
    /// The texts of the rules that struck, for the header.
    texts: Vec<String>,
}

impl Injection {
    /// Logs a fault and adds the rule to the header.
    fn add(&mut self, faults: &FaultInjector, rule: usize, route: &Route, subject: &Subject) {
        subject.log_injection(faults, rule, &route.operation);
        self.texts.push(faults.plan().rules[rule].text.clone());
    }
}

/// Answers a request with the faults that are due.
async fn inject<'a>(
    faults: &'a FaultInjector,
    app: &'a Arc<App>,
    mut request: Request<Body>,
    handle: Handle<'a>,
) -> Response<Body> {
    let route =
        find_route(&request).filter(|route| route.access != Access::Open && reaches_key_of(faults, request.headers()));
    let Some(route) = route else { return mark(handle(request).await, &[]) };
    let principal = auth::identify(app, request.headers()).await.ok();
    let rules = matching_rules(faults, route, principal.as_deref());
    let subject = Subject { request_id: RequestId::new(), principal };
    request.extensions_mut().insert(subject.request_id.clone());
    let mut injection = decide(app, faults, route, &rules, &subject);
    tokio::time::sleep(injection.latency).await;
    let response = match injection.fault.take() {
        Some((rule, FaultKind::Duplicate)) => {
            let (response, is_repeated) = handle_twice(route, request, handle).await;
            if is_repeated {
                injection.add(faults, rule, route, &subject);
            }
            response
        }
        Some((_, fault)) => respond(&fault, app, route, request, handle, &subject).await,
        None => handle(request).await,
    };
    let frame_rules: Vec<usize> =
        rules.into_iter().filter(|rule| faults.plan().rules[*rule].fault.is_of_frames()).collect();
    let is_stream = route.path == paths::STREAM && response.status() == StatusCode::OK;
    let response = if is_stream && !frame_rules.is_empty() {
        frames::inject(app, faults, frame_rules, subject, response)
    } else {
        response
    };
    mark(response, &injection.texts)
}

/// Answers a request with a fault that loses or refuses the request.
async fn respond<'a>(
    fault: &FaultKind,
    app: &App,
    route: &Route,
    mut request: Request<Body>,
    handle: Handle<'a>,
    subject: &Subject,
) -> Response<Body> {
    let hangup = request.extensions().get::<Hangup>().cloned();
    let lose = async || match hangup {
        Some(hangup) => hangup.now().await,
        // A request without a connection, as in tests: the closest response is that of a proxy.
        None => gateway_response(StatusCode::BAD_GATEWAY),
    };
    match *fault {
        FaultKind::LostRequest => lose().await,
        FaultKind::LostAnswer => {
            let response = handle(request).await;
            let (request_id, status) = (&*subject.request_id.0, response.status().as_u16());
            tracing::warn!(request_id, status, "a response was dropped");
            lose().await
        }
        FaultKind::Status { status: status @ (502 | 504), .. } => {
            gateway_response(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY))
        }
        FaultKind::Status { status, retry_after } => {
            let key = subject.principal.as_ref().map(|who| &who.key.id);
            let rate_window = key.and_then(|key| app.limits.peek(key, route.class, app.clock.elapsed()));
            request.extensions_mut().insert(refusal(status, retry_after, rate_window));
            handle(request).await
        }
        _ => handle(request).await,
    }
}

/// Whether faults may strike the key in the headers. A request without a key is never struck.
fn reaches_key_of(faults: &FaultInjector, headers: &HeaderMap) -> bool {
    let value = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let key = value.split_once(' ').map_or("", |(_, key)| key.trim());
    parse_key(key).is_some_and(|environment| faults.plan().reaches(environment))
}

/// The route of a request. HEAD counts as GET.
fn find_route(request: &Request<Body>) -> Option<&'static Route> {
    static MAP: LazyLock<RouteMap> = LazyLock::new(|| RouteMap::new(ROUTES.iter()));
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    let found = MAP.find(request.uri().path())?;
    found.entry.routes.iter().find(|route| route.method == method).copied()
}

/// The numbers of the rules that match a request.
fn matching_rules(faults: &FaultInjector, route: &Route, principal: Option<&Principal>) -> Vec<usize> {
    let is_for_key = |rule: &Rule| principal.map_or(rule.keys.is_empty(), |who| rule.is_for(&who.key));
    let rules = faults.plan().rules.iter().enumerate();
    rules.filter(|(_, rule)| is_for_route(rule, route) && is_for_key(rule)).map(|(nth, _)| nth).collect()
}

fn is_for_route(rule: &Rule, route: &Route) -> bool {
    let contains = |routes: &RouteSet| match routes {
        RouteSet::Operation(operation) => route.operation == *operation,
        RouteSet::Class(class) => route.class == *class && route.path != paths::STREAM,
        RouteSet::Streams => route.path == paths::STREAM,
    };
    rule.routes.is_empty() || rule.routes.iter().any(contains)
}

/// Decides which of the matching rules strike a request.
fn decide(app: &App, faults: &FaultInjector, route: &Route, rules: &[usize], subject: &Subject) -> Injection {
    let mut injection = Injection::default();
    for nth in rules {
        let rule = &faults.plan().rules[*nth];
        if rule.fault.is_of_frames() {
            continue;
        }
        // Latencies add up and exclude no other fault.
        let is_taken = injection.fault.is_some() && !matches!(rule.fault, FaultKind::Latency { .. });
        if !faults.strikes(*nth, is_taken, app.clock.elapsed()) {
            continue;
        }
        match &rule.fault {
            FaultKind::Latency { from, to } => injection.latency += faults.random_between(*nth, *from, *to),
            fault => injection.fault = Some((*nth, fault.clone())),
        }
        // A duplicate is logged later: only the first try shows whether the body can be sent again.
        if rule.fault != FaultKind::Duplicate {
            injection.add(faults, *nth, route, subject);
        }
    }
    injection
}

/// Handles a request twice, as when a proxy repeats a request, and returns the second response. The flag is false when
/// the first try did not read the whole body (too large, endless or of another type): then the first response counts.
async fn handle_twice<'a>(route: &Route, request: Request<Body>, handle: Handle<'a>) -> (Response<Body>, bool) {
    let (parts, body) = request.into_parts();
    let (body, copy) = copy_body(body);
    let mut first = Request::from_parts(parts.clone(), body);
    // Each try needs its own id; the client receives the id of the second.
    first.extensions_mut().remove::<RequestId>();
    let response = handle(first).await;
    let body = match route.request_body {
        RequestBody::None => Some(Bytes::new()),
        _ => copy.complete(),
    };
    match body {
        Some(body) => (handle(Request::from_parts(parts, Body::from(body))).await, true),
        None => (response, false),
    }
}

fn refusal(status: u16, retry_after: u64, rate_window: Option<RateWindow>) -> ForcedRefusal {
    let kind = match status {
        429 => ProblemType::RateLimited,
        503 => ProblemType::Unavailable,
        _ => ProblemType::InternalError,
    };
    let mut problem = Problem::new(kind, "This refusal was injected by --faults.");
    if matches!(status, 429 | 503) {
        problem = problem.with("retry_after_seconds", retry_after);
    }
    match rate_window {
        // A real 429 comes with an empty window.
        Some(rate_window) if status == 429 => {
            let resets_in = Duration::from_secs(retry_after);
            let rate_window = RateWindow { remaining: 0, resets_in, ..rate_window };
            let problem = problem.with("window", rate_window.name).with("limit", rate_window.limit);
            ForcedRefusal { problem, rate_window: Some(rate_window) }
        }
        rate_window => ForcedRefusal { problem, rate_window },
    }
}

/// The response of a proxy in front of the service: HTML, not JSON.
fn gateway_response(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("<html><body><h1>{status}</h1></body></html>\n")));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/html"));
    response
}

/// Adds the header that names the injected faults: `on`, or `on; RULE; RULE`.
fn mark(mut response: Response<Body>, texts: &[String]) -> Response<Body> {
    let text = if texts.is_empty() { "on".to_owned() } else { format!("on; {}", texts.join("; ")) };
    // A rule may name a key with characters that a header cannot carry.
    let value = HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("on"));
    response.headers_mut().insert(HEADER, value);
    response
}
