//! `drill`: the programs of this machine, tried in the situations that lose data elsewhere. Each drill sets a home up in
//! a scratch directory, lets something go wrong, and judges by the outcome alone: whether both sides are equal, whether
//! every edit had one effect or has one visible reason, and whether the status claimed more than was so. Must not know
//! how syncing works, nor the server's inside: it starts programs and asks over HTTP, as anyone can.
//!
//! - [`scene`]: a scratch home with its server and another client of it. [`device`]: a replica with its daemon.
//! - [`keeper`]: what was started and made, ended and removed however a drill ends.
//! - [`judge`]: the questions that every drill asks in the end.
//! - one file for each drill.

mod clock;
mod crash;
mod device;
mod disk_full;
mod judge;
mod keeper;
mod lost_ack;
mod mute_stream;
mod poison;
mod retention_loss;
mod scene;
mod server_restore;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use self::scene::Scene;
use super::{Exit, Failure, output};

/// Arguments of `drill`.
#[derive(Debug, Args)]
pub(super) struct Drill {
    /// What goes wrong
    #[arg(value_enum, required = true)]
    what: Vec<What>,
    /// The server's program, if it is not beside this one
    #[arg(long, value_name = "FILE")]
    server_bin: Option<PathBuf>,
    /// Keep the scratch directory, with the logs in it
    #[arg(long)]
    keep: bool,
    /// What chance begins with, where there is some
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// A directory on a disk that is small enough to fill: set where a drill starts this program again
    #[arg(long, hide = true, value_name = "DIR")]
    small_disk: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// History is thinned out while the replica is away
    RetentionLoss,
    /// Answers are lost after the server has committed
    LostAck,
    /// The server refuses one edit for ever
    Poison,
    /// The server is put back to an older copy of its files
    ServerRestore,
    /// The stream stays open and says nothing more
    MuteStream,
    /// The replica's disk is full
    DiskFull,
    /// This machine's clock jumps by years
    Clock,
    /// Daemon and server are killed again and again
    Crash,
    /// All of these, one after the other
    All,
}

/// Why a drill did not pass.
enum Stop {
    /// What must hold did not; the sentence says what.
    Failed(String),
    /// It cannot be tried on this machine; the sentence says what is missing.
    Skipped(String),
}

/// How a drill went: a sentence about what was found good, or why not.
type Outcome = Result<String, Stop>;

impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Failed(error.to_string())
    }
}

/// What cannot even be set up is not tried, so nothing has failed.
fn untried(stop: Stop) -> Stop {
    match stop {
        Stop::Failed(why) | Stop::Skipped(why) => Stop::Skipped(why),
    }
}

fn failed(why: impl Into<String>) -> Stop {
    Stop::Failed(why.into())
}

/// One drill: its name, what happens in it, and how it goes.
struct Case {
    what: What,
    about: &'static str,
    run: fn(&mut Scene) -> Outcome,
}

const CASES: [Case; 8] = [
    Case {
        what: What::RetentionLoss,
        about: "history is thinned out while the replica is away",
        run: retention_loss::run,
    },
    Case { what: What::LostAck, about: "answers are lost after the server has committed", run: lost_ack::run },
    Case { what: What::Poison, about: "the server refuses one edit for ever", run: poison::run },
    Case {
        what: What::ServerRestore,
        about: "the server is put back to an older copy of its files",
        run: server_restore::run,
    },
    Case { what: What::MuteStream, about: "the stream stays open and says nothing more", run: mute_stream::run },
    Case { what: What::DiskFull, about: "the replica's disk is full", run: disk_full::run },
    Case { what: What::Clock, about: "this machine's clock jumps by years", run: clock::run },
    Case { what: What::Crash, about: "daemon and server are killed again and again", run: crash::run },
];

/// What is told of one drill in the end.
struct Report {
    name: String,
    verdict: &'static str,
    reason: String,
    took: Duration,
    trace: Vec<(Duration, String)>,
    kept: Option<PathBuf>,
}

impl Drill {
    pub(super) fn run(self, json: bool) -> Result<(), Failure> {
        let server = scene::find_server(self.server_bin.as_deref())?;
        keeper::end_all_on_signal()?;
        let is_meant = |case: &&Case| self.what.contains(&case.what) || self.what.contains(&What::All);
        let mut reports = Vec::new();
        for case in CASES.iter().filter(is_meant) {
            let name = name(case.what);
            if !json {
                output::note(&format!("{}: {}", output::bold(&name), case.about));
            }
            let options = scene::Options {
                server: server.clone(),
                keep: self.keep,
                seed: self.seed,
                small_disk: self.small_disk.clone(),
                // Who starts this program again for a small disk hears what happens on stderr, when it does.
                quiet: json && self.small_disk.is_none(),
            };
            let report = drill(case, name, options);
            if !json {
                let kept = report.kept.as_ref().map(|dir| format!(" (kept in {})", dir.display())).unwrap_or_default();
                output::line(&format!("{} {}: {}{kept}", report.name, report.verdict, report.reason))?;
            }
            reports.push(report);
        }
        if json {
            let all: Vec<Value> = reports.iter().map(Report::members).collect();
            output::json(&if let [one] = &all[..] { one.clone() } else { Value::Array(all) })?;
        } else if reports.len() > 1 {
            output::line("")?;
            for report in &reports {
                let Report { name, verdict, took, .. } = report;
                output::line(&format!("{name:<16}{verdict:<9}{:>6.1} s", took.as_secs_f64()))?;
            }
        }
        let count = |verdict: &str| reports.iter().filter(|report| report.verdict == verdict).count();
        match (count("failed"), count("skipped")) {
            (0, 0) => Ok(()),
            (0, skipped) => Err(Failure::new(Exit::NotFound, format!("{skipped} could not be tried on this machine"))),
            (failed, _) => Err(Failure::new(Exit::Failure, format!("{failed} of {} failed", reports.len()))
                .hint("hearth-replica drill NAME --keep, and look at the logs it keeps")),
        }
    }
}

fn drill(case: &Case, name: String, options: scene::Options) -> Report {
    let began = Instant::now();
    let mut scene = Scene::new(&name, options);
    // The program that is started again on a small disk sets the home up there.
    let elsewhere = case.what == What::DiskFull && scene.options.small_disk.is_none();
    let ready = scene.make_scratch().and_then(|()| if elsewhere { Ok(()) } else { scene.set_up() });
    let outcome = ready.map_err(untried).and_then(|()| (case.run)(&mut scene));
    let (trace, kept) = scene.clear();
    let (verdict, reason) = match outcome {
        Ok(reason) => ("passed", reason),
        Err(Stop::Failed(reason)) => ("failed", reason),
        Err(Stop::Skipped(reason)) => ("skipped", reason),
    };
    Report { name, verdict, reason, took: began.elapsed(), trace, kept }
}

impl Report {
    fn members(&self) -> Value {
        let line = |(at, text): &(Duration, String)| json!({ "at_seconds": seconds(*at), "text": text });
        json!({
            "drill": self.name, "verdict": self.verdict, "reason": self.reason, "seconds": seconds(self.took),
            "trace": self.trace.iter().map(line).collect::<Vec<_>>(), "kept": self.kept,
        })
    }
}

fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

fn name(what: What) -> String {
    what.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
