//! `pause` and `resume`: wishes for whichever process syncs. Must not sync.

use super::{Context, Failure, output, status};

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
