//! A service inside the test process, on a free port, with a key for each home. Must not know the tests.

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

/// A clock that only the test moves, so results do not depend on the machine's speed or clock.
#[derive(Clone)]
pub struct TestClock {
    /// Milliseconds that both clocks show.
    time: Arc<AtomicI64>,
    /// Milliseconds by which the wall clock is wrong.
    error: Arc<AtomicI64>,
}

impl TestClock {
    /// A clock that shows this time (RFC 3339).
    pub fn at(moment: &str) -> TestClock {
        let time = AtomicI64::new(Timestamp::parse(moment).expect("a moment").millis());
        TestClock { time: Arc::new(time), error: Arc::default() }
    }

    /// Advances the wall clock and the monotonic clock.
    pub fn advance(&self, time: Duration) {
        self.time.fetch_add(time.as_millis() as i64, Ordering::SeqCst);
    }

    /// Sets both clocks to a time (RFC 3339), which may be in the past.
    pub fn step_to(&self, moment: &str) {
        self.time.store(Timestamp::parse(moment).expect("a moment").millis(), Ordering::SeqCst);
    }

    /// Makes the wall clock wrong by so many milliseconds. The monotonic clock does not notice.
    pub fn set_error(&self, millis: i64) {
        self.error.store(millis, Ordering::SeqCst);
    }

    /// The server's view of the clock.
    pub fn clock(&self) -> Clock {
        let (now, passed, error) = (self.time.clone(), self.time.clone(), self.error.clone());
        let passed = move || Duration::from_millis(passed.load(Ordering::SeqCst).max(0) as u64);
        Clock::new(move || Timestamp::from_millis(now.load(Ordering::SeqCst) + error.load(Ordering::SeqCst)), passed)
    }
}

/// A service in this process, with the team that the first start creates.
pub struct Server {
    /// The running service.
    pub running: Running,
    /// The base URL.
    pub url: String,
    /// A key to the sandbox home with every scope.
    pub test_key: String,
    /// A key to the empty live home with every scope.
    pub live_key: String,
    dir: TempDir,
}

impl Server {
    /// Starts a service without rate limits on a new directory.
    pub async fn start() -> Server {
        Server::start_with(|_| ()).await
    }

    /// Starts a service without rate limits; `change` adjusts the other settings.
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Server {
        Server::start_at(Clock::system(), change).await
    }

    /// Starts a service that reads the time from this clock.
    pub async fn start_at(clock: Clock, change: impl FnOnce(&mut Config)) -> Server {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut config = Config::new(dir.path().to_owned());
        config.rate_limits = None;
        change(&mut config);
        let running = hearth_server::start(config, clock).await.expect("the service starts");
        let (test_key, live_key) = (key(&running, Environment::Test).await, key(&running, Environment::Live).await);
        Server { url: running.url(), running, test_key, live_key, dir }
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        self.dir.path()
    }

    /// Stops the service and returns its directory, for a second start.
    pub async fn stop(self) -> TempDir {
        self.running.stop().await;
        self.dir
    }
}

/// Options of a key with every scope: no name, no expiry, no address restriction, no pinned version.
pub fn new_key(team: &str, environment: Environment) -> NewKey {
    NewKey {
        team: team.to_owned(),
        environment,
        scopes: Vec::new(),
        name: None,
        allowlist: Vec::new(),
        pinned: None,
        expires_at: None,
    }
}

/// Creates a key with every scope.
async fn key(running: &Running, environment: Environment) -> String {
    let team = operate::teams(&running.app.db).await.expect("teams")[0].id.clone();
    operate::create_key(&running.app.db, &Clock::system(), new_key(&team, environment)).await.expect("a key").secret
}
