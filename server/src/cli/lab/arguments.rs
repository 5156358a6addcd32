//! The commands of the lab and their options. Must not know what a command does.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use hearth_server::config::parse_duration;

/// Records of one `seed`, at most.
const RECORDS_MAX: u64 = 5_000_000;

#[derive(Args)]
pub(in crate::cli) struct Lab {
    /// Id or name of the team; optional when there is only one team
    #[arg(long, global = true)]
    pub(super) team: Option<String>,
    /// The home of the team: the sandbox (test) or the live home
    #[arg(long, global = true, value_enum, default_value_t = EnvironmentArgument::Test)]
    pub(super) env: EnvironmentArgument,
    /// Allow changes of a live home; needs --env live
    #[arg(long, global = true)]
    pub(super) live: bool,
    #[command(subcommand)]
    pub(super) command: LabCommand,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum EnvironmentArgument {
    Live,
    Test,
}

#[derive(Subcommand)]
pub(super) enum LabCommand {
    #[command(flatten)]
    Step(Step),
    /// Run a timed list of lab commands, one per line
    Script {
        /// The file of the script, or - for stdin
        file: PathBuf,
    },
}

#[derive(Subcommand)]
pub(super) enum Step {
    /// Change the home write by write, as a family does, until Ctrl-C
    Churn(Churn),
    /// Remove old events now, as if all events were beyond the retention
    Trim {
        /// Keep the events of this time
        #[arg(long, value_parser = parse_duration, default_value = "0s", value_name = "TIME")]
        keep: Duration,
    },
    /// Forget the responses to writes with an Idempotency-Key
    ForgetKeys,
    /// Return the home to an earlier position, as after a bad restore; first stop the server
    Rewind(Rewind),
    /// Create realistic records
    Seed {
        /// Number of records
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=RECORDS_MAX))]
        records: u64,
        /// Seed: equal seeds create equal records on the same day
        #[arg(long, default_value_t = 1, value_name = "N")]
        seed: u64,
    },
}

#[derive(Args)]
pub(super) struct Churn {
    /// Changes per second, such as 2 or 0.5
    #[arg(long, default_value = "1", value_parser = parse_rate)]
    pub(super) rate: f64,
    /// Stop after this time
    #[arg(long = "for", value_parser = parse_duration, value_name = "TIME")]
    pub(super) lasting: Option<Duration>,
    /// Stop after this number of changes; a change without effect counts, but creates no event
    #[arg(long, value_name = "N")]
    pub(super) count: Option<u64>,
    /// Seed: equal seeds make equal changes to equal homes on the same day
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) seed: u64,
    /// Do not print each change
    #[arg(long)]
    pub(super) quiet: bool,
}

#[derive(Args)]
pub(super) struct Rewind {
    #[command(flatten)]
    pub(super) target: TargetArguments,
    /// Mark the break in the history, as `restore` does; without --marked nothing shows the break
    #[arg(long)]
    pub(super) marked: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(super) struct TargetArguments {
    /// Return to this position
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(i64).range(0..))]
    pub(super) to: Option<i64>,
    /// Return by this number of events
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) by: Option<u64>,
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.001..=10_000.0).contains(rate));
    rate.ok_or_else(|| format!("`{text}` is not a number of changes per second, from 0.001 to 10000"))
}
