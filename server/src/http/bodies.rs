//! The forms of what requests carry and answers give: statuses and media types, named so that the API's description can
//! tell each. Must not know how a body is read or written.

/// Operations in one bulk call (contract 7).
pub const BULK_OPERATIONS_MAX: usize = 50;

/// What the request carries; where it depends on a kind, on the route's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestBody {
    /// No body; one that is sent means nothing.
    None,
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

impl RequestBody {
    /// The media types in which it may come.
    pub const fn media(self) -> &'static [&'static str] {
        match self {
            RequestBody::None => &[],
            RequestBody::Patch => &["application/json", "application/merge-patch+json"],
            RequestBody::Create | RequestBody::Bulk | RequestBody::Export | RequestBody::Rpc => &["application/json"],
        }
    }
}

/// What a good answer gives; where it depends on a kind, on the route's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseBody {
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
    SearchResults,
    /// A page of events.
    Events,
    /// Events as they come.
    Stream,
    /// What the key is and may do.
    KeyProfile,
    /// An export job.
    Export,
    /// An export job that was taken on.
    ExportAccepted,
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
    /// Counts and times in Prometheus's text form.
    Metrics,
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

impl ResponseBody {
    /// The status of a good answer.
    pub const fn status(self) -> u16 {
        match self {
            ResponseBody::Created => 201,
            ResponseBody::ExportAccepted => 202,
            ResponseBody::Bulk => 207,
            _ => 200,
        }
    }

    /// The media types it has, the usual one first; Accept must admit one of them.
    pub const fn media(self) -> &'static [&'static str] {
        match self {
            ResponseBody::Stream => &["text/event-stream"],
            ResponseBody::File => &["application/json", "application/zip", "application/vnd.sqlite3"],
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
