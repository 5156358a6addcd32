//! `drill`: a test bench for people who maintain an installation, develop the replica, or choose a sync client. A drill
//! starts the programs of this machine on a scratch home in a scratch directory. The drill then causes one fault that loses
//! data in other systems, such as a full disk, and judges the result from outside:
//!
//! - Both sides hold the same records.
//! - Every edit has one effect, or waits with a visible reason.
//! - The status never claims more than the replica has.
//!
//! A drill never touches a home of the user. Only the command line imports this folder. Must not know how syncing works, nor
//! the inside of the server: drills start programs and send HTTP requests, as any client can.
//!
//! - [`outcome`]: passed, failed or skipped. [`home`]: a scratch home, its server and another client of the home.
//! - [`device`]: a replica of the home with its daemon. [`checks`]: the checks at the end of every drill.
//! - [`processes`]: child processes and scratch directories, cleaned up however a drill ends.
//! - One file for each drill.

mod checks;
mod clock;
mod crash;
mod device;
mod disk_full;
mod home;
mod lost_ack;
mod mute_stream;
mod outcome;
mod poison;
mod processes;
mod retention_loss;
mod server_restore;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use self::home::{DrillHome, Options};
use self::outcome::{DrillError, Outcome, skip_on_failure};
use super::failure::{Exit, Failure};
use super::output;

/// Arguments of `drill`.
#[derive(Debug, Args)]
pub(super) struct Drill {
    /// The faults to test
    #[arg(value_enum, required = true, value_name = "DRILL")]
    names: Vec<DrillName>,
    /// The server program, if it is not in the directory of this program
    #[arg(long, value_name = "FILE")]
    server_bin: Option<PathBuf>,
    /// Keep the scratch directory, with the logs in it
    #[arg(long)]
    keep: bool,
    /// Seed of the random choices
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// A directory on a small disk that can be filled. A drill sets this option when it starts this program again
    #[arg(long, hide = true, value_name = "DIR")]
    small_disk: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DrillName {
    /// The server trims its history while the replica is offline
    RetentionLoss,
    /// Responses are lost after the server has committed
    LostAck,
    /// The server refuses one edit permanently
    Poison,
    /// The server is restored from an older copy of its files
    ServerRestore,
    /// The stream stays open and sends nothing
    MuteStream,
    /// The replica's disk is full
    DiskFull,
    /// This machine's clock jumps by years
    Clock,
    /// Daemon and server are killed repeatedly
    Crash,
    /// All drills, one after the other
    All,
}

/// Runs one drill.
type Run = fn(&mut DrillHome) -> Outcome;

const DRILLS: [(DrillName, Run); 8] = [
    (DrillName::RetentionLoss, retention_loss::run),
    (DrillName::LostAck, lost_ack::run),
    (DrillName::Poison, poison::run),
    (DrillName::ServerRestore, server_restore::run),
    (DrillName::MuteStream, mute_stream::run),
    (DrillName::DiskFull, disk_full::run),
    (DrillName::Clock, clock::run),
    (DrillName::Crash, crash::run),
];

/// The verdict of a drill, as printed and as in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    Skipped,
}

impl Verdict {
    const fn as_str(self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::Skipped => "skipped",
        }
    }
}

/// The report of one finished drill.
struct Report {
    name: String,
    verdict: Verdict,
    reason: String,
    took: Duration,
    /// The steps of the drill, each with its time since the start.
    trace: Vec<(Duration, String)>,
    /// The scratch directory, if it is kept.
    kept: Option<PathBuf>,
}

impl Drill {
    pub(super) fn run(self, json: bool) -> Result<(), Failure> {
        let server = home::find_server(self.server_bin.as_deref())?;
        processes::clean_up_on_signal()?;
        let mut reports = Vec::new();
        for (drill, run) in DRILLS {
            if !self.names.contains(&drill) && !self.names.contains(&DrillName::All) {
                continue;
            }
            let report = self.run_drill(drill, run, &server, json);
            if !json {
                let kept = report.kept.as_ref().map(|dir| format!(" (kept in {})", dir.display())).unwrap_or_default();
                let Report { name, verdict, reason, .. } = &report;
                output::line(&format!("{name} {}: {reason}{kept}", verdict.as_str()))?;
            }
            reports.push(report);
        }
        if json {
            let all: Vec<Value> = reports.iter().map(Report::to_json).collect();
            output::json(&if let [only] = &all[..] { only.clone() } else { Value::Array(all) })?;
        } else if reports.len() > 1 {
            write_table(&reports)?;
        }
        exit_result(&reports)
    }

    fn run_drill(&self, drill: DrillName, run: Run, server: &Path, json: bool) -> Report {
        let (name, about) = named(drill);
        if !json {
            output::message(&format!("{}: {about}", output::bold(&name)));
        }
        let options = Options {
            server: server.to_owned(),
            keep: self.keep,
            seed: self.seed,
            small_disk: self.small_disk.clone(),
            // The outer program of `disk-full` reads the trace of the inner program from stderr, line by line.
            quiet: json && self.small_disk.is_none(),
        };
        let began = Instant::now();
        let mut home = DrillHome::new(options);
        // For `disk-full`, the program that is started again on the small disk sets up the home.
        let sets_up_home = drill != DrillName::DiskFull || home.options.small_disk.is_some();
        let ready = home.make_scratch(&name).and_then(|()| if sets_up_home { home.set_up() } else { Ok(()) });
        let outcome = ready.map_err(skip_on_failure).and_then(|()| run(&mut home));
        let (trace, kept) = home.finish();
        let (verdict, reason) = match outcome {
            Ok(reason) => (Verdict::Passed, reason),
            Err(DrillError::Failed(reason)) => (Verdict::Failed, reason),
            Err(DrillError::Skipped(reason)) => (Verdict::Skipped, reason),
        };
        Report { name, verdict, reason, took: began.elapsed(), trace, kept }
    }
}

/// One line for each drill: name, verdict, seconds.
fn write_table(reports: &[Report]) -> Result<(), Failure> {
    output::line("")?;
    for Report { name, verdict, took, .. } in reports {
        output::line(&format!("{name:<16}{:<9}{:>6.1} s", verdict.as_str(), took.as_secs_f64()))?;
    }
    Ok(())
}

/// Exit code 1 if a drill failed, else 3 if a drill was skipped.
fn exit_result(reports: &[Report]) -> Result<(), Failure> {
    let count = |verdict: Verdict| reports.iter().filter(|report| report.verdict == verdict).count();
    match (count(Verdict::Failed), count(Verdict::Skipped)) {
        (0, 0) => Ok(()),
        (0, skipped) => Err(Failure::new(Exit::NotFound, format!("{skipped} could not be tried on this machine"))),
        (failed, _) => Err(Failure::new(Exit::Failure, format!("{failed} of {} failed", reports.len()))
            .hint("hearth-replica drill NAME --keep, then read the logs that it keeps")),
    }
}

impl Report {
    fn to_json(&self) -> Value {
        let line = |(at, text): &(Duration, String)| json!({ "at_seconds": seconds(*at), "text": text });
        json!({
            "drill": self.name, "verdict": self.verdict.as_str(), "reason": self.reason, "seconds": seconds(self.took),
            "trace": self.trace.iter().map(line).collect::<Vec<_>>(), "kept": self.kept,
        })
    }
}

/// Seconds, rounded to milliseconds.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

/// The drill as typed on the command line, and its fault in words: the help in lower case.
fn named(drill: DrillName) -> (String, String) {
    let value = drill.to_possible_value().unwrap_or_default();
    let mut about = value.get_help().map(ToString::to_string).unwrap_or_default();
    if let Some(first) = about.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    (value.get_name().to_owned(), about)
}
