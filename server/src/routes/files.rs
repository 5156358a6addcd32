//! The operations of files, and of links for calendar programs. Must not know how a handler works.

use axum::http::Method;
use hearth_contract::paths;
use hearth_contract::schema::Kind;

use super::build::{get, scope};
use crate::api;
use crate::app::limits::RateClass;
use crate::http::bodies::{RequestBody, ResponseBody};
use crate::http::parameters::{CURSOR, LIMIT, REFERENCED, WIDTH};
use crate::http::route::Route;
use crate::scopes::reading;

/// Files of a home.
pub(super) fn files() -> Vec<Route> {
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

/// Links for calendar programs.
pub(super) fn calendars() -> Vec<Route> {
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
