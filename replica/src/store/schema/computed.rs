//! The columns of a task that follow from others, as SQL: `completed_at` from the status, and the anchor of its series. The
//! rule is that of `hearth_contract::recurrence::set_computed`. A trigger writes them at once, and the edit contains them, so
//! the row shows what the server will show. Must not know the next task.

use hearth_contract::recurrence::{ANCHOR, COMPLETED_AT, DONE, SERIES_FIELDS, STATUS};
use hearth_contract::schema::{Field, Presence, Resource};

use super::trigger_sql::set_by_server;
use super::trigger_sql::{CLOSED, LOWER_GATE, RAISE_GATE, trigger};
use crate::store::sql_words::NOW;

/// The statement that fires a trigger.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Statement {
    Insert,
    Update,
}

/// SQL condition: the statement may not write a column that is not writable in general; and the message to the writer.
/// `completed_at` may be written by the statement that completes the task.
pub(super) fn unwritable(field: &Field, statement: Statement) -> (String, String) {
    let name = field.name;
    match field.presence {
        Presence::OnCompletion => (
            format!("NOT ({})", completes(statement)),
            format!("{name} is set by the server; it can be written only by the statement that sets {STATUS} {DONE}"),
        ),
        _ => ("NOT (0)".to_owned(), set_by_server(name)),
    }
}

/// SQL condition: the statement completes the task. A NULL in an INSERT stands for the default.
fn completes(statement: Statement) -> String {
    match statement {
        Statement::Insert => format!("NEW.{STATUS} IS '{DONE}'"),
        Statement::Update => format!("NEW.{STATUS} IS '{DONE}' AND OLD.{STATUS} IS NOT '{DONE}'"),
    }
}

/// The computed columns of a kind with their values after the statement. Empty for every kind but the task. After an INSERT,
/// the values follow from the row, in which NULL is replaced by the default.
fn columns(resource: &Resource, statement: Statement) -> Vec<(&'static str, String)> {
    if resource.field(ANCHOR).is_none() {
        return Vec::new();
    }
    let (row, kept) = match statement {
        Statement::Insert => ("", String::new()),
        Statement::Update => ("NEW.", format!(" WHEN OLD.{STATUS} = '{DONE}' THEN OLD.{COMPLETED_AT}")),
    };
    let completed_at =
        format!("CASE WHEN {row}{STATUS} <> '{DONE}' THEN NULL{kept} ELSE coalesce({row}{COMPLETED_AT}, {NOW}) END");
    let begun = format!("CASE WHEN {row}recurrence IS NOT NULL THEN {row}due_on END");
    let anchor = match statement {
        Statement::Insert => begun,
        Statement::Update => {
            let is_changed = SERIES_FIELDS.map(|name| format!("NEW.{name} IS NOT OLD.{name}")).join(" OR ");
            format!("CASE WHEN {is_changed} THEN {begun} ELSE OLD.{ANCHOR} END")
        }
    };
    vec![(COMPLETED_AT, completed_at), (ANCHOR, anchor)]
}

/// Rows for the edit of an UPDATE, to append to a UNION: name, value after and value before of each computed column that
/// changes.
pub(super) fn changed_rows(resource: &Resource) -> String {
    let columns = columns(resource, Statement::Update).into_iter();
    let rows = columns.map(|(name, value)| {
        format!("\n    UNION ALL SELECT '{name}', v, OLD.{name} FROM (SELECT {value} AS v) WHERE v IS NOT OLD.{name}")
    });
    rows.collect()
}

/// The statement that writes the computed columns, if they differ. For a trigger whose gate is raised.
pub(super) fn set_columns(resource: &Resource, statement: Statement) -> Option<String> {
    let columns = columns(resource, statement);
    if columns.is_empty() {
        return None;
    }
    let set: Vec<String> = columns.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let differs = differs(&columns, "");
    Some(format!("UPDATE {} SET {} WHERE id = NEW.id AND ({differs});", resource.kind.collection(), set.join(", ")))
}

/// SQL condition: a computed column of a row has another value.
fn differs(columns: &[(&str, String)], row: &str) -> String {
    columns.iter().map(|(name, value)| format!("{row}{name} IS NOT ({value})")).collect::<Vec<_>>().join(" OR ")
}

/// The trigger that writes the computed columns after an UPDATE.
pub(super) fn after_update(resource: &Resource) -> Option<String> {
    let set = set_columns(resource, Statement::Update)?;
    let condition = format!("{CLOSED} AND ({})", differs(&columns(resource, Statement::Update), "NEW."));
    let body = [RAISE_GATE.to_owned(), set, LOWER_GATE.to_owned()];
    Some(trigger(resource, "compute", "AFTER UPDATE", &condition, &body))
}

/// Notes the edit that was just queued, if it completes a task of a series: a program of Hearth makes the next task, because
/// SQL cannot compute its id.
pub(super) fn note_completion(resource: &Resource, statement: Statement) -> Option<String> {
    resource.field(ANCHOR)?;
    let completes = match statement {
        Statement::Insert => format!("patch ->> '$.{STATUS}' = '{DONE}' AND patch ->> '$.recurrence' IS NOT NULL"),
        Statement::Update => format!("{} AND NEW.recurrence IS NOT NULL", completes(statement)),
    };
    Some(format!(
        "INSERT INTO _outbox (edit_id, completes)\n  SELECT id, record_id FROM edits WHERE id = last_insert_rowid() AND \
         {completes};"
    ))
}
