//! Runs simulated worlds: `simulate --seeds 1000`, `simulate --seed N --trace`, `simulate --enumerate`,
//! `simulate --planted`.
#![expect(clippy::print_stdout, reason = "what it finds is what it prints")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use hearth_tests::simulation::enumerate::STORIES;
use hearth_tests::simulation::faults::Fault;
use hearth_tests::simulation::plan::Plan;
use hearth_tests::simulation::planted::{PLANTED, Planted, Search};
use hearth_tests::simulation::quiesce::Rest;
use hearth_tests::simulation::tally::Counts;
use hearth_tests::simulation::{Ground, shrink, tally};

/// Simulates homes with their servers, replicas and failing networks.
#[derive(Parser)]
struct Args {
    /// How many seeds
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// One seed alone
    #[arg(long)]
    seed: Option<u64>,
    /// Faults that shall not happen, by name
    #[arg(long, value_delimiter = ',', value_parser = fault)]
    without: Vec<Fault>,
    /// Faults that shall happen all the time, and no others
    #[arg(long, value_delimiter = ',', value_parser = fault, conflicts_with = "without")]
    with: Vec<Fault>,
    /// Tell all that happens
    #[arg(long)]
    trace: bool,
    /// With `--seed`: a new directory for the world's databases, which stay there as they are in the end
    #[arg(long, value_name = "DIR", requires = "seed")]
    keep: Option<PathBuf>,
    /// Tell the fixed stories with a crash at every point, or at every so many
    #[arg(long, value_name = "STRIDE", num_args = 0..=1, default_missing_value = "1")]
    enumerate: Option<u64>,
    /// Plant known faults in the code, all or those whose name holds this word, and see whether so many seeds find each.
    /// `HEARTH_PLANTED=NAME` plants one of them for any of the other uses
    #[arg(long, value_name = "WORD", num_args = 0..=1, default_missing_value = "")]
    planted: Option<String>,
    /// Seconds after which the search for a planted fault is given up, because it does not end
    #[arg(long, default_value_t = 300)]
    patience: u64,
    /// Go on after a failure
    #[arg(long)]
    keep_going: bool,
    /// Worlds at once
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// Seconds for making a failure small
    #[arg(long, default_value_t = 20)]
    shrink: u64,
}

fn fault(name: &str) -> Result<Fault, String> {
    let known = Fault::ALL.into_iter().find(|fault| format!("{fault:?}").eq_ignore_ascii_case(name));
    known.ok_or_else(|| format!("`{name}` is not one of {:?}", Fault::ALL))
}

/// After so many seeds a long run says how far it is.
const MILESTONE: u64 = 1000;
/// Lines told of a failure.
const LINES: usize = 60;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match (&args.planted, args.enumerate, args.seed) {
        (Some(word), ..) => planted(word, &args),
        (None, Some(stride), _) => every_point(stride),
        (None, None, Some(seed)) => plan(&args).and_then(|plan| one(plan(seed), &args)),
        (None, None, None) => plan(&args).and_then(|plan| many(&plan, &args)),
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

/// The plan of each seed.
fn plan(args: &Args) -> Result<impl Fn(u64) -> Plan + Sync, String> {
    let planted = Planted::here()?;
    Ok(move |seed| match planted {
        Some(planted) => planted.plan(seed),
        None if args.with.is_empty() => Plan::of(seed, &args.without),
        None => Plan::with(seed, &args.with),
    })
}

fn one(plan: Plan, args: &Args) -> Result<bool, String> {
    let ground = Ground::new()?;
    let seed = plan.seed;
    println!("seed {seed}: {} replicas, {} acts, weather: {}", plan.machines, plan.acts.len(), plan.weather);
    let report = match &args.keep {
        Some(dir) if dir.exists() => return Err(format!("{} exists already; name a new directory", dir.display())),
        Some(dir) => ground.run_in(plan.clone(), dir, true),
        None => ground.run(plan.clone(), true),
    };
    if args.trace {
        report.lines.iter().for_each(|line| println!("{line}"));
    }
    println!("{} steps, {} s of virtual time, trace {:016x}", report.steps, report.time / 1000, report.sum);
    match report.result {
        Ok(Rest { time, requests }) => {
            println!("all equal {time} ms and {requests} requests after the last fault");
            Ok(true)
        }
        Err(why) => {
            tell(&ground, &plan, &why, args);
            Ok(false)
        }
    }
}

fn many(plan: &(impl Fn(u64) -> Plan + Sync), args: &Args) -> Result<bool, String> {
    let begun = Instant::now();
    let (next, failures) = (AtomicU64::new(args.from), AtomicU64::new(0));
    let counts = Mutex::new(Counts::new());
    let (steps, slowest, most) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| {
                let ground = match Ground::new() {
                    Ok(ground) => ground,
                    Err(why) => {
                        println!("{why}");
                        failures.fetch_add(1, Ordering::Relaxed);
                        return;
                    }
                };
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let over = failures.load(Ordering::Relaxed) > 0 && !args.keep_going;
                    if seed >= args.from + args.seeds || over {
                        return;
                    }
                    let plan = plan(seed);
                    let report = ground.run(plan.clone(), false);
                    steps.fetch_add(report.steps, Ordering::Relaxed);
                    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                    report.counts.into_iter().for_each(|(name, many)| *counts.entry(name).or_default() += many);
                    drop(counts);
                    let done = seed + 1 - args.from;
                    if done.is_multiple_of(MILESTONE) {
                        println!("{done} seeds after {:.0} s", begun.elapsed().as_secs_f64());
                    }
                    match report.result {
                        Ok(Rest { time, requests }) => {
                            slowest.fetch_max(time.unsigned_abs(), Ordering::Relaxed);
                            most.fetch_max(requests, Ordering::Relaxed);
                        }
                        Err(why) => {
                            failures.fetch_add(1, Ordering::Relaxed);
                            tell(&ground, &plan, &why, args);
                        }
                    }
                }
            });
        }
    });
    let (seconds, failed) = (begun.elapsed().as_secs_f64(), failures.load(Ordering::Relaxed));
    let steps = steps.load(Ordering::Relaxed);
    for line in tally::lines(&counts.into_inner().unwrap_or_else(PoisonError::into_inner)) {
        println!("{line}");
    }
    println!(
        "{} seeds, {failed} failed, {steps} steps in {seconds:.1} s: {:.1} seeds/s, {:.0} steps/s; slowest rest {} s, \
         most requests {}",
        args.seeds,
        args.seeds as f64 / seconds,
        steps as f64 / seconds,
        slowest.load(Ordering::Relaxed) / 1000,
        most.load(Ordering::Relaxed),
    );
    Ok(failed == 0)
}

fn every_point(stride: u64) -> Result<bool, String> {
    let ground = Ground::new()?;
    let (mut points, mut failed) = (0, 0);
    for story in &STORIES {
        let begun = Instant::now();
        let told = story.tell(&ground, stride);
        println!(
            "{:5} points, {} failed, {:.1} s: {}",
            told.points,
            told.failures.len(),
            begun.elapsed().as_secs_f64(),
            story.name
        );
        (points, failed) = (points + told.points, failed + told.failures.len());
        if let Some((point, why)) = told.failures.first() {
            println!("      a crash at point {point}: {why}");
            let report = ground.run(story.plan(Some(*point).filter(|point| *point > 0)), true);
            let hidden = report.lines.len().saturating_sub(LINES);
            report.lines.iter().skip(hidden).for_each(|line| println!("        {line}"));
        }
    }
    println!("{points} points in all, {failed} failed");
    Ok(failed == 0)
}

fn planted(word: &str, args: &Args) -> Result<bool, String> {
    let begun = Instant::now();
    let wanted: Vec<&Planted> = PLANTED.iter().filter(|planted| planted.bug.as_str().contains(word)).collect();
    let (next, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
    println!("seeds       s  fault, and what was not as it must be");
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| {
                while let Some(planted) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = planted.bug.as_str();
                    match planted.look_for(args.seeds, Duration::from_secs(args.patience)) {
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
    println!("{found} of {} planted faults found in {:.0} s", wanted.len(), begun.elapsed().as_secs_f64());
    Ok(found == wanted.len() && found > 0)
}

/// Tells a failure: seed, cause, a small plan, its last lines, and how to see it again.
fn tell(ground: &Ground, plan: &Plan, why: &str, args: &Args) {
    let seed = plan.seed;
    let small = match args.shrink {
        0 => plan.clone(),
        time => shrink::shrink(ground, plan, why, Duration::from_secs(time)),
    };
    let report = ground.run(small.clone(), true);
    let mut text = format!("\nseed {seed}: {why}\n");
    if small.acts.len() < plan.acts.len() {
        text +=
            &format!("still so with {} of {} acts, weather: {}\n", small.acts.len(), plan.acts.len(), small.weather);
    }
    let hidden = report.lines.len().saturating_sub(LINES);
    if hidden > 0 {
        text += &format!("  … {hidden} lines before\n");
    }
    for line in report.lines.iter().skip(hidden) {
        text += &format!("  {line}\n");
    }
    let with: Vec<String> = args.with.iter().map(|fault| format!("{fault:?}")).collect();
    let with = if with.is_empty() { String::new() } else { format!(" --with {}", with.join(",")) };
    text += &format!("again: cargo run -p hearth-tests --bin simulate -- --seed {seed} --trace{with}\n");
    println!("{text}");
}
