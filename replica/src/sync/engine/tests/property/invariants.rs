//! What must hold after each step of a sequence, and at its end. Reads the database and the server, and changes neither.

use std::collections::{BTreeMap, BTreeSet};

use hearth_contract::schema::Kind;
use rusqlite::Connection;

use super::effects::{check_effects, check_offers, check_single_effects};
use super::server::{Change, Fields, Key, records_at};
use super::world::World;

/// Columns that the test writes, for each kind.
const COLUMNS: [(Kind, &[&str]); 2] =
    [(Kind::Room, &["name", "floor"]), (Kind::Inventory, &["name", "notes", "room_id"])];

/// What the database says about the sync.
#[derive(Debug)]
pub(super) struct State {
    pub(super) phase: String,
    pub(super) position: i64,
    pub(super) is_reconciling: bool,
}

pub(super) fn state_of(db: &Connection) -> State {
    let text = "SELECT phase, position, NOT backfilled OR EXISTS (SELECT 1 FROM _reconcile) FROM _sync";
    db.query_row(text, [], |row| Ok(State { phase: row.get(0)?, position: row.get(1)?, is_reconciling: row.get(2)? }))
        .unwrap()
}

pub(super) fn column_pairs(db: &Connection, text: &str) -> Vec<(String, String)> {
    let mut statement = db.prepare(text).unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

/// An open edit: its record, method and patch.
fn open_edits(db: &Connection) -> Vec<(Key, String, Fields)> {
    let text = "SELECT kind, record_id, method, patch FROM edits WHERE kind IN ('room', 'inventory') ORDER BY id";
    let mut statement = db.prepare(text).unwrap();
    let edits = statement.query_map([], |row| {
        let (kind, id, method): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let patch: String = row.get(3)?;
        Ok(((Kind::parse(&kind).unwrap(), id), method, serde_json::from_str(&patch).unwrap()))
    });
    edits.unwrap().map(Result::unwrap).collect()
}

/// The written columns of a row, or of a record.
type Shown = Vec<Option<String>>;

fn rows_of(db: &Connection) -> BTreeMap<Key, Shown> {
    let mut rows = BTreeMap::new();
    for (kind, columns) in COLUMNS {
        let text = format!("SELECT id, {} FROM {}", columns.join(", "), kind.collection());
        let mut statement = db.prepare(&text).unwrap();
        let found = statement.query_map([], |row| {
            let shown = (1..=columns.len()).map(|at| row.get(at)).collect::<rusqlite::Result<Shown>>()?;
            Ok(((kind, row.get(0)?), shown))
        });
        rows.extend(found.unwrap().map(Result::unwrap));
    }
    rows
}

fn shown(kind: Kind, fields: &Fields) -> Shown {
    let columns = COLUMNS.iter().find(|(of, _)| *of == kind).unwrap().1;
    columns.iter().map(|name| fields.get(*name)?.as_str().map(str::to_owned)).collect()
}

/// The rows are the records of this history at the position, with the open edits laid over them. `decided`: a person may
/// have given up an edit of a record before the feed has reported that the record is deleted.
fn check_rows(db: &Connection, history: &[Change], position: i64, decided: bool) -> Result<(), String> {
    let (rows, edits, records) = (rows_of(db), open_edits(db), records_at(history, position));
    let keys: BTreeSet<&Key> = rows.keys().chain(records.keys()).collect();
    for key in keys {
        let mine: Vec<_> = edits.iter().filter(|(record, _, _)| record == key).collect();
        let mut expected = records.get(key).cloned();
        // The row of a record that the server has deleted stays until a person has decided.
        if expected.is_none() && mine.iter().any(|(_, method, _)| method != "create") {
            continue;
        }
        for (_, method, patch) in &mine {
            match (method.as_str(), &mut expected) {
                ("delete", fields) => *fields = None,
                ("create", fields) => fields.get_or_insert_with(Fields::new).extend(patch.clone()),
                (_, Some(fields)) => fields.extend(patch.clone()),
                _ => {}
            }
        }
        let (expected, row) = (expected.map(|fields| shown(key.0, &fields)), rows.get(key));
        let was_given_up = decided && row.is_none() && history.iter().any(|c| c.record == *key && c.fields.is_none());
        if expected.as_ref() != row && !was_given_up {
            return Err(format!("{key:?} at {position}: the row is {row:?}, not {expected:?}"));
        }
    }
    Ok(())
}

/// What a person is asked. During a reconcile the replica may still find the answer itself, and before the first contact after a
/// restore it cannot know of the restore.
pub(super) fn check_questions(world: &World) -> Result<(), String> {
    let state = state_of(&world.script);
    let cursor: Option<String> = world.script.query_row("SELECT cursor FROM _sync", [], |row| row.get(0)).unwrap();
    let knows_history = cursor.is_some_and(|cursor| world.server.is_present_cursor(&cursor));
    if state.is_reconciling || !knows_history { Ok(()) } else { check_offers(world, state.position) }
}

/// What must hold after each step. `seen`: the edits of all steps before.
pub(super) fn check_step(world: &World, seen: &mut BTreeSet<i64>) -> Result<(), String> {
    if let Some(problem) = &world.server.problem {
        return Err(problem.clone());
    }
    let (db, ids) = (&world.script, |text: &str| -> BTreeSet<i64> {
        let mut statement = world.script.prepare(text).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    });
    let open = ids("SELECT id FROM edits");
    let ended = ids("SELECT id FROM edit_history");
    let part = ids("SELECT edit_id FROM _outbox WHERE part_of IS NOT NULL");
    seen.extend(&open);
    if let Some(id) = seen.iter().find(|id| !open.contains(id) && !ended.contains(id) && !part.contains(id)) {
        return Err(format!("edit {id} has disappeared"));
    }
    if let Some(id) = open.intersection(&ended).next() {
        return Err(format!("edit {id} is open and ended"));
    }
    let silent = "SELECT id FROM edits WHERE state IN ('blocked', 'rejected', 'conflict') AND reason IS NULL";
    if let Some(id) = ids(silent).first() {
        return Err(format!("edit {id} waits for a person without a reason"));
    }
    check_questions(world)?;
    check_single_effects(world)?;
    let state = state_of(db);
    if state.is_reconciling {
        return Ok(());
    }
    let early = format!("SELECT id FROM edit_history WHERE outcome = 'confirmed' AND rev > {}", state.position);
    if let Some(id) = ids(&early).first().filter(|_| world.server.discarded.is_empty()) {
        return Err(format!("edit {id} is confirmed, and the feed has not passed its revision"));
    }
    let current = check_rows(db, &world.server.changes, state.position, world.has_decided);
    let earlier = |history: &Vec<Change>| check_rows(db, history, state.position, world.has_decided).is_ok();
    if current.is_ok() || world.server.discarded.iter().any(earlier) { Ok(()) } else { current }
}

/// What must hold when nothing is left to do.
pub(super) fn check_end(world: &World) -> Result<(), String> {
    check_rows(&world.script, &world.server.changes, world.server.head(), false)?;
    for table in ["_requests", "_reconcile", "_listed"] {
        let count: i64 =
            world.script.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        if count > 0 {
            return Err(format!("{count} rows are left in {table}"));
        }
    }
    let left = "SELECT edit_id FROM _outbox WHERE if_match IS NOT NULL OR if_absent OR given_up OR maybe_applied
        OR acked_rev IS NOT NULL OR awaits_record OR blocked_by IS NOT NULL OR part_of IS NOT NULL OR as_made IS NOT NULL";
    if let Ok(edit) = world.script.query_row(left, [], |row| row.get::<_, i64>(0)) {
        return Err(format!("the way of edit {edit} is still known in _outbox"));
    }
    check_effects(world)
}
