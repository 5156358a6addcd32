//! The query parameters that routes know: name, meaning, and which values they take. Strict reading refuses by these
//! names, and the document lists them. Must not know what a handler does with one.

use hearth_contract::schema::Kind;

use crate::home::search::QUESTION;

/// One parameter of a query string.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it does, for people.
    pub about: &'static str,
    /// Which values it takes.
    pub value_type: ParameterType,
}

/// Which values a parameter takes.
#[derive(Debug, Clone, Copy)]
pub enum ParameterType {
    /// An integer from 1 to `max`.
    Limit {
        /// When nothing is said.
        default: usize,
        /// The greatest.
        max: usize,
    },
    /// A text that an earlier answer gave.
    Cursor,
    /// One of some words; the first holds when nothing is said.
    Choice {
        /// The words' name in the document.
        schema: &'static str,
        /// The words.
        words: &'static [&'static str],
    },
    /// Some of these kinds, separated by commas.
    Kinds(&'static [Kind]),
    /// Names of fields of the route's kind, separated by commas.
    Fields,
    /// Names of relations of the route's kind, separated by commas.
    Relations,
    /// A date or a date-time.
    Moment,
    /// Words, of so many characters.
    Text {
        /// The fewest.
        min: usize,
        /// The most.
        max: usize,
    },
}

const fn parameter(name: &'static str, about: &'static str, value_type: ParameterType) -> Parameter {
    Parameter { name, about, value_type }
}

/// How many items a page has.
#[derive(Debug, Clone, Copy)]
pub struct PageSize {
    /// Items when `limit` is not sent.
    pub default: usize,
    /// The greatest value of `limit`.
    pub max: usize,
}

/// Records, search results or export jobs on a page.
pub const RECORDS_PAGE: PageSize = PageSize { default: 50, max: 100 };
/// Events on a page.
pub const EVENTS_PAGE: PageSize = PageSize { default: 50, max: 1000 };

/// Records on a page.
pub const LIMIT: Parameter = parameter(
    "limit",
    "How many to give at most",
    ParameterType::Limit { default: RECORDS_PAGE.default, max: RECORDS_PAGE.max },
);
/// Events on a page.
pub const FEED_LIMIT: Parameter = parameter(
    "limit",
    "How many to give at most; of long records fewer, since a page ends with the event that brings it to 4 MiB",
    ParameterType::Limit { default: EVENTS_PAGE.default, max: EVENTS_PAGE.max },
);
/// Where a list goes on.
pub const CURSOR: Parameter =
    parameter("cursor", "`meta.page.next_cursor` of the page before; left out on the first", ParameterType::Cursor);
/// Where a poll of the feed goes on.
pub const FEED_CURSOR: Parameter = parameter(
    "cursor",
    "The last `meta.page.next_cursor` or stream id; without it the feed begins at its start",
    ParameterType::Cursor,
);
/// Where a stream begins.
pub const STREAM_CURSOR: Parameter = parameter(
    "cursor",
    "The last cursor, or `start` for everything; without it the stream begins at the present",
    ParameterType::Cursor,
);
/// What a list is sorted by.
pub const SORT: Parameter = parameter(
    "sort",
    "What to sort by",
    ParameterType::Choice { schema: "Sort", words: &["created_at", "updated_at"] },
);
/// In which direction.
pub const ORDER: Parameter =
    parameter("order", "In which direction", ParameterType::Choice { schema: "Order", words: &["desc", "asc"] });
/// Only what was created since.
pub const CREATED_SINCE: Parameter =
    parameter("created_since", "Only records created at or after this moment", ParameterType::Moment);
/// Only what changed since.
pub const UPDATED_SINCE: Parameter =
    parameter("updated_since", "Only records changed at or after this moment", ParameterType::Moment);
/// Which members to give.
pub const FIELDS: Parameter = parameter(
    "fields",
    "Names of the members to give, separated by commas; `id` is always given",
    ParameterType::Fields,
);
/// Which relations to inline.
pub const EXPAND: Parameter = parameter(
    "expand",
    "Names of the relations to inline, separated by commas; the key needs the read scopes of their kinds",
    ParameterType::Relations,
);
/// Kinds of events.
pub const EVENT_TYPES: Parameter =
    parameter("types", "Only events of these kinds, separated by commas", ParameterType::Kinds(&Kind::ALL));
/// Kinds of search results.
pub const SEARCH_TYPES: Parameter =
    parameter("types", "Only records of these kinds, separated by commas", ParameterType::Kinds(&Kind::COLLECTIONS));
/// What to search for.
pub const SEARCH_QUERY: Parameter = parameter(
    "q",
    "Words, each of which must begin a word of the record",
    ParameterType::Text { min: QUESTION.0, max: QUESTION.1 },
);
