//! `status`: prints the status as a sentence with fields, or as JSON. Must not change the replica.

use std::sync::mpsc::channel;
use std::time::Duration;

use clap::Args;
use hearth_replica::doctor::{DELETION_ADVICE, HELD_CHANGES_ADVICE, new_key_advice, other_process_key_advice};
use hearth_replica::{FileCounts, Phase, Replica, notification};
use serde_json::json;

use super::context::Context;
use super::failure::Failure;
use super::{output, text};

/// How long the status waits for a look at the pages of the database. Damage may be where nobody has read yet.
const LOOK_LIMIT: Duration = Duration::from_secs(1);

/// Arguments of `status`.
#[derive(Debug, Args)]
pub(super) struct Status {
    /// Print the status again after every change, until stopped
    #[arg(long)]
    watch: bool,
}

impl Status {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_existing()?;
        let mut last = replica.status()?;
        hearth_replica::look_for_damage(&context.profile.db, LOOK_LIMIT)?;
        write_status(context, &replica, &last)?;
        if !self.watch {
            return Ok(());
        }
        let (notify, notifications) = channel();
        let _watch = notification::subscribe(&context.profile.db, move || {
            let _ = notify.send(());
        })?;
        // The status can change without a change of the database, as time since the last contact passes.
        loop {
            let _ = notifications.recv_timeout(Duration::from_secs(1));
            let now = replica.status()?;
            // Values that only grow with the clock are no change.
            let comparable = hearth_replica::Status {
                last_contact_at: last.last_contact_at.clone(),
                behind_seconds: last.behind_seconds,
                retention_left_seconds: last.retention_left_seconds,
                ..now.clone()
            };
            if comparable != last {
                if !context.json {
                    output::line("")?;
                }
                write_status(context, &replica, &now)?;
            }
            if !output::is_stdout_open() {
                return Ok(());
            }
            last = now;
        }
    }
}

/// Prints how many files are where. Nothing in a home without files.
fn write_files(counts: &FileCounts) -> Result<(), Failure> {
    let here = counts.present + counts.waiting + counts.refused;
    let states = [
        (here, "here"),
        (counts.waiting, "not yet on the server"),
        (counts.wanted, "only on the server"),
        (counts.requested, "asked for"),
        (counts.missing, "missing"),
        (counts.refused, "refused by the server"),
        (counts.damaged, "damaged"),
    ];
    let named: Vec<String> =
        states.iter().filter(|(number, _)| *number > 0).map(|(number, state)| format!("{number} {state}")).collect();
    if !named.is_empty() {
        output::line(&format!("{:<24}{}", "files", named.join(", ")))?;
    }
    Ok(())
}

/// Prints a status as text or JSON, with the numbers of files.
pub(super) fn write_status(
    context: &Context,
    replica: &Replica,
    status: &hearth_replica::Status,
) -> Result<(), Failure> {
    let mut members = json!(status);
    if context.json {
        members["files"] = json!(replica.file_counts()?);
        return Ok(output::json(&members)?);
    }
    let sentence = summary(status);
    output::line(&output::bold(&sentence))?;
    for (name, value) in members.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        output::line(&format!("{:<24}{}", name.replace('_', " "), text::cell_text(value)))?;
    }
    write_files(&replica.file_counts()?)?;
    if status.phase == Phase::Blocked && status.asks_about_deletions {
        output::next_step(DELETION_ADVICE);
    }
    if status.held_changes.is_some() {
        output::next_step(HELD_CHANGES_ADVICE);
    }
    if status.phase == Phase::NeedsKey {
        let elsewhere = other_process_key_advice(&context.profile.db);
        output::next_step(
            &elsewhere
                .unwrap_or_else(|| format!("{}; a running sync uses it at once", new_key_advice(&context.profile))),
        );
    }
    Ok(())
}

/// A status as one sentence.
pub(super) fn summary(status: &hearth_replica::Status) -> String {
    let reason = status.reason.as_deref().unwrap_or("no reason is known");
    let mut sentence = match (status.phase, &status.offline_since) {
        (Phase::Local, _) => "All data is on this machine; there is no server".to_owned(),
        (Phase::Live, _) => "In step with the server".to_owned(),
        (Phase::Backfilling, None) => {
            format!("Downloading everything: {} of {}", status.position, status.head.unwrap_or_default())
        }
        (Phase::Backfilling, Some(since)) => format!("Not complete yet, and without contact since {since}"),
        // After the stream opens, the server's head is unknown until the first event.
        (Phase::CatchingUp, _) => match status.behind_events {
            Some(behind @ 1..) => format!("Catching up, {} behind", text::count(behind, "event")),
            _ => "Catching up with the server".to_owned(),
        },
        (Phase::Polling, _) => match status.behind_events {
            Some(0) => "In step with the server at the last poll".to_owned(),
            _ => "Catching up with the server by polling".to_owned(),
        },
        (Phase::Offline, Some(since)) => offline_summary(status, since),
        (Phase::New, _) => "Nothing was downloaded yet".to_owned(),
        (Phase::Reconciling, None) => "Comparing with the server's lists".to_owned(),
        (Phase::Reconciling, Some(since)) => {
            format!("Comparison with the server not finished, and without contact since {since}")
        }
        (Phase::Blocked, _) if status.asks_about_deletions => "Waiting for your decision".to_owned(),
        (Phase::Blocked, _) => format!("Stopped: {}", reason.trim_end_matches('.')),
        (Phase::Paused, _) => output::with_home_flags("Paused by a person; `hearth-replica resume` continues"),
        // The server refused the key for all requests, or for some edits; the reason says which.
        (Phase::NeedsKey, _) => format!("The server wants another key: {}", reason.trim_end_matches('.')),
        (phase, _) => phase.as_str().replace('_', " "),
    };
    if status.waiting > 0 {
        let suffix = match status.phase {
            _ if status.asks_about_deletions => ", confirmed once you have decided",
            Phase::Reconciling => ", confirmed when that has ended",
            _ => "",
        };
        sentence.push_str(&format!("; {} on the way{suffix}", text::count(status.waiting, "edit")));
    }
    if status.edits_to_decide() > 0 {
        sentence.push_str(&format!("; {} for you to decide on", text::count(status.edits_to_decide(), "edit")));
    }
    if let Some(held) = &status.held_changes {
        sentence.push_str(&format!("; {}", held.question()));
    }
    text::one_line(&sentence) + "."
}

/// The phase `offline` as a sentence. Without a reason, no attempt to reach the server has failed.
fn offline_summary(status: &hearth_replica::Status, since: &str) -> String {
    match (&status.reason, status.daemon_pid, status.head) {
        (None, None, Some(head)) if head <= status.position => {
            format!("In step with the server at the last sync, {since}; no process syncs now")
        }
        (None, None, Some(head)) => {
            format!("At position {} of {head} at the last sync, {since}; no process syncs now", status.position)
        }
        (None, Some(pid), _) => format!("Nothing proven since {since}: process {pid} syncs but saves no contact"),
        _ => format!("Without contact since {since}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sync_goal::tests::status;

    #[test]
    fn summary_claims_no_more_than_is_known() {
        use hearth_replica::Status;
        let since = "2026-06-01T00:00:00.000Z";
        let behind = |phase: Phase, behind_events| Status { behind_events, ..status(phase, 5, 0) };
        let reason = Some("the disk is full".to_owned());
        let stopped = Status { reason: reason.clone(), ..status(Phase::Blocked, 5, 0) };
        let ended = Status { offline_since: Some(since.to_owned()), head: Some(5), ..status(Phase::Offline, 5, 0) };
        let last_sync = format!("at the last sync, {since}; no process syncs now.");
        for (status, expected) in [
            (behind(Phase::CatchingUp, Some(2)), "Catching up, 2 events behind."),
            (behind(Phase::CatchingUp, Some(0)), "Catching up with the server."),
            (behind(Phase::Polling, Some(0)), "In step with the server at the last poll."),
            (behind(Phase::Polling, None), "Catching up with the server by polling."),
            // What blocks the sync is no decision of a person.
            (stopped.clone(), "Stopped: the disk is full."),
            (Status { needs_you: 1, ..stopped }, "Stopped: the disk is full; 1 edit for you to decide on."),
            (ended.clone(), &format!("In step with the server {last_sync}")),
            (Status { head: Some(7), ..ended.clone() }, &format!("At position 5 of 7 {last_sync}")),
            (
                Status { daemon_pid: Some(7), ..ended.clone() },
                &format!("Nothing proven since {since}: process 7 syncs but saves no contact."),
            ),
            (Status { reason, ..ended }, &format!("Without contact since {since}.")),
        ] {
            assert_eq!(summary(&status), expected);
        }
    }
}
