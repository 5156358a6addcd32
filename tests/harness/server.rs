//! A service to try things on: in this process, on a free port, with a key for each home. Must not know what is tried.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use hearth_server::Running;
use hearth_server::clock::Clock;
use hearth_server::config::Config;
use hearth_server::operate::{self, NewKey};
use tempfile::TempDir;

/// A clock that only the test moves: nothing depends on how fast the machine is, or on steps of its own clock.
#[derive(Clone)]
pub struct Hand(Arc<AtomicI64>);

impl Hand {
    /// Standing at a moment.
    pub fn at(moment: &str) -> Hand {
        Hand(Arc::new(AtomicI64::new(Timestamp::parse(moment).expect("a moment").millis())))
    }

    /// Moves on; the moment and the time passed alike.
    pub fn advance(&self, time: Duration) {
        self.0.fetch_add(time.as_millis() as i64, Ordering::SeqCst);
    }

    /// Steps to another moment, back too.
    pub fn step_to(&self, moment: &str) {
        self.0.store(Timestamp::parse(moment).expect("a moment").millis(), Ordering::SeqCst);
    }

    /// The clock it moves.
    pub fn clock(&self) -> Clock {
        let (now, passed) = (self.0.clone(), self.0.clone());
        let passed = move || Duration::from_millis(passed.load(Ordering::SeqCst).max(0) as u64);
        Clock::new(move || Timestamp::from_millis(now.load(Ordering::SeqCst)), passed)
    }
}

/// A service in this process, with the team that a first start makes.
pub struct Server {
    /// The service.
    pub running: Running,
    /// Its address as a URL.
    pub url: String,
    /// A key to the sandbox home with every scope.
    pub test_key: String,
    /// A key to the empty live home with every scope.
    pub live_key: String,
    dir: TempDir,
}

impl Server {
    /// Starts one without limits on a fresh directory.
    pub async fn start() -> Server {
        Server::start_with(|_| ()).await
    }

    /// Starts one without limits and with changed settings on a fresh directory.
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Server {
        Server::start_at(Clock::system(), change).await
    }

    /// Starts one whose time is told by this clock.
    pub async fn start_at(clock: Clock, change: impl FnOnce(&mut Config)) -> Server {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut config = Config::new(dir.path().to_owned());
        config.rate_limits = None;
        change(&mut config);
        let running = hearth_server::start(config, clock).await.expect("the service starts");
        let (test_key, live_key) = (key(&running, Environment::Test).await, key(&running, Environment::Live).await);
        Server { url: format!("http://{}", running.address), running, test_key, live_key, dir }
    }

    /// Its data directory.
    pub fn data(&self) -> &Path {
        self.dir.path()
    }

    /// Stops it and keeps its directory.
    pub async fn stop(self) -> TempDir {
        self.running.stop().await;
        self.dir
    }
}

/// A new key with every scope.
async fn key(running: &Running, environment: Environment) -> String {
    let team = operate::teams(&running.app.db).await.expect("teams")[0].id.clone();
    let wish = NewKey {
        team,
        environment,
        scopes: Vec::new(),
        name: None,
        allowlist: Vec::new(),
        pinned: None,
        expires_at: None,
    };
    operate::create_key(&running.app.db, &Clock::system(), wish).await.expect("a key").secret
}
