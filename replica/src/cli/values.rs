//! Parses kinds, `field=value`, short ids and names on the command line. All rules come from the contract's table. Must not
//! write.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hearth_contract::check::{Fields, Intent, check, check_field, check_subject};
use hearth_contract::formats::parse_id;
use hearth_contract::problem::nearest;
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Field, Format, Kind, SUBJECT_TYPE};
use hearth_contract::typed_text;
use hearth_contract::units::AreaUnit;
use hearth_replica::{Condition, IdMatch, Replica, RowQuery, Sort, Test, WORTH};
use serde_json::{Number, Value};

use super::failure::{Exit, Failure};
use super::text;

/// Most records of one name that a refusal lists.
const NAMESAKES_MAX: usize = 10;

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
            match COMMON.into_iter().chain(worth_column(kind)).find(|known| *known == name) {
                Some(known) => is(known, value),
                None => faults.push(unknown_field_text(kind, &name)),
            }
            continue;
        };
        // A filter may ask for null in a required field, and for a read-only field.
        let checked =
            if value.is_null() || !field.is_writable() { Ok(value) } else { check_field(field, Intent::Patch, &value) };
        match checked {
            Ok(value) => is(field.name, value),
            Err(fault) => faults.push(fault.message),
        }
    }
    if faults.is_empty() { Ok(conditions) } else { Err(field_failure(kind, faults)) }
}

/// The column of the worth, of a kind that has one.
fn worth_column(kind: Kind) -> Option<&'static str> {
    matches!(kind, Kind::Inventory | Kind::Vehicle).then_some(WORTH)
}

/// The field with this name, or the worth of an item or a vehicle. Error: unknown, with the nearest name.
pub(super) fn field_name(kind: Kind, name: &str) -> Result<&'static str, Failure> {
    if let Some(worth) = worth_column(kind).filter(|worth| *worth == name) {
        return Ok(worth);
    }
    match resource(kind).field(name) {
        Some(field) => Ok(field.name),
        None => match COMMON.into_iter().find(|common| *common == name) {
            Some(common) => Ok(common),
            None => Err(field_failure(kind, [unknown_field_text(kind, name)])),
        },
    }
}

/// The record with this id or name, or with an id that begins so; `property` is the home's profile.
pub(super) fn find_record(replica: &Replica, typed: &str, include_deleted: bool) -> Result<(Kind, String), Failure> {
    if typed == Kind::Property.as_str() {
        let row = replica.row(Kind::Property, "")?;
        return Ok((Kind::Property, row.map(|row| row.id).unwrap_or_default()));
    }
    match find_by_id_or_name(replica, typed, &Kind::ALL, include_deleted)? {
        IdMatch::One(kind, id) => Ok((kind, id)),
        IdMatch::Many(matches) => Err(ambiguous_id_failure(replica, typed, &matches)?),
        IdMatch::Nothing => Err(Failure::new(
            Exit::NotFound,
            format!("there is no record whose name is {typed} or whose id begins with {typed}"),
        )
        .hint("hearth-replica search WORDS, or hearth-replica list KIND")),
    }
}

/// The record whose id begins with the text; otherwise the record whose name is the text, in upper or lower case.
fn find_by_id_or_name(
    replica: &Replica,
    typed: &str,
    kinds: &[Kind],
    include_deleted: bool,
) -> Result<IdMatch, Failure> {
    let by_id = replica.find(typed, kinds, include_deleted)?;
    if by_id != IdMatch::Nothing {
        return Ok(by_id);
    }
    let mut named = Vec::new();
    for kind in kinds.iter().copied().filter(|kind| !kind.is_singleton()) {
        let column = resource(kind).title;
        let page = replica.rows(&RowQuery {
            kind,
            sort: Sort { column, descending: false },
            words: String::new(),
            conditions: vec![Condition::field(column, Test::Is(typed.to_owned()))],
            offset: 0,
            limit: NAMESAKES_MAX,
            near: None,
        })?;
        named.extend(page.rows.into_iter().map(|row| (kind, row.id)));
    }
    named.truncate(NAMESAKES_MAX);
    Ok(match named.len() {
        0 => IdMatch::Nothing,
        1 => named.pop().map_or(IdMatch::Nothing, |(kind, id)| IdMatch::One(kind, id)),
        _ => IdMatch::Many(named),
    })
}

fn ambiguous_id_failure(replica: &Replica, id: &str, matches: &[(Kind, String)]) -> Result<Failure, Failure> {
    let mut text = format!("several records have the name {id}, or an id that begins so:");
    for (kind, id) in matches {
        let title = replica.row(*kind, id)?.map(|row| row.title).unwrap_or_default();
        text.push_str(&format!("\n  {id}  {kind}  {}", text::one_line(&title)));
    }
    // The server uses an id once. One of the records exists only here, and its edit waits for a decision.
    let is_whole = matches.iter().all(|(_, whole)| *whole == id.to_ascii_lowercase());
    let next = if is_whole { "hearth-replica edits" } else { "repeat with the beginning of one of these ids" };
    Ok(Failure::new(Exit::Usage, text).hint(next))
}

/// The arguments as a JSON body: values in the contract's form, whole ids for short ids and names.
fn json_body(replica: &Replica, kind: Kind, typed: &[Assignment], present: Option<&Fields>) -> Result<Fields, Failure> {
    let mut body = Fields::new();
    for Assignment { name, value } in typed {
        let format = resource(kind).field(name).map(|field| field.format);
        let value = match format {
            _ if value.is_empty() => Value::Null,
            // A number without a unit is in the unit of the field's name, also in a metric home: scripts rely on it.
            Some(_) if is_area(kind, name) => {
                AreaUnit::SquareFeet.parse(value).map_or_else(|| typed_integer(value), Value::from)
            }
            Some(format) if format.is_integer() => typed_integer(value),
            None if name == "rev" => typed_integer(value),
            Some(Format::Money) => typed_text::normalize_money(value).into(),
            None if name == WORTH => typed_text::normalize_money(value).into(),
            Some(Format::Date) => typed_text::parse_full_date(value).unwrap_or_else(|| value.clone()).into(),
            _ => value.as_str().into(),
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

fn is_area(kind: Kind, field: &str) -> bool {
    resource(kind).field(field).is_some_and(Field::is_area)
}

/// An integer as typed, `130,000` or `3.0`, as a JSON number. Any other text stays, and the check refuses the text: `135.000` may be
/// 135 or 135000.
fn typed_integer(text: &str) -> Value {
    let text = text.trim();
    if let Some(whole) = typed_text::parse_whole(text) {
        return whole.into();
    }
    if typed_text::without_group_points(text).is_some() {
        return text.into();
    }
    // As in JSON, 3.0 is an integer. The check refuses 3.5.
    text.parse::<Number>().map_or_else(|_| text.into(), Value::Number)
}

/// The whole id of a referenced record, from the beginning of the id or from the record's name. None: no record is found, but the
/// value may be a whole id; the check judges the value.
fn resolve_reference(replica: &Replica, field: &Field, targets: &[Kind], id: &str) -> Result<Option<String>, Failure> {
    match find_by_id_or_name(replica, id, targets, false)? {
        IdMatch::One(_, id) => Ok(Some(id)),
        IdMatch::Many(matches) => Err(ambiguous_id_failure(replica, id, &matches)?),
        // A whole id may belong to a record that is not synced yet; the server judges.
        IdMatch::Nothing if parse_id(id).is_some() || targets.is_empty() => Ok(None),
        IdMatch::Nothing => {
            let kinds: Vec<&str> = targets.iter().map(|kind| kind.as_str()).collect();
            let text = format!("{}: there is no {} with the name or the id {id}", field.name, kinds.join(" or "));
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
    Failure::new(Exit::Usage, lines.join("\n  ")).hint(format!("hearth-replica fields {}", kind.collection()))
}
