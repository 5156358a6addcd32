//! Whether the server's records show the effect of an edit. Must not change the state of an edit.

use std::collections::{HashMap, HashSet};

use hearth_contract::check::Fields;
use hearth_contract::event::Event;
use hearth_contract::schema::{Kind, is_subject};
use rusqlite::{Connection, Transaction};

use super::candidate::Candidate;
use crate::model::{Method, ReasonCode};
use crate::store::edits::settle;
use crate::store::merge::holds;
use crate::store::{StoreError, base, rows};

/// Entries of `edit_history` at an unknown position that no later edit has overwritten.
const AT_UNKNOWN_POSITION: &str = "rev IS NULL AND id NOT IN (SELECT edit_id FROM _outbox WHERE overwritten)";

/// An edit with the values to look for.
struct ComparedEdit {
    candidate: Candidate,
    method: Method,
    patch: Fields,
    base: Fields,
    /// True when the edit may be lost. Other edits only tell what they overwrote.
    in_scope: bool,
}

/// The edits of all records, compared from the newest to the oldest.
#[derive(Default)]
struct Comparison {
    /// The lost edits, the newest first, each without the fields that later edits overwrote.
    lost: Vec<ComparedEdit>,
    /// The fields of each record that a later edit wrote. Some: the index of the later edit in `lost`. None: the later
    /// edit is not lost.
    later: HashMap<(Kind, String), HashMap<String, Option<usize>>>,
    /// The records that a later edit deletes. Only the delete can be missing on the server then, and a person is asked about it
    /// alone.
    deleted: HashSet<(Kind, String)>,
}

impl Comparison {
    /// Compares the next older edit. `is_shown`: whether the server has the edit, with these of its values.
    fn add(&mut self, mut edit: ComparedEdit, is_shown: impl Fn(&Fields) -> bool) {
        let record = (edit.candidate.kind, edit.candidate.record.clone());
        let written = if edit.method == Method::Delete { edit.base.clone() } else { edit.patch.clone() };
        let remaining = match edit.method {
            Method::Update => self.drop_overwritten(&record, &mut edit, &written, &is_shown),
            _ => edit.patch.clone(),
        };
        // When the later edit is lost too, only the later edit is offered again.
        let is_overwritten = edit.method == Method::Update && remaining.is_empty() || self.deleted.contains(&record);
        let is_lost = edit.in_scope && !is_overwritten && !is_shown(&remaining);
        if edit.method == Method::Delete {
            self.deleted.insert(record.clone());
        }
        let later = self.later.entry(record).or_default();
        for (name, _) in written {
            later.entry(name).or_insert(is_lost.then_some(self.lost.len()));
        }
        if is_lost {
            self.lost.push(edit);
        }
    }

    /// Removes the fields of an update that a later edit wrote. Gives the fields that the server's record must show.
    fn drop_overwritten(
        &mut self,
        record: &(Kind, String),
        edit: &mut ComparedEdit,
        written: &Fields,
        is_shown: impl Fn(&Fields) -> bool,
    ) -> Fields {
        let later = self.later.entry(record.clone()).or_default();
        // A subject is one value in two fields. While one half is not overwritten, the edit keeps the other half too.
        let keeps_half = written.keys().any(|name| is_subject(name) && !later.contains_key(name));
        let mut remaining = edit.patch.clone();
        for (name, value) in written {
            let Some(overwriter) = later.get_mut(name) else { continue };
            remaining.shift_remove(name);
            if keeps_half && is_subject(name) {
                continue;
            }
            edit.patch.shift_remove(name);
            let before = edit.base.shift_remove(name);
            if is_shown(&Fields::from_iter([(name.clone(), value.clone())])) {
                *overwriter = None;
            } else if let (Some(index), Some(before)) = (*overwriter, before) {
                // Both edits are lost, so the base of the later edit becomes the value before the earlier edit.
                self.lost[index].base.insert(name.clone(), before);
            }
        }
        remaining
    }
}

/// The edits that a comparison is about.
pub(super) enum Scope<'a> {
    /// Confirmed edits after this position, which the server has lost for certain.
    ConfirmedAfter(i64),
    /// Confirmed edits at an unknown position.
    ConfirmedSomewhere,
    /// These edits, which the server has accepted.
    Accepted(&'a HashSet<i64>),
}

/// Finds the edits whose effect the server has lost. Of an edit that a later edit overwrote in part, only the other fields are
/// compared and kept.
pub(super) fn find_lost(tx: &Transaction<'_>, scope: &Scope<'_>) -> Result<Vec<Candidate>, StoreError> {
    let of_history = match scope {
        Scope::ConfirmedAfter(position) => format!("coalesce(rev > {position}, 0)"),
        Scope::ConfirmedSomewhere => AT_UNKNOWN_POSITION.to_owned(),
        Scope::Accepted(_) => "0".to_owned(),
    };
    let text = format!(
        "SELECT id, kind, record_id, method, patch, base, {of_history} FROM edit_history
         WHERE outcome IN ('confirmed', 'merged')
         UNION ALL
         SELECT id, kind, record_id, method, patch, base, 0 FROM edits WHERE state = 'sent' OR reason_code = ?1
             OR method = 'delete' AND state NOT IN ('conflict', 'rejected')
         ORDER BY 1 DESC"
    );
    let is_certain = matches!(scope, Scope::ConfirmedAfter(_));
    let mut comparison = Comparison::default();
    let mut statement = tx.prepare_cached(&text)?;
    let mut found = statement.query([ReasonCode::LostByServer])?;
    while let Some(row) = found.next()? {
        let candidate = Candidate::read(row)?;
        let server_version = if is_certain { None } else { base::present(tx, candidate.kind, &candidate.record)? };
        let (kind, method): (Kind, Method) = (candidate.kind, row.get(3)?);
        let in_scope = match scope {
            Scope::Accepted(numbers) => numbers.contains(&candidate.edit),
            _ => row.get(6)?,
        };
        let edit =
            ComparedEdit { candidate, method, patch: rows::object(row, 4)?, base: rows::object(row, 5)?, in_scope };
        comparison.add(edit, |values| match is_certain {
            true => !in_scope,
            false => shows_effect(method, kind, values, server_version.as_ref()),
        });
    }
    drop(found);
    let table = if let Scope::Accepted(_) = scope { "edits" } else { "edit_history" };
    let mut write = tx.prepare_cached(&format!("UPDATE {table} SET patch = ?2, base = ?3 WHERE id = ?1"))?;
    let mut all = Vec::new();
    for ComparedEdit { candidate, patch, base, .. } in comparison.lost.into_iter().rev() {
        write.execute((candidate.edit, rows::json_text(&patch), rows::json_text(&base)))?;
        all.push(candidate);
    }
    Ok(all)
}

/// Marks the confirmed edits of which the records show no value: later changes overwrote them before the reconcile, so they are not
/// lost. The mark lasts until the end of the reconcile. Correct only while the rows hold one whole history. `is_fork_known`: only
/// edits at an unknown position are compared at that end.
pub(in crate::store::reconcile) fn note_overwritten(
    tx: &Transaction<'_>,
    is_fork_known: bool,
) -> Result<(), StoreError> {
    let condition = if is_fork_known { "rev IS NULL" } else { "1" };
    let mut statement = tx.prepare_cached(&format!(
        "SELECT id, kind, record_id, method, patch FROM edit_history
         WHERE outcome IN ('confirmed', 'merged') AND method <> 'delete' AND {condition}"
    ))?;
    let mut found = statement.query([])?;
    let mut overwritten = Vec::new();
    while let Some(row) = found.next()? {
        let lost = Candidate::read(row)?;
        let is_create = row.get::<_, Method>(3)? == Method::Create;
        let shows_any = match base::present(tx, lost.kind, &lost.record)? {
            None => false,
            Some(_) if is_create => true,
            Some(stored) => rows::object(row, 4)?
                .into_iter()
                .any(|field| holds(lost.kind, &stored.fields, &Fields::from_iter([field]))),
        };
        if !shows_any {
            overwritten.push(lost.edit);
        }
    }
    settle::mark_overwritten(tx, &overwritten)
}

/// True when the server's version shows the effect of an edit.
fn shows_effect(method: Method, kind: Kind, patch: &Fields, server_version: Option<&rows::StoredRecord>) -> bool {
    match (method, server_version) {
        (Method::Delete, stored) => stored.is_none(),
        (Method::Create, stored) => stored.is_some(),
        (_, Some(stored)) => holds(kind, &stored.fields, patch),
        (_, None) => false,
    }
}

/// True when the server's record, as far as it is known, shows the values of an edit.
pub(super) fn is_shown_by_record(tx: &Connection, lost: &Candidate) -> Result<bool, StoreError> {
    let text = "SELECT method, patch FROM edits WHERE id = ?1";
    let (method, patch): (Method, Result<Fields, StoreError>) =
        tx.query_row(text, [lost.edit], |row| Ok((row.get(0)?, rows::object(row, 1))))?;
    let there = base::present(tx, lost.kind, &lost.record)?;
    Ok(shows_effect(method, lost.kind, &patch?, there.as_ref()))
}

/// True when an event belongs to an edit: the event carries the request's key, or its record shows the edit's values.
pub(super) fn is_shown_by(tx: &Connection, lost: &Candidate, event: &Event) -> Result<bool, StoreError> {
    let text = "SELECT idempotency_key, patch FROM edits WHERE id = ?1";
    let (key, patch): (Option<String>, Result<Fields, StoreError>) =
        tx.query_row(text, [lost.edit], |row| Ok((row.get(0)?, rows::object(row, 1))))?;
    let patch = patch?;
    Ok((key.is_some() && event.idempotency_key == key)
        || event.payload.as_ref().is_some_and(|record| holds(lost.kind, record, &patch)))
}
