//! `lab`: the test bench on the command line. Must not know how anything is done.

mod script;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::parse_duration;
use hearth_server::lab::{Back, Bench, Grown, Wish};
use hearth_server::stopping::Stopping;
use hearth_server::store::Db;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use super::output::{is_heard, line};

/// Records that can be made at once.
const RECORDS_MAX: u64 = 5_000_000;

#[derive(Args)]
pub(super) struct Lab {
    /// Id or name of the team; not needed when there is one
    #[arg(long, global = true)]
    team: Option<String>,
    /// Which of its homes
    #[arg(long, global = true, value_enum, default_value_t = Home::Test)]
    env: Home,
    /// Touch a live home, with --env live
    #[arg(long, global = true)]
    live: bool,
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Clone, Copy, ValueEnum)]
enum Home {
    Live,
    Test,
}

#[derive(Subcommand)]
enum LabCommand {
    #[command(flatten)]
    Step(Step),
    /// Carry out a timed list of these, one on each line
    Script {
        /// The list, or - for stdin
        file: PathBuf,
    },
}

#[derive(Subcommand)]
enum Step {
    /// Change the home as a family does, write by write, until told to stop
    Churn(Churn),
    /// Thin the log out now, as if all of it were older than retention
    Trim {
        /// Keep the events of so long
        #[arg(long, value_parser = parse_duration, default_value = "0s", value_name = "TIME")]
        keep: Duration,
    },
    /// Forget what was answered to writes with an Idempotency-Key
    ForgetKeys,
    /// Put the home back to an earlier position, as a bad restore would; no server may run
    Rewind(Rewind),
    /// Make believable records
    Seed {
        /// How many
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=RECORDS_MAX))]
        records: u64,
        /// The same seed makes the same records on the same day
        #[arg(long, default_value_t = 1, value_name = "N")]
        seed: u64,
    },
}

#[derive(Args)]
struct Churn {
    /// Changes in a second, such as 2 or 0.5
    #[arg(long, default_value = "1", value_parser = parse_rate)]
    rate: f64,
    /// Stop after so long
    #[arg(long = "for", value_parser = parse_duration, value_name = "TIME")]
    lasting: Option<Duration>,
    /// Stop after so many changes; one that changes nothing counts, and makes no event
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// The same seed in the same home makes the same changes on the same day
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Say nothing of each change
    #[arg(long)]
    quiet: bool,
}

#[derive(Args)]
struct Rewind {
    #[command(flatten)]
    back: HowFar,
    /// Mark the break and leave a gap, as `restore` does; else nothing marks it, as when old files are copied back
    #[arg(long)]
    marked: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct HowFar {
    /// To this position
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(i64).range(0..))]
    to: Option<i64>,
    /// By so many events
    #[arg(long, value_name = "EVENTS")]
    by: Option<u64>,
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.001..=10_000.0).contains(rate));
    rate.ok_or_else(|| format!("`{text}` is not a number of changes in a second, from 0.001 to 10000"))
}

/// Runs one tool, or a list of them.
pub(super) async fn run(lab: Lab, db: Db, data: PathBuf, as_json: bool) -> anyhow::Result<()> {
    let environment = match lab.env {
        Home::Live => Environment::Live,
        Home::Test => Environment::Test,
    };
    let wish = Wish { team: lab.team, environment, live: lab.live };
    let script = match &lab.command {
        LabCommand::Script { file } => Some(script::read(file, &data)?),
        LabCommand::Step(_) => None,
    };
    let mut bench = Bench::find(db, Clock::system(), data, wish).await?;
    match (lab.command, script) {
        (LabCommand::Step(step), _) => carry_out(&mut bench, &step, as_json, &mut interrupt()?).await,
        (LabCommand::Script { file }, Some(lines)) => {
            script::play(&mut bench, &file, &lines, as_json, interrupt()?).await
        }
        (LabCommand::Script { .. }, None) => Ok(()),
    }
}

/// Hears Ctrl-C from here on, which no longer ends the program by itself then.
fn interrupt() -> io::Result<Stopping> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let (say, stopping) = Stopping::new();
    tokio::spawn(async move {
        interrupts.recv().await;
        say.send_replace(true);
    });
    Ok(stopping)
}

/// Does one thing. Ctrl-C ends a churn well, whatever else is done in steps after its step, and what is done at once not
/// at all.
async fn carry_out(bench: &mut Bench, step: &Step, as_json: bool, stopping: &mut Stopping) -> anyhow::Result<()> {
    match step {
        Step::Churn(churn) => self::churn(bench, churn, as_json, stopping).await,
        Step::Trim { keep } => {
            let kept_ms = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
            let trimmed = tokio::select! {
                trimmed = bench.trim(kept_ms) => trimmed?,
                () = stopping.heard() => anyhow::bail!("interrupted: a part of the log may be thinned out"),
            };
            let (thinned, head) = (trimmed.thinned, trimmed.head);
            let told = match thinned {
                0 => format!("there was nothing to thin out: every cursor holds, the home is at {head}"),
                _ => format!(
                    "the log is thinned out; cursors before {thinned} are answered with 410, the home is at {head}"
                ),
            };
            tell(bench, as_json, "trim", json!({ "thinned": thinned, "head": head }), &told)
        }
        Step::ForgetKeys => {
            let forgotten = tokio::select! {
                forgotten = bench.forget_keys() => forgotten?,
                () = stopping.heard() => anyhow::bail!("interrupted: a part of the answers may be forgotten"),
            };
            let told = format!("{forgotten} forgotten: a retry of such a write is a write of its own");
            tell(bench, as_json, "forget-keys", json!({ "forgotten": forgotten }), &told)
        }
        Step::Rewind(Rewind { back: HowFar { to, by }, marked }) => {
            let back = match (to, by) {
                (Some(position), _) => Back::To(*position),
                (None, events) => Back::By(events.unwrap_or_default()),
            };
            let rewound = bench.rewind(back, *marked).await?;
            let told = format!(
                "the home is at {} again, it was at {}; {} records are as they were, or gone",
                rewound.to, rewound.from, rewound.records
            );
            let data = json!({ "from": rewound.from, "to": rewound.to, "records": rewound.records, "marked": marked });
            tell(bench, as_json, "rewind", data, &told)
        }
        Step::Seed { records, seed } => {
            let began = Instant::now();
            let wanted = *records as usize;
            let Grown { made, found, head } = bench.grow(*seed, wanted, |_| stopping.is_said()).await?;
            anyhow::ensure!(
                made + found == wanted,
                "interrupted: {} of {wanted} records are made, and the home is at {head}; the same seed makes the others",
                made + found
            );
            let seconds = began.elapsed().as_secs_f64();
            let before = if found > 0 { format!(", beside {found} that were there") } else { String::new() };
            let told = match made {
                0 => format!(
                    "all {found} records of seed {seed} were there: nothing is left to be made, another --seed makes others; \
                     the home is at {head}"
                ),
                _ => format!("made {made} records{before} in {seconds:.1} s; the home is at {head}"),
            };
            let data = json!({ "records": made, "found": found, "seed": seed, "seconds": seconds, "head": head });
            tell(bench, as_json, "seed", data, &told)
        }
    }
}

/// Changes at a rate. One that comes late is made up for, so that the rate holds on average; a rate that the machine
/// does not reach is reached as nearly as it can, for as long as was said.
async fn churn(bench: &Bench, churn: &Churn, as_json: bool, stopping: &mut Stopping) -> anyhow::Result<()> {
    let began = Instant::now();
    let every = Duration::from_secs_f64(1.0 / churn.rate);
    let (mut changes, mut refused, mut turn) = (0u64, 0u64, 0u64);
    loop {
        let done = changes + refused;
        if churn.count.is_some_and(|count| done >= count) {
            break;
        }
        let due = began + every.mul_f64(done as f64);
        let end = churn.lasting.map(|time| began + time);
        tokio::select! {
            () = tokio::time::sleep_until(end.map_or(due, |end| end.min(due))) => (),
            () = stopping.heard() => break,
        }
        if is_over(end, due, Instant::now()) {
            break;
        }
        if let Some(changed) = bench.change(churn.seed, turn).await? {
            changes += u64::from(!changed.refused);
            refused += u64::from(changed.refused);
            if !churn.quiet && !as_json {
                line(format_args!("{:>8}  {}", changed.position, changed.told))?;
            }
        }
        // Without an end of its own it goes on for as long as somebody looks on.
        if !is_heard() && churn.count.is_none() && churn.lasting.is_none() {
            break;
        }
        turn += 1;
    }
    let (seconds, head) = (began.elapsed().as_secs_f64(), bench.head().await?);
    let told = format!("{changes} changes in {seconds:.1} s, {refused} refused; the home is at {head}");
    let data = json!({ "changes": changes, "refused": refused, "seconds": seconds, "head": head });
    tell(bench, as_json, "churn", data, &told)
}

/// Whether the time for changes is over: by the clock, because on a slow machine those that were due long ago may still
/// be left to be made, and by the plan, which has none at the very end.
fn is_over(end: Option<Instant>, due: Instant, now: Instant) -> bool {
    end.is_some_and(|end| end <= now || end <= due)
}

fn tell(bench: &Bench, as_json: bool, did: &str, mut data: Value, told: &str) -> anyhow::Result<()> {
    if as_json {
        data["did"] = did.into();
        data["team"] = bench.team.as_str().into();
        data["home"] = json!({ "id": bench.home.to_string(), "environment": bench.environment.as_str() });
        line(data)
    } else {
        line(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_end_with_their_time_also_where_many_are_late() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        assert!(!is_over(None, at(5), at(99)));
        assert!(!is_over(Some(at(2)), at(1), at(1)));
        assert!(is_over(Some(at(2)), at(2), at(2)), "the plan has none at the end");
        assert!(is_over(Some(at(2)), at(1), at(2)), "one that was due before comes too late");
        assert!(is_over(Some(at(2)), at(0), at(58)));
    }
}
