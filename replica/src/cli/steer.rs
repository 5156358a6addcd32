//! `pause`, `resume` and `reconcile`: wishes for whichever process syncs. Must not know how they are carried out.

use std::time::Duration;

use clap::Args;
use hearth_replica::sync::Until;
use hearth_replica::{Phase, log};

use super::{Context, Exit, Failure, duration, goal, output, status, stop, sync};

/// Arguments of `reconcile`.
#[derive(Debug, Args)]
pub(super) struct Reconcile {
    /// Agree to however many records turn out to be deleted on the server
    #[arg(long)]
    accept_deletions: bool,
    /// How long at most, as in 30s, 5m
    #[arg(long, default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,
}

impl Reconcile {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        log::to_stderr(log::Form::Text, "warn");
        stop::listen()?;
        let replica = context.existing()?;
        let config = sync::config(context)?;
        replica.reconcile(self.accept_deletions)?;
        let now = match sync::bring_in_step(context, &replica, &config, self.timeout) {
            Ok(now) => now,
            Err(failure) => {
                let now = replica.status().ok();
                if let Some(now) = now.as_ref().filter(|_| context.json) {
                    status::write(context, now)?;
                }
                return Err(still_wished(failure, now.is_some_and(|now| now.phase == Phase::Paused)));
            }
        };
        if context.json {
            status::write(context, &now)?;
        } else {
            output::line(&format!("Compared with the server; in step at position {}.", now.position))?;
        }
        goal::settled(Until::Current, &now)
    }
}

/// The wish outlives the command that could not wait for it.
fn still_wished(mut failure: Failure, is_paused: bool) -> Failure {
    if is_paused || matches!(failure.exit, Exit::Unreachable | Exit::Key | Exit::Interrupted | Exit::Terminated) {
        let text = failure.text.trim_end_matches('.');
        failure.text = format!("{text}; the comparison stays wished for, and the next sync makes it");
    }
    failure
}

/// Stops syncing until `resume`.
pub(super) fn pause(context: &Context) -> Result<(), Failure> {
    let replica = context.existing()?;
    let changed = replica.pause()?;
    if context.json {
        return status::write(context, &replica.status()?);
    }
    let said = if changed { "Paused" } else { "It was paused already" };
    Ok(output::line(&output::addressed(&format!("{said}; edits wait until `hearth-replica resume`.")))?)
}

/// Goes on after `pause`.
pub(super) fn resume(context: &Context) -> Result<(), Failure> {
    let replica = context.existing()?;
    let changed = replica.resume()?;
    let now = replica.status()?;
    if context.json {
        return status::write(context, &now);
    }
    output::line(if changed { "Resumed." } else { "It was not paused." })?;
    if now.daemon_pid.is_none() {
        output::note(&output::addressed("no process syncs; next: hearth-replica run, or hearth-replica sync"));
    }
    Ok(())
}
