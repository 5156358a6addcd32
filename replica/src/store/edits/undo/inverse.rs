//! The edit that takes a change back, makes it again, or makes its record anew: an edit like every other. Must not choose
//! the change.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::{Kind, is_subject};
use rusqlite::{Connection, Transaction};

use super::living::{dead, left, living, whole_subject};
use super::refused;
use crate::model::Settled;
use crate::model::{EditOutcome, Method};
use crate::store::edits;
use crate::store::edits::decide::{Decided, Pending, said};
use crate::store::edits::judge::spelled;
use crate::store::edits::{EditError, had, take_back};
use crate::store::mirror::image;
use crate::store::{gate, rows};

/// A change that was made.
pub(super) struct Past<'a> {
    pub id: i64,
    /// What the record is called, in quotes.
    pub name: &'a str,
    pub kind: Kind,
    pub record: &'a str,
    pub method: Method,
    pub patch: &'a Fields,
    pub base: &'a Fields,
}

impl<'a> Past<'a> {
    pub(super) fn of(found: &'a Settled, name: &'a str) -> Past<'a> {
        let Settled { id, kind, record_id, method, patch, base, .. } = found;
        Past { id: *id, name, kind: *kind, record: record_id, method: *method, patch, base }
    }
}

/// Queues what takes a change back.
pub(super) fn inverse(tx: &Transaction<'_>, past: &Past<'_>) -> Result<Decided, EditError> {
    let Past { id, name, kind, record, .. } = *past;
    let (sentence, of) = match past.method {
        Method::Create => {
            edits::delete_in(tx, kind, record).map_err(|error| gone(error, past))?;
            (format!("{name} is deleted again"), record.to_owned())
        }
        Method::Delete => {
            let (fields, without) = living(tx, kind, past.base, past.base)?;
            let new = edits::create_in(tx, kind, &fields)?;
            let unnamed = match kind {
                Kind::Document | Kind::Task | Kind::Property => "",
                Kind::Inventory | Kind::Room | Kind::Vehicle => "; what named the old one names nothing now",
            };
            let text = "is made anew, with another id, because a deleted one is never used again";
            (format!("{name} {text}{without}{unnamed}"), new)
        }
        _ => {
            let Some(present) = rows::load_row(tx, kind, record)? else { return Err(gone(EditError::NotFound, past)) };
            let (mut set, mut changed, mut by_others) = (Fields::new(), Vec::new(), false);
            let had = had::of(tx, id)?;
            for (name, value) in past.patch {
                let before = past.base.get(name).cloned().unwrap_or_default();
                let now = spelled(kind, name, present.fields.get(name));
                // In one spelling: what only wrote a value otherwise has changed nothing.
                if now == spelled(kind, name, Some(&before)) {
                    continue;
                }
                if had.contains(name) {
                    by_others = true;
                } else if now == spelled(kind, name, Some(value)) {
                    set.insert(name.clone(), before);
                } else {
                    changed.push(name.as_str());
                }
            }
            // A subject is one thing in two fields: half of it as before, beside what it is now, would name nothing.
            if changed.iter().any(|name| is_subject(name)) {
                let halves: Vec<&String> = past.patch.keys().filter(|name| is_subject(name)).collect();
                changed.extend(halves.into_iter().filter(|name| set.shift_remove(*name).is_some()).map(String::as_str));
            }
            if !whole_subject(tx, &mut set, &present.fields)? {
                changed.extend(past.patch.keys().filter(|name| is_subject(name)).map(String::as_str));
            }
            let names = changed.join(", ");
            let dead = dead(tx, kind, &mut set, &present.fields)?;
            if set.is_empty() {
                return Err(refused(match (changed.is_empty(), dead.is_empty()) {
                    (true, true) if by_others => {
                        format!(
                            "somebody else had changed {name} in the same way, and that stands; nothing is left to undo"
                        )
                    }
                    (true, true) => {
                        format!("{name} is as it was before this change already, so there is nothing left to undo")
                    }
                    (true, false) => {
                        format!("{name}: what {} named is gone, so there is nothing left to undo", dead.join(", "))
                    }
                    _ => format!(
                        "{name}: {names} has been changed since, so there is nothing left to undo{}",
                        left(&dead)
                    ),
                }));
            }
            let next = next_one(kind, &present.fields, &set);
            edits::update_in(tx, kind, record, &set)?;
            let back = set.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let kept = if changed.is_empty() { String::new() } else { format!("; changed since, and left: {names}") };
            (format!("{name}: {back} as before{kept}{}{next}", left(&dead)), record.to_owned())
        }
    };
    let edit = newest_of(tx, kind, &of)?;
    note(tx, id, edit)?;
    Ok(Decided { edit, ..said(sentence) })
}

/// What is said of the task that the server makes when one that recurs is done (contract 3): nothing tells it from any other, so
/// nothing takes it back.
fn next_one(kind: Kind, present: &Fields, set: &Fields) -> &'static str {
    let is_done = present.get("status").is_some_and(|status| status == "done");
    let recurs = present.get("recurrence").is_some_and(|recurrence| !recurrence.is_null());
    match kind == Kind::Task && is_done && recurs && set.contains_key("status") {
        true => "; its next one, which the server makes when it is done, is left: done again, it makes another",
        false => "",
    }
}

/// Notes which edit undoes a change, or makes one again that did not come to stand.
fn note(tx: &Transaction<'_>, edit: i64, by: Option<i64>) -> Result<(), EditError> {
    gate::with_guards_off(tx, |tx| {
        if let Some(by) = by {
            tx.execute("INSERT OR REPLACE INTO _undone (edit_id, by_edit) VALUES (?1, ?2)", (edit, by))?;
        }
        Ok(())
    })
}

/// Makes a change again that did not come to stand: it was taken back, given up, or lost a conflict.
pub(super) fn again(tx: &Transaction<'_>, past: &Past<'_>) -> Result<Decided, EditError> {
    let Past { id, name, kind, record, .. } = *past;
    let (sentence, of) = match past.method {
        Method::Create => {
            let (mut fields, without) = living(tx, kind, past.patch, &Fields::new())?;
            let free: bool = tx.query_row(
                "SELECT NOT EXISTS (SELECT 1 FROM _tombstones WHERE kind = ?1 AND record_id = ?2)
                    AND NOT EXISTS (SELECT 1 FROM edits WHERE kind = ?1 AND record_id = ?2)",
                (kind.as_str(), record),
                |row| row.get(0),
            )?;
            if free && rows::load_row(tx, kind, record)?.is_none() {
                fields.insert("id".to_owned(), record.into());
            }
            let new = edits::create_in(tx, kind, &fields)?;
            // A second time, an update finds its values there, and a delete no record; a create would make another.
            note(tx, id, newest_of(tx, kind, &new)?)?;
            (format!("{name} is there again{without}"), new)
        }
        Method::Delete => {
            edits::delete_in(tx, kind, record).map_err(|error| gone(error, past))?;
            (format!("{name} is deleted"), record.to_owned())
        }
        _ => {
            let before = newest_of(tx, kind, record)?;
            let present = rows::load_row(tx, kind, record)?.unwrap_or_default();
            let mut values = past.patch.clone();
            let dead = dead(tx, kind, &mut values, &present.fields)?;
            edits::update_in(tx, kind, record, &values).map_err(|error| gone(error, past))?;
            if values.is_empty() && !dead.is_empty() {
                return Err(refused(format!("{name}: what {} named is gone, so it stays as it is", dead.join(", "))));
            }
            if newest_of(tx, kind, record)? == before {
                return Err(refused(format!("{name} has these values already{}", left(&dead))));
            }
            let names = values.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            (format!("{name}: {names} as it was written{}", left(&dead)), record.to_owned())
        }
    };
    Ok(Decided { edit: newest_of(tx, kind, &of)?, ..said(sentence) })
}

/// Makes a record anew that was deleted there, as it stands here: with another id, because the server never takes one
/// twice (contract 6.1). What waited for the old one is settled with it.
pub(crate) fn make_anew(tx: &Transaction<'_>, found: &Pending, now: Timestamp) -> Result<Decided, EditError> {
    let Pending { id, name, kind, record, .. } = found;
    let Some(stored) = rows::load_row(tx, *kind, record)? else {
        return Err(refused(format!("{name} is deleted here by a later change: discard edit {id}")));
    };
    let there = image::known(tx, *kind, record)?.map(|known| known.fields).unwrap_or_default();
    let (fields, without) = living(tx, *kind, &stored.fields, &there)?;
    let new = edits::create_in(tx, *kind, &fields)?;
    let edit = newest_of(tx, *kind, &new)?;
    gate::with_guards_off(tx, |tx| {
        let all: Vec<i64> = tx
            .prepare_cached("SELECT id FROM edits WHERE kind = ?1 AND record_id = ?2 ORDER BY id DESC")?
            .query_map((kind.as_str(), record), |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for edit in all {
            take_back::take_back(tx, edit, EditOutcome::Superseded, Some("made anew as another record"), now)?;
        }
        Ok::<_, EditError>(())
    })?;
    // Only now: what comes to nothing is forgotten to be undone.
    note(tx, *id, edit)?;
    Ok(Decided { edit, ..said(format!("{name} is made anew, with another id{without}")) })
}

fn newest_of(tx: &Connection, kind: Kind, record: &str) -> Result<Option<i64>, EditError> {
    let text = "SELECT max(id) FROM edits WHERE kind = ?1 AND record_id = ?2";
    Ok(tx.prepare_cached(text)?.query_row((kind.as_str(), record), |row| row.get(0))?)
}

fn gone(error: EditError, past: &Past<'_>) -> EditError {
    match error {
        EditError::NotFound => refused(format!("{} is deleted by now", past.name)),
        other => other,
    }
}
