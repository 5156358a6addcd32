//! The program `simulate`: runs simulated worlds and prints what it finds. Must not judge a world: the simulation does.
#![expect(clippy::print_stdout, reason = "the report is the output of the program")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use hearth_tests::simulation::counters::{self, Counts};
use hearth_tests::simulation::enumerate::run_with_crashes;
use hearth_tests::simulation::environment_fault::EnvironmentFault;
use hearth_tests::simulation::plan::Plan;
use hearth_tests::simulation::planted::{PLANTED, PlantedCase, Search};
use hearth_tests::simulation::scenarios::SCENARIOS;
use hearth_tests::simulation::settle::Settled;
use hearth_tests::simulation::shrink::shrink;
use hearth_tests::simulation::simulator::{Report, Simulator};

/// Runs simulated homes: server, replicas and actors on a network with faults.
///
/// Without options, the program runs 100 seeds and prints the first failure. The report ends with the command that
/// repeats the seed. The exit code is 0 when no invariant was broken, else 1.
#[derive(Parser)]
struct Args {
    /// The number of seeds to run
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Run only this seed
    #[arg(long)]
    seed: Option<u64>,
    /// Faults that never occur, by name
    #[arg(long, value_delimiter = ',', value_parser = parse_fault)]
    without: Vec<EnvironmentFault>,
    /// The only faults that occur, by name; they occur often
    #[arg(long, value_delimiter = ',', value_parser = parse_fault, conflicts_with = "without")]
    with: Vec<EnvironmentFault>,
    /// With --seed: print every step of the run
    #[arg(long)]
    trace: bool,
    /// With --seed: keep the databases of the world in this new directory
    #[arg(long, value_name = "DIR", requires = "seed")]
    keep: Option<PathBuf>,
    /// Run the fixed scenarios with a crash at every interruption point, or at every STRIDEth point
    #[arg(long, value_name = "STRIDE", num_args = 0..=1, default_missing_value = "1")]
    enumerate: Option<u64>,
    /// Plant each known fault whose name contains WORD in the code, and search a seed that finds the fault. Without
    /// WORD: plant every known fault. `HEARTH_PLANTED=NAME` plants one fault for any other use of the program
    #[arg(long, value_name = "WORD", num_args = 0..=1, default_missing_value = "")]
    planted: Option<String>,
    /// With --planted: seconds after which the search for a fault stops when its process does not end
    #[arg(long, default_value_t = 300)]
    patience: u64,
    /// Run all seeds, even after a failure
    #[arg(long)]
    keep_going: bool,
    /// The number of worlds that run at the same time
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// Seconds for the search of a smaller plan with the same failure; 0 turns the search off
    #[arg(long, default_value_t = 20)]
    shrink: u64,
}

fn parse_fault(name: &str) -> Result<EnvironmentFault, String> {
    let fault = EnvironmentFault::ALL.into_iter().find(|fault| format!("{fault:?}").eq_ignore_ascii_case(name));
    fault.ok_or_else(|| format!("`{name}` is not a fault; the faults are {:?}", EnvironmentFault::ALL))
}

/// A long run prints its progress after each so many seeds.
const PROGRESS_SEEDS: u64 = 1000;
/// The most lines of a trace that a failure report contains.
const REPORTED_LINES_MAX: usize = 60;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match (&args.planted, args.enumerate, args.seed) {
        (Some(word), ..) => search_planted_faults(word, &args),
        (None, Some(stride), _) => enumerate_crashes(stride),
        (None, None, Some(seed)) => planner(&args).and_then(|plan| run_one(plan(seed), &args)),
        (None, None, None) => planner(&args).and_then(|plan| run_many(&plan, &args)),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The function that makes the plan of a seed, as the options and `HEARTH_PLANTED` say.
fn planner(args: &Args) -> Result<impl Fn(u64) -> Plan + Sync, String> {
    let planted = PlantedCase::from_environment()?;
    Ok(move |seed| match planted {
        Some(planted) => planted.plan(seed),
        None if args.with.is_empty() => Plan::from_seed(seed, &args.without),
        None => Plan::with_faults(seed, &args.with),
    })
}

/// Runs one plan. False: the run failed.
fn run_one(plan: Plan, args: &Args) -> Result<bool, String> {
    let simulator = Simulator::new()?;
    let seed = plan.seed;
    println!("seed {seed}: {} replicas, {} actions, faults: {}", plan.machines, plan.actions.len(), plan.fault_rates);
    let report = match &args.keep {
        Some(dir) if dir.exists() => return Err(format!("{} exists already; name a new directory", dir.display())),
        Some(dir) => simulator.run_in(plan.clone(), dir, true),
        None => simulator.run(plan.clone(), true),
    };
    if args.trace {
        report.lines.iter().for_each(|line| println!("{line}"));
    }
    println!("{} steps, {} s of virtual time, trace {:016x}", report.steps, report.time / 1000, report.checksum);
    match report.result {
        Ok(Settled { time, requests }) => {
            println!("all replicas are equal {time} ms and {requests} requests after the last fault");
            Ok(true)
        }
        Err(why) => {
            report_failure(&simulator, &plan, &why, args);
            Ok(false)
        }
    }
}

/// The totals of many runs, which several threads add to.
#[derive(Default)]
struct Totals {
    failures: AtomicU64,
    steps: AtomicU64,
    counts: Mutex<Counts>,
    /// The longest time to settle, in milliseconds.
    slowest: AtomicU64,
    /// The most requests to settle.
    most_requests: AtomicU64,
}

impl Totals {
    /// Adds a report. Returns the failure of the run.
    fn add(&self, report: Report) -> Option<String> {
        self.steps.fetch_add(report.steps, Ordering::Relaxed);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        report.counts.into_iter().for_each(|(name, count)| *counts.entry(name).or_default() += count);
        drop(counts);
        match report.result {
            Ok(Settled { time, requests }) => {
                self.slowest.fetch_max(time.unsigned_abs(), Ordering::Relaxed);
                self.most_requests.fetch_max(requests, Ordering::Relaxed);
                None
            }
            Err(why) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                Some(why)
            }
        }
    }
}

/// Runs the plans of many seeds. False: a run failed.
fn run_many(plan: &(impl Fn(u64) -> Plan + Sync), args: &Args) -> Result<bool, String> {
    let started = Instant::now();
    let next = AtomicU64::new(args.from);
    let totals = Totals::default();
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| run_seeds(plan, args, &next, &totals, started));
        }
    });
    let (seconds, failed) = (started.elapsed().as_secs_f64(), totals.failures.load(Ordering::Relaxed));
    let steps = totals.steps.load(Ordering::Relaxed);
    for line in counters::report_lines(&totals.counts.into_inner().unwrap_or_else(PoisonError::into_inner)) {
        println!("{line}");
    }
    println!(
        "{} seeds, {failed} failed, {steps} steps in {seconds:.1} s: {:.1} seeds/s, {:.0} steps/s; slowest to settle {} s, \
         most requests {}",
        args.seeds,
        args.seeds as f64 / seconds,
        steps as f64 / seconds,
        totals.slowest.load(Ordering::Relaxed) / 1000,
        totals.most_requests.load(Ordering::Relaxed),
    );
    Ok(failed == 0)
}

/// Takes seeds from `next` and runs them, until all seeds are taken or a run has failed.
fn run_seeds(plan: &impl Fn(u64) -> Plan, args: &Args, next: &AtomicU64, totals: &Totals, started: Instant) {
    let simulator = match Simulator::new() {
        Ok(simulator) => simulator,
        Err(why) => {
            println!("{why}");
            totals.failures.fetch_add(1, Ordering::Relaxed);
            return;
        }
    };
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        let stops = totals.failures.load(Ordering::Relaxed) > 0 && !args.keep_going;
        if seed >= args.from + args.seeds || stops {
            return;
        }
        let plan = plan(seed);
        let failure = totals.add(simulator.run(plan.clone(), false));
        let done = seed + 1 - args.from;
        if done.is_multiple_of(PROGRESS_SEEDS) {
            println!("{done} seeds after {:.0} s", started.elapsed().as_secs_f64());
        }
        if let Some(why) = failure {
            report_failure(&simulator, &plan, &why, args);
        }
    }
}

/// Runs all scenarios with a crash at every `stride`th point. False: a run failed.
fn enumerate_crashes(stride: u64) -> Result<bool, String> {
    let simulator = Simulator::new()?;
    let (mut points, mut failed) = (0, 0);
    for scenario in &SCENARIOS {
        let started = Instant::now();
        let result = run_with_crashes(scenario, &simulator, stride);
        println!(
            "{:5} points, {} failed, {:.1} s: {}",
            result.points,
            result.failures.len(),
            started.elapsed().as_secs_f64(),
            scenario.name
        );
        (points, failed) = (points + result.points, failed + result.failures.len());
        if let Some((point, why)) = result.failures.first() {
            println!("      a crash at point {point}: {why}");
            let report = simulator.run(scenario.plan(Some(*point).filter(|point| *point > 0)), true);
            last_lines(&report).for_each(|line| println!("        {line}"));
        }
    }
    println!("{points} points in all, {failed} failed");
    Ok(failed == 0)
}

/// Searches the planted faults whose names contain the word. False: a fault was not found.
fn search_planted_faults(word: &str, args: &Args) -> Result<bool, String> {
    let started = Instant::now();
    let cases: Vec<&PlantedCase> = PLANTED.iter().filter(|case| case.fault.as_str().contains(word)).collect();
    let (next, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
    println!("seeds       s  planted fault, and the failure of the seed");
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = case.fault.as_str();
                    match case.search(args.seeds, Duration::from_secs(args.patience)) {
                        Ok(Search { found: Some((seed, why)), time }) => {
                            found.fetch_add(1, Ordering::Relaxed);
                            println!("{seed:5} {:7.1}  {name}\n                 {why}", time.as_secs_f64());
                        }
                        Ok(Search { found: None, time }) => {
                            println!("    - {:7.1}  {name}\n                 NOT FOUND", time.as_secs_f64());
                        }
                        Err(why) => println!("    -       -  {name}\n                 NOT FOUND: {why}"),
                    }
                }
            });
        }
    });
    let found = found.load(Ordering::Relaxed);
    println!("{found} of {} planted faults found in {:.0} s", cases.len(), started.elapsed().as_secs_f64());
    Ok(found == cases.len() && found > 0)
}

/// Prints a failure: seed, cause, a smaller plan, the last lines of its trace, and the command that repeats the seed.
fn report_failure(simulator: &Simulator, plan: &Plan, why: &str, args: &Args) {
    let seed = plan.seed;
    let small = match args.shrink {
        0 => plan.clone(),
        time => shrink(simulator, plan, why, Duration::from_secs(time)),
    };
    let report = simulator.run(small.clone(), true);
    let mut text = format!("\nseed {seed}: {why}\n");
    if small.actions.len() < plan.actions.len() {
        let (left, all) = (small.actions.len(), plan.actions.len());
        text += &format!("still fails with {left} of {all} actions, faults: {}\n", small.fault_rates);
    }
    let hidden = hidden_lines(&report);
    if hidden > 0 {
        text += &format!("  … {hidden} lines before\n");
    }
    for line in last_lines(&report) {
        text += &format!("  {line}\n");
    }
    let with: Vec<String> = args.with.iter().map(|fault| format!("{fault:?}")).collect();
    let with = if with.is_empty() { String::new() } else { format!(" --with {}", with.join(",")) };
    text += &format!("again: cargo run -p hearth-tests --example simulate -- --seed {seed} --trace{with}\n");
    println!("{text}");
}

/// The number of trace lines that a failure report leaves out.
fn hidden_lines(report: &Report) -> usize {
    report.lines.len().saturating_sub(REPORTED_LINES_MAX)
}

fn last_lines(report: &Report) -> impl Iterator<Item = &String> {
    report.lines.iter().skip(hidden_lines(report))
}
