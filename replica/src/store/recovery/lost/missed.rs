//! Whether the server holds what an edit did: told by its records alone, as far as these can tell. Must not change an edit's
//! state.

use std::collections::{HashMap, HashSet};

use hearth_contract::check::{Fields, Intent, check_field};
use hearth_contract::event::Event;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, is_subject};
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use super::Lost;
use crate::model::Method;
use crate::store::mirror::image;
use crate::store::{StoreError, rows};

/// Which edits are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meant {
    /// Those that the server had accepted at a place that nobody knows any more.
    Accepted,
    /// Those that the history calls confirmed, at whatever position.
    Confirmed,
    /// Those that the history calls confirmed, if nobody knows where: at position 0.
    FoundInPlace,
}

/// What became of the edits that were judged, as far as they did not just stand there.
pub(super) struct Judged {
    /// The server does not hold them.
    pub missed: Vec<Lost>,
    /// A later edit of the record wrote over them, or deleted it, and they cannot be seen: whatever becomes of the later one,
    /// they were not there to be lost.
    pub over: Vec<i64>,
}

/// Looks which edits the server does not hold. Of one that a later edit of the record wrote over in part, what is left is
/// judged, and is all that is left of it; the later one is looked for itself.
pub(super) fn missed(tx: &Transaction<'_>, meant: Meant) -> Result<Judged, StoreError> {
    let (confirmed, table) = match meant {
        Meant::Accepted => ("0", "edits"),
        Meant::Confirmed => ("rev >= 0", "edit_history"),
        Meant::FoundInPlace => ("rev = 0", "edit_history"),
    };
    let accepted = if meant == Meant::Accepted { "s.rev IS NULL" } else { "0" };
    let text = format!(
        "SELECT id, kind, record_id, method, patch, base, {confirmed} FROM edit_history
         WHERE outcome IN ('confirmed', 'merged')
         UNION ALL
         SELECT id, kind, record_id, method, patch, base, {accepted} FROM edits JOIN _acked s ON s.edit_id = id
         ORDER BY 1 DESC"
    );
    let mut missed: Vec<(Lost, Fields, Fields)> = Vec::new();
    // The fields of each record that were written later; with the place among these of who wrote them, if they are lost.
    let mut later: HashMap<(Kind, String), HashMap<String, Option<usize>>> = HashMap::new();
    let mut deleted: HashSet<(Kind, String)> = HashSet::new();
    let mut over = Vec::new();
    let mut statement = tx.prepare_cached(&text)?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let Some(kind) = Kind::parse(&row.get::<_, String>(1)?) else { continue };
        let lost = Lost { edit: row.get(0)?, kind, record: row.get(2)? };
        let method: Method = row.get(3)?;
        let is_meant = row.get::<_, Option<bool>>(6)? == Some(true);
        let [mut patch, mut base] =
            [rows::parse_object(&row.get::<_, String>(4)?)?, rows::parse_object(&row.get::<_, String>(5)?)?];
        let of = (kind, lost.record.clone());
        let form = form(tx, &lost)?;
        let later = later.entry(of.clone()).or_default();
        let wrote = if method == Method::Delete { base.clone() } else { patch.clone() };
        // A subject is one thing in two fields.
        let half = wrote.keys().any(|name| is_subject(name) && !later.contains_key(name));
        let mut judged = patch.clone();
        if method == Method::Update {
            for (name, value) in &wrote {
                let Some(by) = later.get_mut(name) else { continue };
                judged.shift_remove(name);
                if half && is_subject(name) {
                    continue;
                }
                patch.shift_remove(name);
                let before = base.shift_remove(name);
                let one = Fields::from_iter([(name.clone(), value.clone())]);
                if form.as_ref().is_some_and(|stored| shows(kind, &stored.fields, &one)) {
                    *by = None;
                } else if let (Some(by), Some(before)) = (*by, before) {
                    // Before both of them, the later one finds what was before the earlier.
                    missed[by].2.insert(name.clone(), before);
                }
            }
        }
        let is_over = deleted.contains(&of) || method == Method::Update && judged.is_empty();
        // One that shows was not written over in the history of now, and may be lost with the next.
        if is_meant && is_over && !is_there(method, kind, &wrote, form.as_ref()) {
            over.push(lost.edit);
        }
        let is_missed = is_meant && !is_over && !is_there(method, kind, &judged, form.as_ref());
        for name in wrote.into_iter().map(|(name, _)| name) {
            later.entry(name).or_insert(is_missed.then_some(missed.len()));
        }
        if method == Method::Delete {
            deleted.insert(of);
        }
        if is_missed {
            missed.push((lost, patch, base));
        }
    }
    drop(found);
    missed.reverse();
    let mut write = tx.prepare_cached(&format!("UPDATE {table} SET patch = ?2, base = ?3 WHERE id = ?1"))?;
    let mut all = Vec::new();
    for (lost, patch, base) in missed {
        write.execute((lost.edit, Value::Object(patch).to_string(), Value::Object(base).to_string()))?;
        all.push(lost);
    }
    Ok(Judged { missed: all, over })
}

/// Notes of confirmed edits whether their records show any of them. Where one shows nothing, somebody wrote over it or deleted
/// the record; what shows again is in place, at an unknown position. Right only while the tables hold one history whole.
pub(super) fn note_overwritten(tx: &Transaction<'_>, meant: Meant) -> Result<(), StoreError> {
    let of = if meant == Meant::FoundInPlace { "rev = 0" } else { "rev >= 0" };
    let (_, over) = shown(tx, of)?;
    if meant == Meant::Confirmed {
        note_shown_again(tx)?;
    }
    forget(tx, &over)
}

/// The same of those alone that were written over.
pub(super) fn note_shown_again(tx: &Transaction<'_>) -> Result<(), StoreError> {
    for edit in shown(tx, "rev IS NULL")?.0 {
        tx.prepare_cached("UPDATE edit_history SET rev = 0 WHERE id = ?1")?.execute([edit])?;
    }
    Ok(())
}

/// The confirmed edits of these of which their records show something, and those of which they show nothing.
fn shown(tx: &Transaction<'_>, of: &str) -> Result<(Vec<i64>, Vec<i64>), StoreError> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT id, kind, record_id, method, patch FROM edit_history
         WHERE outcome IN ('confirmed', 'merged') AND method <> 'delete' AND {of}"
    ))?;
    let mut found = statement.query([])?;
    let (mut there, mut over) = (Vec::new(), Vec::new());
    while let Some(row) = found.next()? {
        let Some(kind) = Kind::parse(&row.get::<_, String>(1)?) else { continue };
        let lost = Lost { edit: row.get(0)?, kind, record: row.get(2)? };
        let is_create = row.get::<_, Method>(3)? == Method::Create;
        let shows_any = match form(tx, &lost)? {
            None => false,
            Some(_) if is_create => true,
            Some(stored) => rows::parse_object(&row.get::<_, String>(4)?)?
                .into_iter()
                .any(|field| shows(kind, &stored.fields, &Fields::from_iter([field]))),
        };
        if shows_any { &mut there } else { &mut over }.push(lost.edit);
    }
    Ok((there, over))
}

/// Notes of edits of the history that they were written over.
pub(super) fn forget(tx: &Transaction<'_>, over: &[i64]) -> Result<(), StoreError> {
    for edit in over {
        tx.prepare_cached("UPDATE edit_history SET rev = NULL WHERE id = ?1")?.execute([edit])?;
    }
    Ok(())
}

/// The record as the server has it.
fn form(tx: &Connection, lost: &Lost) -> Result<Option<rows::StoredRecord>, StoreError> {
    let pending: bool = tx
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM edits WHERE kind = ?1 AND record_id = ?2)")?
        .query_row((lost.kind.as_str(), &lost.record), |row| row.get(0))?;
    if !pending {
        return rows::load_row(tx, lost.kind, &lost.record);
    }
    Ok(image::get(tx, lost.kind, &lost.record)?.and_then(|(stored, gone)| (!gone).then_some(stored)))
}

/// Whether the server's form of a record shows an edit's effect.
fn is_there(method: Method, kind: Kind, patch: &Fields, form: Option<&rows::StoredRecord>) -> bool {
    match (method, form) {
        (Method::Delete, form) => form.is_none(),
        (Method::Create, form) => form.is_some(),
        (_, Some(stored)) => shows(kind, &stored.fields, patch),
        (_, None) => false,
    }
}

/// Whether an event is an edit's: it carries the key of its request, or, if that changed nothing any more, its values.
pub(super) fn brought(tx: &Connection, lost: &Lost, event: &Event) -> Result<bool, StoreError> {
    let (key, patch): (Option<String>, String) =
        tx.query_row("SELECT idempotency_key, patch FROM edits WHERE id = ?1", [lost.edit], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    Ok((key.is_some() && event.idempotency_key == key)
        || match &event.payload {
            Some(record) => shows(lost.kind, record, &rows::parse_object(&patch)?),
            None => false,
        })
}

/// Whether a record has these values, in the server's spelling.
fn shows(kind: Kind, record: &Fields, values: &Fields) -> bool {
    values.iter().all(|(name, value)| match resource(kind).field(name) {
        Some(field) => check_field(field, Intent::Patch, value).ok().as_ref() == record.get(name),
        None => true,
    })
}
