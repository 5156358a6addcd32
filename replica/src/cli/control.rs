//! `pause`, `resume` and `reconcile`: requests to the syncing process. Must not know how the process carries them out.

use std::time::Duration;

use clap::Args;
use hearth_replica::{Phase, Replica, log};

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{duration, output, signals, status, sync, sync_goal, text};

/// Arguments of `reconcile`.
#[derive(Debug, Args)]
pub(super) struct Reconcile {
    /// Accept the deletion of any number of records that the server has deleted
    #[arg(long)]
    accept_deletions: bool,
    /// Make edits of the changes by another program that wait for your decision; nothing is compared
    #[arg(long, conflicts_with_all = ["accept_deletions", "discard_local"])]
    accept_local: bool,
    /// Drop the changes by another program that wait for your decision; nothing is compared
    #[arg(long, conflicts_with = "accept_deletions")]
    discard_local: bool,
    /// Time limit, as in 30s, 5m
    #[arg(long, default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,
}

impl Reconcile {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        log::to_stderr(log::LogFormat::Text, "warn");
        signals::listen()?;
        let replica = context.open_existing()?;
        if self.accept_local || self.discard_local {
            return answer_held_changes(context, &replica, self.accept_local);
        }
        let config = context.sync_config()?;
        replica.reconcile(self.accept_deletions)?;
        let now = match sync::sync_to_current(context, &replica, &config, self.timeout) {
            Ok(now) => now,
            Err(failure) => {
                let now = replica.status().ok();
                if let Some(now) = now.as_ref().filter(|_| context.json) {
                    status::write_status(context, &replica, now)?;
                }
                return Err(note_pending_reconcile(failure, now.is_some_and(|now| now.phase == Phase::Paused)));
            }
        };
        if context.json {
            status::write_status(context, &replica, &now)?;
        } else {
            output::line(&format!("Compared with the server; in step at position {}.", now.position))?;
        }
        sync_goal::check_open_edits(&now)
    }
}

/// Answers the question about changes by another program, without contact to the server.
fn answer_held_changes(context: &Context, replica: &Replica, is_accepted: bool) -> Result<(), Failure> {
    if replica.status()?.held_changes.is_none() {
        let text = "no change by another program waits for your decision";
        return Err(Failure::new(Exit::NotFound, text).hint("hearth-replica status"));
    }
    let sentence = if is_accepted {
        let (edits, refused) = replica.accept_held_changes()?;
        let refused = if refused > 0 {
            format!("; {refused} with a value that breaks a rule wait for you")
        } else {
            String::new()
        };
        format!("{} made{refused}.", text::count(edits, "edit"))
    } else {
        format!("{} dropped.", text::count(replica.discard_held_changes()?, "change"))
    };
    let now = replica.status()?;
    if context.json {
        status::write_status(context, replica, &now)?;
    } else {
        output::line(&sentence)?;
    }
    sync_goal::check_decisions(&now)
}

/// Adds to the failure that the request stays in the database: the next sync carries out the reconcile.
fn note_pending_reconcile(mut failure: Failure, is_paused: bool) -> Failure {
    if is_paused || matches!(failure.exit, Exit::Unreachable | Exit::Key | Exit::Interrupted | Exit::Terminated) {
        let text = failure.text.trim_end_matches('.');
        failure.text = format!("{text}; the request stays, and the next sync makes the comparison");
    }
    failure
}

/// Pauses syncing until `resume`.
pub(super) fn pause(context: &Context) -> Result<(), Failure> {
    let replica = context.open_existing()?;
    let changed = replica.pause()?;
    if context.json {
        return status::write_status(context, &replica, &replica.status()?);
    }
    let state = if changed { "Paused" } else { "Already paused" };
    Ok(output::line(&output::with_home_flags(&format!("{state}; edits wait until `hearth-replica resume`.")))?)
}

/// Resumes syncing after `pause`.
pub(super) fn resume(context: &Context) -> Result<(), Failure> {
    let replica = context.open_existing()?;
    let changed = replica.resume()?;
    let now = replica.status()?;
    if context.json {
        return status::write_status(context, &replica, &now);
    }
    output::line(if changed { "Resumed." } else { "It was not paused." })?;
    if now.daemon_pid.is_none() && now.phase != Phase::Local {
        output::message(&output::with_home_flags("no process syncs; next: hearth-replica run, or hearth-replica sync"));
    }
    Ok(())
}
