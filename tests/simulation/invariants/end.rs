//! What must be true besides when nothing is on its way any more. Must not know the steps before.

use rusqlite::Connection;
use serde_json::Value;

use hearth_contract::schema::Kind;

use super::super::eye::{self, Ended, Open};
use super::super::model::{History, Model, Since, marks};
use super::account::{is_one, without_what_came_over};
use super::book::{Book, Note};

/// At the end: an edit is blocked only behind one that needs a person, and none is refused for naming a record that is
/// there; unless the server was put back and the record came back after the refusal.
pub fn are_stuck_for_a_reason(book: &Book, edits: &[Open], model: &Model) -> Result<(), String> {
    for edit in edits.iter().filter(|edit| edit.state == "blocked") {
        let why = edit.reason.as_deref().unwrap_or_default();
        let cause = why.split_whitespace().find_map(|word| word.trim_end_matches(',').parse::<i64>().ok());
        if !edits.iter().any(|other| Some(other.id) == cause && other.needs_a_person()) {
            return Err(format!("edit {} is blocked, but nothing blocks it: {why}", edit.id));
        }
    }
    let [present] = &model.histories[..] else { return Ok(()) };
    for edit in edits.iter().filter(|edit| edit.state == "conflict" && !model.decided.contains(&edit.name)) {
        let note = book.known.get(&edit.id).ok_or_else(|| format!("edit {} was never seen", edit.id))?;
        if !is_contested(book, present, note, edit) {
            return Err(format!("edit {} is in conflict, but nobody has changed the same: {:?}", edit.id, edit.reason));
        }
    }
    let records = present.records_at(present.head);
    for edit in edits.iter().filter(|edit| edit.state == "rejected") {
        let room = edit.patch.get("room_id").and_then(Value::as_str).unwrap_or_default();
        if edit.reason.as_deref().is_some_and(|why| why.contains("room_id"))
            && records.contains_key(&(Kind::Room, room.to_owned()))
        {
            return Err(format!("edit {} is refused for a room that is there, {room}: {:?}", edit.id, edit.reason));
        }
    }
    Ok(())
}

/// Whether the server has changed or deleted what an edit is about since the replica stood where the edit was made, or
/// where the first was that it was made upon and that the server never took as a whole: until that one gave way, it hid
/// what others had written. A record that is to be made is there already.
fn is_contested(book: &Book, present: &History, note: &Note, edit: &Open) -> bool {
    // Whether a request had its effect before others wrote over it, nobody can tell any more after a gap.
    if edit.reason.as_deref().is_some_and(|why| why.contains("may have been on the server already")) {
        return true;
    }
    let versions = present.versions.get(&edit.name).map(Vec::as_slice).unwrap_or_default();
    // A row whose record is gone there stays in sight, and may be edited again.
    if versions.last().is_some_and(|(_, fields)| fields.is_none()) {
        return true;
    }
    let gave_way = |id: &i64, known: &Note| {
        book.written.get(id).is_some_and(|(_, all)| all.keys().any(|field| !known.patch.contains_key(field)))
    };
    let is_taken = |id: &i64, known: &Note| {
        book.settled.get(id).is_some_and(|outcome| outcome == "confirmed") && !gave_way(id, known)
    };
    let is_under = |id: &i64, known: &Note| *id < edit.id && known.name == note.name && !is_taken(id, known);
    let under = book.known.iter().filter(|(id, known)| is_under(id, known)).map(|(_, known)| known.position);
    let position = under.chain([note.position]).min().unwrap_or_default();
    let since = versions.iter().filter(|(rev, _)| *rev > position);
    let before = || present.at(&edit.name, position).and_then(|(_, fields)| fields.as_deref());
    match edit.method.as_str() {
        "create" => !versions.is_empty(),
        "delete" => since.count() > 0,
        _ => since.into_iter().any(|(_, after)| match (before(), after.as_deref()) {
            (Some(before), Some(after)) => edit.patch.keys().any(|field| before.get(field) != after.get(field)),
            // Made there since, or gone.
            _ => true,
        }),
    }
}

/// At the end: what is said to be confirmed is in the history that goes on. What a server lost when it was put back is
/// offered again, unless something else that was done here took its place, or its record was deleted there since, or in the
/// history that was lost somebody had written over it.
pub fn are_still_held(database: &Connection, book: &Book, edits: &[Open], model: &Model) -> Result<(), String> {
    let ended = eye::ended(database).map_err(|error| format!("the replica cannot be read: {error}"))?;
    let present = model.present();
    for Ended { id, name, method, patch, .. } in ended.into_iter().filter(|edit| edit.outcome == "confirmed") {
        let is_deleted = |known: &Note| known.name == name && known.method == "delete";
        let decided = model.decided.contains(&name) || book.let_go.contains(&id);
        if method == "delete" || decided || book.known.iter().any(|(other, known)| *other > id && is_deleted(known)) {
            continue;
        }
        if present.versions.get(&name).and_then(|versions| versions.last()).is_some_and(|(_, fields)| fields.is_none())
        {
            continue;
        }
        // Its record is offered again as a whole.
        if edits.iter().any(|edit| edit.name == name && edit.needs_a_person()) {
            continue;
        }
        let note = Note { name, method, patch, since: Since::default(), position: 0 };
        let note = without_what_came_over(book, id, &note);
        let is_in = |mark: &str| present.marks.keys().any(|(name, known)| known == mark && is_one(name, &note.name));
        let was_over = |mark: &str| model.lost().iter().any(|history| history.had_written_over(&note.name, mark));
        if let Some(mark) = marks(&note.patch).find(|mark| !is_in(mark) && !was_over(mark)) {
            let (kind, record) = &note.name;
            return Err(format!("edit {id} is confirmed, but {mark} of {kind} {record} is lost, and nobody was told"));
        }
    }
    Ok(())
}
