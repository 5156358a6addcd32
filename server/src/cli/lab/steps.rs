//! Runs one command of the lab and prints its result. Must not know how the library does the work.

use std::time::Duration;

use hearth_server::bench::lab::LabHome;
use hearth_server::bench::lab::home::{RewindTarget, SeedResult};
use hearth_server::shutdown::Shutdown;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::arguments::{Churn, Rewind, Step, TargetArguments};
use crate::cli::output::{has_reader, print_line};

/// Runs a command. Ctrl-C is the normal end of `churn`, makes other commands fail after their current transaction, and
/// has no effect on `rewind`.
pub(super) async fn run(home: &mut LabHome, step: &Step, as_json: bool, shutdown: &mut Shutdown) -> anyhow::Result<()> {
    match step {
        Step::Churn(arguments) => churn(home, arguments, as_json, shutdown).await,
        Step::Trim { keep } => trim(home, *keep, as_json, shutdown).await,
        Step::ForgetKeys => {
            let forgotten = tokio::select! {
                forgotten = home.forget_keys() => forgotten?,
                () = shutdown.requested() => anyhow::bail!("interrupted: some responses may be forgotten already"),
            };
            let text = format!("forgot {forgotten} responses; a retry of such a write is a new write");
            print_result(home, as_json, "forget-keys", json!({ "forgotten": forgotten }), &text)
        }
        Step::Rewind(arguments) => rewind(home, arguments, as_json).await,
        Step::Seed { records, seed } => {
            let wanted = usize::try_from(*records).unwrap_or(usize::MAX);
            self::seed(home, wanted, *seed, as_json, shutdown).await
        }
    }
}

async fn trim(home: &LabHome, keep: Duration, as_json: bool, shutdown: &mut Shutdown) -> anyhow::Result<()> {
    let keep_ms = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
    let trimmed = tokio::select! {
        trimmed = home.trim(keep_ms) => trimmed?,
        () = shutdown.requested() => anyhow::bail!("interrupted: some old events may be removed already"),
    };
    let (trimmed_to, head) = (trimmed.trimmed_to, trimmed.head);
    let text = match trimmed_to {
        0 => format!("there was nothing to trim: all cursors stay valid; the home is at position {head}"),
        _ => format!("removed old events: cursors before {trimmed_to} now get 410; the home is at position {head}"),
    };
    print_result(home, as_json, "trim", json!({ "thinned": trimmed_to, "head": head }), &text)
}

async fn rewind(home: &mut LabHome, arguments: &Rewind, as_json: bool) -> anyhow::Result<()> {
    let Rewind { target: TargetArguments { to, by }, marked } = arguments;
    let target = match (to, by) {
        (Some(position), _) => RewindTarget::Position(*position),
        (None, events) => RewindTarget::EventsBack(events.unwrap_or_default()),
    };
    let rewound = home.rewind(target, *marked).await?;
    let text = format!(
        "the home is back at position {}, from {}; {} records were reverted or removed",
        rewound.to, rewound.from, rewound.records
    );
    let data = json!({ "from": rewound.from, "to": rewound.to, "records": rewound.records, "marked": marked });
    print_result(home, as_json, "rewind", data, &text)
}

async fn seed(home: &LabHome, wanted: usize, seed: u64, as_json: bool, shutdown: &mut Shutdown) -> anyhow::Result<()> {
    let began = Instant::now();
    let SeedResult { created, existing, head } = home.seed(seed, wanted, |_| shutdown.is_requested()).await?;
    anyhow::ensure!(
        created + existing == wanted,
        "interrupted: {} of {wanted} records exist, and the home is at position {head}; run the command again for the rest",
        created + existing
    );
    let seconds = began.elapsed().as_secs_f64();
    let text = match (created, existing) {
        (0, _) => format!(
            "all {existing} records of seed {seed} exist already, so nothing is left to create; another --seed creates \
             other records; the home is at position {head}"
        ),
        (_, 0) => format!("created {created} records in {seconds:.1} s; the home is at position {head}"),
        _ => format!(
            "created {created} records in {seconds:.1} s, and {existing} existed already; the home is at position {head}"
        ),
    };
    let data = json!({ "records": created, "found": existing, "seed": seed, "seconds": seconds, "head": head });
    print_result(home, as_json, "seed", data, &text)
}

/// Changes the home at a rate. A late change is caught up, so that the average rate holds. On a slow machine the rate is
/// lower, and the time limit still holds.
async fn churn(home: &LabHome, churn: &Churn, as_json: bool, shutdown: &mut Shutdown) -> anyhow::Result<()> {
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
            () = shutdown.requested() => break,
        }
        if is_over(end, due, Instant::now()) {
            break;
        }
        if let Some(change) = home.change(churn.seed, turn).await? {
            changes += u64::from(!change.refused);
            refused += u64::from(change.refused);
            if !churn.quiet && !as_json {
                print_line(format_args!("{:>8}  {}", change.position, change.description))?;
            }
        }
        // A churn without a limit ends with its reader, as in `lab churn | head`.
        if !has_reader() && churn.count.is_none() && churn.lasting.is_none() {
            break;
        }
        turn += 1;
    }
    let (seconds, head) = (began.elapsed().as_secs_f64(), home.head().await?);
    let text = format!("{changes} changes in {seconds:.1} s, {refused} refused; the home is at position {head}");
    let data = json!({ "changes": changes, "refused": refused, "seconds": seconds, "head": head });
    print_result(home, as_json, "churn", data, &text)
}

/// Whether the time limit is reached: by the clock, because late changes may be due before the limit, or by the plan,
/// which has no change exactly at the limit.
fn is_over(end: Option<Instant>, due: Instant, now: Instant) -> bool {
    end.is_some_and(|end| end <= now || end <= due)
}

/// Prints the result of a command: as JSON with the name of the command, the team and the home, or as text.
fn print_result(home: &LabHome, as_json: bool, command: &str, mut data: Value, text: &str) -> anyhow::Result<()> {
    if as_json {
        data["did"] = command.into();
        data["team"] = home.team.as_str().into();
        data["home"] = json!({ "id": home.home.to_string(), "environment": home.environment.as_str() });
        print_line(data)
    } else {
        print_line(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn churn_ends_at_its_limit_even_when_late() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        assert!(!is_over(None, at(5), at(99)));
        assert!(!is_over(Some(at(2)), at(1), at(1)));
        assert!(is_over(Some(at(2)), at(2), at(2)), "no change is due exactly at the limit");
        assert!(is_over(Some(at(2)), at(1), at(2)), "a change that is due before the limit is too late");
        assert!(is_over(Some(at(2)), at(0), at(58)));
    }
}
