//! Every edit is in exactly one place, and what is said of it is so. Must not know the rows beyond what an edit's own
//! record shows.

use std::collections::{BTreeSet, HashSet};

use rusqlite::Connection;
use serde_json::Value;

use super::super::eye::{self, Ended, Open, Rows, Standing};
use super::super::model::{Fields, History, MARK, Model, Name, marks};
use super::book::{Book, Note};

/// Every edit is in exactly one place, and what is said of it is so.
pub(super) fn account(
    database: &Connection,
    book: &mut Book,
    model: &Model,
    edits: &[Open],
    standing: &Standing,
    rows: &Rows,
) -> Result<(), String> {
    let mut open = BTreeSet::new();
    // While the tables are on their way, an edit stands on what is shown of its record, which may be nothing yet.
    let shown = |name: &Name| rows.get(name).and_then(|row| row["rev"].as_i64()).unwrap_or_default();
    let position_of = |name: &Name| if standing.whole { standing.position } else { shown(name).min(standing.position) };
    for edit in edits {
        open.insert(edit.id);
        let position = position_of(&edit.name);
        let (since, position) = book.since(edit.id, model, position);
        let (name, method) = (edit.name.clone(), edit.method.clone());
        let note = || Note { name: name.clone(), method: method.clone(), patch: edit.patch.clone(), since, position };
        book.written.entry(edit.id).or_insert_with(|| (name.clone(), Fields::new())).1.extend(edit.patch.clone());
        // A profile that was filled in before its home was known gets the home's id; an edit that was not sent may
        // take in another one.
        book.known.insert(edit.id, note());
        if edit.needs_a_person() && edit.reason.is_none() {
            return Err(format!("edit {} is {} without a reason", edit.id, edit.state));
        }
        if model.histories.len() == 1
            && edit.reason.as_deref().is_some_and(|why| why.contains("was put back to an older copy"))
        {
            return Err(format!("edit {} is said to be lost, but the server was never put back", edit.id));
        }
        if edit.state == "sent" && !is_held(model, &without_what_came_over(book, edit.id, &note())) {
            return Err(format!("edit {} is said to be sent, but the server never had it", edit.id));
        }
    }
    let failed = |error: rusqlite::Error| format!("the replica cannot be read: {error}");
    // Edits that go together with an earlier one of their record are in it.
    open.extend(eye::parts(database, None).map_err(failed)?);
    let ended = eye::ended(database).map_err(failed)?;
    nothing_is_forgotten(database, book, model, edits, &ended)?;
    for edit in &ended {
        let Ended { id, name, method, patch, outcome, rev, reason, .. } = edit.clone();
        if open.contains(&id) {
            return Err(format!("edit {id} is open and settled at once"));
        }
        if book.settled.insert(id, outcome.clone()).is_some() {
            continue;
        }
        let (since, position_then) = book.since(id, model, position_of(&name));
        let note = Note { name, method, patch, since, position: position_then };
        let seen_there = without_what_came_back(&ended, edit, without_what_came_over(book, id, &note));
        // Of a server that was put back, a stream may still tell the end that only the lost history has.
        let was_told = model.histories.len() > 1
            && note.method == "delete"
            && book.heard.contains(&note.name)
            && !rows.contains_key(&note.name);
        match outcome.as_str() {
            "confirmed" if !was_told && !is_held(model, &seen_there) => {
                let patch = Value::Object(note.patch.clone());
                return Err(format!("edit {id} is said to be confirmed, but the server never had it: {patch}"));
            }
            "confirmed" if rev.is_some_and(|rev| rev > standing.position && !is_shown(rows, &note.name, rev)) => {
                return Err(format!(
                    "edit {id} is settled at {}, before the feed has passed {rev:?}",
                    standing.position
                ));
            }
            "discarded" | "undone" if !book.let_go.contains(&id) => {
                return Err(format!("edit {id} is {outcome}, but nobody said so"));
            }
            "merged" if !came_to_nothing(reason.as_deref()) && !is_held(model, &seen_there) => {
                return Err(format!("edit {id} is said to be there already, but the server never had it: {reason:?}"));
            }
            "superseded" if !has_given_way(book, model, id, &seen_there) => {
                return Err(format!("edit {id} is said to be superseded, but by nothing: {reason:?}"));
            }
            _ => {}
        }
        book.known.insert(id, note);
    }
    let lost = book.known.iter().find(|(id, _)| !open.contains(*id) && !book.settled.contains_key(id));
    match lost {
        Some((id, note)) => Err(format!("edit {id} ({} of {} {}) is gone", note.method, note.name.0, note.name.1)),
        None => Ok(()),
    }
}

/// Whether an edit ended with nothing to be sent, as its reason says.
fn came_to_nothing(reason: Option<&str>) -> bool {
    reason.is_some_and(|why| why.contains("never sent") || why.contains("changes nothing"))
}

/// Whether something else stands in the place of an edit: a later one of here, what the server has or has not, or what a
/// person said, once for all or of this one. Of a server that was put back anything may be.
fn has_given_way(book: &Book, model: &Model, id: i64, note: &Note) -> bool {
    let deletes = |known: &Note| known.name == note.name && known.method == "delete";
    let is_deleted_here = book.known.iter().any(|(other, known)| *other > id && deletes(known));
    let is_gone_there = note.method != "create" && model.was_without(&note.name, note.since);
    let by_a_person = !book.asks || book.let_go.contains(&id) || model.decided.contains(&note.name);
    is_deleted_here || is_gone_there || by_a_person || model.histories.len() > 1 || is_held(model, note)
}

/// Every value that was written here, and not written over here, is still with its edit, with one that took it in, in the
/// history of edits, or on the server. What is settled is told for a month, and then no more.
fn nothing_is_forgotten(
    database: &Connection,
    book: &Book,
    model: &Model,
    edits: &[Open],
    ended: &[Ended],
) -> Result<(), String> {
    let parts = eye::patches_of_parts(database).map_err(|error| format!("the replica cannot be read: {error}"))?;
    let patches = edits.iter().map(|edit| &edit.patch).chain(&parts).chain(ended.iter().map(|edit| &edit.patch));
    let here: HashSet<&str> = patches.flat_map(marks).collect();
    let is_there = |mark: &str| model.any(|history| history.marks.keys().any(|(_, known)| known == mark)).is_some();
    // People decide on a clock of their own, by which what they let go may be forgotten at once.
    let open = book.written.iter().filter(|(id, _)| !book.settled.contains_key(id) && !book.let_go.contains(id));
    for (id, (name, written)) in open {
        let later = || book.written.range(id + 1..).filter(|(_, (of, _))| is_one(of, name));
        for (field, value) in written {
            let mark = value.as_str().filter(|text| text.starts_with(MARK) && !here.contains(text) && !is_there(text));
            if let Some(mark) = mark.filter(|_| !later().any(|(_, (_, over))| over.contains_key(field))) {
                return Err(format!("{mark}, which edit {id} wrote, is nowhere any more"));
            }
        }
    }
    Ok(())
}

/// Whether two names are of one record: the profile may have had another id here before its home was known.
pub(super) fn is_one(one: &Name, other: &Name) -> bool {
    one == other || (one.0 == other.0 && one.0.is_singleton())
}

/// An edit without the fields that a later edit made here has changed since: they may have gone together, and of such
/// values the server sees the last alone.
pub(super) fn without_what_came_over(book: &Book, id: i64, note: &Note) -> Note {
    let later = || book.known.iter().filter(|(other, known)| **other > id && is_one(&known.name, &note.name));
    let patch = note.patch.iter().filter(|(name, _)| !later().any(|(_, known)| known.patch.contains_key(*name)));
    Note { patch: patch.map(|(name, value)| (name.clone(), value.clone())).collect(), ..note.clone() }
}

/// The same without the fields that have the value again which they had before the edits that went together in its
/// request, this one among them: that is no change, and what others have written there meanwhile stands. Its own value was
/// another one before, if what it was written over has been given up since.
fn without_what_came_back(ended: &[Ended], edit: &Ended, mut note: Note) -> Note {
    let together = |other: &&Ended| edit.key.is_some() && other.key == edit.key && is_one(&other.name, &edit.name);
    let up_to_it = || ended.iter().filter(together).take_while(|other| other.id <= edit.id);
    let before = |field: &String| up_to_it().find_map(|other| other.base.get(field));
    note.patch.retain(|field, value| before(field) != Some(value));
    note
}

/// Whether a row shows its record as it was at a position or later, or is gone: then nothing flickers back.
fn is_shown(rows: &Rows, name: &Name, position: i64) -> bool {
    rows.get(name).is_none_or(|row| row["rev"].as_i64().is_some_and(|rev| rev >= position))
}

/// Whether the server has, or had in some history, what an edit wants. A delete wants nothing but that the record is not
/// there: a server that was put back to before it was made says yes to that too, and others may make it again.
fn is_held(model: &Model, note: &Note) -> bool {
    let Note { name, method, patch, since, .. } = note;
    let holds = |history: &&History| {
        let versions = history.versions.get(name);
        versions.is_some_and(|versions| versions.iter().any(|(_, fields)| has(fields.as_deref(), patch)))
    };
    match method.as_str() {
        "delete" => model.was_without(name, *since),
        _ => model.any(holds).is_some(),
    }
}

fn has(fields: Option<&Fields>, patch: &Fields) -> bool {
    fields.is_some_and(|fields| patch.iter().all(|(name, value)| fields.get(name) == Some(value)))
}
