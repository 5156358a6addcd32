//! The Hearth service. Read in this order:
//!
//! - [`start`] and [`Running`]: a serving process, from settings to a clean end. [`Inside`]: the same without sockets.
//! - [`api`]: the handlers.
//! - [`routes`]: the table of all operations, above the handlers.
//! - [`http`]: accept, route, the wrapper around every request.
//! - [`app`]: the state that handlers share.
//! - [`home`]: what a home does; the one way a write happens.
//! - [`store`]: the only SQL.
//! - [`versions`]: older requests upward, answers downward.
//! - [`openapi`]: the API's description, out of the routes and the resource table.
//! - [`exports`]: files of a home's records, made in the background.
//! - [`metrics`]: what is counted.
//! - [`operate`]: what an operator does beside serving: teams, keys, backup, restore, check.
//! - [`upkeep`]: what is done now and then; [`stopping`]: how all of it ends.
//! - [`faults`]: faults on order, in front of the edge.
//! - [`lab`]: the test bench for developers who sync against the service.
//! - [`interceptor`]: the hook for tests in front of every request.
//! - [`config`], [`clock`], [`chance`]: what all of these are given.
//!
//! Imports point one way: `routes → api → openapi → http → app → home → store`.

pub mod api;
pub mod app;
pub mod chance;
pub mod clock;
pub mod config;
pub mod exports;
pub mod faults;
pub mod home;
pub mod http;
pub mod interceptor;
pub mod lab;
pub mod metrics;
pub mod openapi;
pub mod operate;
pub mod routes;
pub mod stopping;
pub mod store;
pub mod upkeep;
pub mod versions;

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, OnceLock};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::app::App;
use crate::app::frame_cache::FrameCaches;
use crate::app::keyring::Keyring;
use crate::app::limits::{Limits, Refusals, Streams};
use crate::chance::random;
use crate::clock::Clock;
use crate::config::Config;
use crate::exports::Exports;
use crate::http::edge::Edge;
use crate::http::listener;
use crate::metrics::Metrics;
use crate::stopping::Stopping;
use crate::store::Db;
use crate::store::homes::Team;
use crate::store::open::OpenError;
use crate::store::tail::Tail;
use crate::upkeep::Upkeep;

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process serves this directory.
    #[error("{0} is served by another process; stop it first, or choose another --data")]
    Taken(PathBuf),
    /// The data directory cannot be used.
    #[error("the data directory {0} cannot be used: {1}")]
    Data(PathBuf, OpenError),
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// Its teams could not be read, or the first not be made.
    #[error("the data directory {0} cannot be used: {1}")]
    Operate(PathBuf, operate::Error),
}

/// A service that accepts connections.
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// Where it tells its metrics.
    pub metrics_address: Option<SocketAddr>,
    /// The team that it made, where there was none.
    pub first_team: Option<Team>,
    /// Its inside, for tests and embedding programs.
    pub app: Arc<App>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
    telling: JoinHandle<()>,
    exporting: JoinHandle<()>,
    upkeep: JoinHandle<()>,
    _lock: File,
}

impl Running {
    /// Stops accepting, ends the streams, lets requests in flight finish (at most 10 s), and leaves a checkpointed
    /// database.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        // Streams hear only their bells.
        self.app.tail.ring_all();
        let _ = self.serving.await;
        let _ = self.telling.await;
        let _ = self.exporting.await;
        let _ = self.upkeep.await;
        self.app.db.close().await;
    }
}

/// Opens the data directory, makes the first team if there is none, and serves.
pub async fn start(config: Config, clock: Clock) -> Result<Running, StartError> {
    start_with(config, clock, |_| ()).await
}

/// As [`start`]; calls `prepare` before the first connection is accepted, for example to set `app.interceptor`.
pub async fn start_with(mut config: Config, clock: Clock, prepare: impl FnOnce(&App)) -> Result<Running, StartError> {
    let data_error = |error| StartError::Data(config.data.clone(), error);
    let Some(lock) = store::open::lock(&config.data).map_err(|error| data_error(error.into()))? else {
        return Err(StartError::Taken(config.data));
    };
    let tail = Tail::default();
    let db = Db::open(&config.data, tail.clone(), i64::from_be_bytes(random())).map_err(data_error)?;
    let (listener, address) = listen(config.listen).await?;
    config.listen = address;
    let metrics = match config.metrics_listen {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    // Once nothing is in the way any more: only the start that makes it says what to do with it.
    let first_team = operate::ensure_first_team(&db, &clock).await;
    let first_team = first_team.map_err(|error| StartError::Operate(config.data.clone(), error))?;
    let metrics_address = metrics.as_ref().map(|(_, address)| *address);
    if let Some(address) = metrics_address {
        tracing::info!(%address, "metrics are told");
    }

    let (stop, stopping) = Stopping::new();
    if config.base_url.is_none() && address.ip().is_unspecified() {
        tracing::warn!(%address, "links lead to an address that no client can reach; say how clients reach the service with --base-url");
    }
    let base_url = config.base_url.clone().unwrap_or_else(|| format!("http://{address}"));
    let (app, outside) = assemble(config, &base_url, db, tail, clock, stopping.clone());
    prepare(&app);
    let apology = app.clone();
    let rules = listener::Rules {
        connections_max: app.config.connections_max,
        headers_time_max: app.config.headers_time_max,
        write_time_max: app.config.write_time_max,
        too_late: Arc::new(move || http::edge::too_late(&apology)),
    };
    let edge = Edge::new(app.clone(), &routes::API);
    let serving = tokio::spawn(listener::serve(listener, edge, rules.clone(), stopping.clone()));
    let telling = tokio::spawn(tell(metrics, Edge::new(app.clone(), &routes::OPERATIONS), rules, stopping));
    let exporting = tokio::spawn(exports::run::run(app.clone()));
    let upkeep = tokio::spawn(upkeep::run(app.clone(), outside));
    Ok(Running { address, metrics_address, first_team, app, stop, serving, telling, exporting, upkeep, _lock: lock })
}

/// The service without sockets, threads and tasks of its own: requests go straight to its edge, and its upkeep is
/// done when its holder says. Dropping it is the end of a process that had no time to tidy up.
pub struct Inside {
    /// Its inside.
    pub app: Arc<App>,
    /// What answers requests.
    pub edge: Edge,
    /// What it does beside answering.
    pub upkeep: Upkeep,
    /// Held, because a dropped sender would be the word to stop.
    _stop: watch::Sender<bool>,
    _lock: File,
}

impl Inside {
    /// Opens the data directory as it is: no first team is made.
    pub fn open(config: Config, clock: Clock) -> Result<Inside, StartError> {
        let data_error = |error| StartError::Data(config.data.clone(), error);
        let Some(lock) = store::open::lock(&config.data).map_err(|error| data_error(error.into()))? else {
            return Err(StartError::Taken(config.data));
        };
        let tail = Tail::default();
        let db = Db::open_here(&config.data, tail.clone(), i64::from_be_bytes(random())).map_err(data_error)?;
        let (stop, stopping) = Stopping::new();
        let base_url = config.base_url.clone().unwrap_or_else(|| format!("http://{}", config.listen));
        let (app, outside) = assemble(config, &base_url, db, tail, clock, stopping);
        let (edge, upkeep) = (Edge::new(app.clone(), &routes::API), Upkeep::new(app.clone(), outside));
        Ok(Inside { app, edge, upkeep, _stop: stop, _lock: lock })
    }
}

/// Puts together what handlers may touch; and the bell to ring when another process has written.
fn assemble(
    config: Config,
    base_url: &str,
    db: Db,
    tail: Tail,
    clock: Clock,
    stopping: Stopping,
) -> (Arc<App>, watch::Sender<u64>) {
    let (ring, outside) = watch::channel(0);
    let base_url: Arc<str> = base_url.trim_end_matches('/').into();
    let described = base_url.clone();
    let app = Arc::new(App {
        document: LazyLock::new(Box::new(move || openapi::document(&described, &routes::ROUTES))),
        base_url,
        limits: Limits::new(config.rate_limits),
        keyring: Keyring::default(),
        refusals: Refusals::default(),
        exports: Exports::new(&config.data),
        metrics: Metrics::default(),
        streams: Streams::default(),
        frame_caches: FrameCaches::default(),
        interceptor: OnceLock::new(),
        config,
        db,
        tail,
        clock,
        stopping,
        outside,
    });
    (app, ring)
}

async fn listen(wanted: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |error| StartError::Listen(wanted, error);
    let listener = TcpListener::bind(wanted).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Serves what watches ask on an address of its own, if there is one.
async fn tell(metrics: Option<(TcpListener, SocketAddr)>, edge: Edge, rules: listener::Rules, stopping: Stopping) {
    if let Some((listener, _)) = metrics {
        listener::serve(listener, edge, rules, stopping).await;
    }
}
