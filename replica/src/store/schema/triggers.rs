//! The triggers of a typed table: they check values, queue an edit, and update `search`. Pure SQL for stock SQLite 3.40, because any program may write. Must not know who writes.
//!
//! A trigger body raises the gate by one and lowers it again. SQLite undoes a failed statement together with its triggers, so
//! the gate never stays open.

use hearth_contract::resources::RESOURCES;
use hearth_contract::schema::{Field, Format, IMPORT_REF, Kind, Presence, Resource, SUBJECT_ID, SUBJECT_TYPE};

use super::rules::Rule;
use super::table_sql::SERVER_COLUMNS;
use super::trigger_sql::{CLOSED, LOWER_GATE, RAISE_GATE, changed, set_by_server, trigger};
use super::{computed, rules, search};
use crate::store::base;
use crate::store::file_store::table::insert_wanted;
use crate::store::sql_words::NOW;

/// The CREATE TRIGGER statements of a typed table.
pub(crate) fn table_triggers(resource: &Resource) -> Vec<String> {
    let mut all = vec![before_insert(resource), queue_update(resource), before_update(resource)];
    if resource.kind.is_singleton() {
        all.push(refuse_delete(resource));
    } else {
        all.push(after_delete(resource));
        all.extend(clear_references(resource));
    }
    all.push(after_insert(resource));
    all.extend(computed::after_update(resource));
    all.extend(search::triggers(resource));
    all.extend(note_files(resource));
    all
}

/// The triggers that make the row of the file that a document names. Empty for the other kinds.
fn note_files(resource: &Resource) -> Vec<String> {
    if resource.kind != Kind::Document {
        return Vec::new();
    }
    let body = [RAISE_GATE.to_owned(), format!("{};", insert_wanted("d.id = NEW.id")), LOWER_GATE.to_owned()];
    let condition = format!("{CLOSED} AND NEW.file_sha256 IS NOT NULL");
    vec![
        trigger(resource, "file_insert", "AFTER INSERT", &condition, &body),
        trigger(resource, "file_update", "AFTER UPDATE OF file_sha256", &condition, &body),
    ]
}

/// The CREATE TRIGGER statements of a typed table that check the values of its columns.
pub(super) fn value_checks(resource: &Resource) -> [String; 2] {
    [before_insert(resource), before_update(resource)]
}

fn refuse(rule: &Rule) -> String {
    format!("SELECT RAISE(ABORT, '{}') WHERE {};", rule.sentence.replace('\'', "''"), rule.broken_when)
}

fn rule(broken_when: impl Into<String>, sentence: impl Into<String>) -> Rule {
    Rule { broken_when: broken_when.into(), sentence: sentence.into() }
}

fn before_insert(resource: &Resource) -> String {
    let table = resource.kind.collection();
    let kind = resource.kind.as_str();
    let mut body = Vec::new();
    if resource.kind.is_singleton() {
        body.push(refuse(&rule(
            format!("EXISTS (SELECT 1 FROM {table} WHERE id <> NEW.id)"),
            format!("there is one {table} and it has a row already; use UPDATE {table} SET ..."),
        )));
    }
    // SQLite replaces NULL by a new id after this trigger.
    let malformed_id = format!("NEW.id IS NOT NULL AND ({})", rules::not_canonical_id("NEW.id"));
    body.push(refuse(&rule(malformed_id, "id must be a UUID with hyphens, in lower case")));
    // The server never accepts an id twice (contract 6.1). The replica refuses the ids that it knows.
    let same = format!("kind = '{kind}' AND record_id = NEW.id");
    body.push(refuse(&rule(
        format!(
            "NOT EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id) AND ({} \
             OR EXISTS (SELECT 1 FROM edits WHERE {same}))",
            base::deleted_there(&format!("'{kind}'"), "NEW.id")
        ),
        "id was used before by a record that is deleted; leave it out to get a new one",
    )));
    for name in SERVER_COLUMNS {
        // The default of a time is the current time, which is constant within a statement.
        let or_now = if name.ends_with("_at") { format!(" AND NEW.{name} IS NOT {NOW}") } else { String::new() };
        body.push(refuse(&rule(format!("NEW.{name} IS NOT NULL{or_now}"), set_by_server(name))));
    }
    for field in resource.fields {
        if !field.is_writable() {
            let (unwritable, sentence) = computed::unwritable(field, computed::Statement::Insert);
            body.push(refuse(&rule(format!("NEW.{} IS NOT NULL AND {unwritable}", field.name), sentence)));
        }
        if field.is_sendable() {
            // NULL stands for the default.
            let has_default = matches!(field.presence, Presence::Default(_));
            body.extend(rules::field_rules(field).iter().skip(has_default.into()).map(refuse));
        }
    }
    body.extend(rules::subject_rules(resource).iter().map(refuse));
    body.extend(rules::import_ref_rule(resource).iter().map(refuse));
    // REPLACE and upsert both fire this trigger. When the row exists, by id or by rowid, an upsert fires BEFORE UPDATE next,
    // and a REPLACE fires AFTER INSERT, which finds the stored id. A stored id that no trigger reads is overwritten by the next
    // INSERT. Each table has its own member, because a person's trigger may insert into another table in between.
    body.push(format!(
        "UPDATE _gate SET existing_ids = json_set(CASE WHEN json_valid(existing_ids) THEN existing_ids ELSE '{{}}' END, \
         '$.{table}', coalesce((SELECT id FROM {table} WHERE id = NEW.id), (SELECT id FROM {table} WHERE rowid = NEW.rowid)));"
    ));
    trigger(resource, "before_insert", "BEFORE INSERT", CLOSED, &body)
}

fn before_update(resource: &Resource) -> String {
    let mut body = vec![
        refuse(&rule("NEW.id IS NOT OLD.id", "id never changes; insert a new row instead")),
        refuse(&rule("NEW.rowid IS NOT OLD.rowid", "rowid never changes; name the row by its id instead")),
    ];
    for name in SERVER_COLUMNS {
        body.push(refuse(&rule(format!("NEW.{name} IS NOT OLD.{name}"), set_by_server(name))));
    }
    for field in resource.fields {
        let changed = changed(field);
        if !field.is_writable() {
            let (unwritable, sentence) = computed::unwritable(field, computed::Statement::Update);
            body.push(refuse(&rule(format!("{changed} AND {unwritable}"), sentence)));
        }
        if !field.is_sendable() {
            continue;
        }
        // Only changed columns are checked: a value that a newer server allows must not prevent changes of other columns.
        for Rule { broken_when, sentence } in rules::field_rules(field) {
            body.push(refuse(&rule(format!("{changed} AND ({broken_when})"), sentence)));
        }
    }
    for Rule { broken_when, sentence } in rules::subject_rules(resource) {
        let touched = "(NEW.subject_type IS NOT OLD.subject_type OR NEW.subject_id IS NOT OLD.subject_id)";
        body.push(refuse(&rule(format!("{touched} AND ({broken_when})"), sentence)));
    }
    if let Some(Rule { broken_when, sentence }) = rules::import_ref_rule(resource) {
        body.push(refuse(&rule(format!("NEW.{IMPORT_REF} IS NOT OLD.{IMPORT_REF} AND {broken_when}"), sentence)));
    }
    trigger(resource, "before_update", "BEFORE UPDATE", CLOSED, &body)
}

fn after_insert(resource: &Resource) -> String {
    let table = resource.kind.collection();
    // Before SQLite chooses a rowid, NEW.rowid is -1. A row with the rowid -1 may be stored as existing and not be replaced.
    let replaced = format!("met IS NOT NULL AND (met = NEW.id OR NOT EXISTS (SELECT 1 FROM {table} WHERE id = met))");
    let mut body = vec![refuse(&rule(
        format!("(SELECT {replaced} FROM (SELECT existing_ids ->> '$.{table}' AS met FROM _gate))"),
        format!("REPLACE is not supported on {table}; use UPDATE, or INSERT ... ON CONFLICT(id) DO UPDATE"),
    ))];
    body.push(RAISE_GATE.to_owned());
    body.push(format!(
        "UPDATE {table} SET created_at = coalesce(created_at, {NOW}), updated_at = coalesce(updated_at, {NOW})\n  \
         WHERE id = NEW.id AND (created_at IS NULL OR updated_at IS NULL);"
    ));
    let mut id = "NEW.id".to_owned();
    let mut method = "create";
    if resource.kind.is_singleton() {
        // The id of the profile is the id of the home. The server creates the profile by the first PATCH.
        method = "update";
        id = "coalesce((SELECT home_id FROM _sync), NEW.id)".to_owned();
        body.push(format!("UPDATE {table} SET id = {id} WHERE id = NEW.id;"));
    }
    body.extend(computed::set_columns(resource, computed::Statement::Insert));
    // The values are read from the table: a person's trigger may have changed or deleted the row before this trigger.
    let all = resource.fields.iter();
    let set = field_rows(all, |field| Some(format!("t.{} IS NOT NULL", field.name)), &[("v", "t")]);
    let patch = format!("(SELECT json_group_object(n, v) FROM ({set}))");
    body.push(queue(resource, "t.id", method, &patch, "'{}'", &format!("{table} t WHERE t.id = {id}")));
    body.push(refuse_invalid_text());
    body.extend(computed::note_completion(resource, computed::Statement::Insert));
    body.push(LOWER_GATE.to_owned());
    trigger(resource, "after_insert", "AFTER INSERT", CLOSED, &body)
}

/// Queues the edit before the row changes: a change by a person's AFTER trigger is then a later edit of its own.
fn queue_update(resource: &Resource) -> String {
    let any = writable(resource).map(changed).collect::<Vec<_>>().join(" OR ");
    let mut set = field_rows(writable(resource), |field| Some(changed(field)), &[("v", "NEW"), ("w", "OLD")]);
    set.push_str(&computed::changed_rows(resource));
    let mut body = vec![
        RAISE_GATE.to_owned(),
        queue(resource, "OLD.id", "update", "json_group_object(n, v)", "json_group_object(n, w)", &format!("({set})")),
        refuse_invalid_text(),
    ];
    body.extend(computed::note_completion(resource, computed::Statement::Update));
    body.push(LOWER_GATE.to_owned());
    trigger(
        resource,
        "queue_update",
        "BEFORE UPDATE",
        &format!("{CLOSED} AND ({any}) AND {}", existed_before(resource)),
        &body,
    )
}

fn after_delete(resource: &Resource) -> String {
    let set = field_rows(writable(resource), |_| None, &[("w", "OLD")]);
    let body = [
        RAISE_GATE.to_owned(),
        queue(resource, "OLD.id", "delete", "'{}'", "json_group_object(n, w)", &format!("({set})")),
        LOWER_GATE.to_owned(),
    ];
    trigger(resource, "after_delete", "AFTER DELETE", &format!("{CLOSED} AND {}", existed_before(resource)), &body)
}

/// Clears the references to a record that is deleted in a home without a server, by ordinary updates before the delete
/// (contract 3). In other homes the server clears them. None when no record can refer to the kind.
fn clear_references(resource: &Resource) -> Option<String> {
    let kind = resource.kind;
    let mut body = Vec::new();
    for referring in &RESOURCES {
        let table = referring.kind.collection();
        for (_, field) in referring.relations().filter(|(name, _)| referring.targets(name).contains(&kind)) {
            body.push(match field.format {
                Format::Subject => format!(
                    "UPDATE {table} SET {SUBJECT_TYPE} = NULL, {SUBJECT_ID} = NULL\n  \
                     WHERE {SUBJECT_ID} = OLD.id AND {SUBJECT_TYPE} = '{kind}';"
                ),
                _ => format!("UPDATE {table} SET {0} = NULL WHERE {0} = OLD.id;", field.name),
            });
        }
    }
    let condition = format!("{CLOSED} AND (SELECT phase FROM _sync) = 'local'");
    (!body.is_empty()).then(|| trigger(resource, "clear_references", "BEFORE DELETE", &condition, &body))
}

/// The condition that the row existed before this statement. A row that is being inserted can only be changed by a person's
/// trigger, and the edit of the INSERT contains such a change.
fn existed_before(resource: &Resource) -> String {
    let kind = resource.kind.as_str();
    let on_server = base::on_server(resource.kind, "OLD.id");
    // A row with a revision is the server's, whatever another program has done to the base images.
    format!(
        "(OLD.rev IS NOT NULL OR {on_server} OR EXISTS (SELECT 1 FROM edits WHERE kind = '{kind}' AND record_id = OLD.id))"
    )
}

fn refuse_delete(resource: &Resource) -> String {
    let table = resource.kind.collection();
    let body = [refuse(&rule("1", format!("{table} cannot be deleted; set its columns to null instead")))];
    trigger(resource, "before_delete", "BEFORE DELETE", CLOSED, &body)
}

/// Inserts the edit into `edits`, with JSON objects for the new values and the values before.
fn queue(resource: &Resource, id: &str, method: &str, patch: &str, base: &str, from: &str) -> String {
    format!(
        "INSERT INTO edits (kind, record_id, method, patch, base, origin)\n  SELECT '{}', {id}, '{method}', {patch}, {base}, \
         (SELECT origin FROM _gate)\n  FROM {from};",
        resource.kind.as_str()
    )
}

/// Refuses the edit that was just queued when a text of the edit is not UTF-8. JSON and the server accept only UTF-8.
fn refuse_invalid_text() -> String {
    format!(
        "SELECT RAISE(ABORT, 'a text is not UTF-8, so nothing can read it; convert it first, as iconv does')\n  \
         FROM edits WHERE id = last_insert_rowid() AND {};",
        rules::not_utf8("patch")
    )
}

/// A UNION of one row for each of the fields: the field's name as `n`, and its value in each of the given rows. `only` gives a
/// field's condition.
fn field_rows(
    fields: impl Iterator<Item = &'static Field>,
    only: impl Fn(&Field) -> Option<String>,
    values: &[(&str, &str)],
) -> String {
    fields
        .map(|field| {
            let values: String = values.iter().map(|(name, row)| format!(", {row}.{} AS {name}", field.name)).collect();
            let only = only(field).map(|condition| format!(" WHERE {condition}")).unwrap_or_default();
            format!("SELECT '{}' AS n{values}{only}", field.name)
        })
        .collect::<Vec<_>>()
        .join("\n    UNION ALL ")
}

fn writable(resource: &Resource) -> impl Iterator<Item = &'static Field> {
    resource.fields.iter().filter(|field| field.is_writable())
}
