//! The server of a simulated world: the real service on real files, called without a network, killed, restarted and
//! restored. Must not know replicas, nor judge.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use futures_util::FutureExt;
use hearth_contract::formats::Timestamp;
use hearth_contract::headers::{CURRENT_VERSION, SERVICE_API_VERSION};
use hearth_replica::sync::{HttpRequest, HttpResponse};
use hearth_server::InProcess;
use hearth_server::clock::Clock;
use hearth_server::config::Config;
use hearth_server::scopes::SCOPES;
use http_body_util::BodyExt;
use rusqlite::Connection;
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;

use super::interruptions::{Interruptions, Process};
use super::server_template::{KEY_COUNT, WORLD_START, text_of_key};

/// A number of milliseconds that the world sets and the server's clock reads. Clones share the number.
#[derive(Debug, Clone, Default)]
pub struct SharedMillis(Arc<AtomicI64>);

impl SharedMillis {
    /// The number.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the number.
    pub fn set(&self, millis: i64) {
        self.0.store(millis, Ordering::Relaxed);
    }
}

/// Why a request has no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoResponse {
    /// No server process runs.
    Down,
    /// The server crashed during the request, at this interruption point.
    Crashed(&'static str),
}

/// The result of reading a stream.
pub enum StreamRead {
    /// The stream has no bytes now.
    Pending,
    /// The next bytes.
    Bytes(Vec<u8>),
    /// The server has ended the stream.
    Ended,
}

/// How an operator restores a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreMethod {
    /// With the restore command, which starts a new epoch.
    Command,
    /// By copying the file over the database. The server cannot know about the restore.
    Files,
}

/// What a key may do.
pub enum KeyAccess<'a> {
    /// All scopes.
    Full,
    /// No request: the key is revoked.
    Revoked,
    /// All scopes but these.
    Without(&'a [&'a str]),
}

/// The server.
pub struct SimServer {
    /// The data directory.
    pub data: PathBuf,
    inside: Option<InProcess>,
    config: Config,
    runtime: Runtime,
    interruptions: Interruptions,
    /// The time of the world, in milliseconds since its start.
    world_time: SharedMillis,
    /// The error of the server's wall clock in milliseconds.
    pub clock_error: SharedMillis,
}

impl SimServer {
    /// A server on a copy of the files of [`create_template`]. No process runs yet.
    pub fn new(
        data: PathBuf,
        world_time: SharedMillis,
        interruptions: Interruptions,
        configure: impl FnOnce(&mut Config),
    ) -> SimServer {
        let mut config = Config::new(data.clone());
        config.base_url = Some("http://hearth.test".to_owned());
        config.clock_leap_max = Duration::MAX;
        configure(&mut config);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
        SimServer {
            data,
            inside: None,
            config,
            runtime,
            interruptions,
            world_time,
            clock_error: SharedMillis::default(),
        }
    }

    /// True while a server process runs.
    pub fn is_up(&self) -> bool {
        self.inside.is_some()
    }

    /// How long the server keeps events; None for ever.
    pub fn retention(&self) -> Option<Duration> {
        self.config.retention
    }

    /// Starts a server process.
    pub fn start(&mut self) -> Result<(), String> {
        let (world_time, clock_error) = (self.world_time.clone(), self.clock_error.clone());
        let steady_time = self.world_time.clone();
        let clock = Clock::new(
            move || WORLD_START.plus_millis(world_time.get() + clock_error.get()),
            move || Duration::from_millis(steady_time.get().unsigned_abs()),
        );
        let opened = InProcess::open(self.config.clone(), clock).map_err(|error| error.to_string())?;
        self.inside = Some(opened);
        self.detect_writes();
        Ok(())
    }

    /// Ends the process without warning.
    pub fn kill(&mut self) {
        self.inside = None;
    }

    /// Advances the timers of the server and runs the tasks that are due.
    pub fn advance_timers(&mut self, time: Duration) {
        self.runtime.block_on(async {
            if time > Duration::ZERO {
                tokio::time::advance(time).await;
            }
            tokio::task::yield_now().await;
        });
    }

    /// Calls the server with a key.
    pub fn call(&mut self, key: usize, request: &HttpRequest) -> Result<HttpResponse, NoResponse> {
        let (status, headers, body) = self.respond(key, request)?;
        let body = body.collect().now_or_never().expect("a body that is not a stream is complete at once");
        let body = body.expect("a body inside this process does not break").to_bytes().to_vec();
        Ok(http_response(status, &headers, body))
    }

    /// Sends a file with a key. Returns the status of the response.
    pub fn put_file(&mut self, key: usize, hash: &str, bytes: Vec<u8>) -> Result<u16, NoResponse> {
        let request = Request::put(hearth_contract::paths::file(hash))
            .header("authorization", format!("Bearer {}", text_of_key(key)))
            .header(SERVICE_API_VERSION, CURRENT_VERSION)
            .header("content-length", bytes.len())
            .body(Body::from(bytes))
            .expect("a valid request");
        let Some(inside) = &self.inside else { return Err(NoResponse::Down) };
        let edge = inside.edge.clone();
        // The bytes go to the disk on another thread, so the response is waited for.
        let work = || self.runtime.block_on(edge.answer(request)).status().as_u16();
        let (status, crashed) = self.interruptions.run(Process::Server, work);
        match crashed {
            Some(point) => {
                self.kill();
                Err(NoResponse::Crashed(point))
            }
            None => Ok(status),
        }
    }

    /// Whether the server gives the bytes with this hash. False when no process runs.
    pub fn has_file(&self, hash: &str) -> bool {
        let request = Request::get(hearth_contract::paths::file(hash))
            .header("authorization", format!("Bearer {}", text_of_key(KEY_COUNT - 1)))
            .header(SERVICE_API_VERSION, CURRENT_VERSION)
            .body(Body::empty())
            .expect("a valid request");
        let Some(inside) = &self.inside else { return false };
        let edge = inside.edge.clone();
        let bytes = self.runtime.block_on(async move {
            let response = edge.answer(request).await;
            let is_found = response.status() == 200;
            response.into_body().collect().await.ok().map(|body| body.to_bytes()).filter(|_| is_found)
        });
        let hex = |bytes| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        bytes.is_some_and(|bytes| hex(bytes) == hash)
    }

    /// Opens a stream. Returns the body of the stream, or the response that refuses the stream.
    pub fn open(&mut self, key: usize, request: &HttpRequest) -> Result<Result<Body, HttpResponse>, NoResponse> {
        let (status, headers, body) = self.respond(key, request)?;
        if status == 200 {
            return Ok(Ok(body));
        }
        let body =
            body.collect().now_or_never().expect("a refusal is complete at once").expect("a body inside this process");
        Ok(Err(http_response(status, &headers, body.to_bytes().to_vec())))
    }

    /// Status, headers and body of the response.
    fn respond(&mut self, key: usize, request: &HttpRequest) -> Result<(u16, HeaderMap, Body), NoResponse> {
        let Some(inside) = &self.inside else { return Err(NoResponse::Down) };
        let mut builder = Request::builder().method(request.method.as_str()).uri(request.path.as_str());
        builder = builder.header("authorization", format!("Bearer {}", text_of_key(key)));
        builder = builder.header(SERVICE_API_VERSION, CURRENT_VERSION);
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        let body = request.body.clone().map_or_else(Body::empty, Body::from);
        let http_request = builder.body(body).expect("a valid request");
        let edge = inside.edge.clone();
        let (response, crashed) =
            run_inside(&self.runtime, &self.interruptions, || edge.answer(http_request).now_or_never());
        let response = response.expect("the service answers without waiting");
        let crashed = crashed.or_else(|| self.run_ready_tasks());
        // The server can also crash between the commit and the response.
        let point = "server before the response";
        let crashes = || self.interruptions.crashes_at(Process::Server, point).then_some(point);
        if let Some(point) = crashed.or_else(crashes) {
            self.kill();
            return Err(NoResponse::Crashed(point));
        }
        let (parts, body) = response.into_parts();
        Ok((parts.status.as_u16(), parts.headers, body))
    }

    /// Runs the tasks that a request has started. Returns the point at which the server crashed, if it did.
    fn run_ready_tasks(&self) -> Option<&'static str> {
        let runtime = &self.runtime;
        let work = || runtime.block_on(tokio::task::yield_now());
        self.interruptions.run(Process::Server, work).1
    }

    /// The next bytes of a stream.
    pub fn next_bytes(&self, body: &mut Body) -> StreamRead {
        let (frame, _) = run_inside(&self.runtime, &self.interruptions, || body.frame().now_or_never());
        match frame {
            None => StreamRead::Pending,
            Some(Some(Ok(frame))) => StreamRead::Bytes(frame.into_data().map(|data| data.to_vec()).unwrap_or_default()),
            Some(_) => StreamRead::Ended,
        }
    }

    /// Runs the round that detects writes of other processes. Returns the point at which the server crashed, if it did.
    pub fn detect_writes(&mut self) -> Option<&'static str> {
        let inside = self.inside.as_mut()?;
        let (done, crashed) = run_inside(&self.runtime, &self.interruptions, || {
            inside.maintenance.detect_external_writes().now_or_never()
        });
        done.expect("maintenance does not wait").ok();
        self.end_after_crash(crashed)
    }

    /// Runs the round that removes old events and receipts. Returns the point at which the server crashed, if it did.
    pub fn clean_up(&mut self) -> Option<&'static str> {
        let (runtime, inside) = (&self.runtime, self.inside.as_mut()?);
        // The bytes of a file that nobody has used for a week are removed on a thread for blocking work.
        let work = || runtime.block_on(inside.maintenance.clean_up()).ok();
        let (_, crashed) = self.interruptions.run(Process::Server, work);
        self.end_after_crash(crashed)
    }

    fn end_after_crash(&mut self, point: Option<&'static str>) -> Option<&'static str> {
        if point.is_some() {
            self.kill();
        }
        point
    }

    /// Writes a backup of the database to `target`, as another process could.
    pub fn back_up(&self, target: &Path) -> Result<(), String> {
        let _ = std::fs::remove_file(target);
        let written = Connection::open(self.data.join("hearth.db"))
            .and_then(|from| from.backup("main", target, None::<fn(rusqlite::backup::Progress)>));
        written.map_err(|error| format!("the backup failed: {error}"))
    }

    /// Restores a backup, by the restore command or by copying the file. No server process may run. `run` is the new
    /// epoch of the home after the command.
    pub fn restore(&self, copy: &Path, method: RestoreMethod, run: i64) -> Result<(), String> {
        if method == RestoreMethod::Command {
            let done = hearth_server::operate::backup::restore(&self.data, copy, run);
            return done.map(drop).map_err(|error| format!("the restore failed: {error}"));
        }
        let file = self.data.join("hearth.db");
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(self.data.join(format!("hearth.db{suffix}")));
        }
        std::fs::copy(copy, file).map(drop).map_err(|error| error.to_string())
    }

    /// Revokes a key, removes scopes of a key, or restores all its rights, as another process does.
    pub fn set_key_access(&self, key: usize, access: KeyAccess<'_>) -> Result<(), String> {
        let (revoked, removed): (bool, &[&str]) = match access {
            KeyAccess::Full => (false, &[]),
            KeyAccess::Revoked => (true, &[]),
            KeyAccess::Without(scopes) => (false, scopes),
        };
        let scopes: Vec<&str> = SCOPES.into_iter().filter(|scope| !removed.contains(scope)).collect();
        let conn = Connection::open(self.data.join("hearth.db")).map_err(|error| error.to_string())?;
        let revoked = revoked.then(|| self.world_time.get());
        conn.execute(
            "UPDATE keys SET revoked_at = ?2, scopes = ?3 WHERE id = ?1",
            (format!("key-{key}"), revoked, scopes.join(" ")),
        )
        .map(drop)
        .map_err(|error| error.to_string())
    }

    /// The faults that the server's own check of the database finds. Empty when no process runs.
    pub fn check_database(&self) -> Result<Vec<String>, String> {
        let Some(inside) = &self.inside else { return Ok(Vec::new()) };
        // The faults of a run step the clock of the server, so a home may be ahead of it.
        let late = Clock::new(|| Timestamp::from_millis(i64::MAX / 2), Duration::default);
        let report = self.runtime.block_on(hearth_server::operate::check::check(&inside.app.db, &late));
        report.map(|report| report.faults).map_err(|error| error.to_string())
    }
}

/// Calls the server's code in its runtime. Returns the result and the point at which the server crashed, if it did.
fn run_inside<T>(
    runtime: &Runtime,
    interruptions: &Interruptions,
    work: impl FnOnce() -> T,
) -> (T, Option<&'static str>) {
    let _guard = runtime.enter();
    interruptions.run(Process::Server, work)
}

fn http_response(status: u16, headers: &HeaderMap, body: Vec<u8>) -> HttpResponse {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    HttpResponse { status, etag: header("etag"), retry_after: header("retry-after"), body, is_cut: false }
}
