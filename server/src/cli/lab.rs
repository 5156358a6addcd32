//! `lab`: the test bench on the command line. Must not know how anything is done.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::parse_duration;
use hearth_server::lab::script::{self, Due, Line};
use hearth_server::lab::{Back, Bench, Wish};
use hearth_server::store::{Db, open};
use serde_json::{Value, json};
use tokio::time::Instant;

/// Greatest script in bytes.
const SCRIPT_BYTES_MAX: u64 = 1024 * 1024;
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

/// A line of a script.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true, disable_version_flag = true)]
struct ScriptLine {
    #[command(subcommand)]
    step: Step,
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
    /// Stop after so many changes
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// The same seed in the same home makes the same changes
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
        LabCommand::Script { file } => Some(read_script(file, &data)?),
        LabCommand::Step(_) => None,
    };
    let mut bench = Bench::find(db, Clock::system(), data, wish).await?;
    match (lab.command, script) {
        (LabCommand::Step(step), _) => carry_out(&mut bench, &step, as_json).await,
        (LabCommand::Script { file }, Some(lines)) => play(&mut bench, &file, lines, as_json).await,
        (LabCommand::Script { .. }, None) => Ok(()),
    }
}

async fn carry_out(bench: &mut Bench, step: &Step, as_json: bool) -> anyhow::Result<()> {
    match step {
        Step::Churn(churn) => self::churn(bench, churn, as_json).await,
        Step::Trim { keep } => {
            let trimmed = bench.trim(i64::try_from(keep.as_millis()).unwrap_or(i64::MAX)).await?;
            let told = format!(
                "the log is thinned out; cursors before {} are answered with 410, the home is at {}",
                trimmed.thinned, trimmed.head
            );
            tell(bench, as_json, "trim", json!({ "thinned": trimmed.thinned, "head": trimmed.head }), &told);
            Ok(())
        }
        Step::ForgetKeys => {
            let forgotten = bench.forget_keys().await?;
            let told = format!("{forgotten} forgotten: a retry of such a write is a write of its own");
            tell(bench, as_json, "forget-keys", json!({ "forgotten": forgotten }), &told);
            Ok(())
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
            tell(bench, as_json, "rewind", data, &told);
            Ok(())
        }
        Step::Seed { records, seed } => {
            let began = Instant::now();
            let wanted = *records as usize;
            let head = bench.grow(*seed, wanted, |_| ()).await?;
            let seconds = began.elapsed().as_secs_f64();
            let told = format!("made {records} records in {seconds:.1} s; the home is at {head}");
            tell(
                bench,
                as_json,
                "seed",
                json!({ "records": records, "seed": seed, "seconds": seconds, "head": head }),
                &told,
            );
            Ok(())
        }
    }
}

/// Changes at a rate. One that comes late is made up for, so that the rate holds on average; a rate that the machine
/// does not reach is reached as nearly as it can.
async fn churn(bench: &Bench, churn: &Churn, as_json: bool) -> anyhow::Result<()> {
    let began = Instant::now();
    let every = Duration::from_secs_f64(1.0 / churn.rate);
    let (mut changes, mut refused, mut turn) = (0u64, 0u64, 0u64);
    let mut stop = std::pin::pin!(tokio::signal::ctrl_c());
    loop {
        let done = changes + refused;
        let due = began + every.mul_f64(done as f64);
        let over = churn.lasting.map(|time| began + time).filter(|end| *end <= due);
        tokio::select! {
            () = tokio::time::sleep_until(over.unwrap_or(due)) => (),
            _ = &mut stop => break,
        }
        if over.is_some() || churn.count.is_some_and(|count| done >= count) {
            break;
        }
        if let Some(changed) = bench.change(churn.seed, turn).await? {
            changes += u64::from(!changed.refused);
            refused += u64::from(changed.refused);
            if !churn.quiet && !as_json {
                println!("{:>8}  {}", changed.position, changed.told);
            }
        }
        turn += 1;
    }
    let (seconds, head) = (began.elapsed().as_secs_f64(), bench.head().await?);
    let told = format!("{changes} changes in {seconds:.1} s, {refused} refused; the home is at {head}");
    let data = json!({ "changes": changes, "refused": refused, "seconds": seconds, "head": head });
    tell(bench, as_json, "churn", data, &told);
    Ok(())
}

fn read_script(file: &Path, data: &Path) -> anyhow::Result<Vec<Line<Step>>> {
    let name = file.display();
    let unreadable = |error: std::io::Error| anyhow::anyhow!("{name}: {error}");
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().take(SCRIPT_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    } else {
        let open = fs::File::open(file).map_err(unreadable)?;
        open.take(SCRIPT_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    }
    let lines = script::read(&text, |words| {
        let line = ScriptLine::try_parse_from(words).map_err(|error| sentence(&error))?;
        match &line.step {
            Step::Churn(Churn { lasting: None, count: None, .. }) => {
                Err("churn would never end here; say --count N or --for TIME".to_owned())
            }
            _ => Ok(line.step),
        }
    });
    let lines = lines.map_err(|problem| anyhow::anyhow!("{name}: {problem}"))?;
    // Said before anything is done, rather than in the middle.
    if let Some(line) = lines.iter().find(|line| matches!(line.step, Step::Rewind(_))) {
        let held = open::lock(data).map_err(unreadable)?;
        anyhow::ensure!(
            held.is_some(),
            "{name}: line {}: rewind needs the server stopped, and one serves {}",
            line.number,
            data.display()
        );
    }
    Ok(lines)
}

async fn play(bench: &mut Bench, file: &Path, lines: Vec<Line<Step>>, as_json: bool) -> anyhow::Result<()> {
    let began = Instant::now();
    for line in lines {
        let due = match line.due {
            Due::At(time) => began + time,
            Due::After(time) => Instant::now() + time,
        };
        tokio::time::sleep_until(due).await;
        let late = Instant::now() - due;
        if late >= Duration::from_secs(1) {
            eprintln!("line {} begins {:.1} s late: what is above it took longer", line.number, late.as_secs_f64());
        }
        if !as_json {
            eprintln!("{:>7.1} s  {}", began.elapsed().as_secs_f64(), line.text);
        }
        let done = carry_out(bench, &line.step, as_json).await;
        done.map_err(|error| error.context(format!("{}: line {}", file.display(), line.number)))?;
    }
    Ok(())
}

/// What clap says of a wrong line, as one sentence.
fn sentence(error: &clap::Error) -> String {
    let text = error.to_string();
    let said: Vec<&str> = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    said.join("; ").trim_start_matches("error: ").to_owned()
}

fn tell(bench: &Bench, as_json: bool, did: &str, mut data: Value, told: &str) {
    if as_json {
        data["did"] = did.into();
        data["team"] = bench.team.as_str().into();
        data["home"] = json!({ "id": bench.home.to_string(), "environment": bench.environment.word() });
        println!("{data}");
    } else {
        println!("{told}");
    }
}
