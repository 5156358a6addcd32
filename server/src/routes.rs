//! The one table of what can be asked. Router, authorization, limits and 405 read it; a route without a scope or a
//! summary cannot be written. Must not know how a handler does its work.

use std::sync::LazyLock;

use axum::http::Method;
use hearth_contract::paths;
use hearth_contract::schema::Kind;

use crate::api;
use crate::app::limits::Class;
use crate::http::bodies::{Carries, Gives};
use crate::http::call::{Call, Visit};
use crate::http::map::Map;
use crate::http::parameters::{
    CREATED_SINCE, CURSOR, EVENT_TYPES, EXPAND, FEED_CURSOR, FEED_LIMIT, FIELDS, LIMIT, ORDER, SEARCH_QUERY,
    SEARCH_TYPES, SORT, STREAM_CURSOR, UPDATED_SINCE,
};
use crate::http::route::{Access, Answering, Handler, Route};
use crate::http::scopes::reading;

/// Everything that can be asked.
pub static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let mut routes: Vec<Route> = Kind::COLLECTIONS.into_iter().flat_map(collection).collect();
    routes.extend([
        Route {
            kind: Some(Kind::Property),
            parameters: &[FIELDS],
            gives: Gives::Profile,
            ..get(paths::PROPERTY, "get_property", "Read the home's profile", scope("property:read"), |call| {
                Box::pin(api::records::read(call))
            })
        },
        Route {
            method: Method::PATCH,
            class: Class::Write,
            kind: Some(Kind::Property),
            carries: Carries::Patch,
            gives: Gives::Profile,
            ..get(
                paths::PROPERTY,
                "update_property",
                "Set fields of the home's profile",
                scope("property:write"),
                |call| Box::pin(api::records::update(call)),
            )
        },
        Route {
            parameters: &[SEARCH_QUERY, SEARCH_TYPES, LIMIT, CURSOR],
            gives: Gives::Found,
            ..get(
                paths::SEARCH,
                "search",
                "Find records by the beginnings of their words",
                scope("search:read"),
                |call| Box::pin(api::search::find(call)),
            )
        },
        Route {
            parameters: &[FEED_CURSOR, FEED_LIMIT, EVENT_TYPES],
            gives: Gives::Events,
            ..get(paths::EVENTS, "list_events", "Poll the change feed", scope("events:read"), |call| {
                Box::pin(api::events::poll(call))
            })
        },
        Route {
            parameters: &[STREAM_CURSOR, EVENT_TYPES],
            gives: Gives::Stream,
            ..get(paths::STREAM, "stream_events", "Stream the change feed", scope("events:read"), |call| {
                Box::pin(api::stream::open(call))
            })
        },
        Route {
            gives: Gives::Me,
            ..get(paths::ME, "get_me", "Show what the key is and may do", Access::Key, |call| {
                Box::pin(api::me::show(call))
            })
        },
        Route {
            gives: Gives::Index,
            ..open(paths::ROOT, "get_index", "What there is: resources, conventions, formats, links", |visit| {
                Box::pin(api::discovery::index(visit))
            })
        },
        Route {
            gives: Gives::Meta,
            ..open(paths::META, "get_meta", "Versions, scopes, errors and limits", |visit| {
                Box::pin(api::discovery::meta(visit))
            })
        },
        described(paths::OPENAPI, "get_openapi", "The API's description as Accept asks for it", Gives::Document),
        described(paths::OPENAPI_JSON, "get_openapi_json", "The API's description as JSON", Gives::DocumentJson),
        described(paths::OPENAPI_YAML, "get_openapi_yaml", "The API's description as YAML", Gives::DocumentYaml),
        page(paths::DOCS, "get_docs", "The developer portal", Gives::Page, |visit| Box::pin(api::docs::portal(visit))),
        page(paths::CHANGELOG, "get_changelog", "What changed from version to version", Gives::Page, |visit| {
            Box::pin(api::docs::changelog(visit))
        }),
        page(paths::REFERENCE, "get_reference", "The reference for people", Gives::Page, |visit| {
            Box::pin(api::docs::reference(visit))
        }),
        page(paths::ERROR_PAGE, "get_error_page", "What an error type means", Gives::ErrorPage, |visit| {
            Box::pin(api::docs::error(visit))
        }),
        page(paths::STYLE, "get_style", "The style of the pages", Gives::Style, |visit| {
            Box::pin(api::docs::style(visit))
        }),
        page(paths::VIEWER, "get_viewer", "The script of the reference", Gives::Script, |visit| {
            Box::pin(api::docs::viewer(visit))
        }),
        export(
            Method::POST,
            paths::EXPORTS,
            ("create_export", "Ask for an export"),
            Class::Write,
            Gives::Exporting,
            |call| Box::pin(api::exports::create(call)),
        ),
        Route {
            parameters: &[LIMIT, CURSOR],
            ..export(
                Method::GET,
                paths::EXPORTS,
                ("list_exports", "List exports, latest first"),
                Class::Read,
                Gives::Exports,
                |call| Box::pin(api::exports::list(call)),
            )
        },
        export(
            Method::GET,
            "/v1/exports/{id}",
            ("get_export", "Read how far an export is"),
            Class::Read,
            Gives::Export,
            |call| Box::pin(api::exports::read(call)),
        ),
        export(
            Method::DELETE,
            "/v1/exports/{id}",
            ("delete_export", "Delete an export and its file"),
            Class::Write,
            Gives::Deleted,
            |call| Box::pin(api::exports::delete(call)),
        ),
        export(
            Method::GET,
            "/v1/exports/{id}/download",
            ("download_export", "Fetch the file of an export"),
            Class::Read,
            Gives::File,
            |call| Box::pin(api::exports::download(call)),
        ),
        Route {
            method: Method::POST,
            class: Class::Free,
            carries: Carries::Rpc,
            gives: Gives::Rpc,
            ..get(paths::MCP, "mcp", "Speak the Model Context Protocol", Access::Key, |call| {
                Box::pin(api::mcp::serve(call, &ROUTES))
            })
        },
        health(paths::HEALTH, "healthz", "Whether the process answers", |visit| Box::pin(api::health::live(visit))),
        health(paths::READY, "readyz", "Whether the database answers", |visit| Box::pin(api::health::ready(visit))),
    ]);
    routes
});

/// What is told on the address of `--metrics-listen`, to whoever watches the service.
static OPERATING: LazyLock<Vec<Route>> = LazyLock::new(|| {
    vec![
        Route {
            gives: Gives::Metrics,
            ..open(paths::METRICS, "metrics", "Counts and times", |visit| Box::pin(api::health::metrics(visit)))
        },
        health(paths::HEALTH, "healthz", "Whether the process answers", |visit| Box::pin(api::health::live(visit))),
        health(paths::READY, "readyz", "Whether the database answers", |visit| Box::pin(api::health::ready(visit))),
    ]
});

/// The paths of the API.
pub static API: LazyLock<Map> = LazyLock::new(|| Map::of(&ROUTES));

/// The paths of the address of `--metrics-listen`.
pub static OPERATIONS: LazyLock<Map> = LazyLock::new(|| Map::of(&OPERATING));

/// The routes of a collection.
fn collection(kind: Kind) -> [Route; 6] {
    let (path, word, plural) = (paths::collection(kind), kind.as_str(), kind.collection());
    let one = format!("{path}/{{id}}");
    let (reads, writing) = (scope(&reading(kind)), scope(&format!("{plural}:write")));
    let write = |method, path: &str, verb: &str, carries, gives, handler| Route {
        method,
        class: Class::Write,
        kind: Some(kind),
        carries,
        gives,
        ..get(path, &format!("{verb}_{word}"), &format!("{verb} one {word}"), writing.clone(), handler)
    };
    [
        Route {
            kind: Some(kind),
            parameters: &[LIMIT, CURSOR, SORT, ORDER, CREATED_SINCE, UPDATED_SINCE, FIELDS, EXPAND],
            gives: Gives::Records,
            ..get(&path, &format!("list_{plural}"), &format!("list {plural}"), reads.clone(), |call| {
                Box::pin(api::records::list(call))
            })
        },
        Route {
            kind: Some(kind),
            parameters: &[FIELDS, EXPAND],
            ..get(&one, &format!("get_{word}"), &format!("read one {word}"), reads, |call| {
                Box::pin(api::records::read(call))
            })
        },
        write(Method::POST, &path, "create", Carries::Create, Gives::Created, |call| {
            Box::pin(api::records::create(call))
        }),
        write(Method::PATCH, &one, "update", Carries::Patch, Gives::Record, |call| {
            Box::pin(api::records::update(call))
        }),
        write(Method::DELETE, &one, "delete", Carries::Nothing, Gives::Deleted, |call| {
            Box::pin(api::records::delete(call))
        }),
        Route {
            class: Class::Bulk,
            operation: format!("bulk_{plural}"),
            summary: format!("carry out up to 50 operations on {plural}"),
            ..write(Method::POST, &format!("{path}/bulk"), "bulk", Carries::Bulk, Gives::Bulk, |call| {
                Box::pin(api::bulk::run(call))
            })
        },
    ]
}

fn scope(scope: &str) -> Access {
    Access::Scope(scope.to_owned())
}

/// A reading route; what differs is put over it.
fn get(path: &str, operation: &str, summary: &str, access: Access, handler: fn(Call) -> Answering) -> Route {
    route(path, operation, summary, access, Handler::Keyed(handler))
}

fn route(path: &str, operation: &str, summary: &str, access: Access, handler: Handler) -> Route {
    Route {
        method: Method::GET,
        path: path.to_owned(),
        operation: operation.to_owned(),
        summary: summary.to_owned(),
        access,
        class: Class::Read,
        kind: None,
        carries: Carries::Nothing,
        gives: Gives::Record,
        parameters: &[],
        handler,
    }
}

/// A route of export jobs; its name and summary in one.
fn export(
    method: Method,
    path: &str,
    (operation, summary): (&str, &str),
    class: Class,
    gives: Gives,
    handler: fn(Call) -> Answering,
) -> Route {
    let carries = if method == Method::POST { Carries::Export } else { Carries::Nothing };
    let reading = get(path, operation, summary, scope("exports:write"), handler);
    Route { method, class, carries, gives, ..reading }
}

/// A reading route that needs no key.
fn open(path: &str, operation: &str, summary: &str, handler: fn(Visit) -> Answering) -> Route {
    Route { class: Class::Free, ..route(path, operation, summary, Access::Open, Handler::Open(handler)) }
}

fn page(path: &str, operation: &str, summary: &str, gives: Gives, handler: fn(Visit) -> Answering) -> Route {
    Route { gives, ..open(path, operation, summary, handler) }
}

fn described(path: &str, operation: &str, summary: &str, gives: Gives) -> Route {
    page(path, operation, summary, gives, |visit| Box::pin(api::discovery::document(visit)))
}

fn health(path: &str, operation: &str, summary: &str, handler: fn(Visit) -> Answering) -> Route {
    Route { gives: Gives::Health, ..open(path, operation, summary, handler) }
}

#[cfg(test)]
mod tests;
