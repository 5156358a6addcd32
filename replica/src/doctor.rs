//! Finds faults of a replica and names the command to type next. Reads only, changes nothing. Must not decide how
//! findings are shown.
//!
//! - `files`: paths, file modes, free space. `database`: the file, its tables, its edits, the syncing process.
//!   `user_objects`: what others have added to the tables.
//! - `server`: whether the server answers, the key's scopes, the server's clock.
//! - `diagnosis`: why a database cannot be used; for every command.
//! - `finding`: the type of a result. `advice`: commands to type. `text`: sizes and durations as text.

mod advice;
mod database;
mod diagnosis;
mod files;
mod finding;
mod server;
mod text;
mod user_objects;

use crate::model::Phase;
use crate::profile::{Profile, ProfileError};

pub use advice::{
    DELETION_ADVICE, HELD_CHANGES_ADVICE, NEW_KEY_COMMAND, OTHER_HOME_ADVICE, REBUILD_COMMAND, REFILL_ADVICE,
    key_file_advice, new_key_advice, other_process_key_advice, setup_command,
};
pub use database::is_stopped;
pub use diagnosis::{Cause, Diagnosis, block_advice, diagnose, free_space_advice};
pub use files::{directory, key_file_warning, network_warning};
pub use finding::{Finding, Severity, Topic};
pub use server::{check_encryption, check_scopes};
pub use text::shell_quoted;

/// Examines files, database, server and key of a profile.
pub async fn examine(profile: &Profile) -> Vec<Finding> {
    let mut findings = files::examine(profile);
    let report = database::examine(profile);
    let phase = report.status.as_ref().map(|status| status.phase);
    if profile.server.is_none() && phase == Some(Phase::Local) {
        findings.extend(report.findings);
        findings.push(Finding::ok(Topic::Setup, "begun without a server: all data is on this machine"));
        return findings;
    }
    let server_findings = server::examine(profile, report.home_id.as_deref()).await;
    let is_key_accepted =
        server_findings.iter().any(|finding| finding.topic == Topic::Key && finding.severity == Severity::Ok);
    findings.extend(report.findings);
    findings.extend(report.status.map(|status| database::feed_finding(profile, &status, is_key_accepted)));
    findings.extend(server_findings);
    findings
}

/// Examines the files and the database of a profile whose own file cannot be read. `error` becomes the first finding.
pub fn examine_without_profile(profile: &Profile, error: &ProfileError) -> Vec<Finding> {
    let next = match error {
        ProfileError::Malformed(file, _) => format!("correct {}", file.display()),
        ProfileError::File(file, _) | ProfileError::Key(file, _) => format!("ls -l {}", shell_quoted(file)),
        ProfileError::Name(_) | ProfileError::NoHome => "hearth-replica --profile NAME".to_owned(),
    };
    // The first finding, because every other command fails with the same error until the profile is correct.
    let mut findings = vec![Finding::fault(Topic::Setup, error.to_string(), next)];
    findings.extend(files::examine(profile));
    let report = database::examine(profile);
    findings.extend(report.findings);
    let status = report.status.filter(|status| status.phase != Phase::Local);
    findings.extend(status.map(|status| database::feed_finding(profile, &status, false)));
    findings
}
