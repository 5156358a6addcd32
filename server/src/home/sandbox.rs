//! The example data of every sandbox home: the house of a family. The fixture files name records by `ref` and dates
//! relative to today, so that each sandbox has its own ids and current dates. Must not know HTTP.

use std::collections::HashMap;

use hearth_contract::check::{Intent, check};
use hearth_contract::command::{Command, Preconditions};
use hearth_contract::formats::{Timestamp, format_date};
use hearth_contract::schema::{Format, Kind};
use hearth_contract::{problem::Problem, resources::resource};
use serde_json::Value;
use time::Duration;
use uuid::Uuid;

use super::apply::{HEARTH, HomeWriter, Ids};
use crate::store::{HomeNumber, StoreError, Tx, homes, records, stored_files};

/// Rooms first: a record comes after the records to which it refers.
const FILES: [(Kind, &str); 6] = [
    (Kind::Room, include_str!("../../../fixtures/sandbox/rooms.json")),
    (Kind::Inventory, include_str!("../../../fixtures/sandbox/inventory.json")),
    (Kind::Vehicle, include_str!("../../../fixtures/sandbox/vehicles.json")),
    (Kind::Document, include_str!("../../../fixtures/sandbox/documents.json")),
    (Kind::Task, include_str!("../../../fixtures/sandbox/tasks.json")),
    (Kind::Property, include_str!("../../../fixtures/sandbox/property.json")),
];

/// Fills a sandbox home at its first use (contract 11). Does nothing when the home was filled before. `epoch` is the number of
/// this process.
pub fn fill_once(tx: &Tx<'_>, number: HomeNumber, epoch: i64, now: Timestamp, ids: Ids<'_>) -> Result<(), StoreError> {
    if homes::load(tx, number)?.filled_at.is_some() {
        return Ok(());
    }
    let mut writer = HomeWriter::begin(tx, number, epoch, now, HEARTH.to_owned(), None)?;
    fill(&mut writer, now, ids)?;
    writer.finish()?;
    homes::set_filled(tx, number, now)
}

/// Adds the example data to a home. Gives the number of records created.
fn fill(writer: &mut HomeWriter<'_, '_>, now: Timestamp, ids: Ids<'_>) -> Result<usize, StoreError> {
    let mut made = 0;
    for command in commands(now, ids)? {
        made += 1;
        if let Err(problem) = writer.apply(command, ids)? {
            return Err(broken(&problem));
        }
    }
    Ok(made)
}

/// Records that refer to others are deleted first: then a delete has no references to clear.
const EMPTYING: [Kind; 5] = [Kind::Task, Kind::Document, Kind::Inventory, Kind::Vehicle, Kind::Room];

/// Deletes all records and files, and creates the example data with new ids, as ordinary events. Gives the number of records created.
/// The property record keeps its id and is reset by an update. `epoch` is the number of this process.
pub fn reset(tx: &Tx<'_>, number: HomeNumber, epoch: i64, now: Timestamp, ids: Ids<'_>) -> Result<usize, StoreError> {
    let mut writer = HomeWriter::begin(tx, number, epoch, now, HEARTH.to_owned(), None)?;
    for kind in EMPTYING {
        for id in records::ids(tx, number, kind)? {
            if let Err(problem) =
                writer.apply(Command::Delete { kind, id, preconditions: Preconditions::default() }, ids)?
            {
                return Err(broken(&problem));
            }
        }
    }
    let created = fill(&mut writer, now, ids)?;
    // The example data names no files.
    stored_files::remove_all(tx, number)?;
    writer.finish()?;
    homes::set_filled(tx, number, now)?;
    Ok(created)
}

/// The example data as commands, in an order in which each reference names an earlier record.
pub fn commands(now: Timestamp, ids: Ids<'_>) -> Result<Vec<Command>, StoreError> {
    let mut known = HashMap::new();
    let mut commands = Vec::new();
    for (kind, text) in FILES {
        let bodies = match serde_json::from_str(text) {
            Ok(Value::Array(bodies)) => bodies,
            Ok(body) => vec![body],
            Err(error) => return Err(StoreError::Corrupt(format!("fixture of {kind}: {error}"))),
        };
        for mut body in bodies {
            let Some(members) = body.as_object_mut() else {
                return Err(StoreError::Corrupt(format!("fixture of {kind}: not an object")));
            };
            let name = members.shift_remove("ref");
            for (field, value) in members.iter_mut() {
                resolve(kind, field, value, now, &known);
            }
            commands.push(if kind.is_singleton() {
                let mut body = check(kind, Intent::Patch, &body);
                // All fields: a reset then clears the fields that a client has set.
                for field in resource(kind).fields {
                    body.fields.entry(field.name).or_insert(Value::Null);
                }
                Command::Update { kind, id: None, body, preconditions: Preconditions::default() }
            } else {
                let id = ids();
                if let Some(Value::String(name)) = name {
                    known.insert(name, id);
                }
                let mut body = check(kind, Intent::Create, &body);
                body.id = Some(id);
                Command::Create { kind, body }
            });
        }
    }
    Ok(commands)
}

/// Replaces `@ref` by the id of the named record, and `today±Nd` by a date.
fn resolve(kind: Kind, field: &str, value: &mut Value, now: Timestamp, known: &HashMap<String, Uuid>) {
    let (Some(field), Some(text)) = (resource(kind).field(field), value.as_str()) else { return };
    let resolved = match field.format {
        Format::Reference(_) | Format::Subject => {
            text.strip_prefix('@').and_then(|name| known.get(name)).map(Uuid::to_string)
        }
        Format::Date => text.strip_prefix("today").and_then(|days| {
            let days = if days.is_empty() { 0 } else { days.strip_suffix('d')?.parse().ok()? };
            Some(format_date(now.date().checked_add(Duration::days(days))?))
        }),
        _ => None,
    };
    if let Some(resolved) = resolved {
        *value = resolved.into();
    }
}

fn broken(problem: &Problem) -> StoreError {
    StoreError::Corrupt(format!("fixture: {} {}", problem.message, Value::Object(problem.details.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixtures_pass_validation() {
        let mut next = 0;
        let commands = commands(Timestamp::parse("2026-06-01").unwrap(), &mut || {
            next += 1;
            Uuid::from_u128(next)
        });
        let mut counts: HashMap<Kind, usize> = HashMap::new();
        for command in commands.unwrap() {
            let (Command::Create { kind, body } | Command::Update { kind, body, .. }) = command else { panic!() };
            assert_eq!(body.faults, [], "{kind}: {:?}", body.fields);
            *counts.entry(kind).or_default() += 1;
        }
        for (kind, least) in [
            (Kind::Room, 12),
            (Kind::Inventory, 80),
            (Kind::Vehicle, 2),
            (Kind::Document, 40),
            (Kind::Task, 40),
            (Kind::Property, 1),
        ] {
            assert!(counts[&kind] >= least, "{kind}: {}", counts[&kind]);
        }
    }
}
