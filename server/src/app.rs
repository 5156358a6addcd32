//! The state that all handlers share. Must not know HTTP, nor what a handler does.
//!
//! - [`keyring`]: verified keys, remembered for half a second.
//! - [`address_limits`]: how often an address may call without a key.
//! - [`answer_bytes`]: how many bytes of answers wait for their readers.
//! - [`limits`]: how often a key may call, and how many streams the key may hold open.
//! - [`asset`]: files that are the same for every client.
//! - [`backoff`]: who has guessed too many passwords and must wait.
//! - [`checks`]: the check of the database that runs, and the last results.
//! - [`clock_guard`]: whether the clock can be trusted for a write.
//! - [`frame_cache`]: encoded feed frames that several streams send.
//! - [`log_sampler`]: which requests the access log omits.
//! - [`readers`]: how far each reader of the feed has come.
//! - [`recent`]: the latest requests. [`usage`]: requests of each key and day.

pub mod address_limits;
pub mod answer_bytes;
pub mod asset;
pub mod backoff;
pub mod checks;
pub mod clock_guard;
pub mod frame_cache;
pub mod keyring;
pub mod limits;
pub mod log_sampler;
pub mod readers;
pub mod recent;
pub mod usage;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;
use tokio::sync::watch;

use self::address_limits::AddressLimits;
use self::answer_bytes::AnswerBytes;
use self::asset::Asset;
use self::backoff::Backoff;
use self::checks::Checks;
use self::clock_guard::ClockGuard;
use self::frame_cache::FrameCaches;
use self::keyring::Keyring;
use self::limits::{Limits, Refusals, Streams};
use self::log_sampler::LogSampler;
use self::readers::FeedReaders;
use self::recent::RecentRequests;
use self::usage::UsageCounter;
use crate::clock::Clock;
use crate::config::{Config, PartnerAccess, is_private_url};
use crate::exports::Exports;
use crate::files::Files;
use crate::interceptor::Interceptor;
use crate::metrics::Metrics;
use crate::passwords::Passwords;
use crate::shutdown::Shutdown;
use crate::store::Db;
use crate::store::notifier::Notifier;

/// The state of a running service.
pub struct App {
    /// The settings.
    pub config: Config,
    /// The URL at which clients reach the service, without a slash at the end. Links begin with this text.
    pub base_url: Arc<str>,
    /// The OpenAPI description.
    pub documents: Documents,
    /// The pages for people that are the same for every client, by path.
    pub pages: BTreeMap<String, Asset>,
    /// The database.
    pub db: Db,
    /// Notifications of new events, one channel per home.
    pub notifier: Notifier,
    /// The clock: wall time and monotonic time.
    pub clock: Clock,
    /// Refuses writes while the clock is far ahead.
    pub clock_guard: ClockGuard,
    /// Recently verified keys.
    pub keyring: Keyring,
    /// Bytes of answers in flight per key.
    pub answer_bytes: AnswerBytes,
    /// Chooses the lines of the access log.
    pub log_sampler: LogSampler,
    /// Calls counted per key and window.
    pub limits: Limits,
    /// Readings of each calendar.
    pub calendar_limits: Limits,
    /// Calls without a key, counted per address.
    pub address_limits: AddressLimits,
    /// Recent 429 responses per key.
    pub refusals: Refusals,
    /// The export jobs that run.
    pub exports: Exports,
    /// Wakes the worker of imports.
    pub new_import: Notify,
    /// Wakes the worker that reads files and makes drafts.
    pub new_capture: Notify,
    /// The files of homes.
    pub files: Arc<Files>,
    /// The uploads in progress per key.
    pub uploads: Streams,
    /// Request counts and durations.
    pub metrics: Metrics,
    /// The open streams per key.
    pub streams: Streams,
    /// Encoded feed frames per home, shared by the streams.
    pub frame_caches: FrameCaches,
    /// How far each reader of the feed has come.
    pub readers: FeedReaders,
    /// The latest requests of each team.
    pub recent: RecentRequests,
    /// Requests of each key and day.
    pub usage: UsageCounter,
    /// The check of the database that runs, and the last results.
    pub checks: Checks,
    /// Failed sign-ins per address and name.
    pub sign_ins: Backoff,
    /// The queue of passwords that are hashed.
    pub passwords: Passwords,
    /// Set once the service is stopping.
    pub shutdown: Shutdown,
    /// The hook in front of every request, for tests of clients. Unset in a normal service.
    pub interceptor: OnceLock<Box<dyn Interceptor<App>>>,
    /// Changes whenever keys may have changed: another process wrote to the database, or this process changed a key.
    pub outside: watch::Sender<u64>,
}

impl App {
    /// Drops the cached keys, and makes all streams look up their keys again. To be called after each change of keys or
    /// plans.
    pub fn keys_changed(&self) {
        self.keyring.forget();
        self.outside.send_modify(|count| *count += 1);
        self.notifier.notify_all();
    }
}

impl App {
    /// Which programs of partners may ask for access. None: no program may, not even a replica, because secrets would
    /// travel unprotected to the base URL.
    pub fn partners(&self) -> Option<PartnerAccess> {
        is_private_url(&self.base_url).then_some(self.config.partners)
    }

    /// Whether programs of partners get access.
    pub fn serves_partners(&self) -> bool {
        self.partners().is_some_and(|access| access != PartnerAccess::Off)
    }
}

/// The OpenAPI description of the API, made at its first use.
pub struct Documents {
    /// The description as JSON.
    pub json: Asset,
    /// The description as YAML.
    pub yaml: Asset,
}
