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
/// The API's description, JSON or YAML as asked.
pub const OPENAPI: &str = "/openapi/v1";
/// The API's description as JSON.
pub const OPENAPI_JSON: &str = "/openapi/v1.json";
/// The API's description as YAML.
pub const OPENAPI_YAML: &str = "/openapi/v1.yaml";
/// The tools for language models.
pub const MCP: &str = "/mcp";
/// The developer portal.
pub const DOCS: &str = "/docs";
/// What changed from version to version.
pub const CHANGELOG: &str = "/docs/changelog";
/// The reference for people.
pub const REFERENCE: &str = "/docs/reference";
/// The style of the pages.
pub const STYLE: &str = "/docs/style.css";
/// The script of the reference.
pub const VIEWER: &str = "/docs/viewer.js";
/// The page of an error type; `{type}` stands for its word.
pub const ERROR_PAGE: &str = "/docs/errors/{type}";
/// Export jobs.
pub const EXPORTS: &str = "/v1/exports";
/// Counts and times, for whoever watches the service.
pub const METRICS: &str = "/metrics";
/// Liveness.
pub const HEALTH: &str = "/healthz";
/// Readiness.
pub const READY: &str = "/readyz";

/// The path of a kind: a collection, or the profile.
pub fn collection(kind: Kind) -> String {
    format!("/v1/{}", kind.collection())
}

/// The path of one export job.
pub fn export(id: Uuid) -> String {
    format!("{EXPORTS}/{id}")
}

/// The path of one record; the profile has no id in it.
pub fn record(kind: Kind, id: Uuid) -> String {
    if kind.is_singleton() { PROPERTY.to_owned() } else { format!("/v1/{}/{id}", kind.collection()) }
}
