//! A person at the terminal UI of a machine: edits, decisions, answers to a reconcile. Must not know how sync works.

use hearth_contract::check::Fields;
use hearth_contract::recurrence::{COMPLETED_AT, DONE, STATUS};
use hearth_contract::schema::Kind;
use hearth_replica::{EditError, Resolution};
use rusqlite::{Connection, OptionalExtension};
use serde_json::json;

use super::super::machine::Machine;
use super::super::model::Model;
use super::super::observer::{self, OpenEdit};
use super::super::rng::SimRng;
use super::record_picker::{fields_of, pick_record, title_field};

/// Creates, changes or deletes a record at a time of the world. Returns the line for the trace. Err: the edit failed for no
/// valid reason.
pub fn edit_record(machine: &Machine, now: i64, rng: &mut SimRng, mark: &str) -> Result<String, String> {
    let screen = &machine.screen;
    let database = &machine.script_connection;
    let (what, done) = match rng.between(0, 9) {
        0..=2 => {
            let (kind, fields) = new_record(database, rng, mark);
            (format!("creates a {kind} {mark}"), screen.create(kind, &fields).map(drop))
        }
        3..=6 => {
            let Some((kind, id)) = pick_record(database, rng, &Kind::COLLECTIONS) else {
                return Ok("has nothing to edit".into());
            };
            let mut fields = changed_fields(database, rng, kind, mark);
            let status = fields.get(STATUS).and_then(|status| status.as_str());
            if status == Some(DONE) && !is_done(database, &id) && rng.chance(800) {
                // Without this, the clock of the real machine counts, which the server refuses.
                fields.insert(COMPLETED_AT.into(), machine.wall_clock(now).to_string().into());
            }
            (format!("changes {kind} {id} {mark}"), screen.update(kind, &id, &fields))
        }
        7 => {
            let fields = fields_of(json!({ rng.pick(&["city", "address", "roof_material"]): mark }));
            (format!("sets the profile {mark}"), screen.update(Kind::Property, "", &fields))
        }
        _ => {
            let Some((kind, id)) = pick_record(database, rng, &Kind::COLLECTIONS) else {
                return Ok("has nothing to delete".into());
            };
            (format!("deletes {kind} {id}"), screen.delete(kind, &id))
        }
    };
    match done {
        Ok(()) => Ok(what),
        Err(error) => refusal(what, error, "edit"),
    }
}

/// Completes the open task of a series that is due first. Without such a task, begins a daily series.
pub fn work_on_series(machine: &Machine, now: i64, mark: &str) -> Result<String, String> {
    let text = "SELECT id FROM tasks WHERE recurrence IS NOT NULL AND status <> 'done' ORDER BY due_on, id LIMIT 1";
    let open: Option<String> = machine
        .script_connection
        .prepare_cached(text)
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)).optional())
        .map_err(unreadable)?;
    let (what, done) = match open {
        Some(id) => {
            let fields = json!({ STATUS: DONE, COMPLETED_AT: machine.wall_clock(now), "notes": mark });
            (format!("completes task {id} {mark}"), machine.screen.update(Kind::Task, &id, &fields_of(fields)))
        }
        None => {
            let fields = json!({ "title": mark, "recurrence": "daily", "due_on": "2099-01-01" });
            (format!("begins a series {mark}"), machine.screen.create(Kind::Task, &fields_of(fields)).map(drop))
        }
    };
    match done {
        Ok(()) => Ok(what),
        Err(error) => refusal(what, error, "edit"),
    }
}

/// Attaches one of a few files to a new document. Machines that attach the same number attach the same bytes.
pub fn attach(machine: &Machine, number: u8, rng: &mut SimRng, mark: &str) -> Result<String, String> {
    let file = machine.db.with_extension("photo");
    std::fs::write(&file, format!("the photo {number}")).map_err(|error| error.to_string())?;
    let fields = fields_of(json!({ "id": rng.uuid(), title_field(Kind::Document): mark, "category": "receipt" }));
    let what = format!("attaches the photo {number} as {mark}");
    match machine.screen.attach(&[file], &fields, None) {
        Ok(_) => Ok(what),
        Err(error) => Err(format!("a person cannot attach a file: {error}")),
    }
}

/// Decides about an edit that needs a person. Without such an edit, sometimes undoes the last change.
pub fn decide(machine: &mut Machine, model: &mut Model, rng: &mut SimRng) -> Result<String, String> {
    let edits = observer::open_edits(&machine.script_connection).map_err(unreadable)?;
    let waiting: Vec<_> = edits.iter().filter(|edit| edit.needs_a_person()).collect();
    if waiting.is_empty() {
        return match rng.chance(150) {
            true => undo(machine, model, &edits),
            false => Ok("has nothing to decide".to_owned()),
        };
    }
    let edit = waiting[rng.index(waiting.len())];
    model.facts.decided_records.insert(edit.record.clone());
    // A decision about a create decides about all edits of the record.
    for other in edits.iter().filter(|other| other.record == edit.record) {
        machine.ledger.given_up.insert(other.id);
        let coalesced = observer::coalesced_edits(&machine.script_connection, Some(other.id)).map_err(unreadable)?;
        machine.ledger.given_up.extend(coalesced);
    }
    let choice = if edit.state == "conflict" { rng.between(0, 3) } else { rng.between(2, 3) };
    let done = match choice {
        0 => machine.screen.resolve(edit.id, &Resolution::mine()),
        1 => machine.screen.resolve(edit.id, &Resolution::theirs()),
        2 => machine.screen.retry(edit.id),
        _ => machine.screen.discard(edit.id),
    };
    let verb = ["keeps the own values of", "takes the server's values in", "retries", "discards"][choice as usize];
    let what = format!("{verb} edit {}, which is in state {}", edit.id, edit.state);
    match done {
        Ok(decided) => Ok(format!("{what}: {}", decided.sentence)),
        Err(error) => refusal(what, error, "decide"),
    }
}

/// Undoes the last change, and notes all edits that the undo ended or changed.
fn undo(machine: &mut Machine, model: &mut Model, before: &[OpenEdit]) -> Result<String, String> {
    let database = &machine.script_connection;
    let coalesced_before = observer::coalesced_edits(database, None).map_err(unreadable)?;
    let done = machine.screen.undo(None);
    let after = observer::open_edits(database).map_err(unreadable)?;
    let coalesced_after = observer::coalesced_edits(database, None).map_err(unreadable)?;
    // The record of an undone edit may get its old values again.
    let is_new = |edit: &&OpenEdit| !before.iter().any(|known| known.id == edit.id && known.patch == edit.patch);
    let has_ended = |edit: &&OpenEdit| !after.iter().any(|known| known.id == edit.id);
    let touched: Vec<_> = after.iter().filter(is_new).chain(before.iter().filter(has_ended)).collect();
    model.facts.decided_records.extend(touched.iter().map(|edit| edit.record.clone()));
    machine.ledger.given_up.extend(touched.iter().map(|edit| edit.id));
    let gone = coalesced_before.into_iter().filter(|edit| !coalesced_after.contains(edit));
    machine.ledger.given_up.extend(gone);
    let what = "undoes the last change".to_owned();
    match done {
        Ok(decided) => Ok(format!("{what}: {}", decided.sentence)),
        Err(error) => refusal(what, error, "decide"),
    }
}

/// Accepts the deletions that a reconcile asks about. Without a question, or when not `willing`, requests a reconcile.
pub fn answer_reconcile(machine: &mut Machine, willing: bool) -> Result<String, String> {
    let accepts = machine.reconcile_question().map_err(unreadable)?.is_some() && willing;
    machine.ledger.deletions_accepted |= accepts;
    machine.screen.reconcile(accepts).map_err(|error| format!("a person cannot request a reconcile: {error}"))?;
    Ok(if accepts { "accepts the deletions" } else { "requests a reconcile" }.to_owned())
}

/// The line for the trace after an expected refusal. Err for any other error.
fn refusal(what: String, error: EditError, verb: &str) -> Result<String, String> {
    match error {
        EditError::Refused(why) => Ok(format!("{what}: refused, {why}")),
        EditError::NotFound => Ok(format!("{what}: not found")),
        EditError::Store(error) => Err(format!("a person cannot {verb}: {error}")),
    }
}

fn unreadable(error: rusqlite::Error) -> String {
    format!("the replica cannot be read: {error}")
}

fn new_record(database: &Connection, rng: &mut SimRng, mark: &str) -> (Kind, Fields) {
    let kind = rng.pick(&[
        Kind::Room,
        Kind::Inventory,
        Kind::Inventory,
        Kind::Task,
        Kind::Task,
        Kind::Vehicle,
        Kind::Document,
    ]);
    let mut fields = fields_of(json!({ "id": rng.uuid(), title_field(kind): mark }));
    match kind {
        Kind::Inventory => {
            if let Some((_, room)) = pick_record(database, rng, &[Kind::Room]) {
                fields.insert("room_id".into(), room.into());
            }
        }
        Kind::Task | Kind::Document => {
            if let Some((kind, id)) = pick_record(database, rng, &[Kind::Inventory, Kind::Vehicle]) {
                fields.insert("subject_type".into(), kind.as_str().into());
                fields.insert("subject_id".into(), id.into());
            }
            if kind == Kind::Task && rng.chance(300) {
                fields.insert("recurrence".into(), rng.pick(&["daily", "monthly"]).into());
                fields.insert("recurrence_every".into(), rng.between(1, 3).into());
            }
            if kind == Kind::Task && rng.chance(500) {
                fields.insert("due_on".into(), rng.pick(&["2098-12-31", "2099-01-31"]).into());
            }
        }
        _ => {}
    }
    (kind, fields)
}

fn is_done(database: &Connection, task: &str) -> bool {
    let text = "SELECT EXISTS (SELECT 1 FROM tasks WHERE id = ?1 AND status = 'done')";
    database.prepare_cached(text).and_then(|mut s| s.query_row([task], |row| row.get(0))).unwrap_or(false)
}

fn changed_fields(database: &Connection, rng: &mut SimRng, kind: Kind, mark: &str) -> Fields {
    let mut fields = fields_of(json!({ rng.pick(&[title_field(kind), "notes"]): mark }));
    match kind {
        Kind::Task if rng.chance(400) => drop(fields.insert("status".into(), rng.pick(&["done", "open"]).into())),
        Kind::Inventory if rng.chance(400) => {
            let room = pick_record(database, rng, &[Kind::Room]).map(|(_, id)| id);
            fields.insert("room_id".into(), room.into());
        }
        _ => {}
    }
    fields
}
