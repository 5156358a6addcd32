//! What stands around each request while faults are on order: it holds requests up, loses, doubles and refuses them,
//! and says so in the log and in a header. Must not know what a request does.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Extensions, HeaderMap, HeaderValue, Request, Response, StatusCode};
use hearth_contract::key::{Environment, parse_key};
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};
use http_body_util::{BodyExt, Limited};

use super::grammar::{Fault, Routes, Rule};
use super::{Faults, frames};
use crate::app::App;
use crate::http::auth;
use crate::http::listener::Hangup;
use crate::http::map::Found;
use crate::http::parts::BODY_MAX;
use crate::http::route::{Access, Route};

/// Says in every answer that faults are on order, and which befell it.
const HEADER: &str = "x-hearth-faults";

/// A refusal that the edge is to give instead of an answer of its own.
#[derive(Clone)]
struct Forced(Problem);

/// The refusal that was put into a request, if any.
pub fn forced(extensions: &Extensions) -> Result<(), Problem> {
    extensions.get::<Forced>().map_or(Ok(()), |Forced(problem)| Err(problem.clone()))
}

/// What befalls one request.
#[derive(Default)]
struct Fate {
    latency: Duration,
    /// The first that struck of those of which there can only be one.
    fault: Option<Fault>,
    told: Vec<String>,
}

/// Carries a request out by `handle`, with the faults that are its turn.
pub async fn around<F, A>(app: Arc<App>, found: Found<'static>, request: Request<Body>, handle: F) -> Response<Body>
where
    F: Fn(Arc<App>, Option<Found<'static>>, Request<Body>) -> A,
    A: Future<Output = Response<Body>>,
{
    let Some(faults) = &app.faults else { return handle(app, Some(found), request).await };
    let route = found.place.routes.iter().find(|route| route.method == request.method());
    let Some(route) = route.filter(|route| route.access != Access::Open && reaches(faults, request.headers())) else {
        return mark(handle(app, Some(found), request).await, &[]);
    };
    let rules = rules(&app, faults, route, request.headers()).await;
    let fate = fate(&app, faults, route, &rules);
    tokio::time::sleep(fate.latency).await;
    let hangup = request.extensions().get::<Hangup>().cloned();
    let lose = async || {
        match hangup {
            Some(hangup) => hangup.now().await,
            // Without a connection of ours, an answer that no proxy could give better.
            None => gateway(StatusCode::BAD_GATEWAY),
        }
    };
    let response = match fate.fault {
        Some(Fault::LostRequest) => lose().await,
        Some(Fault::Status { status: status @ (502 | 504), .. }) => {
            gateway(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY))
        }
        Some(Fault::Status { status, retry_after }) => {
            let mut request = request;
            request.extensions_mut().insert(Forced(refusal(status, retry_after)));
            handle(app.clone(), Some(found), request).await
        }
        Some(Fault::LostAnswer) => {
            let response = handle(app.clone(), Some(found), request).await;
            tracing::warn!(status = response.status().as_u16(), "the answer that is lost");
            lose().await
        }
        Some(Fault::Duplicate) => twice(&app, found, request, &handle).await,
        _ => handle(app.clone(), Some(found), request).await,
    };
    let of_frames: Vec<usize> =
        rules.into_iter().filter(|rule| faults.plan.rules[*rule].fault.is_of_frames()).collect();
    let response = if route.path == paths::STREAM && response.status() == StatusCode::OK && !of_frames.is_empty() {
        frames::around(&app, of_frames, response)
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

impl super::Plan {
    /// Whether keys of an environment are touched.
    pub fn reaches(&self, environment: Environment) -> bool {
        environment == Environment::Test || self.on_live
    }
}

/// The rules that match a request.
async fn rules(app: &Arc<App>, faults: &Faults, route: &Route, headers: &HeaderMap) -> Vec<usize> {
    let rules = || faults.plan.rules.iter().enumerate().filter(|(_, rule)| is_of_route(rule, route));
    if rules().all(|(_, rule)| rule.keys.is_empty()) {
        return rules().map(|(nth, _)| nth).collect();
    }
    let principal = auth::identify(app, headers).await.ok();
    let is_of_key = |rule: &Rule| {
        let named = |word: &String| principal.as_ref().is_some_and(|who| who.key.id == *word || who.key.name == *word);
        rule.keys.is_empty() || rule.keys.iter().any(named)
    };
    rules().filter(|(_, rule)| is_of_key(rule)).map(|(nth, _)| nth).collect()
}

fn is_of_route(rule: &Rule, route: &Route) -> bool {
    let is_of = |routes: &Routes| match routes {
        Routes::Operation(operation) => route.operation == *operation,
        Routes::Class(class) => route.class == *class && route.path != paths::STREAM,
        Routes::Streams => route.path == paths::STREAM,
    };
    rule.routes.is_empty() || rule.routes.iter().any(is_of)
}

fn fate(app: &App, faults: &Faults, route: &Route, rules: &[usize]) -> Fate {
    let mut fate = Fate::default();
    for nth in rules {
        let rule = &faults.plan.rules[*nth];
        if rule.fault.is_of_frames() {
            continue;
        }
        let Some(times) = faults.strikes(*nth, app.clock.passed()) else { continue };
        match &rule.fault {
            Fault::Latency { from, to } => fate.latency += faults.between(*nth, *from, *to),
            fault if fate.fault.is_none() => fate.fault = Some(fault.clone()),
            _ => continue,
        }
        tracing::warn!(rule = rule.text, times, operation = route.operation, "a fault was injected");
        fate.told.push(rule.text.clone());
    }
    fate
}

/// Carries a request out twice, as when a proxy sends it again; the client gets the second answer.
async fn twice<F, A>(app: &Arc<App>, found: Found<'static>, request: Request<Body>, handle: &F) -> Response<Body>
where
    F: Fn(Arc<App>, Option<Found<'static>>, Request<Body>) -> A,
    A: Future<Output = Response<Body>>,
{
    let (parts, body) = request.into_parts();
    let Ok(body) = Limited::new(body, BODY_MAX).collect().await else {
        return gateway(StatusCode::BAD_GATEWAY);
    };
    let body = body.to_bytes();
    let copy = || Request::from_parts(parts.clone(), Body::from(body.clone()));
    handle(app.clone(), Some(found.clone()), copy()).await;
    handle(app.clone(), Some(found), copy()).await
}

fn refusal(status: u16, retry_after: u64) -> Problem {
    let kind = match status {
        429 => ProblemType::RateLimited,
        503 => ProblemType::Unavailable,
        _ => ProblemType::InternalError,
    };
    let problem = Problem::new(kind, "This refusal was injected by --faults.");
    if matches!(status, 429 | 503) { problem.with("retry_after_seconds", retry_after) } else { problem }
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
