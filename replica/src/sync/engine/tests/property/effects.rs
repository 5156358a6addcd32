//! Invariants about the effect of edits: the server has the effect of each confirmed edit, and no edit is offered again that the
//! server has. Almost every value is written once, so the value identifies its edit; an undo writes an earlier value again. Must
//! not change the database or the server.

use hearth_contract::schema::Kind;
use rusqlite::Connection;

use super::server::{Change, Fields, Key, records_at};
use super::world::World;

/// The fields to which only edits and other clients write. The server clears a reference to a deleted room by itself.
const WRITTEN: [&str; 3] = ["name", "floor", "notes"];

/// The outcomes of edits whose values the server has.
const ENDED_THERE: [&str; 2] = ["confirmed", "merged"];

/// An edit: open, or ended.
struct Edit {
    id: i64,
    record: Key,
    method: String,
    patch: Fields,
    /// The reason of an open edit, or the outcome of an ended one.
    word: String,
}

fn edits(db: &Connection, table: &str, word: &str) -> Vec<Edit> {
    let text = format!(
        "SELECT id, kind, record_id, method, patch, coalesce({word}, '') FROM {table}
         WHERE kind IN ('room', 'inventory') ORDER BY id"
    );
    let mut statement = db.prepare(&text).unwrap();
    let found = statement.query_map([], |row| {
        let (kind, record, patch): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(4)?);
        let mut patch: Fields = serde_json::from_str(&patch).unwrap();
        patch.retain(|name, _| WRITTEN.contains(&name.as_str()));
        let record = (Kind::parse(&kind).unwrap(), record);
        Ok(Edit { id: row.get(0)?, record, method: row.get(3)?, patch, word: row.get(5)? })
    });
    found.unwrap().map(Result::unwrap).collect()
}

fn has(fields: &Fields, name: &str, value: &serde_json::Value) -> bool {
    fields.get(name).unwrap_or(&serde_json::Value::Null) == value
}

fn holds(fields: &Fields, patch: &Fields) -> bool {
    patch.iter().all(|(name, value)| has(fields, name, value))
}

fn is_deleted_in(history: &[Change], record: &Key) -> bool {
    history.iter().any(|change| change.record == *record && change.fields.is_none())
}

/// True when somebody else wrote another value of the field after this one.
fn is_overwritten_in(history: &[Change], record: &Key, name: &str, value: &serde_json::Value) -> bool {
    let states = history.iter().filter(|change| change.record == *record).filter_map(|change| change.fields.as_ref());
    let mut after = states.skip_while(|fields| !has(fields, name, value));
    after.any(|fields| !has(fields, name, value))
}

/// An edit that is offered again as lost is not on the server, and no later edit of this device took its place there.
/// `position`: the replica cannot know later changes.
pub(super) fn check_offers(world: &World, position: i64) -> Result<(), String> {
    let records = records_at(&world.server.changes, position);
    let ended = edits(&world.script, "edit_history", "outcome");
    let open = edits(&world.script, "edits", "reason_code");
    for edit in open.iter().filter(|edit| edit.word == "lost_by_server") {
        let there = records.get(&edit.record);
        let is_there = match edit.method.as_str() {
            "delete" => there.is_none(),
            "create" => there.is_some(),
            _ => !edit.patch.is_empty() && there.is_some_and(|fields| holds(fields, &edit.patch)),
        };
        if is_there {
            return Err(format!("edit {} is offered again, and the server has it", edit.id));
        }
        let later = ended.iter().filter(|later| {
            later.record == edit.record && later.id > edit.id && ENDED_THERE.contains(&later.word.as_str())
        });
        let asked = open.iter().filter(|later| {
            later.record == edit.record && later.id > edit.id && ["", "lost_by_server"].contains(&later.word.as_str())
        });
        if let Some(delete) = later.clone().chain(asked).find(|later| later.method == "delete" && !world.has_decided) {
            return Err(format!("edit {} is offered again, and edit {} deletes its record", edit.id, delete.id));
        }
        for later in later {
            let replaced = edit.patch.keys().find(|name| {
                later.patch.get(*name).is_some_and(|value| there.is_some_and(|fields| has(fields, name, value)))
            });
            if let Some(name) = replaced.filter(|_| edit.method == "update") {
                return Err(format!("edit {} is offered again, and edit {} replaced its {name}", edit.id, later.id));
            }
        }
    }
    Ok(())
}

/// True when an edit took the value of this one back. A create that carries out an undo has no field for a null.
fn is_undone(db: &Connection, edit: &Edit) -> bool {
    let text = "SELECT EXISTS (SELECT 1 FROM _outbox JOIN edit_history h ON h.id = undone_by
                WHERE edit_id = ?1 AND h.outcome IN ('confirmed', 'merged'))";
    db.query_row(text, [edit.id], |row| row.get(0)).unwrap()
}

/// The server has the effect of every confirmed and merged edit, or had it until somebody replaced it.
pub(super) fn check_effects(world: &World) -> Result<(), String> {
    let (server, ended) = (&world.server, edits(&world.script, "edit_history", "outcome"));
    for (index, edit) in ended.iter().enumerate().filter(|(_, edit)| ENDED_THERE.contains(&edit.word.as_str())) {
        if edit.method == "delete" {
            if server.records().contains_key(&edit.record) {
                return Err(format!("edit {} deleted {:?}, and the server has it", edit.id, edit.record));
            }
            continue;
        }
        let histories = || server.discarded.iter().chain([&server.changes]);
        if histories().any(|history| is_deleted_in(history, &edit.record)) {
            continue;
        }
        let later = || ended[index + 1..].iter().filter(|later| later.record == edit.record);
        if later().any(|later| later.method == "delete") {
            continue;
        }
        if edit.method == "update" && is_undone(&world.script, edit) {
            continue;
        }
        let mut patch = edit.patch.clone();
        for later in later() {
            patch.retain(|name, _| !later.patch.contains_key(name));
        }
        patch.retain(|name, value| {
            !server.discarded.iter().any(|history| is_overwritten_in(history, &edit.record, name, value))
        });
        // Later edits and other clients replaced every value. Only a create has a further effect: the record itself.
        if patch.is_empty() && edit.method == "update" {
            continue;
        }
        let mut states = server.changes.iter().filter(|change| change.record == edit.record);
        if !states.any(|change| change.fields.as_ref().is_some_and(|fields| holds(fields, &patch))) {
            return Err(format!("edit {} is {}, and the server has lost {patch:?}", edit.id, edit.word));
        }
    }
    Ok(())
}

/// No value of this device takes effect twice in the present history, unless a person has decided about an edit.
pub(super) fn check_single_effects(world: &World) -> Result<(), String> {
    if world.has_decided {
        return Ok(());
    }
    let db = &world.script;
    for edit in edits(db, "edits", "reason_code").into_iter().chain(edits(db, "edit_history", "outcome")) {
        let states = || world.server.changes.iter().filter(|change| change.record == edit.record);
        for (name, value) in &edit.patch {
            let shows = |change: &Change| change.fields.as_ref().is_some_and(|fields| has(fields, name, value));
            let mut before = false;
            let times = states().filter(|change| !std::mem::replace(&mut before, shows(change)) && before).count();
            if times > 1 {
                return Err(format!("edit {} took effect {times} times: {name}", edit.id));
            }
        }
    }
    Ok(())
}
