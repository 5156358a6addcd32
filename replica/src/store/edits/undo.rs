//! Undo: an edit that the server does not have is taken back; of any other the inverse is queued, as an edit like every other.
//! Values that lost a conflict come back the same way. Must not know who asks, nor how edits are sent.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECT_ID, SUBJECT_TYPE, is_subject};
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde_json::Value;

use crate::store::edits;
use crate::store::edits::EditError;
use crate::store::edits::decide::{Decided, Pending, load, quoted};
use crate::store::edits::history;
use crate::store::edits::history::Settled;
use crate::store::edits::judge::spelled;
use crate::store::edits::{plan, settle};
use crate::store::mirror::image;
use crate::store::{gate, rows};

/// Changes that cannot be undone any more are passed over, but not without end.
const PASSED_OVER_MAX: usize = 20;

/// Undoes an edit; None: the newest change made here that stands. An edit that undoes can be undone too.
pub(crate) fn undo(
    connection: &mut Connection,
    origin: &str,
    edit: Option<i64>,
    now: Timestamp,
) -> Result<Decided, EditError> {
    gate::edit(connection, origin, |tx| match edit {
        Some(edit) => undo_one(tx, edit, now),
        None => undo_newest(tx, now),
    })
}

/// Undoes the newest change that can be undone. What others have changed or deleted since must not stand in the way of
/// what came before it.
fn undo_newest(tx: &Transaction<'_>, now: Timestamp) -> Result<Decided, EditError> {
    let mut passed = Vec::new();
    for edit in newest(tx)? {
        match undo_one(tx, edit, now) {
            Err(EditError::Refused(why)) => passed.push(why),
            Ok(decided) if passed.is_empty() => return Ok(decided),
            Ok(Decided { said, edit }) => {
                return Ok(Decided { said: format!("{said} (passed over: {})", passed.join("; ")), edit });
            }
            Err(error) => return Err(error),
        }
    }
    Err(refused(passed.into_iter().next().unwrap_or_else(|| "there is no change to undo".to_owned())))
}

/// Every refusal comes before anything is written.
fn undo_one(tx: &Transaction<'_>, edit: i64, now: Timestamp) -> Result<Decided, EditError> {
    if let Some(by) = undone_by(tx, edit)? {
        return Err(refused(match history::get(tx, edit)? {
            Some(found) if !found.stands() => {
                format!("this change is made again already, by edit {by}; undo {by} takes it back")
            }
            _ => format!("this change is undone already, by edit {by}; undo {by} does it again"),
        }));
    }
    if let Some(part) = part(tx, edit)? {
        return inverse(tx, &part.past());
    }
    if let Some(found) = load(tx, edit)? {
        if found.in_doubt {
            return invert(tx, &found);
        }
        let attempted = tx.query_row("SELECT attempts > 0 FROM edits WHERE id = ?1", [edit], |row| row.get(0))?;
        let how_far = match (attempted, found.state.as_str()) {
            (false, _) => "it was never sent",
            (true, "rejected") => "the server had refused it",
            (true, _) => "the server does not have it",
        };
        return gate::pass(tx, |tx| {
            settle::take_back(tx, edit, "undone", None, now)?;
            plan::mark(tx)?;
            Ok(Decided { said: format!("{}: the change is taken back; {how_far}", found.name), edit: None })
        });
    }
    if let Some(found) = history::get(tx, edit)? {
        let name = quoted(&found.title);
        let past = Past::of(&found, &name);
        return if found.stands() { inverse(tx, &past) } else { again(tx, &past) };
    }
    Err(refused(match part_of(tx, edit)? {
        Some(with) => format!(
            "this change was refused as one with another of its record (edit {with}): give that up, or change it"
        ),
        None => format!("there is no edit {edit}, or it was settled more than 30 days ago"),
    }))
}

/// Queues the inverse of an edit that the server has, or may have.
pub(crate) fn invert(tx: &Transaction<'_>, found: &Pending) -> Result<Decided, EditError> {
    let Pending { id, name, kind, record, method, patch, base, .. } = found;
    inverse(tx, &Past { id: *id, name, kind: *kind, record, method, patch, base })
}

/// Makes a record anew that was deleted there, as it stands here: with another id, because the server never takes one
/// twice (contract 6.1). What waited for the old one is settled with it.
pub(crate) fn make_anew(tx: &Transaction<'_>, found: &Pending, now: Timestamp) -> Result<Decided, EditError> {
    let Pending { id, name, kind, record, .. } = found;
    let Some(stored) = rows::get(tx, *kind, record)? else {
        return Err(refused(format!("{name} is deleted here by a later change: discard edit {id}")));
    };
    let there = image::known(tx, *kind, record)?.map(|known| known.fields).unwrap_or_default();
    let (fields, without) = living(tx, *kind, &stored.fields, &there)?;
    let new = edits::create_in(tx, *kind, &fields)?;
    let edit = newest_of(tx, *kind, &new)?;
    note(tx, *id, edit)?;
    gate::pass(tx, |tx| {
        let all: Vec<i64> = tx
            .prepare_cached("SELECT id FROM edits WHERE kind = ?1 AND record_id = ?2 ORDER BY id DESC")?
            .query_map((kind.word(), record), |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for edit in all {
            settle::take_back(tx, edit, "superseded", Some("made anew as another record"), now)?;
        }
        Ok::<_, EditError>(plan::mark(tx)?)
    })?;
    Ok(Decided { said: format!("{name} is made anew, with another id{without}"), edit })
}

/// A change that was made.
struct Past<'a> {
    id: i64,
    /// What the record is called, in quotes.
    name: &'a str,
    kind: Kind,
    record: &'a str,
    method: &'a str,
    patch: &'a Fields,
    base: &'a Fields,
}

impl<'a> Past<'a> {
    fn of(found: &'a Settled, name: &'a str) -> Past<'a> {
        let Settled { id, kind, record_id, method, patch, base, .. } = found;
        Past { id: *id, name, kind: *kind, record: record_id, method, patch, base }
    }
}

/// A change that goes to the server as one with others of its record, as it was made.
struct Part {
    id: i64,
    name: String,
    kind: Kind,
    record: String,
    method: String,
    patch: Fields,
    base: Fields,
}

impl Part {
    fn past(&self) -> Past<'_> {
        let Part { id, name, kind, record, method, patch, base } = self;
        Past { id: *id, name, kind: *kind, record, method, patch, base }
    }
}

/// The change of that number, if it is on its way as one with others, or waits to go again. What was refused as one stays
/// one.
fn part(tx: &Connection, edit: i64) -> Result<Option<Part>, EditError> {
    let found = tx
        .prepare_cached("SELECT of_edit, method, patch, base FROM _parts WHERE edit_id = ?1")?
        .query_row([edit], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?, row.get::<_, String>(3)?)))
        .optional()?;
    let Some((with, method, patch, base)) = found else { return Ok(None) };
    let stays_one = |sum: &Pending| !sum.in_doubt && matches!(sum.state.as_str(), "rejected" | "conflict");
    let Some(sum) = load(tx, with)?.filter(|sum| !stays_one(sum)) else { return Ok(None) };
    let (patch, base) = (rows::object(&patch)?, rows::object(&base)?);
    Ok(Some(Part { id: edit, name: sum.name, kind: sum.kind, record: sum.record, method, patch, base }))
}

/// Queues what takes a change back.
fn inverse(tx: &Transaction<'_>, past: &Past<'_>) -> Result<Decided, EditError> {
    let Past { id, name, kind, record, .. } = *past;
    let (sentence, of) = match past.method {
        "create" => {
            edits::delete_in(tx, kind, record).map_err(|error| gone(error, past))?;
            (format!("{name} is deleted again"), record.to_owned())
        }
        "delete" => {
            let (fields, without) = living(tx, kind, past.base, past.base)?;
            let new = edits::create_in(tx, kind, &fields)?;
            (format!("{name} is made anew, with another id, because a deleted one is never used again{without}"), new)
        }
        _ => {
            let Some(present) = rows::get(tx, kind, record)? else { return Err(gone(EditError::NotFound, past)) };
            let (mut set, mut changed) = (Fields::new(), Vec::new());
            for (name, value) in past.patch {
                let before = past.base.get(name).cloned().unwrap_or_default();
                let now = spelled(kind, name, present.fields.get(name));
                // In one spelling: what only wrote a value otherwise has changed nothing.
                if now == spelled(kind, name, Some(&before)) {
                    continue;
                }
                if now == spelled(kind, name, Some(value)) {
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
            let names = changed.join(", ");
            let dead = dead(tx, kind, &mut set, &present.fields)?;
            if set.is_empty() {
                return Err(refused(match (changed.is_empty(), dead.is_empty()) {
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
            edits::update_in(tx, kind, record, &set)?;
            let back = set.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let kept = if changed.is_empty() { String::new() } else { format!("; changed since, and left: {names}") };
            (format!("{name}: {back} as before{kept}{}", left(&dead)), record.to_owned())
        }
    };
    let edit = newest_of(tx, kind, &of)?;
    note(tx, id, edit)?;
    Ok(Decided { said: sentence, edit })
}

/// Notes which edit undoes a change, or makes one again that did not come to stand.
fn note(tx: &Transaction<'_>, edit: i64, by: Option<i64>) -> Result<(), EditError> {
    gate::pass(tx, |tx| {
        if let Some(by) = by {
            tx.execute("INSERT OR REPLACE INTO _undone (edit_id, by_edit) VALUES (?1, ?2)", (edit, by))?;
        }
        Ok(())
    })
}

/// Makes a change again that did not come to stand: it was taken back, given up, or lost a conflict.
fn again(tx: &Transaction<'_>, past: &Past<'_>) -> Result<Decided, EditError> {
    let Past { id, name, kind, record, .. } = *past;
    let (sentence, of) = match past.method {
        "create" => {
            let (mut fields, without) = living(tx, kind, past.patch, &Fields::new())?;
            let free: bool = tx.query_row(
                "SELECT NOT EXISTS (SELECT 1 FROM _tombs WHERE kind = ?1 AND record_id = ?2)
                    AND NOT EXISTS (SELECT 1 FROM edits WHERE kind = ?1 AND record_id = ?2)",
                (kind.word(), record),
                |row| row.get(0),
            )?;
            if free && rows::get(tx, kind, record)?.is_none() {
                fields.insert("id".to_owned(), record.into());
            }
            let new = edits::create_in(tx, kind, &fields)?;
            // A second time, an update finds its values there, and a delete no record; a create would make another.
            note(tx, id, newest_of(tx, kind, &new)?)?;
            (format!("{name} is there again{without}"), new)
        }
        "delete" => {
            edits::delete_in(tx, kind, record).map_err(|error| gone(error, past))?;
            (format!("{name} is deleted"), record.to_owned())
        }
        _ => {
            let before = newest_of(tx, kind, record)?;
            let present = rows::get(tx, kind, record)?.unwrap_or_default();
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
    Ok(Decided { said: sentence, edit: newest_of(tx, kind, &of)? })
}

/// The changes made here that stand and do not undo one that stood, newest first; as many as may be passed over. Of
/// those that are on their way as one each counts; what was refused as one is one, as new as its last.
fn newest(tx: &Connection) -> Result<Vec<i64>, EditError> {
    let mut statement = tx.prepare_cached(
        "SELECT id FROM edits UNION ALL SELECT edit_id FROM _parts
         UNION ALL SELECT id FROM edit_history WHERE outcome IN ('confirmed', 'merged')
         EXCEPT SELECT by_edit FROM _undone WHERE edit_id NOT IN
             (SELECT id FROM edit_history WHERE outcome NOT IN ('confirmed', 'merged')) ORDER BY id DESC",
    )?;
    let mut found = statement.query([])?;
    let mut newest = Vec::new();
    while let Some(row) = found.next()?
        && newest.len() < PASSED_OVER_MAX
    {
        let edit = row.get(0)?;
        let edit = match part_of(tx, edit)? {
            Some(sum) if part(tx, edit)?.is_none() => sum,
            _ => edit,
        };
        if undone_by(tx, edit)?.is_none() && !newest.contains(&edit) {
            newest.push(edit);
        }
    }
    Ok(newest)
}

/// The edit that a change is, or was refused, as one with.
fn part_of(tx: &Connection, edit: i64) -> Result<Option<i64>, EditError> {
    let text = "SELECT of_edit FROM _parts WHERE edit_id = ?1";
    Ok(tx.prepare_cached(text)?.query_row([edit], |row| row.get(0)).optional()?)
}

/// The edit that undoes this one or makes it again, unless that is undone itself.
fn undone_by(tx: &Connection, edit: i64) -> Result<Option<i64>, EditError> {
    let by: Option<i64> = tx
        .prepare_cached("SELECT by_edit FROM _undone WHERE edit_id = ?1")?
        .query_row([edit], |row| row.get(0))
        .optional()?;
    Ok(match by {
        Some(by) if undone_by(tx, by)?.is_none() => Some(by),
        _ => None,
    })
}

fn newest_of(tx: &Connection, kind: Kind, record: &str) -> Result<Option<i64>, EditError> {
    let text = "SELECT max(id) FROM edits WHERE kind = ?1 AND record_id = ?2";
    Ok(tx.prepare_cached(text)?.query_row((kind.word(), record), |row| row.get(0))?)
}

/// The values with which a record can be made: without what the server sets, and without references to what is gone. A
/// task that was done on the server has had its next one, and made anew with its recurrence would get another (contract
/// 3). With it a phrase that says which are left out.
fn living(tx: &Connection, kind: Kind, fields: &Fields, there: &Fields) -> Result<(Fields, String), EditError> {
    let mut living = Fields::new();
    let mut phrase = String::new();
    let is_done = |fields: &Fields| fields.get("status").and_then(Value::as_str) == Some("done");
    for field in resource(kind).fields.iter().filter(|field| field.is_writable()) {
        let Some(value) = fields.get(field.name).filter(|value| !value.is_null()) else { continue };
        if field.name == "recurrence" && is_done(fields) && is_done(there) {
            phrase.push_str(", without recurrence, because a task that is done has had its next one");
            continue;
        }
        living.insert(field.name.to_owned(), value.clone());
    }
    let left_out = dead(tx, kind, &mut living, &Fields::new())?;
    if !left_out.is_empty() {
        phrase.push_str(&format!(", without {}, which named what is gone", left_out.join(", ")));
    }
    Ok((living, phrase))
}

/// Takes references to what is gone out of a record's new values, and gives their names. A subject goes as a whole.
fn dead(tx: &Connection, kind: Kind, values: &mut Fields, present: &Fields) -> Result<Vec<&'static str>, EditError> {
    let subject = values.get(SUBJECT_TYPE).or(present.get(SUBJECT_TYPE)).and_then(Value::as_str);
    let subject = subject.and_then(Kind::from_word);
    let mut dead = Vec::new();
    for field in resource(kind).fields {
        let target = match field.format {
            Format::Reference(kind) => Some(kind),
            Format::Subject => subject,
            _ => None,
        };
        if let (Some(target), Some(id)) = (target, values.get(field.name).and_then(Value::as_str))
            && rows::get(tx, target, id)?.is_none()
        {
            dead.push(field.name);
        }
    }
    values.retain(|name, _| !dead.contains(&name.as_str()));
    if dead.contains(&SUBJECT_ID) {
        values.shift_remove(SUBJECT_TYPE);
    }
    Ok(dead)
}

/// A phrase that says what [`dead`] has left as it is.
fn left(dead: &[&str]) -> String {
    if dead.is_empty() { String::new() } else { format!("; left, because what it named is gone: {}", dead.join(", ")) }
}

fn gone(error: EditError, past: &Past<'_>) -> EditError {
    match error {
        EditError::NotFound => refused(format!("{} is deleted by now", past.name)),
        other => other,
    }
}

fn refused(sentence: impl Into<String>) -> EditError {
    EditError::Refused(sentence.into())
}
