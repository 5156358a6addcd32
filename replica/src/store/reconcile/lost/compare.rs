//! Whether the server holds the effect of an edit, as far as its records show. Must not change the state of an edit.

use std::collections::{HashMap, HashSet};

use hearth_contract::check::{Fields, Intent, check_field};
use hearth_contract::event::Event;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, is_subject};
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use super::candidate::Lost;
use crate::model::Method;
use crate::store::{StoreError, base, rows};

/// Which edits are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Edits that the server has accepted at an unknown position.
    Acked,
    /// Edits that the history calls confirmed, at any position.
    Confirmed,
    /// Edits that the history calls confirmed at an unknown position (rev 0).
    UnknownPosition,
}

/// The compared edits that the server does not show.
pub(super) struct LostEdits {
    /// The server does not hold these edits.
    pub lost: Vec<Lost>,
    /// A later edit wrote over these edits, or deleted their record. The loss of the later edit does not make them lost.
    pub overwritten: Vec<i64>,
}

/// An edit with what it wrote.
struct Written {
    lost: Lost,
    method: Method,
    patch: Fields,
    base: Fields,
    in_scope: bool,
}

/// The edits of all records, compared from the newest to the oldest.
#[derive(Default)]
struct Comparison {
    /// The lost edits with what is left of each, the newest first.
    lost: Vec<Written>,
    /// The fields of each record that a later edit wrote. Some: the index in `lost` of the later edit, when it is lost.
    later: HashMap<(Kind, String), HashMap<String, Option<usize>>>,
    /// Records that a later edit deleted.
    deleted: HashSet<(Kind, String)>,
    overwritten: Vec<i64>,
}

impl Comparison {
    /// Compares the next older edit with the server's record.
    fn add(&mut self, mut edit: Written, form: Option<&rows::StoredRecord>) {
        let record = (edit.lost.kind, edit.lost.record.clone());
        let wrote = if edit.method == Method::Delete { edit.base.clone() } else { edit.patch.clone() };
        let visible = match edit.method {
            Method::Update => self.drop_overwritten(&record, &mut edit, &wrote, form),
            _ => edit.patch.clone(),
        };
        let is_over = self.deleted.contains(&record) || edit.method == Method::Update && visible.is_empty();
        let shows = |values: &Fields| is_there(edit.method, edit.lost.kind, values, form);
        // An overwritten edit that shows nevertheless was not overwritten in the present history, and may be lost later.
        if edit.in_scope && is_over && !shows(&wrote) {
            self.overwritten.push(edit.lost.edit);
        }
        let is_lost = edit.in_scope && !is_over && !shows(&visible);
        let later = self.later.entry(record.clone()).or_default();
        for (name, _) in wrote {
            later.entry(name).or_insert(is_lost.then_some(self.lost.len()));
        }
        if edit.method == Method::Delete {
            self.deleted.insert(record);
        }
        if is_lost {
            self.lost.push(edit);
        }
    }

    /// Removes the fields of an update that a later edit wrote. Gives the fields that the server's record must show.
    fn drop_overwritten(
        &mut self,
        record: &(Kind, String),
        edit: &mut Written,
        wrote: &Fields,
        form: Option<&rows::StoredRecord>,
    ) -> Fields {
        let later = self.later.entry(record.clone()).or_default();
        // A subject is one value in two fields: a half that nobody overwrote keeps the other half.
        let keeps_half = wrote.keys().any(|name| is_subject(name) && !later.contains_key(name));
        let mut visible = edit.patch.clone();
        for (name, value) in wrote {
            let Some(by) = later.get_mut(name) else { continue };
            visible.shift_remove(name);
            if keeps_half && is_subject(name) {
                continue;
            }
            edit.patch.shift_remove(name);
            let before = edit.base.shift_remove(name);
            let field = Fields::from_iter([(name.clone(), value.clone())]);
            if form.is_some_and(|stored| shows(record.0, &stored.fields, &field)) {
                *by = None;
            } else if let (Some(index), Some(before)) = (*by, before) {
                // Both edits are lost, so the later one begins with the value before the earlier one.
                self.lost[index].base.insert(name.clone(), before);
            }
        }
        visible
    }
}

/// Finds the edits that the server does not hold. Of an edit that a later edit overwrote in part, only the rest is looked
/// for and kept; the later edit is looked for itself.
pub(super) fn find_lost(tx: &Transaction<'_>, scope: Scope) -> Result<LostEdits, StoreError> {
    let (confirmed, table) = match scope {
        Scope::Acked => ("0", "edits"),
        Scope::Confirmed => ("rev >= 0", "edit_history"),
        Scope::UnknownPosition => ("rev = 0", "edit_history"),
    };
    let accepted = if scope == Scope::Acked { "s.rev IS NULL" } else { "0" };
    let text = format!(
        "SELECT id, kind, record_id, method, patch, base, {confirmed} FROM edit_history
         WHERE outcome IN ('confirmed', 'merged')
         UNION ALL
         SELECT id, kind, record_id, method, patch, base, {accepted} FROM edits JOIN _acked s ON s.edit_id = id
         ORDER BY 1 DESC"
    );
    let mut comparison = Comparison::default();
    let mut statement = tx.prepare_cached(&text)?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let Some(kind) = Kind::parse(&row.get::<_, String>(1)?) else { continue };
        let lost = Lost { edit: row.get(0)?, kind, record: row.get(2)? };
        let form = server_form(tx, &lost)?;
        let edit = Written {
            lost,
            method: row.get(3)?,
            patch: rows::parse_object(&row.get::<_, String>(4)?)?,
            base: rows::parse_object(&row.get::<_, String>(5)?)?,
            in_scope: row.get::<_, Option<bool>>(6)? == Some(true),
        };
        comparison.add(edit, form.as_ref());
    }
    drop(found);
    let mut write = tx.prepare_cached(&format!("UPDATE {table} SET patch = ?2, base = ?3 WHERE id = ?1"))?;
    let mut all = Vec::new();
    for Written { lost, patch, base, .. } in comparison.lost.into_iter().rev() {
        write.execute((lost.edit, Value::Object(patch).to_string(), Value::Object(base).to_string()))?;
        all.push(lost);
    }
    Ok(LostEdits { lost: all, overwritten: comparison.overwritten })
}

/// Notes for confirmed edits whether their records show any of their values. An edit without a shown value was
/// overwritten; an edit with one stands at an unknown position. Correct only while the rows hold one whole history.
pub(super) fn note_overwritten(tx: &Transaction<'_>, scope: Scope) -> Result<(), StoreError> {
    let of = if scope == Scope::UnknownPosition { "rev = 0" } else { "rev >= 0" };
    let (_, over) = shown(tx, of)?;
    if scope == Scope::Confirmed {
        note_shown_again(tx)?;
    }
    mark_overwritten(tx, &over)
}

/// [`note_overwritten`] for the edits alone that were overwritten before.
pub(super) fn note_shown_again(tx: &Transaction<'_>) -> Result<(), StoreError> {
    for edit in shown(tx, "rev IS NULL")?.0 {
        tx.prepare_cached("UPDATE edit_history SET rev = 0 WHERE id = ?1")?.execute([edit])?;
    }
    Ok(())
}

/// The confirmed edits of which their records show a value, and those of which they show none. `of`: a condition on
/// `edit_history`.
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
        let shows_any = match server_form(tx, &lost)? {
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

/// Notes that edits of the history were overwritten.
pub(super) fn mark_overwritten(tx: &Transaction<'_>, over: &[i64]) -> Result<(), StoreError> {
    for edit in over {
        tx.prepare_cached("UPDATE edit_history SET rev = NULL WHERE id = ?1")?.execute([edit])?;
    }
    Ok(())
}

/// The server's version of an edit's record.
fn server_form(tx: &Connection, lost: &Lost) -> Result<Option<rows::StoredRecord>, StoreError> {
    let pending: bool = tx
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM edits WHERE kind = ?1 AND record_id = ?2)")?
        .query_row((lost.kind.as_str(), &lost.record), |row| row.get(0))?;
    if !pending {
        return rows::load_row(tx, lost.kind, &lost.record);
    }
    Ok(base::load(tx, lost.kind, &lost.record)?.and_then(|(stored, gone)| (!gone).then_some(stored)))
}

/// True when the server's version shows the effect of an edit.
fn is_there(method: Method, kind: Kind, patch: &Fields, form: Option<&rows::StoredRecord>) -> bool {
    match (method, form) {
        (Method::Delete, form) => form.is_none(),
        (Method::Create, form) => form.is_some(),
        (_, Some(stored)) => shows(kind, &stored.fields, patch),
        (_, None) => false,
    }
}

/// True when an event is that of an edit: the event carries the request's key, or shows the values when the request
/// changed nothing.
pub(super) fn is_shown_by(tx: &Connection, lost: &Lost, event: &Event) -> Result<bool, StoreError> {
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

/// True when a record has these values, compared in the server's form.
fn shows(kind: Kind, record: &Fields, values: &Fields) -> bool {
    values.iter().all(|(name, value)| match resource(kind).field(name) {
        Some(field) => check_field(field, Intent::Patch, value).ok().as_ref() == record.get(name),
        None => true,
    })
}
