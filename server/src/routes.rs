//! The table of all operations. Router, authorization, rate limits, 405 responses, OpenAPI and MCP read the table; a
//! route needs an access rule and a summary to compile. Must not know how a handler works.

mod build;
mod discovery;
mod files;
mod jobs;
pub mod partners;
mod records;
pub mod web;

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use axum::http::Method;
use hearth_contract::paths;
use hearth_contract::schema::Kind;

use self::build::{get, health, open};
use self::discovery::{discovery, pages};
use self::files::{calendars, files};
use self::jobs::{captures, exports, imports};
use self::partners::PARTNERS;
use self::records::{collection, property, refill, search_and_feed};
use self::web::{CALENDAR, CONSOLE};
use crate::api;
use crate::app::limits::RateClass;
use crate::config::Config;
use crate::http::bodies::{RequestBody, ResponseBody};
use crate::http::map::RouteMap;
use crate::http::route::{Access, Route};

/// Every operation of the API.
pub static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let collections = Kind::COLLECTIONS.into_iter().flat_map(collection);
    let others = [
        property(),
        search_and_feed(),
        discovery(),
        pages(),
        exports(),
        imports(),
        files(),
        captures(),
        calendars(),
        refill(),
        services(),
    ];
    collections.chain(others.into_iter().flatten()).collect()
});

/// The operations of the address `--metrics-listen`, for monitoring.
static OPERATING: LazyLock<Vec<Route>> = LazyLock::new(|| {
    vec![
        Route {
            response_body: ResponseBody::Metrics,
            ..open(paths::METRICS, "metrics", "Metrics for Prometheus", |request| {
                Box::pin(api::health::metrics(request))
            })
        },
        health(paths::HEALTH, "healthz", "Check that the process answers", |request| {
            Box::pin(api::health::live(request))
        }),
        health(paths::READY, "readyz", "Check that the database answers", |request| {
            Box::pin(api::health::ready(request))
        }),
    ]
});

/// The paths of the API, of its pages, of partner authorization, and of the console.
pub static API: LazyLock<RouteMap> = LazyLock::new(|| RouteMap::new(without_console().chain(CONSOLE.iter())));

/// The same paths without the console, for a server with `--console off`.
static WITHOUT_CONSOLE: LazyLock<RouteMap> = LazyLock::new(|| RouteMap::new(without_console()));

fn without_console() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().chain(PARTNERS.iter()).chain(CALENDAR.iter())
}

/// The paths of the API address of a server.
pub fn paths_of(config: &Config) -> &'static RouteMap {
    if config.has_console { &API } else { &WITHOUT_CONSOLE }
}

/// The paths of the address `--metrics-listen`.
pub static OPERATIONS: LazyLock<RouteMap> = LazyLock::new(|| RouteMap::new(OPERATING.iter()));

/// MCP, and health checks.
fn services() -> Vec<Route> {
    vec![
        Route {
            method: Method::POST,
            class: RateClass::Free,
            request_body: RequestBody::Rpc,
            response_body: ResponseBody::Rpc,
            ..get(paths::MCP, "mcp", "Send a message of the Model Context Protocol", Access::Key, |call| {
                Box::pin(api::mcp::serve(call, &ROUTES))
            })
        },
        health(paths::HEALTH, "healthz", "Check that the process answers", |request| {
            Box::pin(api::health::live(request))
        }),
        health(paths::READY, "readyz", "Check that the database answers", |request| {
            Box::pin(api::health::ready(request))
        }),
    ]
}
