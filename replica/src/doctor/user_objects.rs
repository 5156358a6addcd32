//! Examines the indexes, columns and triggers that other programs and people have added to the replica's tables. Must not
//! change any of them.

use std::path::Path;

use super::diagnosis::{REFUSING_OBJECT_ADVICE, unique_index_advice};
use super::finding::{Finding, Severity, Topic};
use crate::store::health::Health;
use crate::store::schema::user_objects::{broken_triggers, is_typed_table, refusing_objects};
use crate::store::trial_write::{RefusingTrigger, refusing_triggers};
use crate::store::{StoreError, open};

/// Findings on indexes and triggers of the user that get in the way of a sync.
pub(super) fn examine(db: &Path, health: &Health) -> Result<Vec<Finding>, StoreError> {
    let mut findings = Vec::new();
    findings.extend(health.ungated.iter().map(|trigger| {
        let (when, next) = if is_typed_table(&trigger.table) {
            (
                "also fires on writes of the sync",
                "DROP TRIGGER, then create it again with WHEN (SELECT open FROM _gate) = 0",
            )
        } else {
            (
                "fires while the replica maintains its tables",
                "DROP TRIGGER, then create it again on the table of the records",
            )
        };
        let text = format!(
            "{trigger} is not the replica's own and {when}; its changes are not edits and \
             are never sent"
        );
        Finding::new(Topic::Database, Severity::Note, text, next)
    }));
    findings.extend(health.on_protected.iter().map(|(trigger, table)| {
        let text = format!(
            "{trigger} is not the replica's own and writes to {table}, which only the replica may write; edits can be \
             refused, lost or sent wrongly"
        );
        Finding::new(Topic::Database, Severity::Warning, text, drop_trigger_advice(&trigger.name))
    }));
    findings.extend(health.unique.iter().map(|(name, table)| {
        let text = format!(
            "the UNIQUE index {name} on {table} is not the replica's own; a sync stops at two records of \
             the server with equal values there"
        );
        Finding::new(Topic::Feed, Severity::Warning, text, unique_index_advice(name))
    }));
    let connection = open::read_write(db)?;
    findings.extend(refusing_objects(&connection)?.into_iter().map(|object| {
        let text = format!("{object} is not the replica's own; a sync stops at a record that it refuses");
        Finding::new(Topic::Feed, Severity::Note, text, format!("{REFUSING_OBJECT_ADVICE}, if a sync fails by it"))
    }));
    let broken = broken_triggers(&connection)?;
    if broken.is_empty() {
        findings.extend(refusing_trigger_findings(db)?);
    }
    findings.extend(broken.into_iter().map(|(object, message)| {
        let text = format!("writes fail because of {object}: {message}; syncing stops");
        Finding::new(Topic::Feed, Severity::Warning, text, REFUSING_OBJECT_ADVICE)
    }));
    Ok(findings)
}

/// Findings on triggers of the user that make each sync fail.
pub(super) fn refusing_trigger_findings(db: &Path) -> Result<Vec<Finding>, StoreError> {
    let found = refusing_triggers(&mut open::read_write(db)?)?;
    let findings = found.into_iter().map(|RefusingTrigger { trigger, sentence }| {
        let text = format!("each sync fails because of {trigger}, which is not the replica's own: {sentence}");
        Finding::new(Topic::Feed, Severity::Warning, text, drop_trigger_advice(&trigger.name))
    });
    Ok(findings.collect())
}

fn drop_trigger_advice(name: &str) -> String {
    format!("DROP TRIGGER \"{}\"", name.replace('"', "\"\""))
}
