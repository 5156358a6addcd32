//! The paths of the API, for the server and for clients. Must not know methods or handlers.

use uuid::Uuid;

use crate::schema::Kind;

/// The root index: resources, conventions, formats, links (contract 14).
pub const ROOT: &str = "/v1";
/// Supported versions, scopes, errors and limits (contract 14).
pub const META: &str = "/v1/_meta";
/// The key that asks: team, home, scopes, limits (contract 14).
pub const ME: &str = "/v1/me";
/// The home's profile (contract 10).
pub const PROPERTY: &str = "/v1/property";
/// Search over the collections (contract 8).
pub const SEARCH: &str = "/v1/search";
/// The change feed by polling (contract 9.1).
pub const EVENTS: &str = "/v1/events";
/// The ids that were deleted since a revision (contract 18).
pub const DELETIONS: &str = "/v1/deletions";
/// The change feed as Server-Sent Events (contract 9.4).
pub const STREAM: &str = "/v1/events/stream";
/// The OpenAPI document; the `Accept` header chooses JSON or YAML.
pub const OPENAPI: &str = "/openapi/v1";
/// The OpenAPI document as JSON.
pub const OPENAPI_JSON: &str = "/openapi/v1.json";
/// The OpenAPI document as YAML.
pub const OPENAPI_YAML: &str = "/openapi/v1.yaml";
/// The Model Context Protocol (contract 15).
pub const MCP: &str = "/mcp";
/// The developer portal, an HTML page.
pub const DOCS: &str = "/docs";
/// The changelog of the API versions, an HTML page.
pub const CHANGELOG: &str = "/docs/changelog";
/// The API reference, an HTML page.
pub const REFERENCE: &str = "/docs/reference";
/// A page of the API reference; `{section}` stands for a group of operations, `schemas` or `refusals`.
pub const REFERENCE_SECTION: &str = "/docs/reference/{section}";
/// The style sheet of the pages.
pub const STYLE: &str = "/docs/style.css";
/// The script of the pages, which work without it too.
pub const SCRIPT: &str = "/docs/script.js";
/// The page of a guide; `{guide}` stands for its name.
pub const GUIDE: &str = "/docs/guides/{guide}";
/// The page of an error type; `{type}` stands for `error.type`.
pub const ERROR_PAGE: &str = "/docs/errors/{type}";
/// Export jobs (contract 16).
pub const EXPORTS: &str = "/v1/exports";
/// Calendars of the home (contract 23).
pub const CALENDARS: &str = "/v1/calendars";
/// The file of a calendar, outside of the API. The segment `{token}` ends with [`CALENDAR_ENDING`].
pub const CALENDAR_FILE: &str = "/calendar/{token}";
/// The ending of the address of a calendar.
pub const CALENDAR_ENDING: &str = ".ics";
/// The refill of an empty home from a replica (contract 24).
pub const REFILL: &str = "/v1/refill";
/// Import jobs (contract 23).
pub const IMPORTS: &str = "/v1/imports";
/// Jobs that make drafts of records from photos (contract 22).
pub const SMART_ADD: &str = "/v1/smart-add";
/// Jobs that make drafts of documents from papers (contract 22).
pub const EXTRACT: &str = "/v1/extract";
/// The files of a home (contract 21).
pub const FILES: &str = "/v1/files";
/// The console for people, outside of the API (contract 19).
pub const CONSOLE: &str = "/console";
/// What programs of partners must know of the API (RFC 9728); also with `/v1` and `/mcp` appended.
pub const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource";
/// The endpoints of partner authorization (RFC 8414).
pub const AUTHORIZATION_SERVER: &str = "/.well-known/oauth-authorization-server";
/// The page on which an owner agrees to a partner.
pub const AUTHORIZE: &str = "/oauth/authorize";
/// Takes an authorization request before the browser (RFC 9126).
pub const PAR: &str = "/oauth/par";
/// Gives tokens for codes (RFC 6749).
pub const TOKEN: &str = "/oauth/token";
/// Begins the authorization of a device (RFC 8628).
pub const DEVICE_AUTHORIZATION: &str = "/oauth/device_authorization";
/// The client id of Hearth's own replicas there. Their authorization ends with an API key.
pub const REPLICA_CLIENT: &str = "hearth-replica";
/// The page on which an owner agrees to a device.
pub const DEVICE: &str = "/oauth/device";
/// Registers a client (RFC 7591).
pub const REGISTER: &str = "/oauth/register";
/// Ends a token (RFC 7009).
pub const REVOKE: &str = "/oauth/revoke";
/// Describes a token (RFC 7662).
pub const INTROSPECT: &str = "/oauth/introspect";
/// Metrics in the text format of Prometheus; only on `--metrics-listen`.
pub const METRICS: &str = "/metrics";
/// Liveness: the process answers.
pub const HEALTH: &str = "/healthz";
/// Readiness: the database answers too.
pub const READY: &str = "/readyz";

/// The path of a kind: a collection such as `/v1/tasks`, or the profile.
pub fn collection(kind: Kind) -> String {
    format!("/v1/{}", kind.collection())
}

/// The path of a guide.
pub fn guide(name: &str) -> String {
    GUIDE.replace("{guide}", name)
}

/// The path of an import job.
pub fn import(id: Uuid) -> String {
    format!("{IMPORTS}/{id}")
}

/// The path of an export job.
pub fn export(id: Uuid) -> String {
    format!("{EXPORTS}/{id}")
}

/// The path of a calendar's link. `id`: letters, digits and hyphens.
pub fn calendar(id: &str) -> String {
    format!("{CALENDARS}/{id}")
}

/// The path of a calendar's file. `token`: the secret part.
pub fn calendar_file(token: &str) -> String {
    format!("{}{CALENDAR_ENDING}", CALENDAR_FILE.replace("{token}", token))
}

/// The path of a file. `sha256`: 64 lower-case hexadecimal digits.
pub fn file(sha256: &str) -> String {
    format!("{FILES}/{sha256}")
}

/// The path of a record. The path of the profile has no id.
pub fn record(kind: Kind, id: Uuid) -> String {
    if kind.is_singleton() { PROPERTY.to_owned() } else { format!("/v1/{}/{id}", kind.collection()) }
}
