//! The operations of records: six for each collection, the profile of the home, search and the change feed, and the refill of
//! an empty home. Must not know how a handler works.

use axum::http::Method;
use hearth_contract::paths;
use hearth_contract::schema::Kind;

use super::build::{get, scope};
use crate::api;
use crate::app::limits::RateClass;
use crate::http::bodies::{RequestBody, ResponseBody};
use crate::http::parameters::{
    CURSOR, DELETION_TYPES, DELETIONS_LIMIT, EVENT_TYPES, EXPAND, FEED_CURSOR, FEED_LIMIT, FIELDS, LIMIT, SEARCH_QUERY,
    SEARCH_TYPES, SINCE, STREAM_CURSOR, list_parameters,
};
use crate::http::route::{Access, Route};
use crate::scopes::reading;

/// The routes of a collection.
pub(super) fn collection(kind: Kind) -> [Route; 6] {
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
pub(super) fn property() -> Vec<Route> {
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
pub(super) fn search_and_feed() -> Vec<Route> {
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

/// The refill of an empty home. It needs the write scopes of all kinds, so the handler checks them.
pub(super) fn refill() -> Vec<Route> {
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
