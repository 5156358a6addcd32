//! Figures that can be repeated: each is a ratio against a limit that is measured beside it, in the same run on the same
//! machine, or a time or size by itself. `cargo run --release -p hearth-tests --bin bench` measures the programs
//! themselves, in processes of their own.
//!
//! - [`figures`]: spreads, targets, the table.
//! - [`testbed`]: the service under load, filled. [`load`]: what asks it. [`baselines`]: what it is measured against.
//! - [`reads`], [`writes`], [`streams`], [`replicas`], [`gaps`], [`pushes`], [`replica_reads`], [`screens`], [`machine`]: the
//!   workloads. [`peers`]: other services beside ours. [`proxy`]: what counts the bytes between a replica and the service.
#![expect(clippy::print_stdout, reason = "a bench's response is what it prints")]

mod baselines;
mod figures;
mod gaps;
mod load;
mod machine;
mod peers;
mod proxy;
mod pushes;
mod reads;
mod replica_reads;
mod replicas;
mod screens;
mod streams;
mod testbed;
mod writes;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use figures::Row;
use peers::Peer;
use testbed::{Scale, Testbed};

/// Measures the service and its replica, each figure beside what limits it.
#[derive(Parser)]
struct Args {
    /// Records in the home; several sizes, as in 1000,10000, show how cost grows
    #[arg(long, value_delimiter = ',', default_value = "100000")]
    records: Vec<usize>,
    /// Runs of each figure; the median is compared
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Seconds for each measurement
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Only these workloads; each has its name before the colon in the table
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Another service to be measured in turn with ours, as in pocketbase=/usr/local/bin/pocketbase; also trailbase
    #[arg(long, value_name = "NAME=PROGRAM")]
    peer: Vec<Peer>,
    /// Write the figures here as JSON too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only prove that each workload runs: few records, moments, one run, no judgement
    #[arg(long)]
    short: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

/// What this program is in a process of its own.
#[derive(Subcommand)]
enum Role {
    /// Bare hyper that gives one answer to everything
    #[command(hide = true)]
    BareHyper { file: PathBuf },
    /// Bare sockets that are all written the same
    #[command(hide = true)]
    BareSockets { file: PathBuf, pieces: usize },
}

/// A workload: its name and how it is measured.
type Workload = (&'static str, fn(&mut Testbed) -> anyhow::Result<()>);

/// All of them, in an order in which none disturbs the next: what only reads, then what adds little, then what adds
/// much, then the machine's state after all that.
const WORKLOADS: [Workload; 18] = [
    ("peers", peers::beside),
    ("read", reads::by_id),
    ("page", reads::pages),
    ("search", reads::search),
    ("sync", replicas::first_sync),
    ("catch-up", gaps::catch_up),
    ("look", replica_reads::measure),
    // Before the busy ones: what these took and gave back would be there for idle ones to use.
    ("idle", streams::idle),
    ("arrive-one", streams::arrive_at_one),
    ("arrive-many", streams::arrive_at_many),
    ("fan-out", streams::fan_out),
    ("screen", screens::screens),
    ("create-one", writes::create_alone),
    ("create-many", writes::create_together),
    ("bulk", writes::bulk),
    ("push", pushes::push),
    ("memory", machine::memory),
    ("start", machine::start),
];

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    match args.role {
        Some(Role::BareHyper { file }) => return baselines::bare_hyper(&file),
        Some(Role::BareSockets { file, pieces }) => return baselines::bare_sockets(&file, pieces),
        None => (),
    }
    for name in &args.only {
        let known = WORKLOADS.iter().any(|(known, _)| known == name);
        anyhow::ensure!(known, "there is no workload {name}; there are {}", WORKLOADS.map(|(name, _)| name).join(", "));
    }
    anyhow::ensure!(
        !args.peer.is_empty() || !args.only.iter().any(|only| only == "peers"),
        "there is no peer: bring one with --peer NAME=PROGRAM"
    );
    testbed::build()?;
    let mut rows: Vec<Row> = Vec::new();
    let sizes = if args.short { vec![Scale::SHORT.records] } else { args.records.clone() };
    for records in sizes {
        let scale = if args.short {
            Scale::SHORT
        } else {
            Scale { records, runs: args.runs.max(1), time: Duration::from_secs_f64(args.seconds), ..Scale::FULL }
        };
        eprintln!("{records} records: filling a home");
        let mut testbed = Testbed::new(scale, args.peer.clone())?;
        for (name, measure) in WORKLOADS {
            if args.only.is_empty() || args.only.iter().any(|only| only == name) {
                eprintln!("{records} records: {name}");
                let before = testbed.rows.len();
                measure(&mut testbed)?;
                testbed.rows[before..].iter_mut().for_each(|row| row.workload = name);
            }
        }
        rows.append(&mut testbed.rows);
        testbed.end();
    }
    println!("{}", figures::table(&rows, !args.short));
    if args.records.len() > 1 && !args.short {
        println!("{}", figures::growth(&rows));
    }
    if let Some(file) = &args.json {
        std::fs::write(file, figures::json(&rows))?;
    }
    Ok(())
}
