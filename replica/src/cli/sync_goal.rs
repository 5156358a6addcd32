//! The goal of a sync: whether it is reached, and the failure if not. Must not sync.

use std::path::Path;

use hearth_replica::doctor::{
    HELD_CHANGES_ADVICE, NEW_KEY_COMMAND, block_advice, is_stopped, other_process_key_advice,
};
use hearth_replica::sync::Until;
use hearth_replica::{BlockCause, Phase, Status};

use super::context::Context;
use super::failure::{Exit, Failure};
use super::text;

/// True when the syncing process claims to be current.
pub(super) fn claims_current(now: &Status) -> bool {
    matches!(now.phase, Phase::Live | Phase::Polling) && now.behind_events == Some(0)
}

/// True when the goal is reached. `head` is the server's head, read after the start of the command.
pub(super) fn is_reached(until: Until, now: &Status, head: Option<i64>) -> bool {
    claims_current(now)
        && head.is_some_and(|head| now.position >= head)
        && (until == Until::Current || now.waiting == 0)
}

/// The failure when the daemon claims to be current and the server does not confirm.
pub(super) fn unproven_failure(now: &Status, head: Option<i64>) -> Failure {
    if let Some(failure) = silent_process_failure(now) {
        return failure;
    }
    let present = match head {
        Some(head) => format!("the server is at position {head}, this replica at {}", now.position),
        None => "the server does not say where the present is".to_owned(),
    };
    Failure::new(Exit::Unreachable, format!("not in step in time: {present}")).hint("hearth-replica status")
}

/// The failure for a sync that waits for a person. None: the sync continues by itself.
pub(super) fn halt_failure(db: &Path, last: &Status) -> Option<Failure> {
    let reason = text::one_line(last.reason.as_deref().unwrap_or_default());
    let reason = reason.as_str();
    match last.phase {
        Phase::Blocked => {
            let about_disk = matches!(last.blocked_by, Some(BlockCause::DiskFull | BlockCause::DiskUnwritable));
            // A disk fault needs no decision.
            let mut failure = Failure::new(if about_disk { Exit::Failure } else { Exit::NeedsYou }, reason);
            failure.next = block_advice(db, last.blocked_by);
            Some(failure)
        }
        Phase::Paused => Some(Failure::new(Exit::Failure, "syncing is paused").hint("hearth-replica resume")),
        Phase::NeedsKey => {
            let next = other_process_key_advice(db).unwrap_or_else(|| NEW_KEY_COMMAND.to_owned());
            Some(Failure::new(Exit::Key, format!("the server wants another key{}", reason_suffix(reason))).hint(next))
        }
        _ => None,
    }
}

/// The failure when the fault is with the process that syncs, not with the server: the process is stopped (SIGSTOP), or has
/// saved neither contact nor a failed attempt.
fn silent_process_failure(last: &Status) -> Option<Failure> {
    let pid = last.daemon_pid.filter(|pid| *pid != i64::from(std::process::id()))?;
    let failure = |text: String| Failure::new(Exit::Unreachable, format!("not in step in time: process {pid} {text}"));
    if u32::try_from(pid).is_ok_and(is_stopped) {
        let next = format!("kill -CONT {pid}, to continue it, then repeat the command");
        return Some(failure("syncs this database and is stopped".to_owned()).hint(next));
    }
    let since = last.offline_since.as_ref().filter(|_| last.phase == Phase::Offline && !last.has_failed_attempt())?;
    let text = format!("syncs this database, and has saved no contact since {since}");
    Some(failure(text).hint("hearth-replica doctor"))
}

fn reason_suffix(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// The failure when the time is over before the goal.
pub(super) fn timeout_failure(context: &Context, last: &Status) -> Failure {
    if let Some(failure) = halt_failure(&context.profile.db, last) {
        return failure;
    }
    if let Some(failure) = silent_process_failure(last) {
        return failure;
    }
    let why = reason_suffix(&text::one_line(last.reason.as_deref().unwrap_or_default()));
    match last.phase {
        Phase::Live | Phase::Polling if last.waiting > 0 => {
            let text = format!("in step, but {} still on the way{why}", text::count(last.waiting, "edit"));
            Failure::new(Exit::StillWaiting, text)
                .hint(format!("{EDITS}; a large file needs a longer time, as in hearth-replica sync --timeout 10m"))
        }
        // The server answers; the time was too short.
        _ if last.is_in_contact() => {
            let of = last.head.map_or(String::new(), |head| format!(" of {head}"));
            let text = format!("not in step in time, {}: at position {}{of}{why}", last.phase, last.position);
            Failure::new(Exit::Unreachable, text)
                .hint("repeat the command, which continues from there, or use a longer --timeout")
        }
        phase => {
            let server = context.profile.server.as_deref().map_or(String::new(), |server| format!(", {server}"));
            let why = if why.is_empty() { ": no answer so far" } else { why.as_str() };
            let text = format!("not in step in time, {phase}{server}{why}");
            Failure::new(Exit::Unreachable, text).hint("hearth-replica status")
        }
    }
}

/// The command that shows the edits.
pub(super) const EDITS: &str = "hearth-replica edits";

/// How many edits wait for a person, as a sentence.
pub(super) fn decisions_text(now: &Status) -> String {
    format!("{} for you to decide on", text::count(now.edits_to_decide(), "edit"))
}

/// The failure for edits that are still open after a comparison with the server.
pub(super) fn check_open_edits(now: &Status) -> Result<(), Failure> {
    check_decisions(now)?;
    check_edits_on_the_way(now)
}

/// The failure for edits that are still open after a sync. Who asks only for the present does not ask for decisions.
pub(super) fn check_synced(until: Until, now: &Status) -> Result<(), Failure> {
    if until == Until::Current { check_edits_on_the_way(now) } else { check_decisions(now) }
}

/// The failure for changes and edits that a person must decide about.
pub(super) fn check_decisions(now: &Status) -> Result<(), Failure> {
    if let Some(held) = &now.held_changes {
        return Err(Failure::new(Exit::NeedsYou, held.question()).hint(HELD_CHANGES_ADVICE));
    }
    if now.edits_to_decide() == 0 {
        return Ok(());
    }
    Err(Failure::new(Exit::NeedsYou, decisions_text(now)).hint(EDITS))
}

fn check_edits_on_the_way(now: &Status) -> Result<(), Failure> {
    if now.waiting == 0 {
        return Ok(());
    }
    let text = format!("in step; {} still on the way", text::count(now.waiting, "edit"));
    Err(Failure::new(Exit::StillWaiting, text).hint("hearth-replica sync --until-pushed"))
}

#[cfg(test)]
pub(super) mod tests {
    use hearth_replica::Replica;

    use super::*;

    /// A status in this phase, where the daemon claims the position as current.
    pub(in super::super) fn status(phase: Phase, position: i64, waiting: i64) -> Status {
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), hearth_replica::Origin::Cli).unwrap();
        let now = replica.status().unwrap();
        Status { phase, position, waiting, behind_events: Some(0), ..now }
    }

    #[test]
    fn goal_needs_head_from_server() {
        for phase in [Phase::Live, Phase::Polling] {
            assert!(!is_reached(Until::Current, &status(phase, 7, 0), None));
            assert!(!is_reached(Until::Current, &status(phase, 7, 0), Some(8)));
            assert!(is_reached(Until::Current, &status(phase, 8, 1), Some(8)));
            assert!(!is_reached(Until::Pushed, &status(phase, 8, 1), Some(8)));
        }
        assert!(!is_reached(Until::Current, &status(Phase::Offline, 8, 0), Some(8)));
        let failure = unproven_failure(&status(Phase::Live, 7, 0), Some(8));
        assert_eq!(failure.exit, Exit::Unreachable);
        assert_eq!(failure.text, "not in step in time: the server is at position 8, this replica at 7");
    }

    #[test]
    fn silent_process_is_named_whatever_its_last_reason() {
        let silent = Status {
            daemon_pid: Some(1),
            offline_since: Some("2026-06-01T00:00:00.000Z".to_owned()),
            reason: Some("the server limits this key".to_owned()),
            ..status(Phase::Offline, 7, 1)
        };
        let named = "not in step in time: process 1 syncs this database, and has saved no contact since";
        assert!(unproven_failure(&silent, Some(8)).text.starts_with(named));
        let tried = Status { next_attempt_at: Some("2026-06-01T00:01:00.000Z".to_owned()), ..silent };
        assert!(unproven_failure(&tried, Some(8)).text.contains("the server is at position 8"));
    }

    #[test]
    fn decision_of_a_person_fails_only_the_push() {
        let asks = Status { needs_you: 1, ..status(Phase::Live, 8, 0) };
        assert!(check_synced(Until::Current, &asks).is_ok());
        for ended in [check_synced(Until::Pushed, &asks), check_open_edits(&asks)] {
            assert_eq!(ended.unwrap_err().exit, Exit::NeedsYou);
        }
        let waits = Status { waiting: 1, ..asks };
        assert_eq!(check_synced(Until::Current, &waits).unwrap_err().exit, Exit::StillWaiting);
    }

    #[test]
    fn timeout_says_how_far_the_sync_came() {
        let db = std::env::temp_dir().join("hearth-sync-too-late.db");
        let profile = hearth_replica::profile::Profile::locate("home", Some(&db), true).unwrap();
        let context = Context { profile, named: false, db_given: true, json: false };
        let limited = |phase| Status { reason: Some("the server limits".to_owned()), ..status(phase, 8, 1) };
        let last_contact_at = Some("2026-06-01T00:00:00.000Z".to_owned());
        let slow = Status { head: Some(9), last_contact_at, ..status(Phase::Backfilling, 4, 0) };
        let waits = "in step, but 1 edit still on the way";
        for (last, exit, text) in [
            (status(Phase::Live, 8, 1), Exit::StillWaiting, waits),
            (status(Phase::Polling, 8, 1), Exit::StillWaiting, waits),
            (limited(Phase::Live), Exit::StillWaiting, &format!("{waits}: the server limits")),
            (limited(Phase::Polling), Exit::StillWaiting, &format!("{waits}: the server limits")),
            (slow, Exit::Unreachable, "not in step in time, backfilling: at position 4 of 9"),
            (status(Phase::Backfilling, 4, 0), Exit::Unreachable, "not in step in time, backfilling: no answer so far"),
            (status(Phase::Offline, 4, 0), Exit::Unreachable, "not in step in time, offline: no answer so far"),
        ] {
            let failure = timeout_failure(&context, &last);
            assert_eq!((failure.exit, failure.text.as_str()), (exit, text), "{last:?}");
        }
    }
}
