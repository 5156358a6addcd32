//! What a person types on the command line as values of the contract: kinds, `field=value`, the beginnings of ids. All
//! rules come from the contract's table. Must not change anything.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hearth_contract::check::{Fields, Intent, check, check_field, check_subject};
use hearth_contract::problem::nearest;
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Field, Format, Kind, Presence, SUBJECT_TYPE};
use hearth_replica::{Condition, ID_PREFIX_MIN, IdMatch, Replica, Test};
use serde_json::{Number, Value};

use super::{Exit, Failure};

/// Reads a kind by its table's name or its singular word; clap names the nearest one.
pub(super) fn kind_parser() -> impl TypedValueParser<Value = Kind> {
    let names = Kind::ALL.map(|kind| PossibleValue::new(kind.collection()).alias(kind.as_str()));
    PossibleValuesParser::new(names)
        .map(|name| Kind::from_collection(&name).or_else(|| Kind::parse(&name)).unwrap_or(Kind::Task))
}

/// A field and its value as they were typed.
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

/// The fields of a new record, checked.
pub(super) fn to_create(replica: &Replica, kind: Kind, typed: &[Assignment]) -> Result<Fields, Failure> {
    let body = body(replica, kind, typed, None)?;
    let mut checked = check(kind, Intent::Create, &Value::Object(body));
    if !checked.faults.is_empty() {
        return Err(faulty(kind, checked.faults.into_iter().map(|fault| fault.message)));
    }
    if let Some(id) = checked.id {
        checked.fields.insert("id".to_owned(), id.to_string().into());
    }
    Ok(checked.fields)
}

/// The fields of a change, checked; `present` is the record as it is.
pub(super) fn to_update(
    replica: &Replica,
    kind: Kind,
    typed: &[Assignment],
    present: &Fields,
) -> Result<Fields, Failure> {
    let body = body(replica, kind, typed, Some(present))?;
    let mut checked = check(kind, Intent::Patch, &Value::Object(body));
    let mut whole = present.clone();
    whole.extend(checked.fields.clone());
    check_subject(kind, &whole, &mut checked.faults);
    if checked.faults.is_empty() {
        return Ok(checked.fields);
    }
    Err(faulty(kind, checked.faults.into_iter().map(|fault| fault.message)))
}

/// The values that rows are chosen by.
pub(super) fn to_match(replica: &Replica, kind: Kind, typed: &[Assignment]) -> Result<Vec<Condition>, Failure> {
    let body = body(replica, kind, typed, None)?;
    let mut conditions = Vec::new();
    let mut is = |field: &'static str, value: Value| {
        let test = match value {
            Value::Null => Test::Unset,
            Value::String(text) => Test::Is(text),
            other => Test::Is(other.to_string()),
        };
        conditions.push(Condition { field, test });
    };
    let mut faults = Vec::new();
    for (name, value) in body {
        let Some(field) = resource(kind).field(&name) else {
            match COMMON.into_iter().find(|common| *common == name) {
                Some(common) => is(common, value),
                None => faults.push(unknown(kind, &name)),
            }
            continue;
        };
        // To ask for null is fine even where it cannot be, and what only the server sets can be asked for too.
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
    if faults.is_empty() { Ok(conditions) } else { Err(faulty(kind, faults)) }
}

/// The field of that name, or the nearest one named.
pub(super) fn field(kind: Kind, name: &str) -> Result<&'static str, Failure> {
    match resource(kind).field(name) {
        Some(field) => Ok(field.name),
        None => match COMMON.into_iter().find(|common| *common == name) {
            Some(common) => Ok(common),
            None => Err(faulty(kind, [unknown(kind, name)])),
        },
    }
}

/// The record that a person means by the beginning of its id, or by `property`.
pub(super) fn record(replica: &Replica, id: &str, also_gone: bool) -> Result<(Kind, String), Failure> {
    if id == Kind::Property.as_str() {
        let row = replica.row(Kind::Property, "")?;
        return Ok((Kind::Property, row.map(|row| row.id).unwrap_or_default()));
    }
    match replica.find(id, &Kind::ALL, also_gone)? {
        IdMatch::One(kind, id) => Ok((kind, id)),
        IdMatch::Nothing if id.len() < ID_PREFIX_MIN => Err(Failure::new(
            Exit::Usage,
            format!("{id:?} is too short for an id: type at least {ID_PREFIX_MIN} of its characters"),
        )),
        IdMatch::Nothing => Err(Failure::new(Exit::NotFound, format!("there is no record whose id begins with {id}"))
            .hint("hearth-replica search WORDS, or hearth-replica list KIND")),
        IdMatch::Many(several) => Err(ambiguous(replica, id, &several)?),
    }
}

fn ambiguous(replica: &Replica, id: &str, several: &[(Kind, String)]) -> Result<Failure, Failure> {
    let mut text = format!("several records have ids that begin with {id}:");
    for (kind, id) in several {
        let title = replica.row(*kind, id)?.map(|row| row.title).unwrap_or_default();
        text.push_str(&format!("\n  {id}  {kind}  {}", super::output::one_line(&title)));
    }
    // The server uses no id twice, so one of them is only here and its edit waits for a person.
    let is_whole = several.iter().all(|(_, whole)| *whole == id.to_ascii_lowercase());
    let next = if is_whole { "hearth-replica edits" } else { "the same with more characters of the id" };
    Ok(Failure::new(Exit::Usage, text).hint(next))
}

/// What was typed, as a JSON body: integers where the field has integers, whole ids for their beginnings.
fn body(replica: &Replica, kind: Kind, typed: &[Assignment], present: Option<&Fields>) -> Result<Fields, Failure> {
    let mut body = Fields::new();
    for Assignment { name, value } in typed {
        let integer =
            resource(kind).field(name).map_or(name == "rev", |field| field.format.is_integer()).then(|| value.trim());
        // As JSON has numbers: 3.0 is an integer there, and the check is the judge of 3.5.
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
            return Err(faulty(kind, [format!("{name} is given twice.")]));
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
        if let Some(id) = referred(replica, field, &targets, &id)? {
            body.insert(field.name.to_owned(), id.into());
        }
    }
    Ok(body)
}

/// The whole id of a record that a field shall refer to. What is no beginning of an id is left for the check to judge.
fn referred(replica: &Replica, field: &Field, targets: &[Kind], id: &str) -> Result<Option<String>, Failure> {
    match replica.find(id, targets, false)? {
        IdMatch::One(_, id) => Ok(Some(id)),
        IdMatch::Many(several) => Err(ambiguous(replica, id, &several)?),
        // A whole id may be of a record that has not come yet; the server is the judge of that.
        IdMatch::Nothing if id.len() == 36 || targets.is_empty() => Ok(None),
        IdMatch::Nothing => {
            let kinds: Vec<&str> = targets.iter().map(|kind| kind.as_str()).collect();
            let text = format!("{}: there is no {} whose id begins with {id}", field.name, kinds.join(" or "));
            let table = targets.first().map_or("KIND", |kind| kind.collection());
            Err(Failure::new(Exit::NotFound, text).hint(format!("hearth-replica list {table}")))
        }
    }
}

fn unknown(kind: Kind, name: &str) -> String {
    let known = resource(kind).fields.iter().map(|field| field.name).chain(COMMON);
    let hint = nearest(name, known).map(|known| format!("; did you mean {known}?")).unwrap_or(".".to_owned());
    format!("{kind} has no field {name}{hint}")
}

/// Every fault on a line of its own.
fn faulty(kind: Kind, faults: impl IntoIterator<Item = String>) -> Failure {
    let lines: Vec<String> = faults.into_iter().map(|line| super::output::one_line(&line)).collect();
    let table = kind.collection();
    Failure::new(Exit::Usage, lines.join("\n  ")).hint(format!("sqlite3 \"$(hearth-replica path)\" '.schema {table}'"))
}
