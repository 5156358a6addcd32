//! A replica in a scratch home: its database, its daemon, what a person does on it, and what its status says meanwhile.
//! Must not know what is drilled.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::{Edit, Origin, Phase, Replica, Row, RowQuery, Sort, StoreError, read_query};
use serde_json::Value;

use super::super::output;
use super::keeper::{self, LOOK_EVERY, Program};
use super::scene::{Scene, command};
use super::{Stop, failed};

/// A replica.
pub(super) struct Device {
    db: PathBuf,
    log: PathBuf,
    daemon: Option<Program>,
    /// What the daemon's environment has beside this program's.
    environment: Vec<(String, String)>,
    /// Its rows and edits, as a person's programs see them.
    pub(super) replica: Replica,
}

impl Device {
    /// Sets a replica up, as a person does; it is not in step yet.
    pub(super) fn set_up(db: PathBuf, url: &str, key: &Path, log: &Path) -> Result<Device, Stop> {
        let mut init = command(&std::env::current_exe()?);
        init.arg("--db").arg(&db).args(["init", "--server", url, "--key-file"]).arg(key);
        let init = keeper::run(&mut init)?;
        if !init.status.success() {
            return Err(failed(format!("init: {}", String::from_utf8_lossy(&init.stderr).trim())));
        }
        let replica = Replica::open(&db, Origin::Cli)?;
        Ok(Device { db, log: log.to_owned(), daemon: None, environment: Vec::new(), replica })
    }

    /// What its daemon is started with from now on, beside this program's environment.
    pub(super) fn with_environment(&mut self, environment: Vec<(String, String)>) {
        self.environment = environment;
    }

    /// Starts the daemon.
    pub(super) fn start(&mut self) -> Result<(), Stop> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut run = command(&std::env::current_exe()?);
        run.arg("--db").arg(&self.db).arg("run").envs(self.environment.iter().cloned());
        run.stdout(Stdio::null()).stderr(log);
        self.daemon = Some(Program::start(&mut run, |_| ())?.0);
        Ok(())
    }

    /// Stops the daemon as a service manager does.
    pub(super) fn stop(&mut self) -> Result<(), Stop> {
        let Some(daemon) = self.daemon.take() else { return Ok(()) };
        match daemon.terminate() {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(failed(format!("the daemon ended with {status}"))),
            None => Err(failed("the daemon did not end when asked to")),
        }
    }

    /// Kills the daemon without warning.
    pub(super) fn kill(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.kill();
        }
    }

    /// The daemon's process.
    pub(super) fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Program::id)
    }

    /// What a person's command prints, asked under the daemon's environment.
    pub(super) fn say(&self, arguments: &[&str]) -> Result<Value, Stop> {
        let mut asked = command(&std::env::current_exe()?);
        asked.arg("--db").arg(&self.db).arg("--json").args(arguments).envs(self.environment.iter().cloned());
        let asked = keeper::run(&mut asked)?;
        if !asked.status.success() {
            let said = String::from_utf8_lossy(&asked.stderr);
            return Err(failed(format!("hearth-replica {}: {}", arguments.join(" "), said.trim())));
        }
        Ok(serde_json::from_slice(&asked.stdout).unwrap_or(Value::Null))
    }

    /// Waits until it says that it is in step and nothing is on its way; gives how long that took.
    pub(super) fn settle(&self, scene: &Scene, limit: Duration) -> Result<Duration, Stop> {
        let head = scene.head()?;
        let settled = scene.wait("the replica is in step and its edits are settled", limit, || {
            if let Some(status) = self.daemon.as_ref().and_then(Program::ended) {
                return Err(failed(format!("the daemon has ended with {status}; its log says why, with --keep")));
            }
            let status = self.replica.status()?;
            let current = matches!(status.phase, Phase::Live | Phase::Polling) && status.behind_events == Some(0);
            Ok(current && status.position >= head && status.waiting == 0)
        });
        settled.map_err(|stop| match (stop, self.replica.status()) {
            (Stop::Failed(why), Ok(status)) => {
                let reason = status.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
                failed(format!(
                    "{why}; its status is {}{reason} at {} of {head}, {} on the way, {} for a person",
                    status.phase,
                    status.position,
                    output::count(status.waiting, "edit"),
                    status.needs_you
                ))
            }
            (stop, _) => stop,
        })
    }

    /// All rows of a kind, in the order of their making.
    pub(super) fn rows(&self, kind: Kind) -> Result<Vec<Row>, Stop> {
        let sort = Sort { column: "created_at", descending: false };
        Ok(self.replica.rows(&RowQuery::all(kind, sort, usize::MAX >> 1))?.rows)
    }

    /// The row of a kind at a place, counted from the oldest.
    pub(super) fn row(&self, kind: Kind, nth: usize) -> Result<Row, Stop> {
        self.rows(kind)?.into_iter().nth(nth).ok_or_else(|| failed(format!("the home has too few of {kind}")))
    }

    /// The edits that are not settled.
    pub(super) fn edits(&self) -> Result<Vec<Edit>, Stop> {
        Ok(self.replica.edits()?)
    }

    /// How the settled edits of a record ended.
    pub(super) fn endings(&self, record: &str) -> Result<Vec<String>, Stop> {
        let sql = format!("SELECT outcome FROM edit_history WHERE record_id = '{}'", record.replace('\'', "''"));
        let word = |row: Vec<Value>| row.first().and_then(Value::as_str).unwrap_or_default().to_owned();
        let words: Result<_, StoreError> =
            read_query(&self.db, &sql, |_, rows| rows.map(|row| row.map(word)).collect())?;
        Ok(words?)
    }

    /// Notes what the status says from now on.
    pub(super) fn watch(&self) -> Watch {
        let (db, stop) = (self.db.clone(), Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        let watching = std::thread::spawn(move || {
            let mut said = Vec::new();
            let Ok(replica) = Replica::open(&db, Origin::Cli) else { return said };
            while !stopped.load(Ordering::Relaxed) {
                if let Ok(status) = replica.status() {
                    said.push(Said {
                        at: Instant::now(),
                        current: matches!(status.phase, Phase::Live | Phase::Polling)
                            && status.behind_events == Some(0),
                        phase: status.phase,
                        position: status.position,
                    });
                }
                std::thread::sleep(LOOK_EVERY);
            }
            said
        });
        Watch { stop, watching }
    }
}

/// Waits until the device is in step again, and tells what its status said meanwhile.
pub(super) fn in_step_again(
    scene: &mut Scene,
    device: &Device,
    watch: Watch,
    limit: Duration,
) -> Result<Vec<Said>, Stop> {
    let took = device.settle(scene, limit);
    let said = watch.end();
    let took = took?.as_secs_f64();
    if said.is_empty() {
        return Err(failed("its status could not be read meanwhile, so nobody knows what it claimed"));
    }
    scene.say(format!("the replica is in step again after {took:.1} s; its status said {}", phases(&said)));
    Ok(said)
}

/// The members of an object.
pub(super) fn fields(value: Value) -> Fields {
    match value {
        Value::Object(members) => members,
        _ => Fields::new(),
    }
}

/// What the status said at one moment.
pub(super) struct Said {
    pub(super) at: Instant,
    pub(super) phase: Phase,
    pub(super) position: i64,
    /// It claimed to be in step.
    pub(super) current: bool,
}

/// Somebody who looks at the status all the time.
pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    watching: JoinHandle<Vec<Said>>,
}

impl Watch {
    /// Ends it; gives what was said.
    pub(super) fn end(self) -> Vec<Said> {
        self.stop.store(true, Ordering::Relaxed);
        self.watching.join().unwrap_or_default()
    }
}

/// The phases in the order in which they were said.
pub(super) fn phases(said: &[Said]) -> String {
    let mut phases: Vec<&str> = said.iter().map(|said| said.phase.as_str()).collect();
    phases.dedup();
    phases.join(", ")
}
