//! `doctor`: prints the findings on a replica. Must not look for faults itself.

use std::path::Path;

use hearth_replica::doctor::{Finding, Severity, Topic, examine, examine_without_profile};
use hearth_replica::profile::{Profile, ProfileError};
use hearth_replica::{Origin, Replica};
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::sync_goal::halt_failure;
use super::{output, runtime, text};

/// Examines everything. The worst finding decides the exit code.
pub(super) fn run(context: &Context) -> Result<(), Failure> {
    let findings = runtime::block_on(async { Ok(examine(&context.profile).await) })?;
    report(&context.profile.db, &findings, context.json, hearth_replica::database_exists(&context.profile.db))
}

/// Examines a home whose profile cannot be read.
pub(super) fn run_without_profile(
    name: &str,
    db: Option<&Path>,
    error: &ProfileError,
    json: bool,
) -> Result<(), Failure> {
    let profile = Profile::locate(name, db, false)?;
    report(&profile.db, &examine_without_profile(&profile, error), json, true)
}

/// Prints the findings. `is_there`: a replica exists; otherwise the exit code is `NotFound`.
fn report(db: &Path, findings: &[Finding], json: bool, is_there: bool) -> Result<(), Failure> {
    if json {
        let all = findings.iter().map(|finding| {
            json!({
                "matter": finding.topic, "grade": finding.severity, "text": finding.text,
                "next": finding.next.as_deref().map(output::with_home_flags),
            })
        });
        output::json(&all.collect::<Vec<_>>())?;
    } else {
        for Finding { topic, severity, text, next, .. } in findings {
            let head = format!("{:<9}{:<10}", severity.as_str(), topic.as_str());
            let head = if *severity >= Severity::Warning { output::bold(&head) } else { head };
            output::line(&format!("{head}{}", text::one_line(text)))?;
            if let Some(next) = next {
                output::line(&format!("{:19}next: {}", "", output::with_home_flags(&text::one_line(next))))?;
            }
        }
    }
    // Of equally bad findings the first counts, because later findings may be consequences.
    let bad = findings.iter().filter(|finding| finding.severity >= Severity::Warning);
    let Some(worst) = bad.rev().max_by_key(|finding| priority(finding)) else { return Ok(()) };
    let count = findings.iter().filter(|finding| finding.severity >= Severity::Warning).count();
    let things = if count == 1 { "1 thing needs".to_owned() } else { format!("{count} things need") };
    let text = format!("{things} you; the worst: {}", text::one_line(&worst.text));
    let is_set_up = is_there && !worst.is_server_missing;
    let exit = if is_set_up { exit_code(worst, db) } else { Exit::NotFound };
    let mut failure = Failure::new(exit, text);
    failure.next = worst.next.clone();
    Err(failure)
}

/// The order of findings: by severity, then by how many other functions the fault blocks.
fn priority(finding: &Finding) -> (Severity, u8) {
    let reach = match finding.topic {
        Topic::Database => 9,
        Topic::Setup => 8,
        Topic::Disk => 7,
        Topic::Key => 6,
        Topic::Server => 5,
        Topic::Edits => 4,
        Topic::Feed => 3,
        Topic::Process => 2,
        Topic::Files | Topic::Clock => 1,
    };
    (finding.severity, reach)
}

fn exit_code(finding: &Finding, db: &Path) -> Exit {
    let is_fault = finding.severity == Severity::Fault;
    match finding.topic {
        Topic::Database if is_fault => Exit::DatabaseDamaged,
        Topic::Key => Exit::Key,
        Topic::Server => Exit::Unreachable,
        Topic::Edits if is_fault => Exit::NeedsYou,
        Topic::Edits => Exit::StillWaiting,
        // The same exit code as from `sync`.
        Topic::Feed if is_fault => {
            let status = Replica::open(db, Origin::Cli).and_then(|replica| replica.status());
            status.ok().and_then(|status| halt_failure(db, &status)).map_or(Exit::Failure, |failure| failure.exit)
        }
        _ => Exit::Failure,
    }
}
