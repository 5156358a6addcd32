//! What is wrong with a replica, and what to type about it. Reads everything, changes nothing; must not decide how it
//! is shown.
//!
//! - [`files`]: places, modes, room on the disk. - [`database`]: the file, its tables, its edits, who syncs it.
//! - [`server`]: whether it answers, what it says of the key, what its clock says.
//! - [`mod@trouble`]: why a database cannot be used, for whoever tries.

mod advice;
mod database;
mod diagnosis;
mod files;
mod finding;
mod server;
mod text;

use crate::profile::{Profile, ProfileError};

pub use advice::{
    DELETION_ADVICE, NEW_KEY_COMMAND, OTHER_HOME_ADVICE, REBUILD_COMMAND, key_file_advice, new_key_advice,
    other_process_key_advice, setup_command,
};
pub(crate) use diagnosis::unwritten;
pub use diagnosis::{Cause, Diagnosis, block_advice, diagnose, free_space_advice};
pub use files::directory;
pub use finding::{Finding, Severity, Topic};
pub use server::{check_scopes, client_error_text};
pub use text::shell_quoted;

/// Looks at everything of a profile.
pub async fn examine(profile: &Profile) -> Vec<Finding> {
    let mut findings = files::examine(profile);
    let report = database::examine(profile);
    let server_findings = server::examine(profile, report.home_id.as_deref()).await;
    let is_key_accepted =
        server_findings.iter().any(|finding| finding.topic == Topic::Key && finding.severity == Severity::Ok);
    findings.extend(report.findings);
    findings.extend(report.status.map(|status| database::feed_finding(profile, &status, is_key_accepted)));
    findings.extend(server_findings);
    findings
}

/// Looks at what there is of a profile that could not be read, and why it could not.
pub fn examine_without_profile(profile: &Profile, error: &ProfileError) -> Vec<Finding> {
    let (topic, next) = match error {
        ProfileError::Key(file, _) => (Topic::Key, key_file_advice(file)),
        ProfileError::Malformed(file, _) => (Topic::Setup, format!("correct {}", file.display())),
        ProfileError::File(file, _) => (Topic::Setup, format!("ls -l {}", shell_quoted(file))),
        ProfileError::Name(_) | ProfileError::NoHome => (Topic::Setup, "hearth-replica --profile NAME".to_owned()),
    };
    // First: until it is right, every other command says the same, also those that would be advised about the rest.
    let mut findings = vec![Finding::fault(topic, error.to_string(), next)];
    findings.extend(files::examine(profile));
    let report = database::examine(profile);
    findings.extend(report.findings);
    findings.extend(report.status.map(|status| database::feed_finding(profile, &status, false)));
    findings
}
