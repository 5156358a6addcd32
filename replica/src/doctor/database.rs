//! Examines the database file, its tables, its edits, and the syncing process. Must not change any of them.

use std::path::Path;

use super::advice::{HELD_CHANGES_ADVICE, REBUILD_COMMAND, new_key_advice, other_process_key_advice, setup_command};
use super::diagnosis::{Cause, block_advice, diagnose, free_space_advice};
use super::finding::{Finding, Severity, Topic};
use super::text::{count, duration_text, size_text};
use super::user_objects;
use crate::model::Phase;
use crate::profile::Profile;
use crate::store::StoreError;
use crate::store::health::{self, Health};
use crate::store::schema::user_objects::explain_refusal;
use crate::store::{connection, open};
use crate::sync::SyncLock;
use crate::{Origin, Replica, Status};

/// An edit that waits longer than this (seconds) is a warning.
const WAITING_SECONDS: i64 = 3600;
/// A syncing process contacts the server more often than this (seconds), on the slowest server too.
const SILENT_SECONDS: i64 = 120;
/// A warning when the server keeps history for less than this (seconds), or for half of a shorter retention.
const RETENTION_SECONDS_LOW: i64 = 24 * 3600;

/// The command that makes the replica current.
const SYNC: &str = "hearth-replica sync --until-current";

/// The command that fetches the bytes of files again, and the command for a file that the server does not have.
const FETCH_FILES: &str = "hearth-replica files fetch --all, or hearth-replica attach FILE --to DOCUMENT if the server does not have the file";

/// The findings, and facts that other checks need.
#[derive(Default)]
pub(super) struct DatabaseReport {
    pub findings: Vec<Finding>,
    /// The id of the home of the profile's key: during a refill, of the home that is being filled. None when unreadable.
    pub home_id: Option<String>,
    /// The status. None when unreadable.
    pub status: Option<Status>,
}

/// Examines the database of a profile.
pub(super) fn examine(profile: &Profile) -> DatabaseReport {
    let db = &profile.db;
    if !crate::database_exists(db) {
        let (text, first) = (format!("there is no replica at {}", db.display()), setup_command(profile));
        let (text, next) = match crate::database_was_removed(db) {
            true => (
                format!("{text} any more; the edits that only it held are lost"),
                format!("put the file back, or {first}"),
            ),
            false => (text, first.to_owned()),
        };
        return DatabaseReport {
            findings: vec![Finding::fault(Topic::Setup, text, next)],
            ..DatabaseReport::default()
        };
    }
    let health = match health::examine(db) {
        Ok(health) => health,
        Err(error) => {
            // A broken index fails on reading too. The writable connection finds the name of the index.
            let error = match open::read_write(db) {
                Ok(connection) => explain_refusal(&connection, error),
                Err(_) => error,
            };
            return DatabaseReport { findings: vec![unreadable_finding(profile, &error)], ..DatabaseReport::default() };
        }
    };
    let fault = schema_fault(&health);
    // A fault of the tables does not hide the waiting edits, as far as the edits are readable.
    let (findings, status) = match (inspect(profile, &health, fault.is_none()), fault) {
        (Ok((findings, status)), fault) => (fault.into_iter().chain(findings).collect(), Some(status)),
        (Err(_), Some(fault)) => (vec![fault], None),
        (Err(error), None) => {
            // A trigger of another program can keep `doctor` itself from writing.
            let named = user_objects::refusing_trigger_findings(db).unwrap_or_default();
            let unnamed = named.is_empty().then(|| unreadable_finding(profile, &error));
            (named.into_iter().chain(unnamed).collect(), None)
        }
    };
    DatabaseReport { findings, home_id: health.home_id, status }
}

/// The fault of a database that is damaged, incomplete, or has a stale search index.
fn schema_fault(health: &Health) -> Option<Finding> {
    if !health.broken.is_empty() {
        let text = format!("the database is damaged: {}", health.broken.join("; "));
        return Some(Finding::fault(Topic::Database, text, REBUILD_COMMAND));
    }
    if !health.search_complete {
        let text =
            "the search index differs from the tables, because another program wrote to it; searches miss records";
        return Some(Finding::new(Topic::Database, Severity::Warning, text, "hearth-replica verify --repair"));
    }
    None
}

/// The findings on content and edits, and the status.
fn inspect(profile: &Profile, health: &Health, is_sound: bool) -> Result<(Vec<Finding>, Status), StoreError> {
    let replica = Replica::open(&profile.db, Origin::Cli)?;
    if profile.server.is_some() {
        // As every command does; without the note, edits that wait for the server would count as settled.
        replica.expect_server()?;
    }
    let status = replica.status()?;
    let mut findings = Vec::new();
    if let Some(restored) = &health.restored {
        let text = restored.sentences().join(" ");
        findings.push(Finding::new(Topic::Database, Severity::Note, text, "hearth-replica edits"));
    }
    if is_sound {
        let counts = replica.counts()?;
        let records = count(counts.records.iter().map(|(_, count)| count).sum(), "record", "records");
        let text = format!(
            "sound, {records}, {}, schema {}",
            size_text(counts.database_bytes + counts.wal_bytes),
            status.schema_version
        );
        findings.push(Finding::ok(Topic::Database, text));
    }
    if health.broken.is_empty() {
        findings.extend(user_objects::examine(&profile.db, health)?);
    }
    // A home without a server has nothing to sync.
    if status.phase != Phase::Local || profile.server.is_some() {
        findings.push(process_finding(profile, &status, health.recorded_pid));
    }
    findings.extend(write_lock_finding(profile, &replica));
    findings.extend(edit_findings(&status));
    findings.extend(file_findings(&replica)?);
    Ok((findings, status))
}

/// The findings on files of documents that are not as they should be.
fn file_findings(replica: &Replica) -> Result<Vec<Finding>, StoreError> {
    let counts = replica.file_counts()?;
    let mut findings = Vec::new();
    let mut warn = |number: i64, text: &str, next: &str| {
        if number > 0 {
            let text = format!("{} {text}", count(number, "file", "files"));
            findings.push(Finding::new(Topic::Files, Severity::Warning, text, next));
        }
    };
    warn(
        counts.missing,
        "of documents missing: the bytes are not on this device, and the server may not have them either",
        FETCH_FILES,
    );
    warn(counts.damaged, "of documents damaged", FETCH_FILES);
    warn(counts.refused, "of documents refused by the server", "hearth-replica edits");
    let folder = replica.files_folder();
    if counts.present + counts.waiting + counts.refused > 0 && !folder.is_dir() {
        let text = format!("the folder {} with the files of documents is gone", folder.display());
        findings.push(Finding::new(Topic::Files, Severity::Warning, text, "hearth-replica files verify"));
    }
    Ok(findings)
}

/// The finding on a write lock that another program holds. Reading alone does not show the lock.
fn write_lock_finding(profile: &Profile, replica: &Replica) -> Option<Finding> {
    match connection::check_writable(&mut replica.connection.borrow_mut()) {
        Err(error) if error.is_busy() => Some(unreadable_finding(profile, &error)),
        // Faults of the disk are reported with the files.
        _ => None,
    }
}

fn unreadable_finding(profile: &Profile, error: &StoreError) -> Finding {
    let diagnosis = diagnose(&profile.db, error);
    let topic = match diagnosis.cause {
        Cause::Newer | Cause::Foreign => Topic::Setup,
        Cause::Damaged => Topic::Database,
        Cause::NoAccess | Cause::Moved | Cause::NoLocks => Topic::Files,
        Cause::Busy => Topic::Process,
        Cause::DiskFull | Cause::DiskUnwritable => Topic::Disk,
        Cause::Other if error.is_refused_by_user_object() || error.is_refused_statement() => Topic::Database,
        Cause::Other if matches!(error, StoreError::Migration(_)) => Topic::Setup,
        // Not damaged and not full: the disk itself fails.
        Cause::Other => {
            let text = format!("{}; the database cannot be examined now", diagnosis.text);
            return Finding::fault(Topic::Disk, text, free_space_advice(&profile.db));
        }
    };
    Finding::fault(topic, diagnosis.text, diagnosis.next)
}

fn process_finding(profile: &Profile, status: &Status, recorded_pid: Option<i64>) -> Finding {
    let db = &profile.db;
    let run = match profile.systemd_unit() {
        Some(unit) => format!("hearth-replica run, or systemctl --user start {unit}"),
        None => "hearth-replica run".to_owned(),
    };
    let pid = SyncLock::holder(db);
    let holder = pid.map_or("a process".to_owned(), |pid| format!("process {pid}"));
    let last = status.last_contact_at.as_deref().map_or("never".to_owned(), |at| format!("at {at}"));
    let is_held = SyncLock::is_held(db);
    if let Some(pid) = pid.filter(|pid| is_held && is_stopped(*pid)) {
        let text = format!("{holder} holds the sync lock but is stopped; last contact with the server: {last}");
        let next = format!("kill -CONT {pid}, to continue it; or kill -KILL {pid}, then: {run}");
        return Finding::new(Topic::Process, Severity::Warning, text, next);
    }
    match (is_held, recorded_pid) {
        (true, Some(_)) if is_silent(db, status) => Finding::new(
            Topic::Process,
            Severity::Warning,
            format!("{holder} holds the sync lock but does not respond; last contact with the server: {last}"),
            // A machine that was asleep looks the same, so the check is repeated first.
            format!("hearth-replica doctor again in two minutes; if it says the same: end {holder}, then: {run}"),
        ),
        (true, _) if status.is_in_contact() => {
            Finding::ok(Topic::Process, format!("{holder} keeps the replica in step, {}", status.phase))
        }
        (true, _) => {
            let phase = status.phase.as_str().replace('_', " ");
            let since = status.offline_since.as_deref().filter(|_| status.is_under_way());
            let since = since.map(|since| format!(", without contact since {since}")).unwrap_or_default();
            Finding::ok(Topic::Process, format!("{holder} holds the sync lock; {phase}{since}"))
        }
        (false, Some(pid)) => Finding::new(
            Topic::Process,
            Severity::Warning,
            format!("process {pid} synced and was killed; no process syncs now; last contact with the server: {last}"),
            run,
        ),
        (false, None) => Finding::new(
            Topic::Process,
            Severity::Note,
            format!("no process syncs now; last contact with the server: {last}"),
            run,
        ),
    }
}

/// True when the process is stopped (SIGSTOP), by /proc.
pub fn is_stopped(pid: u32) -> bool {
    let state = |text: String| text.rsplit_once(") ").and_then(|(_, more)| more.chars().next());
    std::fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(state) == Some('T')
}

/// True when a process that started long enough ago has had no contact since, and has saved no failed attempt.
fn is_silent(db: &Path, status: &Status) -> bool {
    let now = crate::sync::wall_clock().seconds();
    let heard = status.last_contact_at.as_deref().and_then(hearth_contract::formats::Timestamp::parse);
    let is_long_ago = |seconds: i64| now - seconds > SILENT_SECONDS;
    (status.phase == Phase::Offline || status.is_under_way())
        && !status.has_failed_attempt()
        && heard.is_none_or(|at| is_long_ago(at.seconds()))
        && SyncLock::taken_at(db).is_none_or(|at| is_long_ago(at.seconds()))
}

fn edit_findings(status: &Status) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(held) = &status.held_changes {
        findings.push(Finding::fault(Topic::Edits, held.question(), HELD_CHANGES_ADVICE));
    }
    if status.edits_to_decide() > 0 {
        let text = format!("{} for you to decide on", count(status.edits_to_decide(), "edit waits", "edits wait"));
        findings.push(Finding::fault(Topic::Edits, text, "hearth-replica edits"));
    }
    let oldest = status.oldest_waiting_at.as_deref().and_then(hearth_contract::formats::Timestamp::parse);
    let age = oldest.map_or(0, |at| crate::sync::wall_clock().seconds() - at.seconds());
    if status.waiting > 0 {
        let severity = if age > WAITING_SECONDS { Severity::Warning } else { Severity::Note };
        let text = format!(
            "{} the way, the oldest for {}",
            count(status.waiting, "edit is on", "edits are on"),
            duration_text(age)
        );
        findings.push(Finding::new(Topic::Edits, severity, text, "hearth-replica sync --until-pushed"));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(Topic::Edits, "no local change waits"));
    }
    findings
}

/// The finding on the distance to the server. `is_key_accepted`: the server accepts the key now, whatever an earlier sync
/// was told.
pub(super) fn feed_finding(profile: &Profile, status: &Status, is_key_accepted: bool) -> Finding {
    // A question to a person and a stopped sync block all else.
    halt_finding(profile, status, is_key_accepted)
        .or_else(|| retention_finding(status))
        .unwrap_or_else(|| distance_finding(status))
}

/// The finding on a sync that waits for a person, or on an unfinished comparison.
fn halt_finding(profile: &Profile, status: &Status, is_key_accepted: bool) -> Option<Finding> {
    let note = |text: &str, next: &str| Some(Finding::new(Topic::Feed, Severity::Note, text, next));
    match status.phase {
        Phase::Paused => note("paused by a person; edits wait", "hearth-replica resume"),
        Phase::Reconciling => {
            let delay = delay_text(status);
            note(&format!("the comparison with the server is not finished; the next sync continues it{delay}"), SYNC)
        }
        phase @ (Phase::NeedsKey | Phase::Blocked) => {
            let reason = status.reason.as_deref().unwrap_or("no reason is known");
            let text = format!("{}: {reason}", phase.as_str().replace('_', " "));
            let next = match phase {
                Phase::NeedsKey => other_process_key_advice(&profile.db),
                _ => block_advice(&profile.db, status.blocked_by),
            };
            Some(match next {
                Some(next) => Finding::fault(Topic::Feed, text, next),
                None if is_key_accepted => {
                    Finding::new(Topic::Feed, Severity::Warning, format!("{text}; the present key is accepted"), SYNC)
                }
                None => Finding::fault(Topic::Feed, text, new_key_advice(profile)),
            })
        }
        _ => None,
    }
}

/// The finding on history that the server has trimmed, or trims soon.
fn retention_finding(status: &Status) -> Option<Finding> {
    let text = match status.retention_left_seconds? {
        0 => "offline for longer than the server keeps history: the next sync compares all records".to_owned(),
        left if is_retention_low(left, status.behind_seconds.unwrap_or_default()) => format!(
            "in {} the server trims the history after this replica's position; after that a sync compares all \
             records",
            duration_text(left)
        ),
        _ => return None,
    };
    Some(Finding::new(Topic::Feed, Severity::Warning, text, SYNC))
}

/// The finding on the time since the replica was last proven current.
fn distance_finding(status: &Status) -> Finding {
    let delay = delay_text(status);
    let text = match (status.phase, status.behind_seconds) {
        (Phase::New, _) => "nothing was downloaded from the server yet".to_owned(),
        (Phase::Live | Phase::Polling, Some(0)) => {
            return Finding::ok(Topic::Feed, format!("in step at position {}", status.position));
        }
        (_, Some(behind)) => format!("last proven in step {} ago{delay}", duration_text(behind)),
        (_, None) => format!("never yet in step with the server{delay}"),
    };
    Finding::new(Topic::Feed, Severity::Note, text, SYNC)
}

/// True when little time is left until the server trims the history after the replica's position.
fn is_retention_low(left: i64, behind: i64) -> bool {
    behind > 0 && left < RETENTION_SECONDS_LOW.min((left + behind) / 2)
}

/// Why a running sync is not current yet. Empty when no process syncs.
fn delay_text(status: &Status) -> String {
    let is_kept = status.phase == Phase::Offline || status.is_under_way();
    let reason = status.reason.as_ref().filter(|_| is_kept && status.daemon_pid.is_some());
    reason.map(|reason| format!("; {}: {reason}", status.phase)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feed_finding_tells_delay_of_running_sync() {
        let profile = Profile::locate("home", Some(&std::env::temp_dir().join("hearth-doctor.db")), true).unwrap();
        let finding = |phase: Phase, daemon_pid| {
            let (reason, behind_seconds) = (Some("the list is broken".to_owned()), Some(600));
            let status = Status { phase, reason, behind_seconds, daemon_pid, ..Status::default() };
            feed_finding(&profile, &status, false)
        };
        for phase in [Phase::Offline, Phase::Reconciling, Phase::Backfilling] {
            assert!(finding(phase, Some(1)).text.ends_with(&format!("; {phase}: the list is broken")), "{phase}");
            assert!(!finding(phase, None).text.contains("the list is broken"), "{phase}");
        }
        assert_eq!(finding(Phase::CatchingUp, Some(1)).text, "last proven in step 10 minutes ago");
    }

    #[test]
    fn silent_process_is_detected_per_phase() {
        let directory = tempfile::tempdir().unwrap();
        let is_silent_in = |phase: Phase, next_attempt_at: Option<&str>| {
            let status = Status {
                phase,
                last_contact_at: Some("2026-01-01T00:00:00.000Z".to_owned()),
                next_attempt_at: next_attempt_at.map(str::to_owned),
                ..Status::default()
            };
            is_silent(&directory.path().join("replica.db"), &status)
        };
        assert!(
            [Phase::Offline, Phase::Reconciling, Phase::Backfilling].into_iter().all(|phase| is_silent_in(phase, None))
        );
        assert!(!is_silent_in(Phase::Reconciling, Some("2026-01-01T00:01:00.000Z")), "it says when it tries again");
        assert!(
            ![Phase::Paused, Phase::NeedsKey, Phase::Blocked].into_iter().any(|phase| is_silent_in(phase, None)),
            "it waits for a person"
        );
    }

    #[test]
    fn low_retention_depends_on_length() {
        let (hour, day) = (3600, 86_400);
        assert!(!is_retention_low(hour - 1, 1), "a server that remembers an hour, a second ago");
        assert!(is_retention_low(hour / 2 - 1, hour / 2 + 1));
        assert!(!is_retention_low(day + 1, 29 * day - 1));
        assert!(is_retention_low(day - 1, 29 * day + 1));
        assert!(!is_retention_low(3, 0), "in step at this moment");
    }
}
