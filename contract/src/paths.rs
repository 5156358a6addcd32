//! The paths of the API. Both sides build and match them from here.

use uuid::Uuid;

use crate::schema::Kind;

/// Root index.
pub const ROOT: &str = "/v1";
/// Supported versions, scopes, errors and limits.
pub const META: &str = "/v1/_meta";
/// Who the key belongs to and what it may do.
pub const ME: &str = "/v1/me";
/// The home's profile.
pub const PROPERTY: &str = "/v1/property";
/// Search over the collections.
pub const SEARCH: &str = "/v1/search";
/// The change feed by poll.
pub const EVENTS: &str = "/v1/events";
/// The change feed as a stream.
pub const STREAM: &str = "/v1/events/stream";
/// Liveness.
pub const HEALTH: &str = "/healthz";
/// Readiness.
pub const READY: &str = "/readyz";

/// The path of a kind: a collection, or the profile.
pub fn collection(kind: Kind) -> String {
    format!("/v1/{}", kind.collection())
}

/// The path of one record; the profile has no id in it.
pub fn record(kind: Kind, id: Uuid) -> String {
    if kind.is_singleton() { PROPERTY.to_owned() } else { format!("/v1/{}/{id}", kind.collection()) }
}
