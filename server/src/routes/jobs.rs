//! The operations of jobs: exports, imports, and drafts of records that are made from files. Must not know how a handler works.

use axum::http::Method;
use hearth_contract::paths;

use super::build::{get, scope};
use crate::api;
use crate::app::limits::RateClass;
use crate::http::bodies::{RequestBody, ResponseBody};
use crate::http::call::Call;
use crate::http::parameters::{CAPTURE_STATUS, CURSOR, IMPORT, LIMIT};
use crate::http::route::{Access, HandlerFuture, Route};

/// Export jobs.
pub(super) fn exports() -> Vec<Route> {
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

/// Import jobs. The scopes depend on the kinds of the rows, so the handlers check them.
pub(super) fn imports() -> Vec<Route> {
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

/// Jobs that make drafts of records from files.
pub(super) fn captures() -> Vec<Route> {
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
