//! The triggers of one typed table: they check what a writer wants, queue it as an edit, keep the server's form for
//! as long as edits wait, and hold `search` in step. Pure SQL for stock SQLite 3.40, because the writer may be anyone.
//!
//! Inside a trigger body the gate is raised by one and lowered again: a statement that fails is undone with its
//! triggers, so the gate cannot stay open by accident.

use hearth_contract::schema::{Field, Format, Resource};

use crate::store::schema::rules;
use crate::store::schema::rules::Rule;
use crate::store::schema::search;

const CLOSED: &str = "coalesce((SELECT open FROM _gate), 0) = 0";
pub(crate) const RAISE_GATE: &str = "UPDATE _gate SET open = open + 1, turn = turn + 1;";
pub(crate) const LOWER_GATE: &str = "UPDATE _gate SET open = open - 1, turn = turn + 1;";

/// All triggers of a kind's table, as statements.
pub(crate) fn of(resource: &Resource) -> Vec<String> {
    let mut all = vec![before_insert(resource), queue_update(resource), before_update(resource)];
    if resource.kind.is_singleton() {
        all.push(refuse_delete(resource));
    } else {
        all.push(after_delete(resource));
    }
    all.push(after_insert(resource));
    all.extend(search::triggers(resource));
    all
}

/// Triggers that keep strangers from writing to a table that only the replica's keeper may write.
pub(crate) fn guards(table: &str, hint: &str) -> Vec<String> {
    ["INSERT", "UPDATE", "DELETE"].into_iter().map(|verb| guard(table, verb, CLOSED, hint)).collect()
}

/// Triggers that keep strangers from the gate itself: only who counts the turn opens or closes it.
pub(crate) fn guards_of_gate(hint: &str) -> Vec<String> {
    let uncounted = "NEW.open IS NOT OLD.open AND NEW.turn IS NOT OLD.turn + 1";
    [("INSERT", "1"), ("UPDATE", uncounted), ("DELETE", "1")]
        .into_iter()
        .map(|(verb, condition)| guard("_gate", verb, condition, hint))
        .collect()
}

/// A trigger that refuses one verb on a table while a condition holds.
pub(crate) fn guard(table: &str, verb: &str, condition: &str, hint: &str) -> String {
    format!(
        "CREATE TRIGGER _guard_{table}_{} BEFORE {verb} ON {table} WHEN {condition}\nBEGIN\n  SELECT RAISE(ABORT, \
         '{table} is kept by the replica itself; {hint}');\nEND",
        verb.to_lowercase()
    )
}

/// The text of a trigger.
pub(crate) fn trigger(resource: &Resource, name: &str, when: &str, condition: &str, body: &[String]) -> String {
    let table = resource.kind.collection();
    format!("CREATE TRIGGER _{table}_{name} {when} ON {table} WHEN {condition}\nBEGIN\n  {}\nEND", body.join("\n  "))
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
    body.push(refuse(&rule("NEW.id IS NULL", "id cannot be null; leave it out to get a new one")));
    body.push(refuse(&rule(rules::not_canonical_id("NEW.id"), "id must be a UUID with hyphens, in lower case")));
    // The server never takes an id twice (contract 6.1), so neither does the replica as far as it knows.
    let same = format!("kind = '{kind}' AND record_id = NEW.id");
    body.push(refuse(&rule(
        format!(
            "NOT EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id) AND (EXISTS (SELECT 1 FROM _tombstones WHERE {same}) \
             OR EXISTS (SELECT 1 FROM edits WHERE {same}))"
        ),
        "id was used before by a record that is deleted; leave it out to get a new one",
    )));
    body.push(refuse(&rule("NEW.rev IS NOT NULL", set_by_server("rev"))));
    body.push(refuse(&rule("NEW.extra IS NOT NULL", set_by_server("extra"))));
    // Their defaults are this very moment, which is constant within a statement.
    for name in ["created_at", "updated_at"] {
        body.push(refuse(&rule(format!("NEW.{name} IS NOT {}", crate::store::NOW), set_by_server(name))));
    }
    for field in resource.fields {
        if !field.is_writable() {
            body.push(refuse(&rule(format!("NEW.{} IS NOT NULL", field.name), set_by_server(field.name))));
            continue;
        }
        body.extend(rules::of_field(field).iter().map(refuse));
    }
    body.extend(rules::of_subject(resource).iter().map(refuse));
    // REPLACE and upsert both come by here. If the row exists, by its id or by its number, an upsert goes on to BEFORE
    // UPDATE, and a REPLACE to AFTER INSERT, which finds the mark. Whoever else leaves one leaves it for the next INSERT.
    // Each table has a mark of its own: a trigger that is not ours may insert into another one in between.
    body.push(format!(
        "UPDATE _gate SET mark = json_set(CASE WHEN json_valid(mark) THEN mark ELSE '{{}}' END, '$.{table}', \
         coalesce((SELECT id FROM {table} WHERE id = NEW.id), (SELECT id FROM {table} WHERE rowid = NEW.rowid)));"
    ));
    trigger(resource, "before_insert", "BEFORE INSERT", CLOSED, &body)
}

fn before_update(resource: &Resource) -> String {
    let mut body = vec![
        refuse(&rule("NEW.id IS NOT OLD.id", "id never changes; insert a new row instead")),
        refuse(&rule("NEW.rowid IS NOT OLD.rowid", "rowid never changes; name the row by its id instead")),
    ];
    for name in ["rev", "created_at", "updated_at", "extra"] {
        body.push(refuse(&rule(format!("NEW.{name} IS NOT OLD.{name}"), set_by_server(name))));
    }
    for field in resource.fields {
        let changed = changed(field);
        if !field.is_writable() {
            body.push(refuse(&rule(changed, set_by_server(field.name))));
            continue;
        }
        // Only what changes is judged: a value that a newer server allows must not stand in the way of other columns.
        for Rule { broken_when, sentence } in rules::of_field(field) {
            body.push(refuse(&rule(format!("{changed} AND ({broken_when})"), sentence)));
        }
    }
    for Rule { broken_when, sentence } in rules::of_subject(resource) {
        let touched = "(NEW.subject_type IS NOT OLD.subject_type OR NEW.subject_id IS NOT OLD.subject_id)";
        body.push(refuse(&rule(format!("{touched} AND ({broken_when})"), sentence)));
    }
    trigger(resource, "before_update", "BEFORE UPDATE", CLOSED, &body)
}

fn after_insert(resource: &Resource) -> String {
    let table = resource.kind.collection();
    // A number that is left to SQLite is -1 before it is drawn, so what has it may be marked and still be there.
    let replaced = format!("met IS NOT NULL AND (met = NEW.id OR NOT EXISTS (SELECT 1 FROM {table} WHERE id = met))");
    let mut body = vec![refuse(&rule(
        format!("(SELECT {replaced} FROM (SELECT mark ->> '$.{table}' AS met FROM _gate))"),
        format!("REPLACE is not supported on {table}; use UPDATE, or INSERT ... ON CONFLICT(id) DO UPDATE"),
    ))];
    body.push(RAISE_GATE.to_owned());
    let mut id = "NEW.id".to_owned();
    let mut method = "create";
    if resource.kind.is_singleton() {
        // The home's profile has the home's id; the server makes it by the first PATCH.
        method = "update";
        id = "coalesce((SELECT home_id FROM _sync), NEW.id)".to_owned();
        body.push(format!("UPDATE {table} SET id = {id} WHERE id = NEW.id;"));
    }
    // As the row is by now: a trigger that is not ours may have changed it before this one, or taken it away.
    let set = rows(resource, |field| Some(format!("t.{} IS NOT NULL", field.name)), &[("v", "t")]);
    let patch = format!("(SELECT json_group_object(n, v) FROM ({set}))");
    body.push(queue(resource, "t.id", method, &patch, "'{}'", &format!("{table} t WHERE t.id = {id}")));
    body.push(refuse_foreign_text());
    body.push(LOWER_GATE.to_owned());
    trigger(resource, "after_insert", "AFTER INSERT", CLOSED, &body)
}

/// Before the row changes: whatever a trigger that is not ours does to it afterwards is another edit, and a later one.
fn queue_update(resource: &Resource) -> String {
    let any = writable(resource).map(changed).collect::<Vec<_>>().join(" OR ");
    let set = rows(resource, |field| Some(changed(field)), &[("v", "NEW"), ("w", "OLD")]);
    let body = [
        RAISE_GATE.to_owned(),
        keep_image(
            resource,
            if hearth_simulated::planted(hearth_simulated::PlantedFault::BaseFromEditedRow) { "NEW" } else { "OLD" },
        ),
        queue(resource, "OLD.id", "update", "json_group_object(n, v)", "json_group_object(n, w)", &format!("({set})")),
        refuse_foreign_text(),
        LOWER_GATE.to_owned(),
    ];
    trigger(resource, "queue_update", "BEFORE UPDATE", &format!("{CLOSED} AND ({any}) AND {}", made(resource)), &body)
}

fn after_delete(resource: &Resource) -> String {
    let set = rows(resource, |_| None, &[("w", "OLD")]);
    let body = [
        RAISE_GATE.to_owned(),
        keep_image(resource, "OLD"),
        queue(resource, "OLD.id", "delete", "'{}'", "json_group_object(n, w)", &format!("({set})")),
        LOWER_GATE.to_owned(),
    ];
    trigger(resource, "after_delete", "AFTER DELETE", &format!("{CLOSED} AND {}", made(resource)), &body)
}

/// Whether the row was there before this statement. To one that is just coming in only a trigger that is not ours can do
/// anything, and what it did is in the edit that follows.
fn made(resource: &Resource) -> String {
    let kind = resource.kind.as_str();
    format!("(OLD.rev IS NOT NULL OR EXISTS (SELECT 1 FROM edits WHERE kind = '{kind}' AND record_id = OLD.id))")
}

fn refuse_delete(resource: &Resource) -> String {
    let table = resource.kind.collection();
    let body = [refuse(&rule("1", format!("{table} cannot be deleted; set its columns to null instead")))];
    trigger(resource, "before_delete", "BEFORE DELETE", CLOSED, &body)
}

/// The server's form of the record, kept when its first edit begins to wait. A conflict clause in here would be
/// overruled by the one of the statement that fired the trigger, hence NOT EXISTS.
fn keep_image(resource: &Resource, row: &str) -> String {
    let kind = resource.kind.as_str();
    let members = resource.fields.iter().map(|f| format!("'{0}', {row}.{0}", f.name)).collect::<Vec<_>>().join(", ");
    format!(
        "INSERT INTO _base (kind, record_id, rev, fields, created_at, updated_at, extra)\n  \
         SELECT '{kind}', OLD.id, OLD.rev, json_object({members}), OLD.created_at, OLD.updated_at, OLD.extra\n  \
         WHERE OLD.rev IS NOT NULL AND NOT EXISTS (SELECT 1 FROM _base WHERE kind = '{kind}' AND record_id = OLD.id);"
    )
}

fn queue(resource: &Resource, id: &str, method: &str, patch: &str, base: &str, from: &str) -> String {
    format!(
        "INSERT INTO edits (kind, record_id, method, patch, base, origin)\n  SELECT '{}', {id}, '{method}', {patch}, {base}, \
         (SELECT origin FROM _gate)\n  FROM {from};",
        resource.kind.as_str()
    )
}

/// Refuses the edit that was just queued if a text of it is not UTF-8: JSON cannot hold it, and the server takes no other.
fn refuse_foreign_text() -> String {
    format!(
        "SELECT RAISE(ABORT, 'a text is not UTF-8, so nothing can read it; convert it first, as iconv does')\n  \
         FROM edits WHERE id = last_insert_rowid() AND {};",
        rules::not_utf8("patch")
    )
}

/// One row for each writable field: its name `n`, and its value in each of the named rows.
fn rows(resource: &Resource, only: impl Fn(&Field) -> Option<String>, values: &[(&str, &str)]) -> String {
    writable(resource)
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

/// The condition that a field changes.
pub(crate) fn changed(field: &Field) -> String {
    format!("NEW.{0} IS NOT OLD.{0}", field.name)
}

fn set_by_server(name: &str) -> String {
    format!("{name} is set by the server and cannot be written")
}

/// The SQL type of a field's column.
pub(crate) fn column_type(format: Format) -> &'static str {
    if format.is_integer() { "INTEGER" } else { "TEXT" }
}
