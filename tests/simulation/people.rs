//! Those who write: people on screens, scripts with plain SQL, clients of the API. Every value they give carries a mark
//! of its own, so that it can be found again. Must not know how anything is synced.

use hearth_contract::check::Fields;
use hearth_contract::paths;
use hearth_contract::schema::Kind;
use hearth_replica::sync::{HttpRequest, HttpResponse};
use hearth_replica::{EditError, Resolution};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::dice::Dice;
use super::eye;
use super::machine::Machine;
use super::model::{History, Model};

/// What somebody did, in words; Err: what must not happen to them.
pub type Told = Result<String, String>;

/// A person does something on a screen.
pub fn person(machine: &Machine, dice: &mut Dice, mark: &str) -> Told {
    let screen = &machine.screen;
    let known = Known { eye: &machine.stranger };
    let (what, done) = match dice.between(0, 9) {
        0..=2 => {
            let (kind, fields) = new_record(&known, dice, mark);
            (format!("creates a {kind} {mark}"), screen.create(kind, &fields).map(drop))
        }
        3..=6 => {
            let Some((kind, id)) = known.any(dice, &Kind::COLLECTIONS) else { return Ok("has nothing to edit".into()) };
            let fields = change(&known, dice, kind, mark);
            (format!("changes {kind} {id} {mark}"), screen.update(kind, &id, &fields))
        }
        7 => {
            let fields = object(json!({ dice.of(&["city", "address", "roof_material"]): mark }));
            (format!("sets the profile {mark}"), screen.update(Kind::Property, "", &fields))
        }
        _ => {
            let Some((kind, id)) = known.any(dice, &Kind::COLLECTIONS) else {
                return Ok("has nothing to delete".into());
            };
            (format!("deletes {kind} {id}"), screen.delete(kind, &id))
        }
    };
    match done {
        Ok(()) => Ok(what),
        Err(EditError::Refused(why)) => Ok(format!("{what}: refused, {why}")),
        Err(EditError::NotFound) => Ok(format!("{what}: not found")),
        Err(EditError::Store(error)) => Err(format!("a person cannot edit: {error}")),
    }
}

/// A person decides about an edit that waits for one, or takes the last change back.
pub fn decide(machine: &mut Machine, model: &mut Model, dice: &mut Dice) -> Told {
    let failed = |error: rusqlite::Error| format!("the replica cannot be read: {error}");
    let edits = eye::edits(&machine.stranger).map_err(failed)?;
    let waiting: Vec<_> = edits.iter().filter(|edit| edit.needs_a_person()).collect();
    let (what, done) = if waiting.is_empty() {
        if !dice.happens(150) {
            return Ok("has nothing to decide".to_owned());
        }
        let parts = eye::parts(&machine.stranger, None).map_err(failed)?;
        let done = machine.screen.undo(None);
        let after = eye::edits(&machine.stranger).map_err(failed)?;
        let parts_after = eye::parts(&machine.stranger, None).map_err(failed)?;
        // The record of what was taken back may see its old values again.
        let is_new = |edit: &&eye::Open| !edits.iter().any(|known| known.id == edit.id && known.patch == edit.patch);
        let is_over = |edit: &&eye::Open| !after.iter().any(|known| known.id == edit.id);
        let touched: Vec<_> = after.iter().filter(is_new).chain(edits.iter().filter(is_over)).collect();
        model.decided.extend(touched.iter().map(|edit| edit.name.clone()));
        machine.book.let_go.extend(touched.iter().map(|edit| edit.id));
        machine.book.let_go.extend(parts.into_iter().filter(|part| !parts_after.contains(part)));
        ("takes the last change back".to_owned(), done)
    } else {
        let edit = waiting[dice.place(waiting.len())];
        model.decided.insert(edit.name.clone());
        // With the create of a record go all edits of it.
        for with in edits.iter().filter(|other| other.name == edit.name) {
            machine.book.let_go.insert(with.id);
            machine.book.let_go.extend(eye::parts(&machine.stranger, Some(with.id)).map_err(failed)?);
        }
        let way = if edit.state == "conflict" { dice.between(0, 3) } else { dice.between(2, 3) };
        let done = match way {
            0 => machine.screen.resolve(edit.id, &Resolution::mine()),
            1 => machine.screen.resolve(edit.id, &Resolution::theirs()),
            2 => machine.screen.retry(edit.id),
            _ => machine.screen.discard(edit.id),
        };
        let word = ["has his way with", "gives way in", "tries again with", "lets go"][way as usize];
        (format!("{word} edit {}, which is {}", edit.id, edit.state), done)
    };
    match done {
        Ok(decided) => Ok(format!("{what}: {}", decided.said)),
        Err(EditError::Refused(why)) => Ok(format!("{what}: refused, {why}")),
        Err(EditError::NotFound) => Ok(format!("{what}: not found")),
        Err(EditError::Store(error)) => Err(format!("a person cannot decide: {error}")),
    }
}

/// A script runs one statement.
pub fn script(machine: &Machine, dice: &mut Dice, mark: &str) -> Told {
    let known = Known { eye: &machine.stranger };
    let kind = dice.of(&[Kind::Task, Kind::Task, Kind::Room, Kind::Inventory, Kind::Vehicle]);
    let (table, title) = (kind.collection(), title(kind));
    let sql = match dice.between(0, 9) {
        0..=1 => format!("INSERT INTO {table} (id, {title}) VALUES ('{}', '{mark}')", dice.id()),
        2..=5 => {
            let skip = dice.between(0, 4);
            let column = dice.of(&[title, "notes"]);
            format!(
                "UPDATE {table} SET {column} = '{mark}' WHERE id IN (SELECT id FROM {table} ORDER BY id LIMIT 2 OFFSET {skip})"
            )
        }
        6 => {
            let Some((_, id)) = known.any(dice, &[kind]) else { return Ok("finds no row".into()) };
            format!(
                "INSERT INTO {table} (id, {title}) VALUES ('{id}', '{mark}') ON CONFLICT (id) DO UPDATE SET notes = '{mark}'"
            )
        }
        7 => format!(
            "UPDATE tasks SET status = 'done', notes = '{mark}' WHERE id = (SELECT min(id) FROM tasks WHERE status <> 'done')"
        ),
        8 => match (known.any(dice, &[Kind::Room]), known.any(dice, &[Kind::Inventory])) {
            (Some((_, room)), Some((_, item))) => {
                format!("UPDATE inventory SET room_id = '{room}', notes = '{mark}' WHERE id = '{item}'")
            }
            _ => return Ok("finds no row".into()),
        },
        _ => {
            let Some((_, id)) = known.any(dice, &[kind]) else { return Ok("finds no row".into()) };
            format!("DELETE FROM {table} WHERE id = '{id}'")
        }
    };
    run(machine, &sql)
}

/// A script brings in more records than go one by one.
pub fn import(machine: &Machine, dice: &mut Dice, mark: &str) -> Told {
    let rows: Vec<String> = (0..12).map(|row| format!("('{}', '{mark}-{row}')", dice.id())).collect();
    run(machine, &format!("INSERT INTO tasks (id, title) VALUES {}", rows.join(", ")))
}

/// A script keeps a table of its own in step with the tasks, by triggers that fire for whoever writes; or it gives that
/// up.
pub fn watch(machine: &mut Machine, begin: bool) -> Told {
    let (what, sql) = if begin { ("begins to watch", WATCH) } else { ("watches no more", UNWATCH) };
    machine.stranger.execute_batch(sql).map_err(|error| format!("a script cannot make a trigger: {error}"))?;
    machine.book.is_watched = begin;
    Ok(what.to_owned())
}

/// A conflict clause would be overruled by that of the statement which fires the trigger.
const WATCH: &str = "BEGIN IMMEDIATE;
    CREATE TABLE watched (id TEXT PRIMARY KEY, title TEXT, notes TEXT, rev INTEGER);
    INSERT INTO watched SELECT id, title, notes, rev FROM tasks;
    CREATE TRIGGER watch_insert AFTER INSERT ON tasks BEGIN
        DELETE FROM watched WHERE id = NEW.id;
        INSERT INTO watched VALUES (NEW.id, NEW.title, NEW.notes, NEW.rev);
    END;
    CREATE TRIGGER watch_update AFTER UPDATE ON tasks BEGIN
        DELETE FROM watched WHERE id = OLD.id;
        INSERT INTO watched VALUES (NEW.id, NEW.title, NEW.notes, NEW.rev);
    END;
    CREATE TRIGGER watch_delete AFTER DELETE ON tasks BEGIN
        DELETE FROM watched WHERE id = OLD.id;
    END;
    COMMIT";
const UNWATCH: &str = "BEGIN IMMEDIATE;
    DROP TRIGGER IF EXISTS watch_insert;
    DROP TRIGGER IF EXISTS watch_update;
    DROP TRIGGER IF EXISTS watch_delete;
    DROP TABLE IF EXISTS watched;
    COMMIT";

/// A script changes the first task, or deletes it.
pub fn first(machine: &Machine, mark: &str, delete: bool) -> Told {
    let what = if delete { "DELETE FROM tasks".to_owned() } else { format!("UPDATE tasks SET title = '{mark}'") };
    run(machine, &format!("{what} WHERE id = (SELECT min(id) FROM tasks)"))
}

/// A script writes what looks right here and is refused by the server.
pub fn poison(machine: &Machine, dice: &mut Dice, mark: &str) -> Told {
    let (id, room) = (dice.id(), dice.id());
    let sql = match (Known { eye: &machine.stranger }).any(dice, &[Kind::Inventory]) {
        Some((_, item)) if dice.happens(500) => {
            format!("UPDATE inventory SET room_id = '{room}', notes = '{mark}' WHERE id = '{item}'")
        }
        _ => format!("INSERT INTO inventory (id, name, room_id) VALUES ('{id}', '{mark}', '{room}')"),
    };
    run(machine, &sql)
}

fn run(machine: &Machine, sql: &str) -> Told {
    match machine.stranger.execute(sql, []) {
        Ok(rows) => Ok(format!("{sql}: {rows} rows")),
        Err(rusqlite::Error::SqliteFailure(failure, Some(why)))
            if failure.code == rusqlite::ErrorCode::ConstraintViolation =>
        {
            Ok(format!("{sql}: refused, {why}"))
        }
        Err(error) => Err(format!("a script cannot edit with {sql}: {error}")),
    }
}

/// What a client of the API asks for, and whether it asks twice with the same key.
pub fn client(history: &History, dice: &mut Dice, mark: &str) -> (HttpRequest, bool) {
    let records: Vec<(Kind, String)> = history
        .records_at(history.head)
        .keys()
        .filter(|(kind, _)| !kind.is_singleton())
        .map(|name| (*name).clone())
        .collect();
    let rooms: Vec<&str> = records.iter().filter(|(kind, _)| *kind == Kind::Room).map(|(_, id)| id.as_str()).collect();
    let one = |dice: &mut Dice| records[dice.place(records.len())].clone();
    let (verb, path, body) = match dice.between(0, 9) {
        4..=6 if !records.is_empty() => {
            let (kind, id) = one(dice);
            let member = dice.of(&[title(kind), "notes"]);
            ("PATCH", format!("{}/{id}", paths::collection(kind)), Some(json!({ member: mark })))
        }
        7..=8 if !records.is_empty() => {
            let (kind, id) = one(dice);
            ("DELETE", format!("{}/{id}", paths::collection(kind)), None)
        }
        9 => ("PATCH", paths::PROPERTY.to_owned(), Some(json!({ "state": mark }))),
        3 if !records.is_empty() => {
            let (kind, id) = one(dice);
            let title = title(kind);
            let operations = json!({ "operations": [
                { "method": "create", "id": dice.id(), title: mark },
                { "method": "update", "id": id, "notes": mark },
                { "method": "delete", "id": one(dice).1 },
            ] });
            ("POST", format!("{}/bulk", paths::collection(kind)), Some(operations))
        }
        _ => {
            let kind = dice.of(&[Kind::Room, Kind::Task, Kind::Inventory, Kind::Vehicle, Kind::Document]);
            let mut body = json!({ title(kind): mark });
            match kind {
                Kind::Task => {
                    body["recurrence"] = dice.of(&[Value::Null.as_str(), Some("weekly")]).into();
                    body["due_on"] = "2026-07-01".into();
                }
                Kind::Inventory if !rooms.is_empty() => body["room_id"] = dice.of(&rooms).into(),
                _ => {}
            }
            ("POST", paths::collection(kind), Some(body))
        }
    };
    let mut headers = vec![("idempotency-key", dice.id())];
    if body.is_some() {
        headers.push(("content-type", "application/json".to_owned()));
    }
    let ask = HttpRequest { method: verb.to_owned(), path, headers, body: body.map(|body| body.to_string()) };
    (ask, dice.happens(200))
}

/// Records that one call brings in.
const STOCK: usize = 40;

/// What a client of the API asks for that brings in many tasks at once.
pub fn stock(dice: &mut Dice, mark: &str) -> HttpRequest {
    let create =
        |row: usize, dice: &mut Dice| json!({ "method": "create", "id": dice.id(), "title": format!("{mark}-{row}") });
    let operations: Vec<Value> = (0..STOCK).map(|row| create(row, dice)).collect();
    bulk(dice, &operations)
}

/// What a client of the API asks for that deletes all tasks.
pub fn clear_out(history: &History, dice: &mut Dice) -> Vec<HttpRequest> {
    let records = history.records_at(history.head);
    let ids = records.keys().filter(|(kind, _)| *kind == Kind::Task).map(|(_, id)| id);
    let deletes: Vec<Value> = ids.map(|id| json!({ "method": "delete", "id": id })).collect();
    deletes.chunks(STOCK).map(|some| bulk(dice, some)).collect()
}

fn bulk(dice: &mut Dice, operations: &[Value]) -> HttpRequest {
    HttpRequest {
        method: "POST".to_owned(),
        path: format!("{}/bulk", paths::collection(Kind::Task)),
        headers: vec![("idempotency-key", dice.id()), ("content-type", "application/json".to_owned())],
        body: Some(json!({ "operations": operations }).to_string()),
    }
}

/// A person agrees to what a recovery asks about, or has the replica compared with the server, also though it asks.
pub fn agree(machine: &mut Machine, willing: bool) -> Told {
    let asks = machine.question().map_err(|error| format!("the replica cannot be read: {error}"))?.is_some();
    let agrees = asks && willing;
    machine.book.agreed |= agrees;
    machine.screen.reconcile(agrees).map_err(|error| format!("a person cannot ask for a comparison: {error}"))?;
    Ok(if agrees { "agrees to the deletions" } else { "wants everything compared" }.to_owned())
}

/// What a client of the API asks for that deletes the record changed last, and whether it asks twice.
pub fn regret(history: &History, dice: &mut Dice) -> Option<(HttpRequest, bool)> {
    let records = history.records_at(history.head);
    let newest = records.iter().filter(|((kind, _), _)| !kind.is_singleton()).max_by_key(|(_, (rev, _))| *rev);
    let (kind, id) = newest?.0;
    let headers = vec![("idempotency-key", dice.id())];
    let path = format!("{}/{id}", paths::collection(*kind));
    Some((HttpRequest { method: "DELETE".to_owned(), path, headers, body: None }, false))
}

/// The revs that an answer acknowledges.
pub fn acknowledged(answer: &HttpResponse) -> Vec<i64> {
    if !(200..300).contains(&answer.status) {
        return Vec::new();
    }
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let one = |record: &Value| record.get("rev").and_then(Value::as_i64);
    match &body["data"] {
        Value::Array(results) => results.iter().filter_map(|result| one(&result["data"])).collect(),
        record => one(record).into_iter().collect(),
    }
}

fn new_record(known: &Known<'_>, dice: &mut Dice, mark: &str) -> (Kind, Fields) {
    let kind =
        dice.of(&[Kind::Room, Kind::Inventory, Kind::Inventory, Kind::Task, Kind::Task, Kind::Vehicle, Kind::Document]);
    let mut fields = object(json!({ "id": dice.id(), title(kind): mark }));
    match kind {
        Kind::Inventory => {
            if let Some((_, room)) = known.any(dice, &[Kind::Room]) {
                fields.insert("room_id".into(), room.into());
            }
        }
        Kind::Task | Kind::Document => {
            if let Some((kind, id)) = known.any(dice, &[Kind::Inventory, Kind::Vehicle]) {
                fields.insert("subject_type".into(), kind.as_str().into());
                fields.insert("subject_id".into(), id.into());
            }
            if kind == Kind::Task && dice.happens(300) {
                fields.insert("recurrence".into(), "monthly".into());
            }
        }
        _ => {}
    }
    (kind, fields)
}

fn change(known: &Known<'_>, dice: &mut Dice, kind: Kind, mark: &str) -> Fields {
    let mut fields = object(json!({ dice.of(&[title(kind), "notes"]): mark }));
    match kind {
        Kind::Task if dice.happens(400) => drop(fields.insert("status".into(), dice.of(&["done", "open"]).into())),
        Kind::Inventory if dice.happens(400) => {
            let room = known.any(dice, &[Kind::Room]).map(|(_, id)| id);
            fields.insert("room_id".into(), room.into());
        }
        _ => {}
    }
    fields
}

/// What a writer can see of a database.
struct Known<'a> {
    eye: &'a Connection,
}

impl Known<'_> {
    /// Any record of one of these kinds.
    fn any(&self, dice: &mut Dice, kinds: &[Kind]) -> Option<(Kind, String)> {
        let kind = dice.of(kinds);
        let throw = dice.bits();
        let count = format!("SELECT count(*) FROM {}", kind.collection());
        let many: i64 = self.eye.prepare_cached(&count).ok()?.query_row([], |row| row.get(0)).ok()?;
        let place = (throw >> 1).checked_rem(many.unsigned_abs())? as i64;
        let text = format!("SELECT id FROM {} ORDER BY id LIMIT 1 OFFSET ?1", kind.collection());
        let id = self.eye.prepare_cached(&text).ok()?.query_row([place], |row| row.get(0)).ok()?;
        Some((kind, id))
    }
}

fn title(kind: Kind) -> &'static str {
    hearth_contract::resources::resource(kind).title
}

fn object(value: Value) -> Fields {
    value.as_object().cloned().unwrap_or_default()
}
