//! The server of a simulated world: the real service on real files, called without a network, killed, started again and
//! put back. Must not know replicas, nor what is right.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use futures_util::FutureExt;
use hearth_contract::formats::Timestamp;
use hearth_contract::headers::{CURRENT_VERSION, SERVICE_API_VERSION};
use hearth_contract::key::{Environment, key_text};
use hearth_replica::sync::{HttpRequest, HttpResponse};
use hearth_server::InProcess;
use hearth_server::clock::Clock;
use hearth_server::config::Config;
use hearth_server::http::scopes::SCOPES;
use hearth_server::store::homes::{self, Plan, Team};
use hearth_server::store::keys::{self, Key};
use hearth_server::store::notifier::Notifier;
use hearth_server::store::{Db, HomeNo};
use http_body_util::BodyExt;
use rusqlite::Connection;
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;
use uuid::Uuid;

use super::faults::{Interruptions, Who};

/// The moment at which every world begins: 2099. It lies ahead of every real clock, because SQLite's own `now` is one,
/// and `sync_status` measures by it how old the last contact is.
pub const DAWN: Timestamp = Timestamp::from_millis(4_070_908_800_000);
/// The number of the home that is simulated: the live one, which is empty at first.
pub const HOME: i64 = 1;
/// Keys: one for each replica, and the last for clients of the API.
pub const KEYS: usize = 5;

/// A moving hand of a clock.
#[derive(Debug, Clone, Default)]
pub struct Hand(Arc<AtomicI64>);

impl Hand {
    /// Where it stands, in milliseconds.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets it.
    pub fn set(&self, millis: i64) {
        self.0.store(millis, Ordering::Relaxed);
    }
}

/// Why a call has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// The server does not run.
    Down,
    /// It crashed over this call, at this point.
    Crashed(&'static str),
}

/// The server.
pub struct ServerSide {
    /// Its data directory.
    pub data: PathBuf,
    inside: Option<InProcess>,
    config: Config,
    runtime: Runtime,
    interruptions: Interruptions,
    /// Time since the world began.
    passed: Hand,
    /// How wrong its wall clock is.
    pub wrong_by: Hand,
}

impl ServerSide {
    /// A server on files that [`make`] made; it does not run yet.
    pub fn new(data: PathBuf, passed: Hand, interruptions: Interruptions, set: impl FnOnce(&mut Config)) -> ServerSide {
        let mut config = Config::new(data.clone());
        config.base_url = Some("http://hearth.test".to_owned());
        set(&mut config);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
        ServerSide { data, inside: None, config, runtime, interruptions, passed, wrong_by: Hand::default() }
    }

    /// Whether it runs.
    pub fn is_up(&self) -> bool {
        self.inside.is_some()
    }

    /// How long it keeps events.
    pub fn retention(&self) -> Option<Duration> {
        self.config.retention
    }

    /// Starts it.
    pub fn start(&mut self) -> Result<(), String> {
        let (passed, wrong_by) = (self.passed.clone(), self.wrong_by.clone());
        let since = self.passed.clone();
        let clock = Clock::new(
            move || DAWN.plus_millis(passed.get() + wrong_by.get()),
            move || Duration::from_millis(since.get().unsigned_abs()),
        );
        let opened = InProcess::open(self.config.clone(), clock).map_err(|error| error.to_string())?;
        self.inside = Some(opened);
        self.notice();
        Ok(())
    }

    /// Ends its process without warning.
    pub fn kill(&mut self) {
        self.inside = None;
    }

    /// Lets the time of its timers pass, and the tasks that are due do their work.
    pub fn pass(&mut self, time: Duration) {
        self.runtime.block_on(async {
            if time > Duration::ZERO {
                tokio::time::advance(time).await;
            }
            tokio::task::yield_now().await;
        });
    }

    /// Asks it something, as the holder of a key.
    pub fn call(&mut self, key: usize, ask: &HttpRequest) -> Result<HttpResponse, NoAnswer> {
        let (status, headers, body) = self.begin(key, ask)?;
        let body = body.collect().now_or_never().expect("a body that is no stream is whole at once");
        let body = body.expect("a body of this process does not break").to_bytes().to_vec();
        Ok(answer(status, &headers, body))
    }

    /// Opens a stream: its body, or the answer that refuses it.
    pub fn open(&mut self, key: usize, ask: &HttpRequest) -> Result<Result<Body, HttpResponse>, NoAnswer> {
        let (status, headers, body) = self.begin(key, ask)?;
        if status == 200 {
            return Ok(Ok(body));
        }
        let body = body.collect().now_or_never().expect("a refusal is whole at once").expect("it does not break");
        Ok(Err(answer(status, &headers, body.to_bytes().to_vec())))
    }

    fn begin(&mut self, key: usize, ask: &HttpRequest) -> Result<(u16, HeaderMap, Body), NoAnswer> {
        let Some(inside) = &self.inside else { return Err(NoAnswer::Down) };
        let mut request = Request::builder().method(ask.method.as_str()).uri(ask.path.as_str());
        request = request.header("authorization", format!("Bearer {}", secret(key)));
        request = request.header(SERVICE_API_VERSION, CURRENT_VERSION);
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        let body = ask.body.clone().map_or_else(Body::empty, Body::from);
        let request = request.body(body).expect("a question is a request");
        let (edge, guard) = (inside.edge.clone(), self.runtime.enter());
        let (response, crashed) = self.interruptions.run(Who::Server, || edge.answer(request).now_or_never());
        drop(guard);
        let response = response.expect("the service answers without waiting");
        let crashed = crashed.or_else(|| self.turn());
        // Between the commit and the answer there is the way out.
        let left = || self.interruptions.crashes(Who::Server, "server answers").then_some("server answers");
        if let Some(point) = crashed.or_else(left) {
            self.kill();
            return Err(NoAnswer::Crashed(point));
        }
        let (parts, body) = response.into_parts();
        Ok((parts.status.as_u16(), parts.headers, body))
    }

    /// Lets tasks that a call left behind do their work.
    fn turn(&self) -> Option<&'static str> {
        let runtime = &self.runtime;
        let work = || runtime.block_on(tokio::task::yield_now());
        self.interruptions.run(Who::Server, work).1
    }

    /// The next bytes of a stream; None when it has none now, `Some(None)` when it has ended.
    pub fn next(&self, body: &mut Body) -> Option<Option<Vec<u8>>> {
        let guard = self.runtime.enter();
        let (frame, _) = self.interruptions.run(Who::Server, || body.frame().now_or_never());
        drop(guard);
        match frame? {
            Some(Ok(frame)) => Some(Some(frame.into_data().map(|data| data.to_vec()).unwrap_or_default())),
            _ => Some(None),
        }
    }

    /// Has it notice what others wrote to its database. The point at which it crashed, if it did.
    pub fn notice(&mut self) -> Option<&'static str> {
        let inside = self.inside.as_mut()?;
        let guard = self.runtime.enter();
        let (done, crashed) =
            self.interruptions.run(Who::Server, || inside.maintenance.detect_external_writes().now_or_never());
        drop(guard);
        done.expect("maintenance does not wait").ok();
        self.crashed(crashed)
    }

    /// Has it forget what is old. The point at which it crashed, if it did.
    pub fn tidy(&mut self) -> Option<&'static str> {
        let inside = self.inside.as_mut()?;
        let guard = self.runtime.enter();
        let (done, crashed) = self.interruptions.run(Who::Server, || inside.maintenance.clean_up().now_or_never());
        drop(guard);
        done.expect("maintenance does not wait").ok();
        self.crashed(crashed)
    }

    fn crashed(&mut self, point: Option<&'static str>) -> Option<&'static str> {
        if point.is_some() {
            self.kill();
        }
        point
    }

    /// Copies its database as it is now, as another process could.
    pub fn save(&self, target: &Path) -> Result<(), String> {
        let _ = std::fs::remove_file(target);
        let saved = Connection::open(self.data.join("hearth.db"))
            .and_then(|from| from.backup("main", target, None::<fn(rusqlite::backup::Progress)>));
        saved.map_err(|error| format!("the backup failed: {error}"))
    }

    /// Puts its files back, by its own command or by hand. It must not run.
    pub fn put_back(&self, copy: &Path, by_files: bool, run: i64) -> Result<(), String> {
        if !by_files {
            let done = hearth_server::operate::backup::restore(&self.data, copy, run);
            return done.map(drop).map_err(|error| format!("the restore failed: {error}"));
        }
        let file = self.data.join("hearth.db");
        for end in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(self.data.join(format!("hearth.db{end}")));
        }
        std::fs::copy(copy, file).map(drop).map_err(|error| error.to_string())
    }

    /// Revokes a key, or takes scopes from it, or gives all back, as another process does.
    pub fn change_key(&self, key: usize, revoked: bool, without: &[&str]) -> Result<(), String> {
        let scopes: Vec<&str> = SCOPES.into_iter().filter(|scope| !without.contains(scope)).collect();
        let conn = Connection::open(self.data.join("hearth.db")).map_err(|error| error.to_string())?;
        let revoked = revoked.then(|| self.passed.get());
        conn.execute(
            "UPDATE keys SET revoked_at = ?2, scopes = ?3 WHERE id = ?1",
            (format!("key-{key}"), revoked, scopes.join(" ")),
        )
        .map(drop)
        .map_err(|error| error.to_string())
    }

    /// What its own look through everything finds wrong.
    pub fn faults(&self) -> Result<Vec<String>, String> {
        let conn = Connection::open(self.data.join("hearth.db")).map_err(|error| error.to_string())?;
        drop(conn);
        let Some(inside) = &self.inside else { return Ok(Vec::new()) };
        let report = self.runtime.block_on(hearth_server::operate::check::check(&inside.app.db));
        report.map(|report| report.faults).map_err(|error| error.to_string())
    }
}

fn answer(status: u16, headers: &HeaderMap, body: Vec<u8>) -> HttpResponse {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    HttpResponse { status, etag: header("etag"), retry_after: header("retry-after"), body, is_cut: false }
}

/// The text of a key.
fn secret(key: usize) -> String {
    key_text(Environment::Live, [key as u8; 32])
}

/// Makes the files of a server with one team and its keys, the same ones each time.
pub fn make(data: &Path) -> Result<(), String> {
    let db = Db::open_unthreaded(data, Notifier::default(), 1).map_err(|error| error.to_string())?;
    let written = db.write(|tx| {
        let team = Team { id: "team".to_owned(), name: "My home".to_owned(), plan: Plan::Paid, created_at: DAWN };
        let [live, sandbox] = [1, 2].map(Uuid::from_u128);
        homes::create_team(tx, &team, live, sandbox)?;
        for key in 0..KEYS {
            keys::insert(tx, &a_key(key, live))?;
        }
        Ok(())
    });
    let written = written.now_or_never().expect("it does not wait");
    written.map_err(|error| error.to_string())?;
    drop(db);
    let conn = Connection::open(data.join("hearth.db")).map_err(|error| error.to_string())?;
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(|error| error.to_string())
}

fn a_key(key: usize, home: Uuid) -> Key {
    Key {
        id: format!("key-{key}"),
        team: "team".to_owned(),
        team_name: "My home".to_owned(),
        plan: Plan::Paid,
        home: HomeNo(HOME),
        home_id: home.to_string(),
        environment: Environment::Live,
        name: format!("key {key}"),
        hash: Sha256::digest(secret(key).as_bytes()).into(),
        hint: "svc_live_…".to_owned(),
        scopes: SCOPES.iter().map(|scope| (*scope).to_owned()).collect(),
        allowlist: Vec::new(),
        pinned: CURRENT_VERSION.to_owned(),
        created_at: DAWN,
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
        flagged_at: None,
    }
}
