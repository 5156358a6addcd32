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
use hearth_replica::{Condition, Replica, RowQuery, Sort, Test, WORTH};
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
    let (mut conditions, mut faults) = (Vec::new(), Vec::new());
    for (name, value) in json_body(replica, kind, typed, None)? {
        let checked = match resource(kind).field(&name) {
            // A filter may ask for null in a required field, and for a read-only field.
            Some(field) if field.is_writable() && !value.is_null() => {
                check_field(field, Intent::Patch, &value).map_err(|fault| fault.message)
            }
            _ => Ok(value),
        };
        match known_name(kind, &name).and_then(|name| Ok((name, checked?))) {
            Ok((name, Value::Null)) => conditions.push(Condition::field(name, Test::Unset)),
            Ok((name, value)) => conditions.push(Condition::field(name, Test::Is(text::value_text(&value)))),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(conditions) } else { Err(field_failure(kind, faults)) }
}

/// The name of a field of the kind, or the worth of an item or a vehicle. Error: unknown, as a sentence with the nearest name.
pub(super) fn known_name(kind: Kind, name: &str) -> Result<&'static str, String> {
    let fields = resource(kind).fields.iter().map(|field| field.name).chain(COMMON);
    let worth = matches!(kind, Kind::Inventory | Kind::Vehicle).then_some(WORTH);
    fields.clone().chain(worth).find(|known| *known == name).ok_or_else(|| {
        let hint = nearest(name, fields).map(|known| format!("; did you mean {known}?")).unwrap_or(".".to_owned());
        format!("{kind} has no field {name}{hint}")
    })
}

/// The record with this id or name, or with an id that begins so; `property` is the home's profile.
pub(super) fn find_record(replica: &Replica, typed: &str, include_deleted: bool) -> Result<(Kind, String), Failure> {
    if typed == Kind::Property.as_str() {
        let row = replica.row(Kind::Property, "")?;
        return Ok((Kind::Property, row.map(|row| row.id).unwrap_or_default()));
    }
    one_of(replica, typed, find_by_id_or_name(replica, typed, &Kind::ALL, include_deleted)?)?.ok_or_else(|| {
        let text = format!("there is no record whose name is {typed} or whose id begins with {typed}");
        Failure::new(Exit::NotFound, text).hint("hearth-replica search WORDS, or hearth-replica list KIND")
    })
}

/// The records whose id begins with the text; otherwise the records whose name is the text, in upper or lower case.
fn find_by_id_or_name(
    replica: &Replica,
    typed: &str,
    kinds: &[Kind],
    include_deleted: bool,
) -> Result<Vec<(Kind, String)>, Failure> {
    let by_id = replica.find(typed, kinds, include_deleted)?;
    if !by_id.is_empty() {
        return Ok(by_id);
    }
    let mut named = Vec::new();
    for kind in kinds.iter().copied().filter(|kind| !kind.is_singleton()) {
        let column = resource(kind).title;
        let conditions = vec![Condition::field(column, Test::Is(typed.to_owned()))];
        let all = RowQuery::all(kind, Sort { column, descending: false }, NAMESAKES_MAX);
        let page = replica.rows(&RowQuery { conditions, ..all })?;
        named.extend(page.rows.into_iter().map(|row| (kind, row.id)));
    }
    named.truncate(NAMESAKES_MAX);
    Ok(named)
}

/// The only match. None: there is none. Error: there are several.
fn one_of(replica: &Replica, id: &str, mut matches: Vec<(Kind, String)>) -> Result<Option<(Kind, String)>, Failure> {
    if matches.len() < 2 {
        return Ok(matches.pop());
    }
    let mut text = format!("several records have the name {id}, or an id that begins so:");
    for (kind, id) in &matches {
        let title = replica.row(*kind, id)?.map(|row| row.title).unwrap_or_default();
        text.push_str(&format!("\n  {id}  {kind}  {}", text::one_line(&title)));
    }
    // The server uses an id once. One of the records exists only here, and its edit waits for a decision.
    let is_whole = matches.iter().all(|(_, whole)| *whole == id.to_ascii_lowercase());
    let next = if is_whole { "hearth-replica edits" } else { "repeat with the beginning of one of these ids" };
    Err(Failure::new(Exit::Usage, text).hint(next))
}

/// The arguments as a JSON body: values in the contract's form, whole ids for short ids and names.
fn json_body(replica: &Replica, kind: Kind, typed: &[Assignment], present: Option<&Fields>) -> Result<Fields, Failure> {
    let mut body = Fields::new();
    for Assignment { name, value } in typed {
        let field = resource(kind).field(name);
        let value = match (name.as_str(), field.map(|field| field.format)) {
            _ if value.is_empty() => Value::Null,
            // A number without a unit is in the unit of the field's name, also in a metric home: scripts rely on it.
            _ if field.is_some_and(Field::is_area) => {
                AreaUnit::SquareFeet.parse(value).map_or_else(|| typed_integer(value), Value::from)
            }
            ("rev", _) => typed_integer(value),
            (_, Some(format)) if format.is_integer() => typed_integer(value),
            (WORTH, _) | (_, Some(Format::Money)) => typed_text::normalize_money(value).into(),
            (_, Some(Format::Date)) => typed_text::parse_full_date(value).unwrap_or_else(|| value.clone()).into(),
            _ => value.as_str().into(),
        };
        if body.insert(name.clone(), value).is_some() {
            return Err(field_failure(kind, [format!("{name} is given twice.")]));
        }
    }
    for field in resource(kind).fields {
        let Some(id) = body.get(field.name).and_then(Value::as_str).map(str::to_owned) else { continue };
        let subject = || body.get(SUBJECT_TYPE).or_else(|| present?.get(SUBJECT_TYPE)).and_then(Value::as_str);
        let target = match field.format {
            Format::Reference(kind) => Some(kind),
            Format::Subject => subject().and_then(Kind::parse),
            _ => None,
        };
        let Some(target) = target else { continue };
        if let Some(id) = resolve_reference(replica, field, target, &id)? {
            body.insert(field.name.to_owned(), id.into());
        }
    }
    Ok(body)
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
fn resolve_reference(replica: &Replica, field: &Field, target: Kind, id: &str) -> Result<Option<String>, Failure> {
    match one_of(replica, id, find_by_id_or_name(replica, id, &[target], false)?)? {
        Some((_, id)) => Ok(Some(id)),
        // A whole id may belong to a record that is not synced yet; the server judges.
        None if parse_id(id).is_some() => Ok(None),
        None => {
            let text = format!("{}: there is no {target} with the name or the id {id}", field.name);
            Err(Failure::new(Exit::NotFound, text).hint(format!("hearth-replica list {}", target.collection())))
        }
    }
}

/// A usage failure with one line per fault.
pub(super) fn field_failure(kind: Kind, faults: impl IntoIterator<Item = String>) -> Failure {
    let lines: Vec<String> = faults.into_iter().map(|line| text::one_line(&line)).collect();
    Failure::new(Exit::Usage, lines.join("\n  ")).hint(format!("hearth-replica fields {}", kind.collection()))
}
