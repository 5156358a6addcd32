//! Edits that were queued while the triggers that check values were missing: another program had removed the checks alone.
//! The same rules check these edits when the triggers are restored. Must not compare rows.
//!
//! - A value that a rule refuses becomes an edit that waits for a person. The other values of its edit are sent.
//! - A record whose id is not a UUID gets a new id, as a row that no trigger has seen.

use hearth_contract::check::Fields;
use hearth_contract::schema::{Field, Kind, Presence, Resource, SUBJECT_ID, SUBJECT_TYPE};
use rusqlite::{Transaction, params_from_iter};
use serde_json::Value;
use uuid::Uuid;

use super::refused::unchecked_reason;
use crate::model::{EditState, LogLevel, Method, Origin, ReasonCode};
use crate::store::edits::plan;
use crate::store::schema::rules::{Rule, field_rules, not_canonical_id, subject_rules};
use crate::store::{StoreError, base, log, rows, select};

/// An edit that has not been sent.
struct Unsent {
    id: i64,
    record: String,
    method: Method,
    patch: Fields,
    base: Fields,
}

/// Checks the unsent edits of tables that lacked a trigger with checks, with the gate open. Returns how many edits wait for a
/// person now.
pub(super) fn check(tx: &Transaction<'_>, tables: &[&'static Resource]) -> Result<usize, StoreError> {
    let mut refused = 0;
    for resource in tables {
        give_usable_ids(tx, resource.kind)?;
        for edit in unsent(tx, resource.kind)? {
            let (sentences, fields) = faults(tx, resource, &edit)?;
            if !sentences.is_empty() {
                refuse(tx, resource, edit, &sentences, &fields)?;
                refused += 1;
            }
        }
    }
    if refused > 0 {
        plan::mark(tx)?;
    }
    Ok(refused)
}

/// Gives records that only unsent edits know a new id, if the server would refuse their id.
fn give_usable_ids(tx: &Transaction<'_>, kind: Kind) -> Result<(), StoreError> {
    let text = format!(
        "SELECT DISTINCT record_id FROM edits WHERE kind = ?1 AND state NOT IN ('sending', 'sent') AND ({})",
        not_canonical_id("record_id")
    );
    for old in select::column::<String>(tx, &text, [kind.as_str()])? {
        let new = Uuid::new_v4().to_string();
        rows::set_id(tx, kind, &old, &new)?;
        tx.execute("UPDATE edits SET record_id = ?3 WHERE kind = ?1 AND record_id = ?2", (kind.as_str(), &old, &new))?;
        if kind == Kind::Task {
            tx.execute("UPDATE _outbox SET completes = ?2 WHERE completes = ?1", (&old, &new))?;
        }
        let text = format!("Another program gave a {kind} the id {old}, which is no UUID; its id is {new} now.");
        log(tx, LogLevel::Warning, &text)?;
    }
    Ok(())
}

/// The creates and updates of scripts that were never sent. A create that shows a next task is never sent.
fn unsent(tx: &Transaction<'_>, kind: Kind) -> Result<Vec<Unsent>, StoreError> {
    let text = "SELECT id, record_id, method, patch, base FROM edits
         WHERE kind = ?1 AND state = ?2 AND origin = ?3 AND idempotency_key IS NULL AND method <> 'delete'
             AND id NOT IN (SELECT next_edit FROM _outbox WHERE next_edit IS NOT NULL) ORDER BY id";
    select::all(tx, text, (kind.as_str(), EditState::Waiting, Origin::Sql), |row| {
        let (patch, base) = (rows::object(row, 3)?, rows::object(row, 4)?);
        Ok(Unsent { id: row.get(0)?, record: row.get(1)?, method: row.get(2)?, patch, base })
    })
}

/// The sentences of the rules that an edit breaks, at most one of each field, and the fields that they concern.
fn faults(
    tx: &Transaction<'_>,
    resource: &'static Resource,
    edit: &Unsent,
) -> Result<(Vec<String>, Vec<&'static str>), StoreError> {
    let is_create = edit.method == Method::Create;
    let (mut sentences, mut fields) = (Vec::new(), Vec::new());
    for field in resource.fields.iter().filter(|field| field.is_sendable()) {
        let value = edit.patch.get(field.name);
        // A create without a value has the default, or null.
        let is_checked = value.is_some() || is_create && field.presence == Presence::Required;
        if !is_checked {
            continue;
        }
        let columns = [(field.name, value)];
        if let Some(sentence) = broken(tx, &field_rules(field), &columns)? {
            sentences.push(sentence);
            fields.push(field.name);
        }
    }
    let subject = [SUBJECT_TYPE, SUBJECT_ID];
    if resource.has_subject() && subject.iter().any(|name| edit.patch.contains_key(*name)) {
        // An edit may set only half of a subject.
        let after = base::overlay(tx, resource.kind, &edit.record, edit.id.saturating_add(1))?.unwrap_or_default();
        let columns = subject.map(|name| (name, after.fields.get(name)));
        if let Some(sentence) = broken(tx, &subject_rules(resource), &columns)? {
            sentences.push(sentence);
            fields.extend(subject);
        }
    }
    Ok((sentences, fields))
}

/// The sentence of the first rule that values break. The rules name their columns as a trigger does, `NEW.column`.
fn broken(
    tx: &Transaction<'_>,
    rules: &[Rule],
    columns: &[(&str, Option<&Value>)],
) -> Result<Option<String>, StoreError> {
    let row: Vec<String> = columns.iter().enumerate().map(|(n, (name, _))| format!("?{} AS {name}", n + 1)).collect();
    for Rule { broken_when, sentence } in rules {
        let text = format!("SELECT EXISTS (SELECT 1 FROM (SELECT {}) AS NEW WHERE {broken_when})", row.join(", "));
        let values = columns.iter().map(|(_, value)| rows::json_to_sql(*value));
        if select::value(tx, &text, params_from_iter(values))? {
            return Ok(Some(sentence.clone()));
        }
    }
    Ok(None)
}

/// Makes the refused values of an edit wait for a person. The other fields of an update stay in an edit that is sent, unless
/// the record has a later edit, which the refused values must not follow.
fn refuse(
    tx: &Transaction<'_>,
    resource: &'static Resource,
    edit: Unsent,
    sentences: &[String],
    faulty: &[&str],
) -> Result<(), StoreError> {
    let reason = unchecked_reason(sentences);
    let is_faulty = |name: &str| faulty.contains(&name);
    let is_sound = |name: &String| !is_faulty(name) && resource.field(name).is_some_and(Field::is_writable);
    let Unsent { mut id, record, method, mut patch, mut base } = edit;
    if method == Method::Update && patch.keys().any(is_sound) && !has_later_edit(tx, resource.kind, &record, id)? {
        let sound = [&patch, &base].map(|side| {
            let mut side = side.clone();
            side.retain(|name, _| !is_faulty(name));
            rows::json_text(&side)
        });
        tx.prepare_cached(
            "INSERT INTO edits (kind, record_id, method, patch, base, origin, created_at)
             SELECT kind, record_id, method, patch, base, origin, created_at FROM edits WHERE id = ?1",
        )?
        .execute([id])?;
        let refused = tx.last_insert_rowid();
        tx.prepare_cached("UPDATE edits SET patch = ?2, base = ?3 WHERE id = ?1")?
            .execute((id, &sound[0], &sound[1]))?;
        id = refused;
        patch.retain(|name, _| is_faulty(name));
    }
    // No row may hold NULL in a field that is never null: screens read the name of every record.
    patch.retain(|name, value| !value.is_null() || resource.field(name).is_none_or(Field::is_nullable));
    base.retain(|name, _| patch.contains_key(name));
    tx.prepare_cached(
        "UPDATE edits SET patch = ?2, base = ?3, state = ?4, reason_code = ?5, reason = ?6 WHERE id = ?1",
    )?
    .execute((
        id,
        rows::json_text(&patch),
        rows::json_text(&base),
        EditState::Rejected,
        ReasonCode::InvalidValue,
        reason,
    ))?;
    base::rebase(tx, resource.kind, &record)
}

fn has_later_edit(tx: &Transaction<'_>, kind: Kind, record: &str, edit: i64) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM edits WHERE kind = ?1 AND record_id = ?2 AND id > ?3)";
    select::value(tx, text, (kind.as_str(), record, edit))
}
