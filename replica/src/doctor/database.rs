//! The database's file, its tables, its edits, and who syncs it.

use std::path::Path;

use super::trouble::{Cause, WITHOUT, after_block, make_room, trouble, without_unique};
use super::{Finding, Grade, Matter, REBUILD, another_key, count, first_step, key_elsewhere, size, span};
use crate::model::Phase;
use crate::profile::Profile;
use crate::store::StoreError;
use crate::store::health::{self, Health};
use crate::store::schema::user_objects::{broken_triggers, explain_refusal, is_typed_table, refusing_objects};
use crate::store::{connection, open};
use crate::sync::SyncLock;
use crate::{Origin, Replica, Status};

/// An edit that is on its way for longer than this is worth a word.
const WAITING_SECONDS: i64 = 3600;
/// A process that syncs gives a sign of life more often than this, on the slowest server too.
const SILENT_SECONDS: i64 = 120;
/// When this little is left of the server's memory, or half of a shorter one, somebody should sync.
const RETENTION_SECONDS_LOW: i64 = 24 * 3600;

/// What was seen of it.
#[derive(Default)]
pub(super) struct Seen {
    pub findings: Vec<Finding>,
    /// The home it is of.
    pub home_id: Option<String>,
    /// How it stands, as far as that can be read.
    pub status: Option<Status>,
}

/// Looks at it.
pub(super) fn examine(profile: &Profile) -> Seen {
    let db = &profile.db;
    if !crate::is_there(db) {
        let (text, first) = (format!("there is no replica at {}", db.display()), first_step(profile));
        let (text, next) = match crate::is_gone(db) {
            true => (
                format!("{text} any more; edits that only it held are gone with it"),
                format!("put it back, or {first}"),
            ),
            false => (text, first.to_owned()),
        };
        return Seen { findings: vec![Finding::fault(Matter::Setup, text, next)], ..Seen::default() };
    }
    let health = match health::examine(db) {
        Ok(health) => health,
        Err(error) => {
            // To look at an index evaluates it too.
            let error = match open::read_write(db) {
                Ok(connection) => explain_refusal(&connection, error),
                Err(_) => error,
            };
            return Seen { findings: vec![unreadable(profile, &error)], ..Seen::default() };
        }
    };
    let fault = unsound(&health);
    // What is wrong with the tables is no reason to be silent about edits that wait, as far as these can be read.
    let (findings, status) = match (look(profile, &health, fault.is_none()), fault) {
        (Ok((findings, status)), fault) => (fault.into_iter().chain(findings).collect(), Some(status)),
        (Err(_), Some(fault)) => (vec![fault], None),
        (Err(error), None) => (vec![unreadable(profile, &error)], None),
    };
    Seen { findings, home_id: health.home_id, status }
}

/// What is not as this version makes it.
fn unsound(health: &Health) -> Option<Finding> {
    if !health.broken.is_empty() {
        let text = format!("the database is damaged: {}", health.broken.join("; "));
        return Some(Finding::fault(Matter::Database, text, REBUILD));
    }
    if !health.missing.is_empty() {
        let text = format!("the database lacks {}; changes may go unnoticed", health.missing.join(", "));
        return Some(Finding::fault(Matter::Database, text, REBUILD));
    }
    if !health.search_complete {
        let text =
            "search does not hold what the tables hold, because something else wrote to it; not every record is found";
        return Some(Finding::new(Matter::Database, Grade::Warning, text, "hearth-replica verify --repair"));
    }
    None
}

/// What there is in it, and how it stands.
fn look(profile: &Profile, health: &Health, is_sound: bool) -> Result<(Vec<Finding>, Status), StoreError> {
    let replica = Replica::open(&profile.db, Origin::Cli)?;
    let status = replica.status()?;
    let mut findings = Vec::new();
    if is_sound {
        let tally = replica.tally()?;
        let records = count(tally.records.iter().map(|(_, count)| count).sum(), "record", "records");
        let text = format!(
            "sound, {records}, {}, schema {}",
            size(tally.database_bytes + tally.wal_bytes),
            status.schema_version
        );
        findings.push(Finding::fine(Matter::Database, text));
    }
    if health.broken.is_empty() && health.missing.is_empty() {
        findings.extend(made_by_others(&profile.db, health)?);
    }
    findings.push(process(profile, &status, health.recorded_pid));
    findings.extend(held(profile, &replica));
    findings.extend(edits(&status));
    Ok((findings, status))
}

/// Whether another program keeps everybody from writing. Reading shows nothing of that.
fn held(profile: &Profile, replica: &Replica) -> Option<Finding> {
    match connection::check_writable(&mut replica.connection.borrow_mut()) {
        Err(error) if error.is_busy() => Some(unreadable(profile, &error)),
        // What is wrong with the disk is told with it.
        _ => None,
    }
}

/// What somebody has made in it that the sync meets.
fn made_by_others(db: &Path, health: &Health) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    findings.extend(health.ungated.iter().map(|(name, table)| {
        let (when, next) = if is_typed_table(table) {
            (
                "fires on what the sync writes too",
                "DROP TRIGGER, and make it anew with WHEN (SELECT open FROM _gate) = 0",
            )
        } else {
            ("fires while the replica keeps its tables", "DROP TRIGGER, and make it anew on the table of the records")
        };
        let text = format!(
            "the trigger {name} on {table} is not the replica's own and {when}; what it changes then is no edit and is \
             sent nowhere"
        );
        Finding::new(Matter::Database, Grade::Notice, text, next)
    }));
    findings.extend(health.unique.iter().map(|(name, table)| {
        let text = format!(
            "the UNIQUE index {name} on {table} is not the replica's own; no sync gets past two records of the server's \
             that are equal there"
        );
        Finding::new(Matter::Feed, Grade::Warning, text, without_unique(name))
    }));
    let connection = open::read_write(db)?;
    findings.extend(refusing_objects(&connection)?.into_iter().map(|what| {
        let text = format!("{what} is not the replica's own; no sync gets past a record that it refuses");
        Finding::new(Matter::Feed, Grade::Notice, text, format!("{WITHOUT}, if a sync fails by it"))
    }));
    findings.extend(broken_triggers(&connection)?.into_iter().map(|(what, said)| {
        let text = format!("nothing can be written because of {what}: {said}; no sync gets past that");
        Finding::new(Matter::Feed, Grade::Warning, text, WITHOUT)
    }));
    Ok(findings)
}

fn unreadable(profile: &Profile, error: &StoreError) -> Finding {
    let trouble = trouble(&profile.db, error);
    let (matter, text) = match trouble.cause {
        Cause::Newer | Cause::Foreign => (Matter::Setup, trouble.text),
        Cause::Damaged => (Matter::Database, trouble.text),
        Cause::Shut | Cause::Moved => (Matter::Files, trouble.text),
        Cause::Busy => (Matter::Process, trouble.text),
        Cause::Full | Cause::Unwritten => (Matter::Disk, trouble.text),
        Cause::Other
            if matches!(error, StoreError::RefusedByUserObject { .. } | StoreError::RefusedByUniqueIndex { .. })
                || error.is_refused_statement() =>
        {
            (Matter::Database, trouble.text)
        }
        Cause::Other if matches!(error, StoreError::Migration(_)) => (Matter::Setup, trouble.text),
        // Neither damaged nor short of room: the disk does not do what it is told.
        Cause::Other => {
            let text = format!("{}; it cannot be looked at now", trouble.text);
            return Finding::fault(Matter::Disk, text, make_room(&profile.db));
        }
    };
    Finding::fault(matter, text, trouble.next)
}

fn process(profile: &Profile, status: &Status, said_pid: Option<i64>) -> Finding {
    let db = &profile.db;
    let run = match profile.unit() {
        Some(unit) => format!("hearth-replica run, or systemctl --user start {unit}"),
        None => "hearth-replica run".to_owned(),
    };
    let pid = SyncLock::holder(db);
    let holder = pid.map_or("a process".to_owned(), |pid| format!("process {pid}"));
    let last = status.last_contact_at.as_deref().map_or("never".to_owned(), |at| format!("at {at}"));
    let is_held = SyncLock::is_held(db);
    if let Some(pid) = pid.filter(|pid| is_held && is_stopped(*pid)) {
        let text = format!("{holder} has the right to sync but is stopped; the server was last heard {last}");
        let next = format!("kill -CONT {pid}, which has it go on; or kill -KILL {pid}, then: {run}");
        return Finding::new(Matter::Process, Grade::Warning, text, next);
    }
    match (is_held, said_pid) {
        (true, Some(_)) if is_silent(db, status) => Finding::new(
            Matter::Process,
            Grade::Warning,
            format!("{holder} has the right to sync but gives no sign of life; the server was last heard {last}"),
            // A machine that was asleep has been silent for as long.
            format!("hearth-replica doctor again in two minutes; if it says the same: end {holder}, then: {run}"),
        ),
        (true, _) if status.is_in_contact() => {
            Finding::fine(Matter::Process, format!("{holder} keeps it in step, {}", status.phase))
        }
        (true, _) => {
            let phase = status.phase.as_str().replace('_', " ");
            let since = status.offline_since.as_deref().filter(|_| status.is_under_way());
            let since = since.map(|since| format!(", without contact since {since}")).unwrap_or_default();
            Finding::fine(Matter::Process, format!("{holder} has the right to sync; {phase}{since}"))
        }
        (false, Some(pid)) => Finding::new(
            Matter::Process,
            Grade::Warning,
            format!("process {pid} synced and was killed; nothing syncs now, the server was last heard {last}"),
            run,
        ),
        (false, None) => Finding::new(
            Matter::Process,
            Grade::Notice,
            format!("nothing syncs at this moment; the server was last heard {last}"),
            run,
        ),
    }
}

/// Whether a process was told to stand still, as far as this system tells without asking it.
fn is_stopped(pid: u32) -> bool {
    let state = |text: String| text.rsplit_once(") ").and_then(|(_, more)| more.chars().next());
    std::fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(state) == Some('T')
}

/// Whether a process that began long enough ago has neither heard the server since nor says when it tries again.
fn is_silent(db: &Path, status: &Status) -> bool {
    let now = crate::sync::wall_clock().seconds();
    let heard = status.last_contact_at.as_deref().and_then(hearth_contract::formats::Timestamp::parse);
    let is_long_ago = |seconds: i64| now - seconds > SILENT_SECONDS;
    (status.phase == Phase::Offline || status.is_under_way())
        && status.next_attempt_at.is_none()
        && heard.is_none_or(|at| is_long_ago(at.seconds()))
        && SyncLock::taken_at(db).is_none_or(|at| is_long_ago(at.seconds()))
}

fn edits(status: &Status) -> Vec<Finding> {
    let mut findings = Vec::new();
    if status.edits_to_decide() > 0 {
        let text = format!("{} for you to decide on", count(status.edits_to_decide(), "edit waits", "edits wait"));
        findings.push(Finding::fault(Matter::Edits, text, "hearth-replica edits"));
    }
    let oldest = status.oldest_waiting_at.as_deref().and_then(hearth_contract::formats::Timestamp::parse);
    let age = oldest.map_or(0, |at| crate::sync::wall_clock().seconds() - at.seconds());
    if status.waiting > 0 {
        let grade = if age > WAITING_SECONDS { Grade::Warning } else { Grade::Notice };
        let text =
            format!("{} the way, the oldest for {}", count(status.waiting, "edit is on", "edits are on"), span(age));
        findings.push(Finding::new(Matter::Edits, grade, text, "hearth-replica sync --until-pushed"));
    }
    if findings.is_empty() {
        findings.push(Finding::fine(Matter::Edits, "no local change waits"));
    }
    findings
}

/// Whether it keeps up with the server, or what keeps it from that. `has_key`: the key is accepted for its home now, whatever
/// was said to whoever synced last.
pub(super) fn feed(profile: &Profile, status: &Status, has_key: bool) -> Finding {
    let sync = "hearth-replica sync --until-current";
    // What a person is asked, and what was stopped, stands in the way of everything else.
    match status.phase {
        phase @ (Phase::NeedsKey | Phase::Blocked) => {
            let reason = status.reason.as_deref().unwrap_or("no reason is known");
            let text = format!("{}: {reason}", phase.as_str().replace('_', " "));
            let next = match phase {
                Phase::NeedsKey => key_elsewhere(&profile.db),
                _ => after_block(&profile.db, status.blocked_by),
            };
            return match next {
                Some(next) => Finding::fault(Matter::Feed, text, next),
                None if has_key => {
                    let text = format!("{text}; the key of now is accepted");
                    Finding::new(Matter::Feed, Grade::Warning, text, sync)
                }
                None => Finding::fault(Matter::Feed, text, another_key(profile)),
            };
        }
        Phase::Paused => {
            return Finding::new(
                Matter::Feed,
                Grade::Notice,
                "paused by a person; edits wait",
                "hearth-replica resume",
            );
        }
        Phase::Reconciling => {
            let hitch = hitch(status);
            let text = format!("the comparison with the server is not finished; it goes on where it was{hitch}");
            return Finding::new(Matter::Feed, Grade::Notice, text, sync);
        }
        _ => {}
    }
    match status.retention_left_seconds {
        Some(0) => Finding::new(
            Matter::Feed,
            Grade::Warning,
            "away longer than the server remembers: the next sync compares everything",
            sync,
        ),
        Some(left) if is_low(left, status.behind_seconds.unwrap_or_default()) => Finding::new(
            Matter::Feed,
            Grade::Warning,
            format!(
                "in {} the server forgets where this replica stands; after that a sync compares everything",
                span(left)
            ),
            sync,
        ),
        _ => match (status.phase, status.behind_seconds) {
            (Phase::New, _) => Finding::new(Matter::Feed, Grade::Notice, "nothing was read from the server yet", sync),
            (Phase::Live | Phase::Polling, Some(0)) => {
                Finding::fine(Matter::Feed, format!("in step at position {}", status.position))
            }
            (_, Some(behind)) => {
                let text = format!("last proven in step {} ago{}", span(behind), hitch(status));
                Finding::new(Matter::Feed, Grade::Notice, text, sync)
            }
            (_, None) => {
                let text = format!("never yet in step with the server{}", hitch(status));
                Finding::new(Matter::Feed, Grade::Notice, text, sync)
            }
        },
    }
}

/// Whether little is left of what the server remembers; a replica in step is never at its end.
fn is_low(left: i64, behind: i64) -> bool {
    behind > 0 && left < RETENTION_SECONDS_LOW.min((left + behind) / 2)
}

/// What keeps whoever syncs from being in step. Of one that has ended nothing is kept from anything.
fn hitch(status: &Status) -> String {
    let is_kept = status.phase == Phase::Offline || status.is_under_way();
    let reason = status.reason.as_ref().filter(|_| is_kept && status.daemon_pid.is_some());
    reason.map(|reason| format!("; {}: {reason}", status.phase)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_a_replica_from_being_in_step_is_told() {
        let profile = Profile::locate("home", Some(&std::env::temp_dir().join("hearth-doctor.db")), true).unwrap();
        let told = |phase: Phase, daemon_pid| {
            let (reason, behind_seconds) = (Some("the list is broken".to_owned()), Some(600));
            let status = Status { phase, reason, behind_seconds, daemon_pid, ..Status::default() };
            feed(&profile, &status, false)
        };
        for phase in [Phase::Offline, Phase::Reconciling, Phase::Backfilling] {
            assert!(told(phase, Some(1)).text.ends_with(&format!("; {phase}: the list is broken")), "{phase}");
            assert!(!told(phase, None).text.contains("the list is broken"), "{phase}");
        }
        assert_eq!(told(Phase::CatchingUp, Some(1)).text, "last proven in step 10 minutes ago");
    }

    #[test]
    fn a_silent_process_is_none_that_compares() {
        let directory = tempfile::tempdir().unwrap();
        let told = |phase: Phase, next_attempt_at: Option<&str>| {
            let status = Status {
                phase,
                last_contact_at: Some("2026-01-01T00:00:00.000Z".to_owned()),
                next_attempt_at: next_attempt_at.map(str::to_owned),
                ..Status::default()
            };
            is_silent(&directory.path().join("replica.db"), &status)
        };
        assert!([Phase::Offline, Phase::Reconciling, Phase::Backfilling].into_iter().all(|phase| told(phase, None)));
        assert!(!told(Phase::Reconciling, Some("2026-01-01T00:01:00.000Z")), "it says when it tries again");
        assert!(
            ![Phase::Paused, Phase::NeedsKey, Phase::Blocked].into_iter().any(|phase| told(phase, None)),
            "it waits for a person"
        );
    }

    #[test]
    fn little_is_left_of_a_memory_by_its_length() {
        let (hour, day) = (3600, 86_400);
        assert!(!is_low(hour - 1, 1), "a server that remembers an hour, a second ago");
        assert!(is_low(hour / 2 - 1, hour / 2 + 1));
        assert!(!is_low(day + 1, 29 * day - 1));
        assert!(is_low(day - 1, 29 * day + 1));
        assert!(!is_low(3, 0), "in step at this moment");
    }
}
