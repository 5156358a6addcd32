//! What stands around each request while faults are on order: it holds requests up, loses, doubles and refuses them,
//! and says so in the log and in a header. Must not know what a request does.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use bytes::Bytes;
use hearth_contract::key::parse_key;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};

use super::copied::copied;
use super::grammar::{Fault, Routes, Rule};
use super::{Faults, frames};
use crate::app::App;
use crate::app::keyring::Principal;
use crate::app::limits::RateWindow;
use crate::http::auth;
use crate::http::bodies::RequestBody;
use crate::http::connection::Hangup;
use crate::http::connection::RequestId;
use crate::http::route::{Access, Route};
use crate::interceptor::{ForcedRefusal, Handle};
use crate::routes::API;

/// Says in every answer that faults are on order, and which befell it.
const HEADER: &str = "x-hearth-faults";

/// Whose request it is that a fault befalls, for the log.
pub(super) struct Whose {
    request_id: RequestId,
    pub(super) principal: Option<Arc<Principal>>,
}

impl Whose {
    /// Says in the log that a fault struck, and how often it has.
    pub(super) fn tell(&self, faults: &Faults, rule: usize, operation: &str) {
        let (times, rule) = (faults.injected(rule), &faults.plan.rules[rule]);
        let (request_id, key) = (&*self.request_id.0, self.principal.as_ref().map_or("-", |who| &*who.key.id));
        tracing::warn!(request_id, rule = rule.text, times, operation, key, "a fault was injected");
    }
}

/// What befalls one request.
#[derive(Default)]
struct Fate {
    latency: Duration,
    /// The first that struck of those of which there can only be one, and its rule.
    fault: Option<(usize, Fault)>,
    told: Vec<String>,
}

impl Fate {
    /// Says in the log that a fault befell the request, and keeps it for the header.
    fn befalls(&mut self, faults: &Faults, rule: usize, route: &Route, whose: &Whose) {
        whose.tell(faults, rule, &route.operation);
        self.told.push(faults.plan.rules[rule].text.clone());
    }
}

/// Carries a request out by `handle`, with the faults that are its turn.
pub(super) async fn around<'a>(
    faults: &'a Faults,
    app: &'a Arc<App>,
    mut request: Request<Body>,
    handle: Handle<'a>,
) -> Response<Body> {
    let route = route(&request).filter(|route| route.access != Access::Open && reaches(faults, request.headers()));
    let Some(route) = route else { return mark(handle(request).await, &[]) };
    let principal = auth::identify(app, request.headers()).await.ok();
    let rules = rules(faults, route, principal.as_deref());
    let whose = Whose { request_id: RequestId::new(), principal };
    request.extensions_mut().insert(whose.request_id.clone());
    let mut fate = fate(app, faults, route, &rules, &whose);
    tokio::time::sleep(fate.latency).await;
    let hangup = request.extensions().get::<Hangup>().cloned();
    let lose = async || {
        match hangup {
            Some(hangup) => hangup.now().await,
            // Without a connection of ours, an answer that no proxy could give better.
            None => gateway(StatusCode::BAD_GATEWAY),
        }
    };
    let response = match fate.fault.take() {
        Some((_, Fault::LostRequest)) => lose().await,
        Some((_, Fault::Status { status: status @ (502 | 504), .. })) => {
            gateway(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY))
        }
        Some((_, Fault::Status { status, retry_after })) => {
            let key = whose.principal.as_ref().map(|who| &who.key.id);
            let rate_window = key.and_then(|key| app.limits.peek(key, route.class, app.clock.passed()));
            request.extensions_mut().insert(refusal(status, retry_after, rate_window));
            handle(request).await
        }
        Some((_, Fault::LostAnswer)) => {
            let response = handle(request).await;
            let (request_id, status) = (&*whose.request_id.0, response.status().as_u16());
            tracing::warn!(request_id, status, "the answer that is lost");
            lose().await
        }
        Some((rule, Fault::Duplicate)) => {
            let (response, was_doubled) = twice(route, request, handle).await;
            if was_doubled {
                fate.befalls(faults, rule, route, &whose);
            }
            response
        }
        _ => handle(request).await,
    };
    let of_frames: Vec<usize> =
        rules.into_iter().filter(|rule| faults.plan.rules[*rule].fault.is_of_frames()).collect();
    let response = if route.path == paths::STREAM && response.status() == StatusCode::OK && !of_frames.is_empty() {
        frames::around(app, faults, of_frames, whose, response)
    } else {
        response
    };
    mark(response, &fate.told)
}

/// Whether faults may touch the key that a request shows. Who shows none is left alone, and so is a live key unless
/// they were told otherwise.
fn reaches(faults: &Faults, headers: &HeaderMap) -> bool {
    let value = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let key = value.split_once(' ').map_or("", |(_, key)| key.trim());
    parse_key(key).is_some_and(|environment| faults.plan.reaches(environment))
}

/// What is asked. HEAD is a read, and as exposed as one.
fn route(request: &Request<Body>) -> Option<&'static Route> {
    let wanted = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    API.find(request.uri().path())?.entry.routes.iter().find(|route| route.method == wanted).copied()
}

/// The rules that match a request.
fn rules(faults: &Faults, route: &Route, principal: Option<&Principal>) -> Vec<usize> {
    let is_of_key = |rule: &Rule| principal.map_or(rule.keys.is_empty(), |who| rule.is_for(&who.key));
    let rules = faults.plan.rules.iter().enumerate();
    rules.filter(|(_, rule)| is_of_route(rule, route) && is_of_key(rule)).map(|(nth, _)| nth).collect()
}

fn is_of_route(rule: &Rule, route: &Route) -> bool {
    let is_of = |routes: &Routes| match routes {
        Routes::Operation(operation) => route.operation == *operation,
        Routes::Class(class) => route.class == *class && route.path != paths::STREAM,
        Routes::Streams => route.path == paths::STREAM,
    };
    rule.routes.is_empty() || rule.routes.iter().any(is_of)
}

fn fate(app: &App, faults: &Faults, route: &Route, rules: &[usize], whose: &Whose) -> Fate {
    let mut fate = Fate::default();
    for nth in rules {
        let rule = &faults.plan.rules[*nth];
        if rule.fault.is_of_frames() {
            continue;
        }
        // Latency adds up, and stands in nobody's way.
        let is_taken = fate.fault.is_some() && !matches!(rule.fault, Fault::Latency { .. });
        if !faults.strikes(*nth, is_taken, app.clock.passed()) {
            continue;
        }
        match &rule.fault {
            Fault::Latency { from, to } => fate.latency += faults.between(*nth, *from, *to),
            fault => fate.fault = Some((*nth, fault.clone())),
        }
        // Whether there is something to double shows when the request was carried out once.
        if rule.fault != Fault::Duplicate {
            fate.befalls(faults, *nth, route, whose);
        }
    }
    fate
}

/// Carries a request out twice, as when a proxy sends it again; the client gets the second answer. One whose body is not
/// read whole, because it is too large, never ends or is of another type, is refused at the first time. Gives whether it
/// was twice.
async fn twice<'a>(route: &Route, request: Request<Body>, handle: Handle<'a>) -> (Response<Body>, bool) {
    let (parts, body) = request.into_parts();
    let (body, kept) = copied(body);
    let mut first = Request::from_parts(parts.clone(), body);
    // Each has an id of its own, and the client is told the second's.
    first.extensions_mut().remove::<RequestId>();
    let response = handle(first).await;
    let whole = match route.request_body {
        RequestBody::None => Some(Bytes::new()),
        _ => kept.whole(),
    };
    match whole {
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
        // Who is told to wait has used its window up.
        Some(rate_window) if status == 429 => {
            let resets_in = Duration::from_secs(retry_after);
            let rate_window = RateWindow { remaining: 0, resets_in, ..rate_window };
            ForcedRefusal { problem: problem.with("limit", rate_window.limit), rate_window: Some(rate_window) }
        }
        rate_window => ForcedRefusal { problem, rate_window },
    }
}

/// What a proxy says that stands before a service: no JSON.
fn gateway(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("<html><body><h1>{status}</h1></body></html>\n")));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/html"));
    response
}

fn mark(mut response: Response<Body>, told: &[String]) -> Response<Body> {
    let text = if told.is_empty() { "on".to_owned() } else { format!("on; {}", told.join("; ")) };
    // A rule may name a key in letters that no header has.
    let value = HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("on"));
    response.headers_mut().insert(HEADER, value);
    response
}
