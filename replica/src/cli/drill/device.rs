//! A replica of a scratch home with its daemon, the commands of its user, and samples of its status. Must not know the
//! drill.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::{Edit, Origin, Phase, Replica, Row, RowQuery, Sort};
use serde_json::Value;

use super::super::text;
use super::home::{DrillHome, command};
use super::outcome::{DrillError, failed};
use super::processes::{self, POLL_INTERVAL, Program};

/// A replica with its daemon.
pub(super) struct Device {
    db: PathBuf,
    log: PathBuf,
    daemon: Option<Program>,
    /// Additional environment variables of the daemon.
    environment: Vec<(String, String)>,
    /// The replica, opened as by another program of the user.
    pub(super) replica: Replica,
}

impl Device {
    /// Sets up a replica of the home with `init`. Nothing is synced yet.
    pub(super) fn create(home: &DrillHome, directory: &Path) -> Result<Device, DrillError> {
        let (db, url, key) = (directory.join("replica.db"), home.url(), home.file("key"));
        let mut init = command(&std::env::current_exe()?);
        init.arg("--db").arg(&db).args(["init", "--server", &url, "--key-file"]).arg(key);
        let init = processes::run_to_end(&mut init)?;
        if !init.status.success() {
            return Err(failed(format!("init: {}", String::from_utf8_lossy(&init.stderr).trim())));
        }
        let replica = Replica::open(&db, Origin::Cli)?;
        Ok(Device { db, log: home.file("daemon.log"), daemon: None, environment: Vec::new(), replica })
    }

    /// Sets the additional environment of the daemon and of commands.
    pub(super) fn with_environment(&mut self, environment: Vec<(String, String)>) {
        self.environment = environment;
    }

    /// Starts the daemon.
    pub(super) fn start(&mut self) -> Result<(), DrillError> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut run = command(&std::env::current_exe()?);
        run.arg("--db").arg(&self.db).arg("run").envs(self.environment.iter().cloned());
        run.stdout(Stdio::null()).stderr(log);
        self.daemon = Some(Program::start(&mut run, |_| ())?.0);
        Ok(())
    }

    /// Stops the daemon with SIGTERM, as a service manager does.
    pub(super) fn stop(&mut self) -> Result<(), DrillError> {
        let Some(daemon) = self.daemon.take() else { return Ok(()) };
        match daemon.terminate() {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(failed(format!("the daemon ended with {status}"))),
            None => Err(failed("the daemon did not end when asked to")),
        }
    }

    /// Kills the daemon with SIGKILL.
    pub(super) fn kill(&mut self) {
        self.daemon = None;
    }

    /// The pid of the daemon. None: not running.
    pub(super) fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Program::id)
    }

    /// Runs a command with `--json` in the daemon's environment and returns its output.
    pub(super) fn run_json(&self, arguments: &[&str]) -> Result<Value, DrillError> {
        let mut output = command(&std::env::current_exe()?);
        output.arg("--db").arg(&self.db).arg("--json").args(arguments).envs(self.environment.iter().cloned());
        let output = processes::run_to_end(&mut output)?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("hearth-replica {}: {}", arguments.join(" "), stderr.trim())));
        }
        Ok(serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
    }

    /// Waits until the replica is current and no edit is on its way. Returns the time taken.
    pub(super) fn wait_until_settled(&self, home: &DrillHome, limit: Duration) -> Result<Duration, DrillError> {
        let head = home.head()?;
        let settled = home.wait_until("the replica is in step and its edits are settled", limit, || {
            if let Some(status) = self.daemon.as_ref().and_then(Program::exit_status) {
                return Err(failed(format!("the daemon has ended with {status}; its log says why, with --keep")));
            }
            let status = self.replica.status()?;
            let current = matches!(status.phase, Phase::Live | Phase::Polling) && status.behind_events == Some(0);
            Ok(current && status.position >= head && status.waiting == 0)
        });
        settled.map_err(|stop| match (stop, self.replica.status()) {
            (DrillError::Failed(why), Ok(status)) => {
                let reason = status.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
                failed(format!(
                    "{why}; its status is {}{reason} at {} of {head}, {} on the way, {} for a person",
                    status.phase,
                    status.position,
                    text::count(status.waiting, "edit"),
                    status.needs_you
                ))
            }
            (stop, _) => stop,
        })
    }

    /// All rows of a kind, oldest first.
    pub(super) fn rows(&self, kind: Kind) -> Result<Vec<Row>, DrillError> {
        let sort = Sort { column: "created_at", descending: false };
        Ok(self.replica.rows(&RowQuery::all(kind, sort, usize::MAX >> 1))?.rows)
    }

    /// The row of a kind with this index, oldest first.
    pub(super) fn row(&self, kind: Kind, nth: usize) -> Result<Row, DrillError> {
        self.rows(kind)?.into_iter().nth(nth).ok_or_else(|| failed(format!("the home has too few of {kind}")))
    }

    /// The open edits.
    pub(super) fn edits(&self) -> Result<Vec<Edit>, DrillError> {
        Ok(self.replica.edits()?)
    }

    /// The outcomes of the settled edits of a record.
    pub(super) fn outcomes(&self, record: &str) -> Result<Vec<&'static str>, DrillError> {
        let ended = self.replica.history(usize::MAX)?.into_iter().filter(|edit| edit.record_id == record);
        Ok(ended.map(|edit| edit.outcome.as_str()).collect())
    }

    /// Starts to sample the status.
    pub(super) fn watch(&self) -> StatusWatch {
        let (db, stop) = (self.db.clone(), Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        let watching = std::thread::spawn(move || {
            let mut samples = Vec::new();
            let Ok(replica) = Replica::open(&db, Origin::Cli) else { return samples };
            while !stopped.load(Ordering::Relaxed) {
                if let Ok(status) = replica.status() {
                    samples.push(StatusSample {
                        at: Instant::now(),
                        current: matches!(status.phase, Phase::Live | Phase::Polling)
                            && status.behind_events == Some(0),
                        phase: status.phase,
                        position: status.position,
                    });
                }
                std::thread::sleep(POLL_INTERVAL);
            }
            samples
        });
        StatusWatch { stop, watching }
    }
}

/// Waits until the device has settled, ends the samples, and logs the phases.
pub(super) fn settle_and_report(
    home: &mut DrillHome,
    device: &Device,
    watch: StatusWatch,
    limit: Duration,
) -> Result<Vec<StatusSample>, DrillError> {
    let took = device.wait_until_settled(home, limit);
    let samples = watch.end();
    let took = took?.as_secs_f64();
    if samples.is_empty() {
        return Err(failed("its status could not be read meanwhile, so nobody knows what it claimed"));
    }
    home.log(format!("the replica is in step again after {took:.1} s; its status said {}", phases(&samples)));
    Ok(samples)
}

/// The members of a JSON object.
pub(super) fn fields(value: Value) -> Fields {
    match value {
        Value::Object(members) => members,
        _ => Fields::new(),
    }
}

/// The status at one moment.
pub(super) struct StatusSample {
    pub(super) at: Instant,
    pub(super) phase: Phase,
    pub(super) position: i64,
    /// The status claimed to be current.
    pub(super) current: bool,
}

/// A thread that samples the status.
pub(super) struct StatusWatch {
    stop: Arc<AtomicBool>,
    watching: JoinHandle<Vec<StatusSample>>,
}

impl StatusWatch {
    /// Ends the thread and returns the samples.
    pub(super) fn end(self) -> Vec<StatusSample> {
        self.stop.store(true, Ordering::Relaxed);
        self.watching.join().unwrap_or_default()
    }
}

/// The sequence of phases, without repetitions.
pub(super) fn phases(samples: &[StatusSample]) -> String {
    let mut phases: Vec<&str> = samples.iter().map(|samples| samples.phase.as_str()).collect();
    phases.dedup();
    phases.join(", ")
}
