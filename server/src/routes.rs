//! The table of all operations. Router, authorization, rate limits, 405 responses, OpenAPI and MCP read the table; a
//! route needs an access rule and a summary to compile. Must not know how a handler works.

use std::sync::LazyLock;

use axum::http::Method;
use hearth_contract::paths;
use hearth_contract::schema::Kind;

use self::partners::PARTNERS;
use self::web::{CALENDAR, CONSOLE};
use crate::api;
use crate::app::limits::RateClass;
use crate::config::Config;
use crate::http::bodies::{RequestBody, ResponseBody};
use crate::http::call::{Call, PublicRequest};
use crate::http::map::RouteMap;
use crate::http::parameters::{
    CAPTURE_STATUS, CURSOR, DELETION_TYPES, DELETIONS_LIMIT, EVENT_TYPES, EXPAND, FEED_CURSOR, FEED_LIMIT, FIELDS,
    IMPORT, LIMIT, REFERENCED, SEARCH_QUERY, SEARCH_TYPES, SINCE, STREAM_CURSOR, WIDTH, list_parameters,
};
use crate::http::route::{Access, Handler, HandlerFuture, Route};
use crate::scopes::reading;

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

/// The routes of a collection.
fn collection(kind: Kind) -> [Route; 6] {
    let (path, word, plural) = (paths::collection(kind), kind.as_str(), kind.collection());
    let one = format!("{path}/{{id}}");
    let (reads, writing) = (scope(&reading(kind)), scope(&format!("{plural}:write")));
    let write = |method, path: &str, verb: &str, request_body, response_body, handler| Route {
        method,
        class: RateClass::Write,
        kind: Some(kind),
        request_body,
        response_body,
        ..get(path, &format!("{verb}_{word}"), &format!("{verb} one {word}"), writing.clone(), handler)
    };
    [
        Route {
            kind: Some(kind),
            parameters: list_parameters(kind),
            response_body: ResponseBody::Records,
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
        write(Method::POST, &path, "create", RequestBody::Create, ResponseBody::Created, |call| {
            Box::pin(api::records::create(call))
        }),
        write(Method::PATCH, &one, "update", RequestBody::Patch, ResponseBody::Record, |call| {
            Box::pin(api::records::update(call))
        }),
        write(Method::DELETE, &one, "delete", RequestBody::Empty, ResponseBody::Deleted, |call| {
            Box::pin(api::records::delete(call))
        }),
        Route {
            class: RateClass::Bulk,
            operation: format!("bulk_{plural}"),
            summary: format!("carry out up to 50 operations on {plural}"),
            ..write(Method::POST, &format!("{path}/bulk"), "bulk", RequestBody::Bulk, ResponseBody::Bulk, |call| {
                Box::pin(api::bulk::run(call))
            })
        },
    ]
}

/// The home's profile.
fn property() -> Vec<Route> {
    vec![
        Route {
            kind: Some(Kind::Property),
            parameters: &[FIELDS],
            response_body: ResponseBody::Profile,
            ..get(paths::PROPERTY, "get_property", "Read the home's profile", scope("property:read"), |call| {
                Box::pin(api::records::read(call))
            })
        },
        Route {
            method: Method::PATCH,
            class: RateClass::Write,
            kind: Some(Kind::Property),
            request_body: RequestBody::Patch,
            response_body: ResponseBody::Profile,
            ..get(
                paths::PROPERTY,
                "update_property",
                "Set fields of the home's profile",
                scope("property:write"),
                |call| Box::pin(api::records::update(call)),
            )
        },
    ]
}

/// Search, the change feed by poll and by stream, and the deleted ids.
fn search_and_feed() -> Vec<Route> {
    vec![
        Route {
            parameters: &[SEARCH_QUERY, SEARCH_TYPES, LIMIT, CURSOR],
            response_body: ResponseBody::SearchResults,
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
            response_body: ResponseBody::Events,
            ..get(paths::EVENTS, "list_events", "Poll the change feed", scope("events:read"), |call| {
                Box::pin(api::events::poll(call))
            })
        },
        Route {
            parameters: &[STREAM_CURSOR, EVENT_TYPES],
            response_body: ResponseBody::Stream,
            ..get(paths::STREAM, "stream_events", "Stream the change feed", scope("events:read"), |call| {
                Box::pin(api::stream::open(call))
            })
        },
        Route {
            parameters: &[SINCE, DELETION_TYPES, DELETIONS_LIMIT, CURSOR],
            response_body: ResponseBody::Deletions,
            ..get(
                paths::DELETIONS,
                "list_deletions",
                "List the ids deleted since a revision",
                scope("events:read"),
                |call| Box::pin(api::deletions::list(call)),
            )
        },
    ]
}

/// The key of the request, and descriptions for programs.
fn discovery() -> Vec<Route> {
    vec![
        Route {
            response_body: ResponseBody::KeyProfile,
            ..get(paths::ME, "get_me", "Show the key with its home, scopes and limits", Access::Key, |call| {
                Box::pin(api::me::show(call))
            })
        },
        Route {
            response_body: ResponseBody::Index,
            ..open(paths::ROOT, "get_index", "List resources, conventions, formats and links", |request| {
                Box::pin(api::discovery::index(request))
            })
        },
        Route {
            response_body: ResponseBody::Meta,
            ..open(paths::META, "get_meta", "List versions, scopes, errors and limits", |request| {
                Box::pin(api::discovery::meta(request))
            })
        },
        described(
            paths::OPENAPI,
            "get_openapi",
            "The OpenAPI description in the accepted media type",
            ResponseBody::Document,
        ),
        described(
            paths::OPENAPI_JSON,
            "get_openapi_json",
            "The OpenAPI description as JSON",
            ResponseBody::DocumentJson,
        ),
        described(
            paths::OPENAPI_YAML,
            "get_openapi_yaml",
            "The OpenAPI description as YAML",
            ResponseBody::DocumentYaml,
        ),
    ]
}

/// Pages for people, with their style and script.
fn pages() -> Vec<Route> {
    vec![
        page(paths::DOCS, "get_docs", "The developer portal", ResponseBody::Page, |request| {
            Box::pin(api::docs::portal(request))
        }),
        page(paths::CHANGELOG, "get_changelog", "The changes of each version", ResponseBody::Page, |request| {
            Box::pin(api::docs::changelog(request))
        }),
        page(paths::REFERENCE, "get_reference", "The API reference", ResponseBody::Page, |request| {
            Box::pin(api::docs::reference(request))
        }),
        page(
            paths::REFERENCE_SECTION,
            "get_reference_section",
            "A page of the API reference",
            ResponseBody::Page,
            |request| Box::pin(api::docs::reference_section(request)),
        ),
        page(paths::GUIDE, "get_guide", "A guide", ResponseBody::Page, |request| Box::pin(api::docs::guide(request))),
        page(paths::ERROR_PAGE, "get_error_page", "The meaning of an error type", ResponseBody::ErrorPage, |request| {
            Box::pin(api::docs::error(request))
        }),
        page(paths::STYLE, "get_style", "The style of the pages", ResponseBody::Style, |request| {
            Box::pin(api::docs::style(request))
        }),
        page(paths::SCRIPT, "get_script", "The script of the pages", ResponseBody::Script, |request| {
            Box::pin(api::docs::script(request))
        }),
    ]
}

/// Export jobs.
fn exports() -> Vec<Route> {
    vec![
        export(
            Method::POST,
            paths::EXPORTS,
            ("create_export", "Create an export"),
            RateClass::Write,
            ResponseBody::ExportAccepted,
            |call| Box::pin(api::exports::create(call)),
        ),
        Route {
            parameters: &[LIMIT, CURSOR],
            ..export(
                Method::GET,
                paths::EXPORTS,
                ("list_exports", "List exports, newest first"),
                RateClass::Read,
                ResponseBody::Exports,
                |call| Box::pin(api::exports::list(call)),
            )
        },
        export(
            Method::GET,
            "/v1/exports/{id}",
            ("get_export", "Read the status of an export"),
            RateClass::Read,
            ResponseBody::Export,
            |call| Box::pin(api::exports::read(call)),
        ),
        export(
            Method::DELETE,
            "/v1/exports/{id}",
            ("delete_export", "Delete an export and its file"),
            RateClass::Write,
            ResponseBody::Deleted,
            |call| Box::pin(api::exports::delete(call)),
        ),
        export(
            Method::GET,
            "/v1/exports/{id}/download",
            ("download_export", "Download the file of an export"),
            RateClass::Read,
            ResponseBody::File,
            |call| Box::pin(api::exports::download(call)),
        ),
    ]
}

/// Import jobs. The scopes depend on the kinds of the rows, so the handlers check them.
fn imports() -> Vec<Route> {
    let one = "/v1/imports/{id}";
    let reading = |path: &str, operation, summary, response_body, parameters, handler| Route {
        response_body,
        parameters,
        ..get(path, operation, summary, Access::Key, handler)
    };
    vec![
        Route {
            method: Method::POST,
            class: RateClass::Bulk,
            request_body: RequestBody::Import,
            ..reading(
                paths::IMPORTS,
                "create_import",
                "Import a table",
                ResponseBody::ImportAccepted,
                &IMPORT,
                |call| Box::pin(api::imports::create(call)),
            )
        },
        reading(
            paths::IMPORTS,
            "list_imports",
            "List imports, newest first",
            ResponseBody::Imports,
            &[LIMIT, CURSOR],
            |call| Box::pin(api::imports::list(call)),
        ),
        reading(
            one,
            "get_import",
            "Read an import and the results of its rows",
            ResponseBody::Import,
            &[CURSOR],
            |call| Box::pin(api::imports::read(call)),
        ),
        Route {
            method: Method::DELETE,
            class: RateClass::Write,
            request_body: RequestBody::Empty,
            ..reading(one, "delete_import", "Delete an import; its records stay", ResponseBody::Deleted, &[], |call| {
                Box::pin(api::imports::delete(call))
            })
        },
    ]
}

/// Files of a home.
fn files() -> Vec<Route> {
    let one = "/v1/files/{sha256}";
    let reading = |path: &str, operation, summary, response_body, parameters, handler| Route {
        response_body,
        parameters,
        ..get(path, operation, summary, scope("documents:read"), handler)
    };
    let writing = |method, operation, summary, request_body, response_body, handler| Route {
        method,
        class: RateClass::Write,
        request_body,
        response_body,
        ..get(one, operation, summary, scope("documents:write"), handler)
    };
    vec![
        reading(
            paths::FILES,
            "list_files",
            "List files, newest first",
            ResponseBody::Files,
            &[LIMIT, CURSOR, REFERENCED],
            |call| Box::pin(api::files::list(call)),
        ),
        reading(one, "get_file", "Read the bytes of a file", ResponseBody::FileBytes, &[], |call| {
            Box::pin(api::files::read(call))
        }),
        writing(
            Method::PUT,
            "put_file",
            "Store the bytes of a file",
            RequestBody::File,
            ResponseBody::FileStored,
            |call| Box::pin(api::file_upload::put(call)),
        ),
        writing(
            Method::DELETE,
            "delete_file",
            "Delete a file that no document names",
            RequestBody::Empty,
            ResponseBody::FileDeleted,
            |call| Box::pin(api::files::delete(call)),
        ),
        reading(
            "/v1/files/{sha256}/thumbnail",
            "get_file_thumbnail",
            "Read a small picture of a file",
            ResponseBody::Thumbnail,
            &[WIDTH],
            |call| Box::pin(api::files::thumbnail(call)),
        ),
        reading(
            "/v1/files/{sha256}/text",
            "get_file_text",
            "Read the text of a file",
            ResponseBody::FileText,
            &[],
            |call| Box::pin(api::files::text(call)),
        ),
    ]
}

/// Jobs that make drafts of records from files.
fn captures() -> Vec<Route> {
    let smart_add = drafting(
        (paths::SMART_ADD, "smart_add", "photos", RequestBody::SmartAdd),
        ("inventory:read documents:read", "inventory:write documents:write"),
        [
            |call| Box::pin(api::captures::create_smart_add(call)),
            |call| Box::pin(api::captures::list_smart_add(call)),
            |call| Box::pin(api::captures::read_smart_add(call)),
            |call| Box::pin(api::captures::discard_smart_add(call)),
            |call| Box::pin(api::capture_suggestions::put_smart_add(call)),
            |call| Box::pin(api::captures::accept_smart_add(call)),
        ],
    );
    let extract = drafting(
        (paths::EXTRACT, "extract", "papers", RequestBody::Extract),
        ("documents:read", "documents:write"),
        [
            |call| Box::pin(api::captures::create_extract(call)),
            |call| Box::pin(api::captures::list_extract(call)),
            |call| Box::pin(api::captures::read_extract(call)),
            |call| Box::pin(api::captures::discard_extract(call)),
            |call| Box::pin(api::capture_suggestions::put_extract(call)),
            |call| Box::pin(api::captures::accept_extract(call)),
        ],
    );
    smart_add.into_iter().chain(extract).collect()
}

/// The routes of the jobs of one purpose: create, list, read, discard, suggest, accept. `sort`: path, word of the operations, what the
/// files are, body of the request.
fn drafting(
    (path, word, files, body): (&str, &str, &str, RequestBody),
    (reads, writes): (&str, &str),
    [create, list, read, discard, suggest, accept]: [fn(Call) -> HandlerFuture; 6],
) -> [Route; 6] {
    let one = format!("{path}/{{id}}");
    let reading = |path: &str, verb: &str, summary: &str, handler| {
        get(path, &format!("{verb}_{word}"), &format!("{summary} from {files}"), scope(reads), handler)
    };
    let writing = |method, path: &str, verb: &str, summary: &str, handler| Route {
        method,
        class: RateClass::Write,
        response_body: ResponseBody::Capture,
        ..get(path, &format!("{verb}_{word}"), &format!("{summary} from {files}"), scope(writes), handler)
    };
    [
        Route {
            request_body: body,
            response_body: ResponseBody::CaptureAccepted,
            ..writing(Method::POST, path, "create", "make drafts", create)
        },
        Route {
            response_body: ResponseBody::Captures,
            parameters: &[LIMIT, CURSOR, CAPTURE_STATUS],
            ..reading(path, "list", "list jobs with drafts", list)
        },
        Route { response_body: ResponseBody::Capture, ..reading(&one, "get", "read a job with drafts", read) },
        Route {
            request_body: RequestBody::Empty,
            response_body: ResponseBody::Deleted,
            ..writing(Method::DELETE, &one, "discard", "discard drafts", discard)
        },
        Route {
            request_body: RequestBody::Suggestion,
            ..writing(
                Method::PUT,
                &format!("{one}/drafts/{{name}}"),
                "suggest",
                "add a draft of one's own to those",
                suggest,
            )
        },
        Route {
            request_body: RequestBody::Accepted,
            ..writing(Method::PUT, &format!("{one}/accepted"), "accept", "say which record was made of drafts", accept)
        },
    ]
}

/// Links for calendar programs.
fn calendars() -> Vec<Route> {
    let access = || scope(&reading(Kind::Task));
    let write = |method, path, operation, summary, request_body, response_body, handler| Route {
        method,
        class: RateClass::Write,
        request_body,
        response_body,
        ..get(path, operation, summary, access(), handler)
    };
    vec![
        write(
            Method::POST,
            paths::CALENDARS,
            "create_calendar",
            "Make a link under which calendar programs read due and expiring days",
            RequestBody::Calendar,
            ResponseBody::CalendarCreated,
            |call| Box::pin(api::calendars::create(call)),
        ),
        Route {
            response_body: ResponseBody::Calendars,
            ..get(paths::CALENDARS, "list_calendars", "List the calendars that the key made", access(), |call| {
                Box::pin(api::calendars::list(call))
            })
        },
        write(
            Method::DELETE,
            "/v1/calendars/{id}",
            "delete_calendar",
            "End a calendar that the key made",
            RequestBody::Empty,
            ResponseBody::Deleted,
            |call| Box::pin(api::calendars::delete(call)),
        ),
    ]
}

/// The refill of an empty home. It needs the write scopes of all kinds, so the handler checks them.
fn refill() -> Vec<Route> {
    let write = |method, operation, summary, request_body, handler| Route {
        method,
        class: RateClass::Write,
        request_body,
        response_body: ResponseBody::Refill,
        ..get(paths::REFILL, operation, summary, Access::Key, handler)
    };
    vec![
        write(
            Method::POST,
            "begin_refill",
            "Begin to fill an empty home from a replica of a lost home",
            RequestBody::Refill,
            |call| Box::pin(api::refill::begin(call)),
        ),
        write(Method::DELETE, "end_refill", "End the refill of the home", RequestBody::Empty, |call| {
            Box::pin(api::refill::end(call))
        }),
    ]
}

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

fn scope(scope: &str) -> Access {
    Access::Scope(scope.to_owned())
}

/// A GET route for a key. Callers override the members that differ.
fn get(path: &str, operation: &str, summary: &str, access: Access, handler: fn(Call) -> HandlerFuture) -> Route {
    route(path, operation, summary, access, Handler::Keyed(handler))
}

fn route(path: &str, operation: &str, summary: &str, access: Access, handler: Handler) -> Route {
    Route {
        method: Method::GET,
        path: path.to_owned(),
        operation: operation.to_owned(),
        summary: summary.to_owned(),
        access,
        class: RateClass::Read,
        kind: None,
        request_body: RequestBody::None,
        response_body: ResponseBody::Record,
        parameters: &[],
        handler,
    }
}

/// A route of export jobs. The pair is operation id and summary.
fn export(
    method: Method,
    path: &str,
    (operation, summary): (&str, &str),
    class: RateClass,
    response_body: ResponseBody,
    handler: fn(Call) -> HandlerFuture,
) -> Route {
    let request_body = match method {
        Method::POST => RequestBody::Export,
        Method::DELETE => RequestBody::Empty,
        _ => RequestBody::None,
    };
    let reading = get(path, operation, summary, scope("exports:write"), handler);
    Route { method, class, request_body, response_body, ..reading }
}

/// A GET route without a key.
fn open(path: &str, operation: &str, summary: &str, handler: fn(PublicRequest) -> HandlerFuture) -> Route {
    Route { class: RateClass::Free, ..route(path, operation, summary, Access::Open, Handler::Open(handler)) }
}

fn page(
    path: &str,
    operation: &str,
    summary: &str,
    response_body: ResponseBody,
    handler: fn(PublicRequest) -> HandlerFuture,
) -> Route {
    Route { response_body, ..open(path, operation, summary, handler) }
}

fn described(path: &str, operation: &str, summary: &str, response_body: ResponseBody) -> Route {
    page(path, operation, summary, response_body, |request| Box::pin(api::discovery::document(request)))
}

fn health(path: &str, operation: &str, summary: &str, handler: fn(PublicRequest) -> HandlerFuture) -> Route {
    Route { response_body: ResponseBody::Health, ..open(path, operation, summary, handler) }
}

pub mod partners;
pub mod web;

#[cfg(test)]
mod tests;
