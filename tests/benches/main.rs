//! Repeatable benchmarks of the built programs. Each figure is a ratio to a baseline of the same run, or a time or size.
//! Run with `cargo run --profile dist -p hearth-tests --bin bench`.
//!
//! - [`figures`]: spreads, targets, tables.
//! - [`testbed`]: the filled service. [`load`]: the load generator. [`baselines`]: the baselines of ratios.
//! - [`reads`], [`writes`], [`streams`], [`replicas`], [`gaps`], [`pushes`], [`replica_reads`], [`screens`], [`machine`],
//!   [`homes`], [`hostile`], [`hostile_files`]: the workloads. [`reader`]: how well photos and papers are read. [`peers`]: other services. [`proxy`]: counts bytes between replica and service.
#![expect(clippy::print_stdout, reason = "a bench prints its result")]

mod baselines;
mod figures;
mod gaps;
mod homes;
mod hostile;
mod hostile_files;
mod load;
mod machine;
mod peers;
mod proxy;
mod pushes;
mod reader;
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
use testbed::{HostileFiles, Scale, Testbed};

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
    /// Damaged photos and papers in `hostile-files`
    #[arg(long, value_name = "COUNT", default_value_t = Scale::FULL.hostile_files.damaged)]
    damaged: usize,
    /// In `hostile-files`, recognize text in the pixels too, with the models in target/models
    #[arg(long)]
    recognize: bool,
    /// Only prove that each workload runs: few records, moments, one run, no judgement
    #[arg(long)]
    short: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

/// Other uses of this program: a bench without a home, and roles as a child process.
#[derive(Subcommand)]
enum Role {
    /// How well photos and papers are read, against what a person reads in them
    Reader {
        /// Directory of files, each with a NAME.json beside it: words, date, total, codes
        #[arg(long, value_name = "DIR")]
        data: PathBuf,
        /// Directory of the models, as packaging/models.sh makes it
        #[arg(long, value_name = "DIR", default_value = "target/models")]
        models: PathBuf,
    },
    /// Bare hyper that sends one response to each request
    #[command(hide = true)]
    BareHyper { file: PathBuf },
    /// Bare sockets that all receive the same bytes
    #[command(hide = true)]
    BareSockets { file: PathBuf, pieces: usize },
}

/// A workload: its name and the measuring function.
type Workload = (&'static str, fn(&mut Testbed) -> anyhow::Result<()>);

/// All workloads, ordered so that none disturbs the next: reads, small writes, large writes, then the state of the
/// machine.
const WORKLOADS: [Workload; 21] = [
    ("peers", peers::beside),
    ("read", reads::by_id),
    ("page", reads::pages),
    ("search", reads::search),
    ("sync", replicas::first_sync),
    ("catch-up", gaps::catch_up),
    ("look", replica_reads::measure),
    // Before busy streams, whose freed memory idle streams would reuse.
    ("idle", streams::idle),
    ("arrive-one", streams::arrive_at_one),
    ("arrive-many", streams::arrive_at_many),
    ("fan-out", streams::fan_out),
    ("screen", screens::screens),
    ("create-one", writes::create_alone),
    ("create-many", writes::create_together),
    ("bulk", writes::bulk),
    ("homes", homes::homes),
    ("push", pushes::push),
    ("hostile", hostile::hostile),
    ("hostile-files", hostile_files::hostile_files),
    ("memory", machine::memory),
    ("start", machine::start),
];

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    match args.role {
        Some(Role::Reader { data, models }) => return reader::reader(&data, &models),
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
            let hostile_files =
                HostileFiles { damaged: args.damaged, recognize: args.recognize, ..Scale::FULL.hostile_files };
            let time = Duration::from_secs_f64(args.seconds);
            Scale { records, runs: args.runs.max(1), time, hostile_files, ..Scale::FULL }
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
