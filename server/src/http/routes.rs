//! The one table of what can be asked. Router, authorization, limits and 405 read it; a route without a scope or a
//! summary cannot be written. Must not know how a handler does its work.

use std::pin::Pin;
use std::sync::LazyLock;

use axum::http::Method;
use hearth_contract::paths;
use hearth_contract::schema::Kind;

use super::call::{Call, Visit};
use super::limits::Class;
use super::parameters::{
    CREATED_SINCE, CURSOR, EVENT_TYPES, EXPAND, FEED_CURSOR, FEED_LIMIT, FIELDS, LIMIT, ORDER, Parameter, SEARCH_QUERY,
    SEARCH_TYPES, SORT, STREAM_CURSOR, UPDATED_SINCE,
};
use super::reply::{Refusal, Reply};
use crate::api;

/// What a handler promises.
pub type Answering = Pin<Box<dyn Future<Output = Result<Reply, Refusal>> + Send>>;

/// Who may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Open,
    /// Any key that holds.
    Key,
    /// A key with this scope.
    Scope(String),
}

/// What the request carries; where it depends on a kind, on the route's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// No body; one that is sent is not read.
    Nothing,
    /// A new record of the kind.
    Create,
    /// Fields of the kind that are merged (RFC 7396).
    Patch,
    /// Up to 50 operations on the kind.
    Bulk,
    /// What to export.
    Export,
    /// A JSON-RPC message.
    Rpc,
}

impl Carries {
    /// The media types in which it may come.
    pub const fn media(self) -> &'static [&'static str] {
        match self {
            Carries::Nothing => &[],
            Carries::Patch => &["application/json", "application/merge-patch+json"],
            Carries::Create | Carries::Bulk | Carries::Export | Carries::Rpc => &["application/json"],
        }
    }
}

/// What a good answer gives; where it depends on a kind, on the route's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    /// One record.
    Record,
    /// One record that was made.
    Created,
    /// The home's profile, or null.
    Profile,
    /// A page of records.
    Records,
    /// The id of a record that is gone.
    Deleted,
    /// An outcome for each operation.
    Bulk,
    /// A page of search results.
    Found,
    /// A page of events.
    Events,
    /// Events as they come.
    Stream,
    /// What the key is and may do.
    Me,
    /// An export job.
    Export,
    /// An export job that was taken on.
    Exporting,
    /// A page of export jobs.
    Exports,
    /// The file of an export.
    File,
    /// The root index.
    Index,
    /// Versions, scopes, errors and limits.
    Meta,
    /// One word on how the service is.
    Health,
    /// The API's description, as JSON or YAML.
    Document,
    /// The API's description as JSON.
    DocumentJson,
    /// The API's description as YAML.
    DocumentYaml,
    /// A page for people.
    Page,
    /// An entry of the error catalogue, as a page or as JSON.
    ErrorPage,
    /// A style sheet.
    Style,
    /// A script.
    Script,
    /// A JSON-RPC message.
    Rpc,
}

impl Gives {
    /// The status of a good answer.
    pub const fn status(self) -> u16 {
        match self {
            Gives::Created => 201,
            Gives::Exporting => 202,
            Gives::Bulk => 207,
            _ => 200,
        }
    }

    /// The media types it has, the usual one first; Accept must admit one of them.
    pub const fn media(self) -> &'static [&'static str] {
        match self {
            Gives::Stream => &["text/event-stream"],
            Gives::File => &["application/json", "application/zip", "application/vnd.sqlite3"],
            Gives::Document => &["application/json", "application/yaml"],
            Gives::DocumentYaml => &["application/yaml"],
            Gives::Page => &["text/html"],
            Gives::ErrorPage => &["text/html", "application/json"],
            Gives::Style => &["text/css"],
            Gives::Script => &["text/javascript"],
            _ => &["application/json"],
        }
    }
}

/// One thing that can be asked.
pub struct Route {
    /// Its method. HEAD works wherever GET does.
    pub method: Method,
    /// Its path; `{id}` stands for one segment.
    pub path: String,
    /// Its name in documents and metrics.
    pub operation: String,
    /// What it does, in a phrase.
    pub summary: String,
    /// Who may ask.
    pub access: Access,
    /// Which window it counts in.
    pub class: Class,
    /// The kind it is about.
    pub kind: Option<Kind>,
    /// What the request carries.
    pub carries: Carries,
    /// What the answer is.
    pub gives: Gives,
    /// Parameters it knows; any other is refused.
    pub parameters: &'static [Parameter],
    /// Who answers.
    pub handler: Handler,
}

/// Who answers.
#[derive(Clone, Copy)]
pub enum Handler {
    /// To a key, as a call.
    Keyed(fn(Call) -> Answering),
    /// To anybody.
    Open(fn(Visit) -> Answering),
}

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
        health(paths::HEALTH, "healthz", "Whether the process answers", |visit| Box::pin(api::health::live(visit))),
        health(paths::READY, "readyz", "Whether the database answers", |visit| Box::pin(api::health::ready(visit))),
    ]);
    routes
});

/// The routes of a collection.
fn collection(kind: Kind) -> [Route; 6] {
    let (path, word, plural) = (paths::collection(kind), kind.word(), kind.collection());
    let one = format!("{path}/{{id}}");
    let (reading, writing) = (scope(&format!("{plural}:read")), scope(&format!("{plural}:write")));
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
            ..get(&path, &format!("list_{plural}"), &format!("list {plural}"), reading.clone(), |call| {
                Box::pin(api::records::list(call))
            })
        },
        Route {
            kind: Some(kind),
            parameters: &[FIELDS, EXPAND],
            ..get(&one, &format!("get_{word}"), &format!("read one {word}"), reading, |call| {
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

/// A reading route that needs no key.
fn open(path: &str, operation: &str, summary: &str, handler: fn(Visit) -> Answering) -> Route {
    Route { class: Class::Free, ..route(path, operation, summary, Access::Open, Handler::Open(handler)) }
}

fn health(path: &str, operation: &str, summary: &str, handler: fn(Visit) -> Answering) -> Route {
    Route { gives: Gives::Health, ..open(path, operation, summary, handler) }
}

/// Every scope that a key can carry (the seed's table).
pub const SCOPES: [&str; 15] = [
    "inventory:read",
    "inventory:write",
    "vehicles:read",
    "vehicles:write",
    "documents:read",
    "documents:write",
    "tasks:read",
    "tasks:write",
    "rooms:read",
    "rooms:write",
    "property:read",
    "property:write",
    "search:read",
    "events:read",
    "exports:write",
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_route_has_a_name_of_its_own_and_a_scope_that_exists() {
        let mut names = HashSet::new();
        for route in ROUTES.iter() {
            assert!(names.insert(&route.operation), "{}", route.operation);
            assert!(!route.summary.is_empty());
            if let Access::Scope(scope) = &route.access {
                assert!(SCOPES.contains(&scope.as_str()), "{scope}");
            }
        }
    }
}
