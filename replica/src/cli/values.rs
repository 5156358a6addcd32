//! Parses kinds, `field=value` and short ids on the command line. All rules come from the contract's table. Must not
//! write.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hearth_contract::check::{Fields, Intent, check, check_field, check_subject};
use hearth_contract::problem::nearest;
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Field, Format, Kind, Presence, SUBJECT_TYPE};
use hearth_replica::{Condition, ID_PREFIX_MIN, IdMatch, Replica, Test, WORTH};
use serde_json::{Number, Value};

use super::failure::{Exit, Failure};
use super::text;

/// Parses a kind by its collection or its singular name; clap suggests the nearest name.
pub(super) fn kind_parser() -> impl TypedValueParser<Value = Kind> {
    let names = Kind::ALL.map(|kind| PossibleValue::new(kind.collection()).alias(kind.as_str()));
    PossibleValuesParser::new(names)
        .map(|name| Kind::from_collection(&name).or_else(|| Kind::parse(&name)).unwrap_or(Kind::Task))
}

/// A `field=value` argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    name: String,
    value: String,
}

impl std::str::FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Assignment, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Ok(Assignment { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err("write it as field=value; field= is null".to_owned()),
        }
    }
}

/// The checked fields of a new record.
pub(super) fn fields_to_create(replica: &Replica, kind: Kind, typed: &[Assignment]) -> Result<Fields, Failure> {
    let body = json_body(replica, kind, typed, None)?;
    let mut checked = check(kind, Intent::Create, &Value::Object(body));
    if !checked.faults.is_empty() {
        return Err(field_failure(kind, checked.faults.into_iter().map(|fault| fault.message)));
    }
    if let Some(id) = checked.id {
        checked.fields.insert("id".to_owned(), id.to_string().into());
    }
    Ok(checked.fields)
}

/// The checked fields of a change; `present` holds the record's current fields.
pub(super) fn fields_to_update(
    replica: &Replica,
    kind: Kind,
    typed: &[Assignment],
    present: &Fields,
) -> Result<Fields, Failure> {
    let body = json_body(replica, kind, typed, Some(present))?;
    let mut checked = check(kind, Intent::Patch, &Value::Object(body));
    let mut whole = present.clone();
    whole.extend(checked.fields.clone());
    check_subject(kind, &whole, &mut checked.faults);
    if checked.faults.is_empty() {
        return Ok(checked.fields);
    }
    Err(field_failure(kind, checked.faults.into_iter().map(|fault| fault.message)))
}

/// The conditions for `list`.
pub(super) fn conditions(replica: &Replica, kind: Kind, typed: &[Assignment]) -> Result<Vec<Condition>, Failure> {
    let body = json_body(replica, kind, typed, None)?;
    let mut conditions = Vec::new();
    let mut is = |field: &'static str, value: Value| {
        let test = match value {
            Value::Null => Test::Unset,
            Value::String(text) => Test::Is(text),
            other => Test::Is(other.to_string()),
        };
        conditions.push(Condition::field(field, test));
    };
    let mut faults = Vec::new();
    for (name, value) in body {
        let Some(field) = resource(kind).field(&name) else {
            match COMMON.into_iter().find(|common| *common == name) {
                Some(common) => is(common, value),
                None => faults.push(unknown_field_text(kind, &name)),
            }
            continue;
        };
        // A filter may ask for null in a required field, and for a read-only field.
        let checked = if value.is_null() || field.presence == Presence::ReadOnly {
            Ok(value)
        } else {
            check_field(field, Intent::Patch, &value)
        };
        match checked {
            Ok(value) => is(field.name, value),
            Err(fault) => faults.push(fault.message),
        }
    }
    if faults.is_empty() { Ok(conditions) } else { Err(field_failure(kind, faults)) }
}

/// The field with this name, or the worth of an item or a vehicle. Error: unknown, with the nearest name.
pub(super) fn field_name(kind: Kind, name: &str) -> Result<&'static str, Failure> {
    if name == WORTH && matches!(kind, Kind::Inventory | Kind::Vehicle) {
        return Ok(WORTH);
    }
    match resource(kind).field(name) {
        Some(field) => Ok(field.name),
        None => match COMMON.into_iter().find(|common| *common == name) {
            Some(common) => Ok(common),
            None => Err(field_failure(kind, [unknown_field_text(kind, name)])),
        },
    }
}

/// The record with this id, or with an id that begins so; `property` is the home's profile.
pub(super) fn find_record(replica: &Replica, id: &str, include_deleted: bool) -> Result<(Kind, String), Failure> {
    if id == Kind::Property.as_str() {
        let row = replica.row(Kind::Property, "")?;
        return Ok((Kind::Property, row.map(|row| row.id).unwrap_or_default()));
    }
    match replica.find(id, &Kind::ALL, include_deleted)? {
        IdMatch::One(kind, id) => Ok((kind, id)),
        IdMatch::Nothing if id.len() < ID_PREFIX_MIN => Err(Failure::new(
            Exit::Usage,
            format!("{id:?} is too short for an id: type at least {ID_PREFIX_MIN} of its characters"),
        )),
        IdMatch::Nothing => Err(Failure::new(Exit::NotFound, format!("there is no record whose id begins with {id}"))
            .hint("hearth-replica search WORDS, or hearth-replica list KIND")),
        IdMatch::Many(matches) => Err(ambiguous_id_failure(replica, id, &matches)?),
    }
}

fn ambiguous_id_failure(replica: &Replica, id: &str, matches: &[(Kind, String)]) -> Result<Failure, Failure> {
    let mut text = format!("several records have ids that begin with {id}:");
    for (kind, id) in matches {
        let title = replica.row(*kind, id)?.map(|row| row.title).unwrap_or_default();
        text.push_str(&format!("\n  {id}  {kind}  {}", text::one_line(&title)));
    }
    // The server uses an id once. One of the records exists only here, and its edit waits for a decision.
    let is_whole = matches.iter().all(|(_, whole)| *whole == id.to_ascii_lowercase());
    let next = if is_whole { "hearth-replica edits" } else { "repeat with more characters of the id" };
    Ok(Failure::new(Exit::Usage, text).hint(next))
}

/// The arguments as a JSON body: integers for integer fields, whole ids for short ids.
fn json_body(replica: &Replica, kind: Kind, typed: &[Assignment], present: Option<&Fields>) -> Result<Fields, Failure> {
    let mut body = Fields::new();
    for Assignment { name, value } in typed {
        let integer =
            resource(kind).field(name).map_or(name == "rev", |field| field.format.is_integer()).then(|| value.trim());
        // As in JSON, 3.0 is an integer. The check rejects 3.5.
        let number = integer.and_then(|text| match text.parse::<i64>() {
            Ok(number) => Some(number.into()),
            Err(_) => text.parse::<Number>().ok(),
        });
        let value = match (value.as_str(), number) {
            ("", _) => Value::Null,
            (_, Some(number)) => Value::Number(number),
            (text, None) => text.into(),
        };
        if body.insert(name.clone(), value).is_some() {
            return Err(field_failure(kind, [format!("{name} is given twice.")]));
        }
    }
    for field in resource(kind).fields {
        let Some(id) = body.get(field.name).and_then(Value::as_str).map(str::to_owned) else { continue };
        let subject = || body.get(SUBJECT_TYPE).or_else(|| present?.get(SUBJECT_TYPE)).and_then(Value::as_str);
        let targets: Vec<Kind> = match field.format {
            Format::Reference(kind) => vec![kind],
            Format::Subject => subject().and_then(Kind::parse).into_iter().collect(),
            _ => continue,
        };
        if let Some(id) = resolve_reference(replica, field, &targets, &id)? {
            body.insert(field.name.to_owned(), id.into());
        }
    }
    Ok(body)
}

/// The whole id of a referenced record. None: not the beginning of an id; the check judges the value.
fn resolve_reference(replica: &Replica, field: &Field, targets: &[Kind], id: &str) -> Result<Option<String>, Failure> {
    match replica.find(id, targets, false)? {
        IdMatch::One(_, id) => Ok(Some(id)),
        IdMatch::Many(matches) => Err(ambiguous_id_failure(replica, id, &matches)?),
        // A whole id may belong to a record that is not synced yet; the server judges.
        IdMatch::Nothing if id.len() == 36 || targets.is_empty() => Ok(None),
        IdMatch::Nothing => {
            let kinds: Vec<&str> = targets.iter().map(|kind| kind.as_str()).collect();
            let text = format!("{}: there is no {} whose id begins with {id}", field.name, kinds.join(" or "));
            let table = targets.first().map_or("KIND", |kind| kind.collection());
            Err(Failure::new(Exit::NotFound, text).hint(format!("hearth-replica list {table}")))
        }
    }
}

fn unknown_field_text(kind: Kind, name: &str) -> String {
    let known = resource(kind).fields.iter().map(|field| field.name).chain(COMMON);
    let hint = nearest(name, known).map(|known| format!("; did you mean {known}?")).unwrap_or(".".to_owned());
    format!("{kind} has no field {name}{hint}")
}

/// A usage failure with one line per fault.
fn field_failure(kind: Kind, faults: impl IntoIterator<Item = String>) -> Failure {
    let lines: Vec<String> = faults.into_iter().map(|line| text::one_line(&line)).collect();
    let table = kind.collection();
    Failure::new(Exit::Usage, lines.join("\n  ")).hint(format!("sqlite3 \"$(hearth-replica path)\" '.schema {table}'"))
}
