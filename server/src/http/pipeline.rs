//! All steps between a request and its handler, in the order of contract 4: sizes, host, preflight, route, key, rate limit, scope,
//! version, media types, body, parameters, preconditions. Must not know how a response is sent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{ACCEPT, ACCEPT_ENCODING, IF_MATCH, IF_NONE_MATCH, RANGE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, Request};
use bytes::Bytes;
use hearth_contract::headers::{LAST_EVENT_ID, SERVICE_API_VERSION};
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType, QUOTED_NAME_MAX, nearest, shorten};

use super::bodies::RequestBody;
use super::call::{Call, PublicRequest};
use super::connection::Peer;
use super::headers::header_value;
use super::map::{RouteMap, RouteMatch};
use super::parts::{
    check_accept, check_conditions, check_content_type, check_host, check_size, check_transfer_coding, parse_body,
    parse_idempotency_key, read_body,
};
use super::query::Query;
use super::reply::{Refusal, Reply, ResponseContext};
use super::route::{Handler, HandlerFuture, Route, WebRefusal};
use super::upload_body::UploadBody;
use super::web::WebRequest;
use super::{accept, auth, cors, web};
use crate::app::App;
use crate::app::keyring::Principal;
use crate::app::limits::{self, RateClass, RateWindow};
use crate::home::receipts::Ticket;
use crate::interceptor::ForcedRefusal;
use crate::store::lists::PAGE_BYTES_MAX;
use crate::versions::{self, Version};

/// Header names, parsed at compile time because every request needs them.
const API_VERSION: HeaderName = HeaderName::from_static(SERVICE_API_VERSION);
const LAST_EVENT: HeaderName = HeaderName::from_static(LAST_EVENT_ID);

/// The paths of the address that received the request.
#[derive(Clone, Copy)]
pub(super) struct Served(pub(super) &'static RouteMap);

/// Facts of a request that the response, the log and the metrics need, even after an error.
#[derive(Default)]
pub(super) struct RequestFacts {
    /// The operation id of the route; "" without a route.
    pub(super) operation: &'static str,
    /// The id of the key.
    pub(super) key: Option<String>,
    /// The id of the key's team.
    pub(super) team: Option<String>,
    /// The state of the rate-limit window, for the headers.
    pub(super) rate_window: Option<RateWindow>,
    /// The window that counted the call, and the time of the count.
    pub(super) counted: Option<(RateClass, Duration)>,
    /// An MCP message counts as a read, unless a tool counts the call, or the method is free.
    pub(super) counts_late: bool,
    /// Writes the refusals of a route outside of the API. None: the API.
    pub(super) web_refusal: Option<WebRefusal>,
}

/// The API version that a request names in its header.
#[derive(Debug, Clone, Copy)]
pub(super) enum NamedVersion {
    /// The header is absent.
    Absent,
    /// No version with the name is in service.
    Unsupported,
    /// A version in service.
    Supported(&'static Version),
}

impl NamedVersion {
    /// Reads the header `Service-API-Version`.
    pub(super) fn of_request(app: &App, headers: &HeaderMap) -> NamedVersion {
        match header_value(headers, API_VERSION).map(|name| Version::find(&name, app.clock.now())) {
            None => NamedVersion::Absent,
            Some(None) => NamedVersion::Unsupported,
            Some(Some(version)) => NamedVersion::Supported(version),
        }
    }
}

/// The steps of one request.
pub(super) struct Pipeline<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) named: NamedVersion,
    pub(super) context: &'a mut ResponseContext,
    pub(super) facts: &'a mut RequestFacts,
}

impl Pipeline<'_> {
    /// Carries out all steps and the handler.
    pub(super) async fn run(
        mut self,
        found: Option<RouteMatch<'static>>,
        request: Request<Body>,
    ) -> Result<Reply, Refusal> {
        let (parts, body) = request.into_parts();
        check_size(&parts)?;
        check_host(&parts)?;
        check_transfer_coding(&parts.headers)?;
        if let Some(page) = page_for_browser(&parts) {
            return Ok(web::redirect(page.to_owned()));
        }
        let preflight =
            found.as_ref().and_then(|found| cors::preflight(&self.app.config.allow_origins, found.entry, &parts));
        if let Some(reply) = preflight {
            return Ok(reply);
        }
        let route = find_route(found.as_ref(), &parts)?;
        let (path, segment, second) =
            found.map_or(("", None, None), |found| (found.entry.path, found.segment, found.second));
        self.facts.operation = &route.operation;
        if let Some(ForcedRefusal { problem, rate_window }) = ForcedRefusal::find(&parts.extensions) {
            self.facts.rate_window = rate_window;
            return Err(problem.into());
        }
        match route.handler {
            Handler::Open(handler) => self.answer_public(route, &parts, segment, handler).await,
            Handler::Web(handler) => {
                let (time_max, context) = (self.app.config.body_time_max, self.context.clone());
                let (body, upload) = match route.request_body {
                    // The page judges the form after it knows who has sent it.
                    RequestBody::Multipart => (Bytes::new(), Some(UploadBody::new(body))),
                    _ => (read_body(route, body, &parts.headers, time_max).await?, None),
                };
                let request = WebRequest::new(self.app.clone(), parts, path, segment, body, context);
                (handler.answer)(WebRequest { upload, ..request }).await
            }
            Handler::Keyed(handler) => {
                let principal = self.authenticate(route, &parts).await?;
                let call = self.parse_call(route, parts, body, principal).await?;
                handler(Call { id: segment, name: second, ..call }).await
            }
        }
    }

    async fn answer_public(
        &mut self,
        route: &Route,
        parts: &Parts,
        segment: Option<String>,
        handler: fn(PublicRequest) -> HandlerFuture,
    ) -> Result<Reply, Refusal> {
        self.context.version = Version::current();
        let media = check_accept(route, &parts.headers)?;
        if route.path.starts_with(paths::ROOT) {
            Query::parse(parts.uri.query().unwrap_or_default(), route.parameters, |_, _| ())?;
        }
        check_conditions(route, &parts.headers)?;
        let request = PublicRequest {
            app: self.app.clone(),
            name: segment.unwrap_or_default(),
            media,
            accept_encoding: header_value(&parts.headers, ACCEPT_ENCODING),
            if_none_match: header_value(&parts.headers, IF_NONE_MATCH),
            context: self.context.clone(),
        };
        handler(request).await
    }

    /// Verifies the key, counts the call, and checks scope and version.
    async fn authenticate(&mut self, route: &'static Route, parts: &Parts) -> Result<Arc<Principal>, Refusal> {
        let app = self.app;
        self.context.challenge = app.serves_partners().then(|| route.challenge());
        let peer = parts.extensions.get::<Peer>().map_or(SocketAddr::from(([0, 0, 0, 0], 0)), |peer| peer.0);
        let principal = auth::identify(app, &parts.headers).await?;
        self.context.version = match self.named {
            _ if !route.is_versioned() => Version::current(),
            NamedVersion::Supported(version) => version,
            _ => Version::from_pin(&principal.key.pinned, app.clock.now()),
        };
        auth::check_plan_and_address(app, &principal, &parts.headers, peer)?;
        auth::fill_sandbox(app, &principal).await?;
        self.facts.key = Some(principal.key.id.clone());
        self.facts.team = Some(principal.key.team.clone());
        self.facts.counts_late = route.request_body == RequestBody::Rpc;
        self.count_call(&principal.key.id, route.class)?;
        if route.class == RateClass::Read {
            app.answer_bytes.check_room(&principal.key.id, PAGE_BYTES_MAX)?;
        }
        route.check_scope(&principal)?;
        if let (NamedVersion::Unsupported, true) = (self.named, route.is_versioned()) {
            let name = header_value(&parts.headers, API_VERSION).unwrap_or_default();
            return Err(versions::unsupported(&name, app.clock.now()).into());
        }
        Ok(principal)
    }

    /// Counts the call in a window. Error: `rate_limited`.
    fn count_call(&mut self, key: &str, class: RateClass) -> Result<(), Problem> {
        let passed = self.app.clock.elapsed();
        self.facts.counted = None;
        self.facts.rate_window = self.app.limits.count_call(key, class, passed);
        self.facts.rate_window.map_or(Ok(()), RateWindow::check)?;
        self.facts.counted = Some((class, passed));
        Ok(())
    }

    /// Reads the body and parses all parts of the request but the path, upgraded to the current version.
    async fn parse_call(
        &mut self,
        route: &Route,
        mut parts: Parts,
        body: Body,
        principal: Arc<Principal>,
    ) -> Result<Call, Problem> {
        check_accept(route, &parts.headers)?;
        let mut upload = None;
        let bytes = match route.request_body {
            RequestBody::File | RequestBody::Import => {
                check_content_type(route, &parts.headers)?;
                upload = Some(UploadBody::new(body));
                Bytes::new()
            }
            _ => read_body(route, body, &parts.headers, self.app.config.body_time_max).await?,
        };
        let key = parse_idempotency_key(route, &parts.headers)?;
        let mut body = parse_body(route, &bytes)?;
        let if_match = header_value(&parts.headers, IF_MATCH);
        let ticket = key.map(|key| {
            let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
            Ticket::new(key, parts.method.as_str(), target, &body, if_match.as_deref().unwrap_or_default())
        });
        self.facts.counts_late &= !limits::is_unmetered(&body);
        if self.facts.counts_late && limits::is_tool_list(&body) {
            self.facts.counts_late = false;
            self.count_call(&principal.key.id, RateClass::Read)?;
        }
        let version = self.context.version;
        let upgrade = |name: &str, value: &mut String| version.upgrade_parameter(name, value);
        let query = Query::parse(parts.uri.query().unwrap_or_default(), route.parameters, upgrade)?;
        check_conditions(route, &parts.headers)?;
        if !version.is_current() {
            version.upgrade_body(&mut body);
        }
        if parts.method == Method::HEAD {
            // A range is defined for GET alone (RFC 9110 14.2).
            parts.headers.remove(RANGE);
        }
        Ok(Call {
            app: self.app.clone(),
            principal,
            kind: route.kind,
            id: None,
            name: None,
            query,
            body,
            upload,
            ticket,
            if_match,
            if_none_match: header_value(&parts.headers, IF_NONE_MATCH),
            last_event_id: header_value(&parts.headers, LAST_EVENT),
            headers: parts.headers,
            context: self.context.clone(),
        })
    }
}

/// The page for a person who opens the address of the service in a browser: the console, or else the developer portal.
/// None: another request. Programs get the 404 of an unknown path.
fn page_for_browser(parts: &Parts) -> Option<&'static str> {
    let known = parts.extensions.get::<Served>().map_or(&[][..], |Served(map)| map.paths());
    let page = [paths::CONSOLE, paths::DOCS].into_iter().find(|page| known.contains(page))?;
    let wanted = accept::choose_media_type(header_value(&parts.headers, ACCEPT).as_deref(), &ROOT_MEDIA);
    let reads = matches!(parts.method, Method::GET | Method::HEAD);
    (reads && parts.uri.path() == "/" && wanted == Some("text/html")).then_some(page)
}

/// The media types between which a reader of `/` chooses, the default first.
const ROOT_MEDIA: [&str; 2] = ["application/json", "text/html"];

/// The known path that resembles the target most, if any. The common prefix does not count as a resemblance.
fn nearest_path<'a>(target: &str, known: &[&'a str]) -> Option<&'a str> {
    let within = |path: &'a str| path.strip_prefix(paths::ROOT)?.strip_prefix('/');
    let Some(rest) = target.strip_prefix(paths::ROOT).and_then(|rest| rest.strip_prefix('/')) else {
        return nearest(target, known.iter().copied());
    };
    let near = nearest(rest, known.iter().copied().filter_map(within))?;
    known.iter().copied().find(|path| within(path) == Some(near))
}

fn find_route(found: Option<&RouteMatch<'static>>, parts: &Parts) -> Result<&'static Route, Problem> {
    let (method, target) = (&parts.method, parts.uri.path());
    let Some(RouteMatch { entry, .. }) = found else {
        let shown = shorten(target, QUOTED_NAME_MAX);
        let problem = Problem::new(ProblemType::RouteNotFound, format!("There is no path {shown}."));
        let known = parts.extensions.get::<Served>().map_or(&[][..], |Served(map)| map.paths());
        return Err(match nearest_path(target, known) {
            Some(near) => problem.with_fix(format!("Did you mean {near}? Paths are exact in case and slashes.")),
            // The metrics address has few paths, so the hint lists all of them.
            None if !known.contains(&paths::ROOT) => problem.with_fix(format!("The paths here: {}.", known.join(", "))),
            None => problem,
        });
    };
    let wanted = if method == Method::HEAD { &Method::GET } else { method };
    entry.routes.iter().find(|route| route.method == wanted).copied().ok_or_else(|| {
        let problem = Problem::new(ProblemType::MethodNotAllowed, format!("{method} is not a method of this path."))
            .with("allowed", entry.methods());
        if cors::is_preflight(parts) { problem.with_fix(ProblemType::OriginNotAllowed.fix()) } else { problem }
    })
}
