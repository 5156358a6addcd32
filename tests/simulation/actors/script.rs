//! Scripts that edit the replica of a machine with plain SQL. Must not know how sync works.

use hearth_contract::schema::Kind;

use super::super::machine::Machine;
use super::super::rng::SimRng;
use super::record_picker::{pick_record, title_field};

/// Runs one statement that writes, at a time of the world. Returns the line for the trace. Err: the statement failed for no valid reason.
pub fn run_statement(machine: &Machine, now: i64, rng: &mut SimRng, mark: &str) -> Result<String, String> {
    let database = &machine.script_connection;
    let kind = rng.pick(&[Kind::Task, Kind::Task, Kind::Room, Kind::Inventory, Kind::Vehicle]);
    let (table, title) = (kind.collection(), title_field(kind));
    let sql = match rng.between(0, 9) {
        0..=1 => format!("INSERT INTO {table} (id, {title}) VALUES ('{}', '{mark}')", rng.uuid()),
        2..=5 => {
            let skip = rng.between(0, 4);
            let column = rng.pick(&[title, "notes"]);
            format!(
                "UPDATE {table} SET {column} = '{mark}' WHERE id IN (SELECT id FROM {table} ORDER BY id LIMIT 2 OFFSET {skip})"
            )
        }
        6 => {
            let Some((_, id)) = pick_record(database, rng, &[kind]) else { return Ok("finds no row".into()) };
            format!(
                "INSERT INTO {table} (id, {title}) VALUES ('{id}', '{mark}') ON CONFLICT (id) DO UPDATE SET notes = '{mark}'"
            )
        }
        7 => format!(
            "UPDATE tasks SET status = 'done', completed_at = '{}', notes = '{mark}'
                 WHERE id = (SELECT min(id) FROM tasks WHERE status <> 'done')",
            machine.wall_clock(now)
        ),
        8 => match (pick_record(database, rng, &[Kind::Room]), pick_record(database, rng, &[Kind::Inventory])) {
            (Some((_, room)), Some((_, item))) => {
                format!("UPDATE inventory SET room_id = '{room}', notes = '{mark}' WHERE id = '{item}'")
            }
            _ => return Ok("finds no row".into()),
        },
        _ => {
            let Some((_, id)) = pick_record(database, rng, &[kind]) else { return Ok("finds no row".into()) };
            format!("DELETE FROM {table} WHERE id = '{id}'")
        }
    };
    execute(machine, &sql)
}

/// Inserts more records than the replica sends one by one.
pub fn import_tasks(machine: &Machine, rng: &mut SimRng, mark: &str) -> Result<String, String> {
    let rows: Vec<String> = (0..12).map(|row| format!("('{}', '{mark}-{row}')", rng.uuid())).collect();
    execute(machine, &format!("INSERT INTO tasks (id, title) VALUES {}", rows.join(", ")))
}

/// Creates the table `watched` and triggers that copy every change of the tasks into the table, or removes them.
pub fn set_watch_triggers(machine: &mut Machine, begin: bool) -> Result<String, String> {
    let (what, sql) = if begin { ("creates watch triggers", WATCH) } else { ("removes watch triggers", UNWATCH) };
    machine
        .script_connection
        .execute_batch(sql)
        .map_err(|error| format!("a script cannot create a trigger: {error}"))?;
    machine.ledger.has_watch_triggers = begin;
    Ok(what.to_owned())
}

/// The triggers delete before they insert. SQLite replaces the conflict clause of a trigger by the conflict clause of the
/// statement that fires the trigger.
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

/// Changes the task with the lowest id, or deletes the task.
pub fn write_first_task(machine: &Machine, mark: &str, delete: bool) -> Result<String, String> {
    let what = if delete { "DELETE FROM tasks".to_owned() } else { format!("UPDATE tasks SET title = '{mark}'") };
    execute(machine, &format!("{what} WHERE id = (SELECT min(id) FROM tasks)"))
}

/// Writes a reference to a room that does not exist. The replica accepts the edit and the server refuses the edit.
pub fn write_invalid_edit(machine: &Machine, rng: &mut SimRng, mark: &str) -> Result<String, String> {
    let (id, room) = (rng.uuid(), rng.uuid());
    let sql = match pick_record(&machine.script_connection, rng, &[Kind::Inventory]) {
        Some((_, item)) if rng.chance(500) => {
            format!("UPDATE inventory SET room_id = '{room}', notes = '{mark}' WHERE id = '{item}'")
        }
        _ => format!("INSERT INTO inventory (id, name, room_id) VALUES ('{id}', '{mark}', '{room}')"),
    };
    execute(machine, &sql)
}

fn execute(machine: &Machine, sql: &str) -> Result<String, String> {
    match machine.script_connection.execute(sql, []) {
        Ok(rows) => Ok(format!("{sql}: {rows} rows")),
        Err(rusqlite::Error::SqliteFailure(failure, Some(why)))
            if failure.code == rusqlite::ErrorCode::ConstraintViolation =>
        {
            Ok(format!("{sql}: refused, {why}"))
        }
        Err(error) => Err(format!("a script cannot edit with {sql}: {error}")),
    }
}
