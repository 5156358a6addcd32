//! What the server tells about an API key (contract 11) and about the feed (contract 9.1). Plain values.

/// Owner and rights of an API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The home's id, a UUID.
    pub home_id: String,
    /// The team's name; people use the team's name for the home.
    pub home_name: String,
    /// `live` or `test`.
    pub environment: String,
    /// The lost home whose records a replica has sent to this home (contract 24). None: the home was never filled.
    pub refilled_from: Option<String>,
    /// The key's scopes, each `COLLECTION:read` or `COLLECTION:write`.
    pub scopes: Vec<String>,
    /// The key's rate limits. None: unlimited.
    pub limits: Option<Limits>,
}

/// Calls that a key may make within a minute (contract 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Reads per minute.
    pub reads: u32,
    /// Single writes per minute.
    pub writes: u32,
    /// Bulk calls per minute.
    pub bulk: u32,
}

impl Limits {
    /// Reads per minute for a reconcile: four fifths of the limit. Other programs with the same key keep
    /// the last fifth.
    pub(crate) fn share(reads: u32) -> u32 {
        reads / 5 * 4
    }
}

/// Where the feed ends, and how long the server keeps events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FeedHead {
    /// The newest position. None: the response does not name the position.
    pub head: Option<i64>,
    /// Seconds that events are kept. None: for ever.
    pub retention_seconds: Option<i64>,
}

/// The answers to the two requests that begin each contact with the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerInfo {
    pub identity: Identity,
    pub feed_head: FeedHead,
}
