//! The kinds of request and response bodies, with statuses and media types. The OpenAPI description reads them. Must
//! not know how a body is parsed or written.

use hearth_contract::media::MediaType;

/// Operations in one bulk call, at most (contract 7).
pub const BULK_OPERATIONS_MAX: usize = 50;
/// Largest request body of the API, in bytes.
pub const BODY_MAX: usize = 1024 * 1024;
/// Largest request body of a route outside of the API, in bytes.
pub const WEB_BODY_MAX: usize = 64 * 1024;

/// The media types of the files of a home.
const FILE_MEDIA: [&str; MediaType::ALL.len()] = {
    let mut media = [""; MediaType::ALL.len()];
    let mut at = 0;
    while at < media.len() {
        media[at] = MediaType::ALL[at].as_str();
        at += 1;
    }
    media
};

/// The body of a request. Schemas depend on the kind of the route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestBody {
    /// No body. The server ignores a body that a client sends.
    None,
    /// No fields: the body is `{}` or absent (contract 6.3).
    Empty,
    /// A new record.
    Create,
    /// Fields to merge into a record (RFC 7396).
    Patch,
    /// Up to [`BULK_OPERATIONS_MAX`] operations.
    Bulk,
    /// The format and the kinds of an export.
    Export,
    /// The name of a calendar.
    Calendar,
    /// The lost home whose records are sent.
    Refill,
    /// The bytes of a file, of any media type. The handler reads them in pieces.
    File,
    /// A table to import. The handler reads it in pieces.
    Import,
    /// The files of a job that drafts items or vehicles.
    SmartAdd,
    /// The files of a job that drafts documents.
    Extract,
    /// A client's own draft.
    Suggestion,
    /// The record that was made of drafts.
    Accepted,
    /// A JSON-RPC message of the Model Context Protocol.
    Rpc,
    /// The fields of an HTML form, for a route outside of the API. The body may be absent.
    Form,
    /// The fields and the files of an HTML form, for a route outside of the API. The handler reads the body piece by piece.
    Multipart,
    /// A JSON text that the handler parses, for a route outside of the API.
    WebJson,
}

impl RequestBody {
    /// The media types that the server accepts; empty for [`RequestBody::None`].
    pub const fn media(self) -> &'static [&'static str] {
        match self {
            RequestBody::None => &[],
            RequestBody::Patch => &["application/json", "application/merge-patch+json"],
            RequestBody::File => &["application/octet-stream"],
            RequestBody::Import => &["text/csv", "application/json", "application/zip"],
            RequestBody::Multipart => &["multipart/form-data"],
            RequestBody::Form => &["application/x-www-form-urlencoded"],
            RequestBody::Empty
            | RequestBody::Create
            | RequestBody::Bulk
            | RequestBody::Export
            | RequestBody::Calendar
            | RequestBody::Refill
            | RequestBody::SmartAdd
            | RequestBody::Extract
            | RequestBody::Suggestion
            | RequestBody::Accepted
            | RequestBody::Rpc
            | RequestBody::WebJson => &["application/json"],
        }
    }

    /// The largest body that the server reads, in bytes.
    pub const fn bytes_max(self) -> usize {
        match self {
            RequestBody::Form | RequestBody::WebJson => WEB_BODY_MAX,
            _ => BODY_MAX,
        }
    }
}

/// The body of a successful response. Schemas depend on the kind of the route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseBody {
    /// One record.
    Record,
    /// The record that the request created.
    Created,
    /// The home's profile, or null.
    Profile,
    /// A page of records.
    Records,
    /// The id of a record or export that does not exist any more.
    Deleted,
    /// A result for each operation of a bulk call.
    Bulk,
    /// A page of search results.
    SearchResults,
    /// A page of events.
    Events,
    /// A page of deleted ids.
    Deletions,
    /// A stream of events.
    Stream,
    /// The key of the request: home, scopes, limits.
    KeyProfile,
    /// An export job.
    Export,
    /// An export job that was queued.
    ExportAccepted,
    /// A page of export jobs.
    Exports,
    /// An import job with the results of its rows.
    Import,
    /// An import job that was queued.
    ImportAccepted,
    /// A page of import jobs.
    Imports,
    /// A job that makes drafts.
    Capture,
    /// A job that makes drafts, after it was queued.
    CaptureAccepted,
    /// A page of jobs that make drafts.
    Captures,
    /// The file of an export.
    File,
    /// A new calendar with its url.
    CalendarCreated,
    /// The calendars of the key.
    Calendars,
    /// The refill of the home.
    Refill,
    /// A file of the home, after its upload.
    FileStored,
    /// A page of the files of the home.
    Files,
    /// The bytes of a file of the home, or a range of them.
    FileBytes,
    /// A small picture of a file.
    Thumbnail,
    /// The text of a file.
    FileText,
    /// The hash of a file that does not exist any more.
    FileDeleted,
    /// The root index of resources and links.
    Index,
    /// The catalogue of versions, scopes, errors and limits.
    Meta,
    /// The status of the service in one word.
    Health,
    /// Metrics in the text format of Prometheus.
    Metrics,
    /// The OpenAPI description, as JSON or YAML.
    Document,
    /// The OpenAPI description as JSON.
    DocumentJson,
    /// The OpenAPI description as YAML.
    DocumentYaml,
    /// An HTML page, the same for every client.
    Page,
    /// An entry of the error catalogue, as HTML or JSON.
    ErrorPage,
    /// The style sheet of the HTML pages.
    Style,
    /// The script of the HTML pages.
    Script,
    /// A JSON-RPC message of the Model Context Protocol.
    Rpc,
}

impl ResponseBody {
    /// The status of a successful response.
    pub const fn status(self) -> u16 {
        match self {
            ResponseBody::Created | ResponseBody::CalendarCreated => 201,
            ResponseBody::ExportAccepted | ResponseBody::ImportAccepted | ResponseBody::CaptureAccepted => 202,
            ResponseBody::Bulk => 207,
            _ => 200,
        }
    }

    /// Whether the response is a page for people.
    pub const fn is_page(self) -> bool {
        matches!(self, ResponseBody::Page | ResponseBody::ErrorPage)
    }

    /// Whether the response is the same for every client, so caches may keep it.
    pub const fn is_asset(self) -> bool {
        use ResponseBody::{Document, DocumentJson, DocumentYaml, Page, Script, Style};
        matches!(self, Document | DocumentJson | DocumentYaml | Page | Script | Style)
    }

    /// Whether `Accept` has no say: the bytes have the type that they have (contract 21).
    pub const fn ignores_accept(self) -> bool {
        matches!(self, ResponseBody::FileBytes | ResponseBody::Thumbnail)
    }

    /// The media types on offer, the default first. `Accept` must admit at least one of them.
    pub const fn media(self) -> &'static [&'static str] {
        match self {
            ResponseBody::Stream => &["text/event-stream"],
            ResponseBody::File => &["application/json", "application/zip", "application/vnd.sqlite3", "text/html"],
            ResponseBody::FileBytes => &FILE_MEDIA,
            ResponseBody::Thumbnail => &["image/jpeg"],
            ResponseBody::Document => &["application/json", "application/yaml"],
            ResponseBody::DocumentYaml => &["application/yaml"],
            ResponseBody::Page => &["text/html"],
            ResponseBody::ErrorPage => &["text/html", "application/json"],
            ResponseBody::Metrics => &["text/plain"],
            ResponseBody::Style => &["text/css"],
            ResponseBody::Script => &["text/javascript"],
            _ => &["application/json"],
        }
    }
}
