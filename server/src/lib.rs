//! The Hearth service. Read in this order:
//!
//! - [`start`] and [`Running`]: a serving process, from its settings to its shutdown. [`InProcess`]: the same without sockets.
//! - [`routes`]: the table of all operations, above the handlers.
//! - [`http`]: connections, routing, and the steps around every request.
//! - [`api`]: the handlers.
//! - [`console`]: pages for people, beside the handlers of the API.
//! - [`home`]: the rules of a home, and the single path of every write.
//! - [`store`]: the only SQL.
//! - [`versions`]: converts older requests up and responses down.
//! - [`openapi`]: the description of the API, from the routes and the resource table.
//! - [`portal`]: the pages for people under `/docs`.
//! - [`exports`]: files with the records of a home, written in the background. [`imports`]: tables that become records.
//! - `captures`: reads files, and makes drafts of records. [`files`]: the bytes of the files of homes.
//! - [`partners`]: programs of others that an owner gives access to.
//! - [`metrics`]: counters for Prometheus.
//! - [`operate`]: the work of an operator beside serving: teams, keys, backup, restore, check.
//! - [`maintenance`]: background work of a serving process; [`shutdown`]: the signal that ends all tasks.
//! - [`passwords`]: hashes passwords of people, one at a time.
//! - `compression`: codings of bodies, off the async threads.
//! - `listening`: the address of the service, and warnings about it.
//! - [`open_files`]: how many connections the limits of the machine allow.
//! - [`scopes`]: the scopes of keys.
//! - [`config`], [`clock`], [`random`], [`app`]: the values that the modules above receive.
//! - [`core_dumps`]: switches them off.
//! - [`interceptor`]: the hook for tests in front of every request.
//! - [`mod@bench`]: the test bench for developers of clients. Only the command line and tests import `bench`.
//!
//! Imports point one way: `routes → partners → console → api → portal → openapi → http → app → operate → home → store`. Each write notifies `store::notifier`, and the streams read on.

pub mod api;
pub mod app;
pub mod bench;
mod captures;
pub mod clock;
mod compression;
pub mod config;
pub mod console;
pub mod core_dumps;
pub mod exports;
pub mod files;
pub mod home;
pub mod http;
pub mod imports;
pub mod interceptor;
mod listening;
pub mod maintenance;
pub mod metrics;
pub mod open_files;
pub mod openapi;
pub mod operate;
pub mod partners;
pub mod passwords;
pub mod portal;
pub mod random;
pub mod routes;
pub mod scopes;
pub mod shutdown;
pub mod store;
pub mod versions;

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, OnceLock};

use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::app::address_limits::AddressLimits;
use crate::app::answer_bytes::AnswerBytes;
use crate::app::asset::Asset;
use crate::app::backoff::Backoff;
use crate::app::checks::Checks;
use crate::app::clock_guard::ClockGuard;
use crate::app::frame_cache::FrameCaches;
use crate::app::keyring::Keyring;
use crate::app::limits::{CALENDAR_READS, Limits, Refusals, Streams};
use crate::app::log_sampler::LogSampler;
use crate::app::readers::FeedReaders;
use crate::app::recent::RecentRequests;
use crate::app::usage::UsageCounter;
use crate::app::{App, Documents};
use crate::clock::Clock;
use crate::config::Config;
use crate::exports::Exports;
use crate::files::Files;
use crate::http::certificate::CertificateError;
use crate::http::edge::Edge;
use crate::http::rules::Rules;
use crate::http::tls::Certificates;
use crate::http::{edge, listener};
use crate::maintenance::Maintenance;
use crate::metrics::Metrics;
use crate::passwords::Passwords;
use crate::random::random_bytes;
use crate::shutdown::Shutdown;
use crate::store::Db;
use crate::store::homes::Team;
use crate::store::notifier::Notifier;
use crate::store::open::OpenError;
use crate::store::schema;

/// Open connections to the metrics address, at most.
const METRICS_CONNECTIONS_MAX: usize = 64;

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process serves this data directory.
    #[error("{0} is served by another process; stop that process first, or choose another --data")]
    Taken(PathBuf),
    /// The database in this data directory cannot be opened.
    #[error("cannot use the data directory {0}: {1}")]
    Data(PathBuf, OpenError),
    /// The address is in use or not allowed.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// The certificate or its key cannot be used.
    #[error(transparent)]
    Tls(#[from] CertificateError),
    /// The teams could not be read, or the first team could not be created.
    #[error("cannot use the data directory {0}: {1}")]
    Operate(PathBuf, operate::Error),
}

/// A service that accepts connections.
pub struct Running {
    /// The address of the API, with the actual port.
    pub address: SocketAddr,
    /// The address of `/metrics`, with the actual port. None: `metrics_listen` is not set.
    pub metrics_address: Option<SocketAddr>,
    /// The team that this start created in an empty database.
    pub first_team: Option<Team>,
    /// The parts of the service, for tests and for programs that embed the service.
    pub app: Arc<App>,
    shutdown: watch::Sender<bool>,
    api_task: JoinHandle<()>,
    metrics_task: JoinHandle<()>,
    exports_task: JoinHandle<()>,
    imports_task: JoinHandle<()>,
    captures_task: JoinHandle<()>,
    maintenance_task: JoinHandle<()>,
    _lock: File,
}

impl Running {
    /// The URL of the listening address, as in `https://127.0.0.1:8750`.
    pub fn url(&self) -> String {
        let scheme = if self.app.config.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Stops accepting connections, ends the streams, waits for requests in progress (at most 10 s), and closes the
    /// database with an empty WAL.
    pub async fn stop(self) {
        self.shutdown.send_replace(true);
        // Streams wait only for notifications of their homes.
        self.app.notifier.notify_all();
        let _ = self.api_task.await;
        let _ = self.metrics_task.await;
        let _ = self.exports_task.await;
        let _ = self.imports_task.await;
        let _ = self.captures_task.await;
        let _ = self.maintenance_task.await;
        if let Err(error) = self.app.usage.store(&self.app.db, self.app.clock.now()).await {
            tracing::warn!(%error, "the last counts of requests were not stored");
        }
        self.app.clock_guard.store_if_right(&self.app.clock);
        self.app.db.close().await;
    }
}

/// Opens the data directory, creates the first team in an empty database, and serves.
pub async fn start(config: Config, clock: Clock) -> Result<Running, StartError> {
    start_with(config, clock, |_| ()).await
}

/// As [`start`]; calls `prepare` before the first connection is accepted, for example to set `app.interceptor`.
pub async fn start_with(mut config: Config, clock: Clock, prepare: impl FnOnce(&App)) -> Result<Running, StartError> {
    let lock = lock(&config)?;
    let notifier = Notifier::default();
    let db = Db::open(&config.data, notifier.clone(), i64::from_be_bytes(random_bytes()));
    let db = db.map_err(|error| StartError::Data(config.data.clone(), error))?;
    let (listener, address) =
        listening::listen(config.listen).await.map_err(|error| StartError::Listen(config.listen, error))?;
    config.listen = address;
    let metrics = match config.metrics_listen {
        Some(address) => {
            let listening = listening::listen(address).await;
            Some(listening.map_err(|error| StartError::Listen(address, error))?)
        }
        None => None,
    };
    let differences =
        db.read(schema::differences).await.map_err(|error| StartError::Operate(config.data.clone(), error.into()))?;
    for difference in differences.altered.iter().chain(&differences.unknown) {
        tracing::warn!(
            difference,
            "the tables of the database are not those of this program; see `hearth-server check`"
        );
    }
    let certificates = config.tls.clone().map(|files| Certificates::open(files, listening::host(&config), clock.now()));
    let certificates = certificates.transpose()?;
    // After all errors: only the start that creates the team prints how to make a key.
    let first_team = operate::ensure_first_team(&db, &clock).await;
    let first_team = first_team.map_err(|error| StartError::Operate(config.data.clone(), error))?;
    let base_url = listening::public_url(&config);
    let stored = operate::people::store_base_url(&db, base_url.trim_end_matches('/')).await;
    stored.map_err(|error| StartError::Operate(config.data.clone(), error))?;
    let metrics_address = metrics.as_ref().map(|(_, address)| *address);
    if let Some(address) = metrics_address {
        tracing::info!(%address, "metrics are served");
    }

    let (sender, shutdown) = Shutdown::new();
    listening::warn_of_address(&config, address);
    let watch_clock = clock.clone();
    let app = assemble(config, &base_url, db, notifier, clock, shutdown.clone());
    // Names a leap in the log at the start, and keeps a right time for the next start.
    app.clock_guard.store_if_right(&app.clock);
    prepare(&app);
    let (late, plain) = (app.clone(), app.clone());
    let rules = Rules {
        connections_max: open_files::connections_max(app.config.connections_max),
        handshake_time_max: app.config.handshake_time_max,
        headers_time_max: app.config.headers_time_max,
        write_time_max: app.config.write_time_max,
        late_head_response: Arc::new(move || edge::late_head_response(&late)),
        plain_http_response: Arc::new(move || edge::plain_http_response(&plain)),
        tls: certificates.as_ref().map(Certificates::tls),
    };
    // From the reserve of open files, so that a scraper always gets through.
    let metrics_rules = Rules { connections_max: METRICS_CONNECTIONS_MAX, tls: None, ..rules.clone() };
    if let Some(certificates) = certificates {
        tokio::spawn(certificates.watch(watch_clock, shutdown.clone()));
    }
    let edge = Edge::new(app.clone(), routes::paths_of(&app.config));
    let api_task = tokio::spawn(listener::serve(listener, edge, rules, shutdown.clone()));
    let metrics_task =
        tokio::spawn(serve_metrics(metrics, Edge::new(app.clone(), &routes::OPERATIONS), metrics_rules, shutdown));
    let exports_task = tokio::spawn(exports::worker::run(app.clone()));
    let imports_task = tokio::spawn(imports::worker::run(app.clone()));
    let captures_task = tokio::spawn(captures::worker::run(app.clone()));
    let maintenance_task = tokio::spawn(maintenance::run(app.clone()));
    Ok(Running {
        address,
        metrics_address,
        first_team,
        app,
        shutdown: sender,
        api_task,
        metrics_task,
        exports_task,
        imports_task,
        captures_task,
        maintenance_task,
        _lock: lock,
    })
}

/// The service without sockets, threads and background tasks: the holder passes requests to `edge` and runs
/// `maintenance`. Dropping the value simulates a process that was killed.
pub struct InProcess {
    /// The parts of the service.
    pub app: Arc<App>,
    /// Answers requests.
    pub edge: Edge,
    /// The background work, which the holder runs step by step.
    pub maintenance: Maintenance,
    /// A dropped sender would request the shutdown.
    _shutdown: watch::Sender<bool>,
    _lock: File,
}

impl InProcess {
    /// Opens the data directory. Creates no team.
    pub fn open(config: Config, clock: Clock) -> Result<InProcess, StartError> {
        let lock = lock(&config)?;
        let notifier = Notifier::default();
        let db = Db::open_unthreaded(&config.data, notifier.clone(), i64::from_be_bytes(random_bytes()));
        let db = db.map_err(|error| StartError::Data(config.data.clone(), error))?;
        let (sender, shutdown) = Shutdown::new();
        let base_url = listening::public_url(&config);
        let app = assemble(config, &base_url, db, notifier, clock, shutdown);
        let (edge, maintenance) =
            (Edge::new(app.clone(), routes::paths_of(&app.config)), Maintenance::new(app.clone()));
        Ok(InProcess { app, edge, maintenance, _shutdown: sender, _lock: lock })
    }
}

/// Locks the data directory for the only process that may serve the directory.
fn lock(config: &Config) -> Result<File, StartError> {
    let lock = store::directory::lock_for_serving(&config.data);
    let lock = lock.map_err(|error| StartError::Data(config.data.clone(), error))?;
    lock.ok_or_else(|| StartError::Taken(config.data.clone()))
}

/// Builds the value that all handlers receive.
fn assemble(config: Config, base_url: &str, db: Db, notifier: Notifier, clock: Clock, shutdown: Shutdown) -> Arc<App> {
    let base_url: Arc<str> = base_url.trim_end_matches('/').into();
    let of_service = base_url.clone();
    // Both files come from one description, which is made when the first of them is asked for.
    let description = Arc::new(LazyLock::new(move || openapi::document(&of_service, &routes::ROUTES)));
    let same = description.clone();
    Arc::new(App {
        documents: Documents {
            json: Asset::new(move || description.json.clone()),
            yaml: Asset::new(move || same.yaml.clone()),
        },
        pages: portal::pages(&base_url, config.has_console, &routes::ROUTES),
        base_url,
        answer_bytes: AnswerBytes::default(),
        log_sampler: LogSampler::default(),
        clock_guard: ClockGuard::new(&config.data, &clock, config.clock_leap_max, config.accept_clock),
        limits: Limits::new(config.rate_limits),
        calendar_limits: Limits::new(config.rate_limits.map(|_| CALENDAR_READS)),
        keyring: Keyring::default(),
        address_limits: AddressLimits::default(),
        refusals: Refusals::default(),
        sign_ins: Backoff::default(),
        passwords: Passwords::default(),
        exports: Exports::new(&config.data),
        new_import: Notify::new(),
        new_capture: Notify::new(),
        files: Arc::new(Files::new(&config.data)),
        uploads: Streams::default(),
        metrics: Metrics::default(),
        streams: Streams::default(),
        frame_caches: FrameCaches::default(),
        readers: FeedReaders::default(),
        recent: RecentRequests::default(),
        usage: UsageCounter::default(),
        checks: Checks::default(),
        interceptor: OnceLock::new(),
        config,
        db,
        notifier,
        clock,
        shutdown,
        outside: watch::Sender::new(0),
    })
}

/// Serves `/metrics`, `/healthz` and `/readyz` on their own address, if there is one.
async fn serve_metrics(metrics: Option<(TcpListener, SocketAddr)>, edge: Edge, rules: Rules, shutdown: Shutdown) {
    if let Some((listener, _)) = metrics {
        listener::serve(listener, edge, rules, shutdown).await;
    }
}
