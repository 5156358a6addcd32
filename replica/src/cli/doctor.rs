//! `doctor`: what is wrong and what to type about it. Must not look for faults itself.

use std::path::Path;

use hearth_replica::doctor::{Finding, Grade, Matter, examine, examine_unread};
use hearth_replica::profile::{Profile, ProfileError};
use hearth_replica::{Origin, Replica};
use serde_json::{Value, json};

use super::goal::stopped;
use super::{Context, Exit, Failure, output, runtime};

/// Looks at everything; the exit code is that of the worst finding.
pub(super) fn run(context: &Context) -> Result<(), Failure> {
    let findings = runtime::block_on(async { Ok(examine(&context.profile).await) })?;
    tell(&context.profile, &findings, context.json, hearth_replica::is_there(&context.profile.db))
}

/// The same of a profile that cannot be read.
pub(super) fn of_no_profile(name: &str, db: Option<&Path>, error: &ProfileError, json: bool) -> Result<(), Failure> {
    let profile = Profile::locate(name, db, false)?;
    tell(&profile, &examine_unread(&profile, error), json, true)
}

/// Tells what was found; `is_there` says whether there is a replica at all.
fn tell(profile: &Profile, findings: &[Finding], json: bool, is_there: bool) -> Result<(), Failure> {
    if json {
        let all = findings.iter().map(|finding| {
            json!({
                "matter": finding.matter.as_str(), "grade": finding.grade.as_str(), "text": finding.text,
                "next": finding.next.as_deref().map(output::addressed),
            })
        });
        output::json(&Value::Array(all.collect()))?;
    } else {
        for Finding { matter, grade, text, next } in findings {
            let head = format!("{:<9}{:<10}", grade.as_str(), matter.as_str());
            let head = if *grade >= Grade::Warning { output::bold(&head) } else { head };
            output::line(&format!("{head}{}", output::one_line(text)))?;
            if let Some(next) = next {
                output::line(&format!("{:19}next: {}", "", output::addressed(&output::one_line(next))))?;
            }
        }
    }
    // Of those that are equally bad the first: what is found later may come of it.
    let bad = findings.iter().filter(|finding| finding.grade >= Grade::Warning);
    let Some(worst) = bad.rev().max_by_key(|finding| rank(finding)) else { return Ok(()) };
    let count = findings.iter().filter(|finding| finding.grade >= Grade::Warning).count();
    let things = if count == 1 { "1 thing needs".to_owned() } else { format!("{count} things need") };
    let text = format!("{things} you; the worst: {}", output::one_line(&worst.text));
    let is_set_up = is_there && worst.text != profile.no_server();
    let exit = if is_set_up { exit(worst, &profile.db) } else { Exit::NotFound };
    let failure = Failure::new(exit, text);
    Err(match &worst.next {
        Some(next) => failure.hint(next.clone()),
        None => failure,
    })
}

/// Worse is greater: first how bad it is, then how much else it stands in the way of.
fn rank(finding: &Finding) -> (Grade, u8) {
    let reach = match finding.matter {
        Matter::Database => 9,
        Matter::Setup => 8,
        Matter::Disk => 7,
        Matter::Key => 6,
        Matter::Server => 5,
        Matter::Edits => 4,
        Matter::Feed => 3,
        Matter::Process => 2,
        Matter::Files | Matter::Clock => 1,
    };
    (finding.grade, reach)
}

fn exit(finding: &Finding, db: &Path) -> Exit {
    let is_fault = finding.grade == Grade::Fault;
    match finding.matter {
        Matter::Database if is_fault => Exit::DatabaseDamaged,
        Matter::Key => Exit::Key,
        Matter::Server => Exit::Unreachable,
        Matter::Edits if is_fault => Exit::NeedsYou,
        Matter::Edits => Exit::StillWaiting,
        // As a sync says of the same.
        Matter::Feed if is_fault => {
            let status = Replica::open(db, Origin::Cli).and_then(|replica| replica.status());
            status.ok().and_then(|status| stopped(db, &status)).map_or(Exit::Failure, |failure| failure.exit)
        }
        _ => Exit::Failure,
    }
}
