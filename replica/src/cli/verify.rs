//! `verify`: compares the replica with the server at one position. Must not know how records are compared.

use std::time::{Duration, Instant};

use clap::Args;
use hearth_replica::sync as syncing;
use hearth_replica::{Difference, FieldDifference, How, log};

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{duration, output, runtime, signals, sync, text};

/// The interval between two checks of the replica's position.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// Give records that differ the server's values; pending edits stay
    #[arg(long)]
    repair: bool,
    /// Time limit, as in 30s, 5m
    #[arg(long, default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,
}

impl Verify {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        log::to_stderr(log::LogFormat::Text, "warn");
        signals::listen()?;
        let replica = context.open_existing()?;
        let config = context.sync_config()?;
        let deadline = Instant::now() + self.timeout;
        let left = || deadline.saturating_duration_since(Instant::now());
        sync::sync_to_current(context, &replica, &config, left())?;
        let cursor = replica.cursor()?;
        let listings = syncing::fetch_listings(&config, cursor.as_deref());
        let listings = runtime::block_on(signals::run_within(left(), listings))?.ok_or_else(timeout_failure)??;
        let found = loop {
            if left().is_zero() {
                return Err(timeout_failure());
            }
            // The lists may be newer than the replica; a sync brings the replica there.
            sync::sync_to_current(context, &replica, &config, left())?;
            if let Some(found) = replica.verify(&listings, self.repair)? {
                break found;
            }
            std::thread::sleep(POLL_INTERVAL);
        };
        let count = found.differences.len();
        if context.json {
            output::json(&found)?;
        } else {
            for difference in &found.differences {
                output::line(&difference_text(difference))?;
            }
            let compared = format!("{} compared at position {}", text::count(found.compared, "record"), found.position);
            output::line(&match (count, self.repair) {
                (0, _) => format!("{compared}: all equal."),
                (1, true) => format!("{compared}: 1 differed and is repaired."),
                (1, false) => format!("{compared}: 1 differs."),
                (count, true) => format!("{compared}: {count} differed and are repaired."),
                (count, false) => format!("{compared}: {count} differ."),
            })?;
            if found.search_differs {
                let suffix = if self.repair { "; the index is rebuilt" } else { "" };
                output::line(&format!("the search index differed from the tables{suffix}."))?;
            }
        }
        if (count > 0 || found.search_differs) && !self.repair {
            let text = "the replica differs from the server";
            return Err(Failure::new(Exit::Failure, text).hint("hearth-replica verify --repair"));
        }
        Ok(())
    }
}

fn timeout_failure() -> Failure {
    Failure::new(Exit::Unreachable, "the comparison was not done in time").hint("hearth-replica verify --timeout 30m")
}

fn difference_text(difference: &Difference) -> String {
    let Difference { kind, id, title, how, fields } = difference;
    let how = match how {
        How::Missing => "is missing on this device".to_owned(),
        How::Extra => "is not on the server".to_owned(),
        How::Differs => {
            let text = |one: &FieldDifference| {
                format!("{}: {} on this device, {} on the server", one.field, one.ours, one.theirs)
            };
            fields.iter().map(text).collect::<Vec<_>>().join("; ")
        }
    };
    text::one_line(&format!("{kind} {id} ({title}): {how}"))
}
