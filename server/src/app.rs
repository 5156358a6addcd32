//! What a handler may touch. Must not know what any handler does.

use std::sync::{Arc, LazyLock};

use tokio::sync::watch;

use crate::api::shelf::Shelves;
use crate::clock::Clock;
use crate::config::Config;
use crate::exports::Exports;
use crate::faults::Faults;
use crate::http::keyring::Keyring;
use crate::http::limits::{Limits, Refusals, Streams};
use crate::metrics::Metrics;
use crate::openapi::Document;
use crate::stopping::Stopping;
use crate::store::Db;
use crate::store::notifier::Notifier;

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
    pub notifier: Notifier,
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
    pub stopping: Stopping,
    /// Faults on order; None in every service that was not started for tests.
    pub faults: Option<Faults>,
    /// Changes whenever another process wrote to the database: what was read before may be stale.
    pub outside: watch::Receiver<u64>,
}
