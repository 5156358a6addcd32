//! Discovery for programs (contract 14): the root index, the catalogues and the OpenAPI description, all from the
//! tables that the service itself uses. Must not know single routes.

use hearth_contract::paths;
use hearth_contract::problem::ProblemType;
use hearth_contract::resources::RESOURCES;
use hearth_contract::schema::{Field, Format, Lines, Presence, Resource, URL_MAX};
use serde_json::{Map, Value, json};

use super::assets::{REVALIDATED, asset_reply};
use crate::files::UPLOADS_MAX;
use crate::home::search::QUESTION;
use crate::http::bodies::BULK_OPERATIONS_MAX;
use crate::http::call::PublicRequest;
use crate::http::parameters::{LIST, Parameter, ParameterType, RECORDS_PAGE};
use crate::http::reply::{Refusal, Reply};
use crate::scopes::{SCOPES, scope_about};
use crate::versions::{self, STABILITY};

/// `GET /v1`: resources, conventions, formats and links.
pub async fn index(request: PublicRequest) -> Result<Reply, Refusal> {
    let link = |path: &str| format!("{}{path}", request.app.base_url);
    let data = json!({
        "name": "Hearth",
        "stability": STABILITY,
        "resources": RESOURCES.iter().map(resource).collect::<Vec<_>>(),
        "list_conventions": LIST.iter().map(parameter).collect::<Vec<_>>(),
        "field_formats": FORMATS.map(|(format, rule)| json!({ "format": format, "rule": rule })),
        "links": {
            "self": link(paths::ROOT),
            "meta": link(paths::META),
            "openapi_json": link(paths::OPENAPI_JSON),
            "openapi_yaml": link(paths::OPENAPI_YAML),
            "mcp": link(paths::MCP),
            "docs": link(paths::DOCS),
            "changelog": link(paths::CHANGELOG),
        },
    });
    Ok(request.context.data_reply(200, &data.to_string(), ""))
}

/// `GET /v1/_meta`: versions, scopes, errors and limits.
pub async fn meta(request: PublicRequest) -> Result<Reply, Refusal> {
    let (config, now) = (&request.app.config, request.app.clock.now());
    let errors = ProblemType::ALL.map(
        |kind| json!({ "type": kind.as_str(), "status": kind.status(), "description": kind.about(), "fix": kind.fix() }),
    );
    let data = json!({
        "stability": STABILITY,
        "versions": versions::supported(now).map(versions::Version::to_value).collect::<Vec<_>>(),
        "scopes": SCOPES.map(|scope| json!({ "scope": scope, "description": scope_about(scope) })),
        "errors": errors.to_vec(),
        "limits": {
            "reads_per_minute": config.rate_limits.map(|limits| limits.reads),
            "writes_per_minute": config.rate_limits.map(|limits| limits.writes),
            "bulk_per_minute": config.rate_limits.map(|limits| limits.bulk),
            "bulk_operations_max": BULK_OPERATIONS_MAX,
            "page_default": RECORDS_PAGE.default,
            "page_max": RECORDS_PAGE.max,
            "query_min_characters": QUESTION.0,
            "idempotency_hours": number(config.idempotency_ttl.as_secs_f64() / 3600.0),
            "file_max_bytes": config.file_bytes_max,
            "files_max_bytes": config.files_bytes_max,
            "uploads_at_once": UPLOADS_MAX,
            "heartbeat_seconds": number(config.heartbeat.as_secs_f64()),
        },
    });
    Ok(request.context.data_reply(200, &data.to_string(), ""))
}

/// `GET /openapi/v1`, in the negotiated media type.
pub async fn document(request: PublicRequest) -> Result<Reply, Refusal> {
    let documents = &request.app.documents;
    let asset = if request.media == "application/yaml" { &documents.yaml } else { &documents.json };
    asset_reply(&request, asset, request.media, REVALIDATED).await
}

/// The rules of the field formats, for people (contract 2).
const FORMATS: [(&str, &str); 13] = [
    ("id", "a UUID, lower case with hyphens; the one you send on create may be of any version"),
    ("text", "UTF-8 without control characters; several lines where the field says multiline"),
    ("choice", "one of the field's words"),
    ("date", "a calendar date, YYYY-MM-DD"),
    ("timestamp", "YYYY-MM-DDTHH:MM:SS.mmmZ; sent as YYYY-MM-DD or as an RFC 3339 date-time"),
    ("money", "a non-negative decimal string with at most 12 digits and 2 decimals, such as 1299.00"),
    ("year", "an integer from 1000 to 9999"),
    ("count", "an integer from 0 to 2147483647, or in the field's own range"),
    ("time_zone", "a name of the tz database (IANA), such as Europe/Berlin"),
    ("currency", "an active code of ISO 4217, such as EUR; lower case is folded"),
    ("sha256", "64 hex digits; upper case is folded"),
    ("vin", "11 to 17 of the letters A-Z and digits, without I, O and Q"),
    ("url", "an absolute http or https address"),
];

fn resource(resource: &Resource) -> Value {
    // A singleton is neither listed nor searched (contract 8).
    let is_collection = !resource.kind.is_singleton();
    json!({
        "kind": resource.kind.as_str(),
        "collection": resource.kind.collection(),
        "path": paths::collection(resource.kind),
        "description": resource.about,
        "singleton": resource.kind.is_singleton(),
        "fields": resource.fields.iter().map(field).collect::<Vec<_>>(),
        "relations": resource.relations().map(|(relation, _)| relation).collect::<Vec<_>>(),
        "filters": resource.filters().filter(|_| is_collection).map(|field| field.name).collect::<Vec<_>>(),
        "searchable": resource.searchable().filter(|_| is_collection).map(|field| field.name).collect::<Vec<_>>(),
    })
}

fn field(field: &Field) -> Value {
    let mut members = Map::new();
    let mut set = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    set("name", field.name.into());
    set("description", field.about.into());
    set("format", field.format.as_str().into());
    set("required", (field.presence == Presence::Required).into());
    set("nullable", field.is_nullable().into());
    set("read_only", (!field.is_sendable()).into());
    if let Presence::Default(preset) = field.presence {
        set("default", preset.value());
    }
    match field.format {
        Format::Text { max, lines } => {
            set("max_length", max.into());
            set("multiline", (lines == Lines::Many).into());
        }
        Format::Url => set("max_length", URL_MAX.into()),
        Format::Choice(words) => set("choices", words.into()),
        Format::Count { min, max } => {
            set("minimum", min.into());
            set("maximum", max.into());
        }
        Format::Year => {
            set("minimum", 1000.into());
            set("maximum", 9999.into());
        }
        Format::Reference(kind) => set("references", kind.as_str().into()),
        Format::Subject => set("references", "subject_type".into()),
        Format::Vin
        | Format::Money
        | Format::Date
        | Format::Timestamp
        | Format::TimeZone
        | Format::Currency
        | Format::Sha256 => (),
    }
    Value::Object(members)
}

fn parameter(parameter: &Parameter) -> Value {
    let mut value = json!({ "name": parameter.name, "description": parameter.about });
    match parameter.value_type {
        ParameterType::Limit { default, max } => {
            value["default"] = default.into();
            value["maximum"] = max.into();
        }
        ParameterType::Choice { words, .. } => {
            value["default"] = words[0].into();
            value["choices"] = words.into();
        }
        _ => (),
    }
    value
}

/// A JSON integer if the number has no fraction.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 { (value as u64).into() } else { value.into() }
}
