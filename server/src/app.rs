//! What a handler may touch. Must not know any handler.

use std::sync::Arc;

use hearth_contract::formats::Timestamp;
use tokio::sync::watch;

use uuid::{NoContext, Uuid};

use crate::clock::Clock;
use crate::config::Config;
use crate::exports::Exports;
use crate::http::auth::Keyring;
use crate::http::limits::{Limits, Refusals, Streams};
use crate::metrics::Metrics;
use crate::openapi::Document;
use crate::stopping::Stopping;
use crate::store::Db;
use crate::store::tail::Tail;

/// The running service.
pub struct App {
    /// Its settings.
    pub config: Config,
    /// How clients reach it; what links begin with.
    pub base_url: Arc<str>,
    /// The description of its API.
    pub document: Document,
    /// Its database.
    pub db: Db,
    /// The bells of its homes.
    pub tail: Tail,
    /// Its clock.
    pub clock: Clock,
    /// The keys it knows.
    pub keyring: Keyring,
    /// The windows of calls.
    pub limits: Limits,
    /// The latest refusals for too many calls.
    pub refusals: Refusals,
    /// The export jobs that run.
    pub exports: Exports,
    /// What was counted of requests.
    pub metrics: Metrics,
    /// The open streams.
    pub streams: Streams,
    /// True once it is stopping.
    pub stopping: Stopping,
    /// Changes whenever another process wrote to the database: what was read before may be stale.
    pub outside: watch::Receiver<u64>,
}

/// A new id whose order is the order of making, to the millisecond (UUIDv7).
pub fn fresh_id(now: Timestamp) -> Uuid {
    let millis = u64::try_from(now.millis()).unwrap_or(0);
    let stamp = uuid::Timestamp::from_unix(NoContext, millis / 1000, (millis % 1000) as u32 * 1_000_000);
    Uuid::new_v7(stamp)
}

/// So many random bytes of the operating system.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}
