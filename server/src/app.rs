//! What a handler may touch. Must not know what any handler does.

use std::sync::{Arc, LazyLock, OnceLock};

use tokio::sync::watch;

use crate::api::shelf::Shelves;
use crate::clock::Clock;
use crate::config::Config;
use crate::exports::Exports;
use crate::http::keyring::Keyring;
use crate::http::limits::{Limits, Refusals, Streams};
use crate::interceptor::Interceptor;
use crate::metrics::Metrics;
use crate::openapi::Document;
use crate::shutdown::Shutdown;
use crate::store::Db;
use crate::store::tail::Tail;

/// The running service.
pub struct App {
    /// Its settings.
    pub config: Config,
    /// How clients reach it; what links begin with.
    pub base_url: Arc<str>,
    /// The description of its API, written when it is first asked for.
    pub document: LazyLock<Document, Box<dyn FnOnce() -> Document + Send>>,
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
    /// What they share.
    pub shelves: Shelves,
    /// True once it is stopping.
    pub shutdown: Shutdown,
    /// The hook in front of every request, for tests of clients. Unset in a normal service.
    pub interceptor: OnceLock<Box<dyn Interceptor<App>>>,
    /// Changes whenever another process wrote to the database: what was read before may be stale.
    pub outside: watch::Receiver<u64>,
}
