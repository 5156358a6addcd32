//! All query parameters: name, description and value type. The query parser, the OpenAPI description and the MCP
//! schemas read them. Must not know the effect of a parameter.

use std::sync::LazyLock;

use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Kind};

use crate::home::search::QUESTION;

/// A query parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The name in the query string.
    pub name: &'static str,
    /// The description in the OpenAPI document.
    pub about: &'static str,
    /// The values that the parameter accepts.
    pub value_type: ParameterType,
}

/// The values that a parameter accepts.
#[derive(Debug, Clone, Copy)]
pub enum ParameterType {
    /// An integer from 1 to `max`.
    Limit {
        /// The value of an absent parameter.
        default: usize,
        /// The greatest value.
        max: usize,
    },
    /// A cursor from an earlier response.
    Cursor,
    /// One of several words.
    Choice {
        /// The name of the schema in the OpenAPI document.
        schema: &'static str,
        /// The words. The first is the default.
        words: &'static [&'static str],
    },
    /// One of several words; absent: no restriction.
    Word {
        /// The name of the schema in the OpenAPI document.
        schema: &'static str,
        /// The words.
        words: &'static [&'static str],
    },
    /// Some of these kinds, separated by commas.
    Kinds(&'static [Kind]),
    /// Fields of the route's kind, separated by commas.
    Fields,
    /// Relations of the route's kind, separated by commas.
    Relations,
    /// Values of a field, separated by commas; [`NULL`] for null (contract 5).
    Filter(&'static Field),
    /// `true` or `false`.
    Flag,
    /// A date or an RFC 3339 date-time.
    Moment,
    /// A revision: an integer from 0.
    Revision,
    /// Text with a length limit in characters.
    Text {
        /// The least number of characters.
        min: usize,
        /// The greatest number of characters.
        max: usize,
    },
}

impl ParameterType {
    /// Whether the value is a list, separated by commas.
    pub const fn is_list(self) -> bool {
        matches!(
            self,
            ParameterType::Kinds(_) | ParameterType::Fields | ParameterType::Relations | ParameterType::Filter(_)
        )
    }
}

/// The value of a filter that stands for null.
pub const NULL: &str = "null";

/// The parameters of every list.
pub const LIST: [Parameter; 8] = [LIMIT, CURSOR, SORT, ORDER, CREATED_SINCE, UPDATED_SINCE, FIELDS, EXPAND];

/// The parameters of the list of a kind: those of every list, and a filter for each field that a list can be filtered by.
pub fn list_parameters(kind: Kind) -> &'static [Parameter] {
    static OF_KINDS: LazyLock<[Vec<Parameter>; Kind::ALL.len()]> = LazyLock::new(|| {
        Kind::ALL.map(|kind| {
            let filters =
                resource(kind).filters().map(|field| parameter(field.name, FILTER, ParameterType::Filter(field)));
            LIST.into_iter().chain(filters).collect()
        })
    });
    &OF_KINDS[kind as usize]
}

/// The description of a filter.
const FILTER: &str = "Only records with one of these values, separated by commas; `null` finds records without a value";

const fn parameter(name: &'static str, about: &'static str, value_type: ParameterType) -> Parameter {
    Parameter { name, about, value_type }
}

/// The number of items on a page.
#[derive(Debug, Clone, Copy)]
pub struct PageSize {
    /// The number without the parameter `limit`.
    pub default: usize,
    /// The greatest value of `limit`.
    pub max: usize,
}

/// Records, search results or export jobs on a page.
pub const RECORDS_PAGE: PageSize = PageSize { default: 50, max: 100 };
/// Events on a page.
pub const EVENTS_PAGE: PageSize = PageSize { default: 50, max: 1000 };
/// Deleted ids on a page.
pub const DELETIONS_PAGE: PageSize = PageSize { default: 100, max: 1000 };

/// Size of a page of records, search results or export jobs.
pub const LIMIT: Parameter = parameter(
    "limit",
    "The greatest number of items on the page",
    ParameterType::Limit { default: RECORDS_PAGE.default, max: RECORDS_PAGE.max },
);
/// Size of a page of events.
pub const FEED_LIMIT: Parameter = parameter(
    "limit",
    "The greatest number of events on the page; a page of long records has fewer, because it ends at 4 MiB",
    ParameterType::Limit { default: EVENTS_PAGE.default, max: EVENTS_PAGE.max },
);
/// Size of a page of deleted ids.
pub const DELETIONS_LIMIT: Parameter = parameter(
    "limit",
    "The greatest number of deletions on the page",
    ParameterType::Limit { default: DELETIONS_PAGE.default, max: DELETIONS_PAGE.max },
);
/// Start of a list of deleted ids.
pub const SINCE: Parameter = parameter(
    "since",
    "Only deletions of a higher revision; 0 for all. The first page needs it; a cursor carries it",
    ParameterType::Revision,
);
/// Position of the next page of a list.
pub const CURSOR: Parameter = parameter(
    "cursor",
    "`meta.page.next_cursor` of the previous page; leave it out for the first page",
    ParameterType::Cursor,
);
/// The words of [`WIDTH`] with their meanings.
pub const WIDTH_WORDS: [(&str, u32); 2] = [("320", 320), ("1280", 1280)];
/// The width of a small picture.
pub const WIDTH: Parameter = parameter(
    "width",
    "The width of the picture in pixels, at most",
    ParameterType::Choice { schema: "ThumbnailWidth", words: &["320", "1280"] },
);
/// The words of [`REFERENCED`] with their meanings.
pub const REFERENCED_WORDS: [(&str, bool); 2] = [("true", true), ("false", false)];
/// Whether documents name a file.
pub const REFERENCED: Parameter = parameter(
    "referenced",
    "Only files that a document names (`true`), or only the others (`false`)",
    ParameterType::Flag,
);
/// The states of jobs that make drafts.
pub const CAPTURE_STATUS: Parameter = parameter(
    "status",
    "Only jobs in this state",
    ParameterType::Word {
        schema: "CaptureStatus",
        words: &["queued", "running", "ready", "failed", "discarded", "expired", "accepted"],
    },
);
/// The words of the flags of an import with their meanings.
pub const FLAG_WORDS: [(&str, bool); 2] = [("true", true), ("false", false)];
/// The parameters of an import.
pub const IMPORT: [Parameter; 8] = [
    parameter(
        "kind",
        "The kind of the rows; without it the file says it, or the rows are inventory",
        ParameterType::Choice { schema: "ImportKind", words: &KIND_WORDS },
    ),
    parameter(
        "mapping",
        "What columns become, as a JSON object such as `{\"Bezeichnung\":\"name\",\"Raum\":\"room\"}`; an empty field keeps a column out",
        ParameterType::Text { min: 2, max: 8000 },
    ),
    parameter("dry_run", "`true`: only say what the file would do", ParameterType::Flag),
    parameter("partial", "`true`: import the other rows although some are refused", ParameterType::Flag),
    parameter(
        "locale",
        "How the file writes numbers and dates, such as `de-DE`; without it the cells decide",
        ParameterType::Text { min: 2, max: 35 },
    ),
    parameter(
        "encoding",
        "The encoding, such as `latin1`; without it UTF-8, UTF-16 by its mark, or Windows-1252",
        ParameterType::Text { min: 2, max: 40 },
    ),
    parameter(
        "delimiter",
        "`comma`, `semicolon` or `tab`; without it the heading decides",
        ParameterType::Text { min: 1, max: 10 },
    ),
    parameter(
        "key",
        "The columns that together name a record, separated by commas; without it rows match by id, then by import_ref",
        ParameterType::Text { min: 1, max: 1000 },
    ),
];
/// The words of the kinds.
const KIND_WORDS: [&str; Kind::ALL.len()] = {
    let mut words = [""; Kind::ALL.len()];
    let mut at = 0;
    while at < words.len() {
        words[at] = Kind::ALL[at].as_str();
        at += 1;
    }
    words
};

/// Position of the next page of events.
pub const FEED_CURSOR: Parameter = parameter(
    "cursor",
    "The last `meta.page.next_cursor` or stream id; without a cursor the feed starts at the oldest event",
    ParameterType::Cursor,
);
/// Start of a stream.
pub const STREAM_CURSOR: Parameter = parameter(
    "cursor",
    "The last cursor, or `start` for all events; without a cursor the stream starts at the newest event",
    ParameterType::Cursor,
);
/// Sort key of a list.
pub const SORT: Parameter =
    parameter("sort", "The sort key", ParameterType::Choice { schema: "Sort", words: &["created_at", "updated_at"] });
/// Sort direction of a list.
pub const ORDER: Parameter =
    parameter("order", "The sort direction", ParameterType::Choice { schema: "Order", words: &["desc", "asc"] });
/// Earliest creation time.
pub const CREATED_SINCE: Parameter =
    parameter("created_since", "Only records created at or after this time", ParameterType::Moment);
/// Earliest update time.
pub const UPDATED_SINCE: Parameter =
    parameter("updated_since", "Only records changed at or after this time", ParameterType::Moment);
/// Selection of members.
pub const FIELDS: Parameter = parameter(
    "fields",
    "Names of the members to return, separated by commas; `id` and what `expand` adds are always included",
    ParameterType::Fields,
);
/// Relations to include as records.
pub const EXPAND: Parameter = parameter(
    "expand",
    "Names of the relations to include as records, separated by commas; the key needs the read scopes of their kinds",
    ParameterType::Relations,
);
/// Kinds of events.
pub const EVENT_TYPES: Parameter =
    parameter("types", "Only events of these kinds, separated by commas", ParameterType::Kinds(&Kind::ALL));
/// Kinds of deleted records.
pub const DELETION_TYPES: Parameter =
    parameter("types", "Only deletions of these kinds, separated by commas", ParameterType::Kinds(&Kind::ALL));
/// Kinds of search results.
pub const SEARCH_TYPES: Parameter =
    parameter("types", "Only records of these kinds, separated by commas", ParameterType::Kinds(&Kind::COLLECTIONS));
/// Words to search for.
pub const SEARCH_QUERY: Parameter = parameter(
    "q",
    "Words, each of which must begin a word of the record; at least 2 characters, or one sign of a script without spaces",
    // A sign of a script without spaces is a word.
    ParameterType::Text { min: 1, max: QUESTION.1 },
);
