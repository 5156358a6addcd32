//! All scopes of a key, with descriptions. Must not know the scope of a route.

use std::sync::LazyLock;

use hearth_contract::schema::Kind;

/// Every scope that a key can have (contract 11).
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

/// All scopes, separated by spaces.
pub static ALL_SCOPES: LazyLock<String> = LazyLock::new(|| SCOPES.join(" "));

/// The scope for reading records of a kind.
pub fn reading(kind: Kind) -> String {
    format!("{}:read", kind.collection())
}

/// The description of a scope, for `GET /v1/_meta`.
pub fn scope_about(scope: &str) -> String {
    let what = |name: &str| match Kind::from_collection(name) {
        Some(kind) if kind.is_singleton() => "the home's profile".to_owned(),
        Some(kind) => kind.collection().to_owned(),
        None => name.to_owned(),
    };
    match scope.split_once(':').unwrap_or((scope, "")) {
        ("search", _) => "Search all records".to_owned(),
        ("events", _) => "Read the change feed and its stream".to_owned(),
        ("exports", _) => "Make, read and delete export jobs".to_owned(),
        (name, "read") => format!("Read {}", what(name)),
        (name, _) if Kind::from_collection(name).is_some_and(Kind::is_singleton) => format!("Change {}", what(name)),
        (name, _) => format!("Create, change and delete {}", what(name)),
    }
}
