//! `pause`, `resume` and `reconcile`: wishes for whichever process syncs. Must not know how they are carried out.

use std::time::Duration;

use clap::Args;
use hearth_replica::log;

use super::{Context, Failure, output, status, sync};

/// Arguments of `reconcile`.
#[derive(Debug, Args)]
pub(super) struct Reconcile {
    /// Agree to however many records turn out to be deleted on the server
    #[arg(long)]
    accept_deletions: bool,
    /// How long at most, as in 30s, 5m
    #[arg(long, default_value = "5m", value_parser = sync::duration)]
    timeout: Duration,
}

impl Reconcile {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        log::to_stderr(log::Form::Text, "warn");
        let replica = context.existing()?;
        replica.reconcile(self.accept_deletions)?;
        let now = sync::bring_in_step_with(context, &replica, &sync::config(context)?, self.timeout)?;
        if context.json {
            return status::write(context, &now);
        }
        Ok(output::line(&format!("Compared with the server; in step at position {}.", now.position))?)
    }
}

/// Stops syncing until `resume`.
pub(super) fn pause(context: &Context) -> Result<(), Failure> {
    let replica = context.existing()?;
    let changed = replica.pause()?;
    if context.json {
        return status::write(context, &replica.status()?);
    }
    let said = if changed { "Paused" } else { "It was paused already" };
    Ok(output::line(&format!("{said}; edits wait until `hearth-replica resume`."))?)
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
        output::note("no process syncs; next: hearth-replica run, or hearth-replica sync");
    }
    Ok(())
}
