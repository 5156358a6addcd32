//! Converts changes of the simulated family to commands, and describes their outcome for people. Must not know when a
//! change happens.

use hearth_contract::check::{Intent, check, references};
use hearth_contract::command::{Command, Preconditions};
use hearth_contract::formats::parse_id;
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use serde_json::Value;

use super::activity::{Action, Change, VisibleRecord};
use crate::home::apply::WriteOutcome;
use crate::home::rules;
use crate::store::records::{self, Bounds, Direction, Sort};
use crate::store::{HomeNumber, StoreError, Tx};

/// Records that a member of the family sees at once.
const VISIBLE_RECORDS: usize = 40;

/// Reads some records of a kind around a relative position: 0 is the record that changed longest ago, 1 the latest.
pub(super) fn visible_records(
    tx: &Tx<'_>,
    number: HomeNumber,
    kind: Kind,
    place: f64,
) -> Result<Vec<VisibleRecord>, StoreError> {
    let page = |direction, after, limit| {
        let bounds = Bounds { after, ..Bounds::default() };
        records::page(tx, number, kind, (Sort::Updated, direction), bounds, limit)
    };
    let first = page(Direction::Ascending, None, 1)?.first().map_or(0, |(rev, _)| *rev);
    let last = page(Direction::Descending, None, 1)?.first().map_or(0, |(rev, _)| *rev);
    let after = first - 1 + ((last - first) as f64 * place) as i64;
    let found = page(Direction::Ascending, Some(after), VISIBLE_RECORDS)?;
    let record = |(_, json): &(i64, String)| Record::from_json(kind, json);
    let records = found.iter().filter_map(record);
    Ok(records.map(|Record { id, fields, .. }| VisibleRecord { id: id.to_string(), fields }).collect())
}

/// The command of a change, and its description without the outcome: `set status of task`.
pub(super) fn to_command(change: &Change) -> (Command, String) {
    let kind = change.kind;
    let parse = |id: &String| parse_id(id).unwrap_or_default();
    match &change.action {
        Action::Create(fields) => {
            let body = check(kind, Intent::Create, &Value::Object(fields.clone()));
            (Command::Create { kind, body }, format!("created {kind}"))
        }
        Action::Update(id, fields) => {
            let body = check(kind, Intent::Patch, &Value::Object(fields.clone()));
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            let id = (!kind.is_singleton()).then(|| parse(id));
            (
                Command::Update { kind, id, body, preconditions: Preconditions::default() },
                format!("set {} of {kind}", names.join(", ")),
            )
        }
        Action::Delete(id) => (
            Command::Delete { kind, id: parse(id), preconditions: Preconditions::default() },
            format!("deleted {kind}"),
        ),
    }
}

/// Adds the id and the title of the record to the description of a change.
pub(super) fn describe_outcome(description: &str, outcome: &WriteOutcome) -> String {
    let record = |json: &str| {
        let value: Value = serde_json::from_str(json).unwrap_or_default();
        let title = value.get("title").or_else(|| value.get("name")).and_then(Value::as_str);
        let id = value["id"].as_str().unwrap_or_default().to_owned();
        title.map_or(id.clone(), |title| format!("{id} ({title})"))
    };
    match outcome {
        WriteOutcome::Created(_, image) | WriteOutcome::Current(Some(image)) => {
            format!("{description} {}", record(&image.json))
        }
        WriteOutcome::Deleted(id) => format!("{description} {id}"),
        WriteOutcome::Current(None) => description.to_owned(),
    }
}

/// Whether the home has, or had, the records of all these create commands.
pub(super) fn are_created(tx: &Tx<'_>, number: HomeNumber, commands: &[Command]) -> Result<bool, StoreError> {
    for command in commands {
        let Command::Create { body, .. } = command else { return Ok(false) };
        let Some(id) = body.id else { return Ok(false) };
        if records::entry(tx, number, id)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Clears references to deleted records in a create command, as a delete clears the references of existing records.
pub(super) fn clear_deleted_references(
    tx: &Tx<'_>,
    number: HomeNumber,
    command: &mut Command,
) -> Result<(), StoreError> {
    let Command::Create { kind, body } = command else { return Ok(()) };
    for (_, _, target) in references(*kind, &body.fields) {
        if records::entry(tx, number, target)?.is_some_and(|entry| entry.deleted) {
            rules::clear_reference(*kind, &mut body.fields, target);
        }
    }
    Ok(())
}
