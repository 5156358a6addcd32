//! The one table of what can be asked. Router, authorization, limits and 405 read it; a route without a scope or a
//! summary cannot be written. Must not know how a handler does its work.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use axum::http::Method;
use hearth_contract::paths;
use hearth_contract::schema::Kind;

use super::call::Call;
use super::limits::Class;
use super::reply::{Refusal, Reply};
use crate::api;
use crate::app::App;

/// What a handler promises.
pub type Answering = Pin<Box<dyn Future<Output = Result<Reply, Refusal>> + Send>>;

/// What a handler promises that needs no key: the finished text of `data`.
pub type Telling = Pin<Box<dyn Future<Output = Result<String, Refusal>> + Send>>;

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

/// What the request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// No body; one that is sent is not read.
    Nothing,
    /// A JSON object.
    Json,
    /// A JSON object that is merged (RFC 7396).
    MergePatch,
}

/// What the answer is, and so what Accept must admit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    /// `application/json`.
    Json,
    /// `text/event-stream`.
    Events,
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
    pub parameters: &'static [&'static str],
    /// Who answers.
    pub handler: Handler,
}

/// Who answers.
#[derive(Clone, Copy)]
pub enum Handler {
    /// To a key, as a call.
    Keyed(fn(Call) -> Answering),
    /// To anybody, with the finished text of `data`.
    Open(fn(Arc<App>) -> Telling),
}

/// Everything that can be asked.
pub static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let mut routes: Vec<Route> = Kind::COLLECTIONS.into_iter().flat_map(collection).collect();
    routes.extend([
        Route {
            kind: Some(Kind::Property),
            parameters: &["fields"],
            ..get(paths::PROPERTY, "get_property", "Read the home's profile", scope("property:read"), |call| {
                Box::pin(api::records::read(call))
            })
        },
        Route {
            method: Method::PATCH,
            class: Class::Write,
            kind: Some(Kind::Property),
            carries: Carries::MergePatch,
            ..get(
                paths::PROPERTY,
                "update_property",
                "Set fields of the home's profile",
                scope("property:write"),
                |call| Box::pin(api::records::update(call)),
            )
        },
        Route {
            parameters: &["q", "types", "limit", "cursor"],
            ..get(
                paths::SEARCH,
                "search",
                "Find records by the beginnings of their words",
                scope("search:read"),
                |call| Box::pin(api::search::find(call)),
            )
        },
        Route {
            parameters: &["cursor", "limit", "types"],
            ..get(paths::EVENTS, "list_events", "Poll the change feed", scope("events:read"), |call| {
                Box::pin(api::events::poll(call))
            })
        },
        Route {
            parameters: &["cursor", "types"],
            gives: Gives::Events,
            ..get(paths::STREAM, "stream_events", "Stream the change feed", scope("events:read"), |call| {
                Box::pin(api::stream::open(call))
            })
        },
        get(paths::ME, "get_me", "Show what the key is and may do", Access::Key, |call| Box::pin(api::me::show(call))),
        open(paths::HEALTH, "healthz", "Whether the process answers", |app| Box::pin(api::health::live(app))),
        open(paths::READY, "readyz", "Whether the database answers", |app| Box::pin(api::health::ready(app))),
    ]);
    routes
});

/// The routes of a collection.
fn collection(kind: Kind) -> [Route; 6] {
    let (path, word, plural) = (paths::collection(kind), kind.word(), kind.collection());
    let one = format!("{path}/{{id}}");
    let (reading, writing) = (scope(&format!("{plural}:read")), scope(&format!("{plural}:write")));
    let write = |method, path: &str, verb: &str, carries, handler| Route {
        method,
        class: Class::Write,
        kind: Some(kind),
        carries,
        ..get(path, &format!("{verb}_{word}"), &format!("{verb} one {word}"), writing.clone(), handler)
    };
    [
        Route {
            kind: Some(kind),
            parameters: &["limit", "cursor", "sort", "order", "created_since", "updated_since", "fields", "expand"],
            ..get(&path, &format!("list_{plural}"), &format!("list {plural}"), reading.clone(), |call| {
                Box::pin(api::records::list(call))
            })
        },
        Route {
            kind: Some(kind),
            parameters: &["fields", "expand"],
            ..get(&one, &format!("get_{word}"), &format!("read one {word}"), reading, |call| {
                Box::pin(api::records::read(call))
            })
        },
        write(Method::POST, &path, "create", Carries::Json, |call| Box::pin(api::records::create(call))),
        write(Method::PATCH, &one, "update", Carries::MergePatch, |call| Box::pin(api::records::update(call))),
        write(Method::DELETE, &one, "delete", Carries::Nothing, |call| Box::pin(api::records::delete(call))),
        Route {
            class: Class::Bulk,
            operation: format!("bulk_{plural}"),
            summary: format!("carry out up to 50 operations on {plural}"),
            ..write(Method::POST, &format!("{path}/bulk"), "bulk", Carries::Json, |call| Box::pin(api::bulk::run(call)))
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
        gives: Gives::Json,
        parameters: &[],
        handler,
    }
}

/// A reading route that needs no key.
fn open(path: &str, operation: &str, summary: &str, handler: fn(Arc<App>) -> Telling) -> Route {
    Route { class: Class::Free, ..route(path, operation, summary, Access::Open, Handler::Open(handler)) }
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
