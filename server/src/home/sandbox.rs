//! The fixture home of every sandbox: a family's house. Its files name records by `ref` and dates from today, so that
//! each filling has its own ids and stays believable.

use std::collections::HashMap;

use hearth_contract::check::{Intent, check};
use hearth_contract::command::{Command, Preconditions};
use hearth_contract::formats::{Timestamp, format_date};
use hearth_contract::schema::{Format, Kind};
use hearth_contract::{problem::Problem, resources::resource};
use serde_json::Value;
use time::Duration;
use uuid::Uuid;

use super::apply::{Ids, Writing};
use crate::store::{Fault, HomeNo, Tx, records};

/// Rooms first, so that what refers to a record comes after it.
const FILES: [(Kind, &str); 6] = [
    (Kind::Room, include_str!("../../../fixtures/sandbox/rooms.json")),
    (Kind::Inventory, include_str!("../../../fixtures/sandbox/inventory.json")),
    (Kind::Vehicle, include_str!("../../../fixtures/sandbox/vehicles.json")),
    (Kind::Document, include_str!("../../../fixtures/sandbox/documents.json")),
    (Kind::Task, include_str!("../../../fixtures/sandbox/tasks.json")),
    (Kind::Property, include_str!("../../../fixtures/sandbox/property.json")),
];

/// Fills an empty home; gives the number of records made.
pub fn fill(writing: &mut Writing<'_, '_>, now: Timestamp, ids: Ids<'_>) -> Result<usize, Fault> {
    let mut made = 0;
    for command in commands(now, ids)? {
        made += 1;
        if let Err(problem) = writing.apply(command, ids)? {
            return Err(broken(&problem));
        }
    }
    Ok(made)
}

/// What refers to others goes before what it refers to, so that a delete has nothing to clear.
const EMPTYING: [Kind; 5] = [Kind::Task, Kind::Document, Kind::Inventory, Kind::Vehicle, Kind::Room];

/// Deletes every record and makes the fixtures again with new ids, all as ordinary events; gives the number of records
/// made. The profile, which has one id for ever, is set back by an update.
pub fn reset(
    tx: &Tx<'_>,
    number: HomeNo,
    writing: &mut Writing<'_, '_>,
    now: Timestamp,
    ids: Ids<'_>,
) -> Result<usize, Fault> {
    for kind in EMPTYING {
        for id in records::ids(tx, number, kind)? {
            if let Err(problem) = writing.apply(Command::Delete { kind, id, guard: Preconditions::default() }, ids)? {
                return Err(broken(&problem));
            }
        }
    }
    fill(writing, now, ids)
}

/// The fixture home as commands, in an order in which they can be applied.
pub fn commands(now: Timestamp, ids: Ids<'_>) -> Result<Vec<Command>, Fault> {
    let mut known = HashMap::new();
    let mut commands = Vec::new();
    for (kind, text) in FILES {
        let bodies = match serde_json::from_str(text) {
            Ok(Value::Array(bodies)) => bodies,
            Ok(body) => vec![body],
            Err(error) => return Err(Fault::Corrupt(format!("fixture of {kind}: {error}"))),
        };
        for mut body in bodies {
            let Some(members) = body.as_object_mut() else {
                return Err(Fault::Corrupt(format!("fixture of {kind}: not an object")));
            };
            let name = members.shift_remove("ref");
            for (field, value) in members.iter_mut() {
                resolve(kind, field, value, now, &known);
            }
            commands.push(if kind.is_singleton() {
                let mut body = check(kind, Intent::Patch, &body);
                // Whole, so that setting it again clears what was set beside it.
                for field in resource(kind).fields {
                    body.fields.entry(field.name).or_insert(Value::Null);
                }
                Command::Update { kind, id: None, body, guard: Preconditions::default() }
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

/// Replaces `@ref` by the id it names, and `today±Nd` by a date.
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

fn broken(problem: &Problem) -> Fault {
    Fault::Corrupt(format!("fixture: {} {}", problem.message, Value::Object(problem.details.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fixture_keeps_the_contract() {
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
