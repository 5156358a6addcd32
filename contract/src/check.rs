//! Checks a body against the resource table. The result is normalized values, or all faults at once. Pure. Must not know
//! the records of a home: the caller checks whether a referenced record exists.

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::currency;
pub use crate::fields::Fields;
use crate::formats;
use crate::problem::{FAULTS_MAX, FaultCode, FieldFault, QUOTED_NAME_MAX, nearest, shorten};
use crate::recurrence;
use crate::resources::resource;
use crate::schema::{
    COMMON, Field, Format, Kind, Lines, Presence, Resource, SUBJECT_ID, SUBJECT_TYPE, URL_MAX, is_subject,
};
use crate::time_zone;
use crate::typed_text::without_group_points;

/// The most digits of a number that a refusal quotes.
const INTEGER_DIGITS_MAX: usize = 12;

/// The purpose of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// A new record. Required fields must be present; absent fields take their defaults.
    Create,
    /// A merge into a record. Absent fields stay.
    Patch,
}

/// A body after the check. Apply `fields` only if `faults` is empty.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedBody {
    /// The id that the client chose for a create. None: the server makes an id.
    pub id: Option<Uuid>,
    /// On create: all fields of the kind, in the order of the table. On a patch: the sent fields.
    pub fields: Fields,
    /// The faults in the order of the body, then the missing fields. The check stops after [`FAULTS_MAX`] + 1 faults.
    pub faults: Vec<FieldFault>,
}

/// Checks a body. A body that is not a JSON object gives one fault with an empty field name.
pub fn check(kind: Kind, intent: Intent, body: &Value) -> CheckedBody {
    let resource = resource(kind);
    let Value::Object(members) = body else {
        let fault = FieldFault::new("", FaultCode::WrongType, "The body must be a JSON object.");
        return CheckedBody { id: None, fields: Fields::new(), faults: vec![fault] };
    };
    let mut checked = CheckedBody { id: None, fields: Fields::new(), faults: Vec::new() };
    for (name, value) in members {
        if checked.faults.len() > FAULTS_MAX {
            return checked;
        }
        match resource.field(name) {
            // Null is as if the moment were not sent.
            Some(field) if is_sent_on_completion(field, members) && value.is_null() => {}
            Some(field) => {
                let value = match is_sent_on_completion(field, members) {
                    true => check_value(field, value),
                    false => check_field(field, intent, value),
                };
                match value {
                    Ok(value) => drop(checked.fields.insert(name.clone(), value)),
                    Err(fault) => checked.faults.push(fault),
                }
            }
            None if name == "id" && intent == Intent::Create && !kind.is_singleton() => match chosen_id(value) {
                Ok(id) => checked.id = id,
                Err(fault) => checked.faults.push(fault),
            },
            None if COMMON.contains(&name.as_str()) => checked.faults.push(read_only(name)),
            None => checked.faults.push(unknown(resource, name)),
        }
    }
    if intent == Intent::Create {
        complete(resource, members, &mut checked);
        check_subject(kind, &checked.fields, &mut checked.faults);
    }
    checked
}

/// Checks one value of one field and returns the normalized value.
pub fn check_field(field: &Field, intent: Intent, value: &Value) -> Result<Value, FieldFault> {
    if !field.is_writable() {
        return Err(read_only(field.name));
    }
    if value.is_null() {
        return match (field.presence, intent) {
            (Presence::Optional, _) => Ok(Value::Null),
            (Presence::Required, Intent::Create) => Err(missing(field)),
            _ => Err(fault(field, FaultCode::NotNullable, "cannot be null")),
        };
    }
    check_value(field, value)
}

/// Whether the field is one that may be sent with a completion, and the body completes a task (contract 3).
fn is_sent_on_completion(field: &Field, members: &Map<String, Value>) -> bool {
    field.presence == Presence::OnCompletion && recurrence::is_done(members)
}

/// Checks a value that is not null.
fn check_value(field: &Field, value: &Value) -> Result<Value, FieldFault> {
    if let Some(range) = field.format.integer_range() {
        return check_integer(field, range, value);
    }
    match value.as_str() {
        Some(text) => check_text(field, text).map(Value::from),
        None => Err(fault(field, FaultCode::WrongType, "must be a string")),
    }
}

/// The fields that a body may contain. A patch of a replica also contains fields that follow from others.
pub fn sendable(kind: Kind, fields: &Fields) -> Fields {
    let is_sendable = |name: &str| match resource(kind).field(name).map(|field| field.presence) {
        Some(Presence::OnCompletion) => recurrence::is_done(fields),
        Some(presence) => presence != Presence::ReadOnly,
        None => true,
    };
    fields.iter().filter(|(name, _)| is_sendable(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Checks `subject_type` and `subject_id` against each other (contract 3) and adds a fault if they disagree. `fields` is the
/// whole record after the write. Adds nothing if one of the two fields has a fault already.
pub fn check_subject(kind: Kind, fields: &Fields, faults: &mut Vec<FieldFault>) {
    let faulty = faults.iter().any(|fault| is_subject(&fault.field));
    if faulty || !resource(kind).has_subject() {
        return;
    }
    let word = fields.get(SUBJECT_TYPE).and_then(Value::as_str);
    let has_id = fields.get(SUBJECT_ID).is_some_and(|id| !id.is_null());
    match (word.and_then(Kind::parse), has_id) {
        (Some(subject), false) => {
            let message = format!("subject_id is required when subject_type is {subject}.");
            faults.push(FieldFault::new(SUBJECT_ID, FaultCode::Required, message));
        }
        (None, true) => {
            let message = format!("subject_id must be null when subject_type is {}.", word.unwrap_or("null"));
            faults.push(FieldFault::new(SUBJECT_ID, FaultCode::Inconsistent, message));
        }
        _ => (),
    }
}

/// The references of a record: field, kind and id of the target. `fields` is the whole record.
pub fn references(kind: Kind, fields: &Fields) -> Vec<(&'static Field, Kind, Uuid)> {
    let target = |field: &Field| match field.format {
        Format::Reference(kind) => Some(kind),
        Format::Subject => fields.get(SUBJECT_TYPE).and_then(Value::as_str).and_then(Kind::parse),
        _ => None,
    };
    resource(kind)
        .fields
        .iter()
        .filter_map(|field| {
            let id = fields.get(field.name).and_then(Value::as_str).and_then(formats::parse_id)?;
            Some((field, target(field)?, id))
        })
        .collect()
}

/// Puts the fields of a create into the order of the table, and adds defaults and faults for missing fields.
fn complete(resource: &Resource, members: &Map<String, Value>, checked: &mut CheckedBody) {
    let mut fields = Fields::new();
    for field in resource.fields {
        let value = match checked.fields.remove(field.name) {
            Some(value) => value,
            None => match field.presence {
                Presence::Required if !members.contains_key(field.name) => {
                    checked.faults.push(missing(field));
                    continue;
                }
                Presence::Default(preset) => preset.value(),
                _ => Value::Null,
            },
        };
        fields.insert(field.name.to_owned(), value);
    }
    checked.fields = fields;
}

fn chosen_id(value: &Value) -> Result<Option<Uuid>, FieldFault> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => match formats::parse_id(text) {
            Some(id) => Ok(Some(id)),
            None => Err(FieldFault::new("id", FaultCode::InvalidFormat, "id must be a UUID with hyphens.")),
        },
        _ => Err(FieldFault::new("id", FaultCode::WrongType, "id must be a string.")),
    }
}

fn check_integer(field: &Field, (low, high): (i64, i64), value: &Value) -> Result<Value, FieldFault> {
    let number = match value {
        Value::Number(number) => number,
        other => return Err(fault(field, FaultCode::WrongType, &integer_rule(other))),
    };
    // `3.0` is an integer, as in JSON Schema. A number too large for i64 is out of range, not a wrong type.
    let whole = number.as_i64().map(|n| n as f64).or(number.as_f64()).unwrap_or(f64::INFINITY);
    if whole.fract() != 0.0 {
        return Err(fault(field, FaultCode::WrongType, "must be an integer"));
    }
    if whole < low as f64 || whole > high as f64 {
        return Err(fault(field, FaultCode::OutOfRange, &format!("must be from {low} to {high}")));
    }
    Ok(Value::from(whole as i64))
}

fn check_text(field: &Field, text: &str) -> Result<String, FieldFault> {
    let malformed = |rule: &str| fault(field, FaultCode::InvalidFormat, rule);
    let too_long = |max: usize| fault(field, FaultCode::TooLong, &format!("must have at most {max} characters"));
    match field.format {
        Format::Text { max, lines } => {
            let (allowed, rule): (fn(char) -> bool, _) = match lines {
                Lines::One => (formats::is_line_char, "must be one line without control characters"),
                Lines::Many => (formats::is_text_char, "must have no control characters but line breaks and tabs"),
            };
            if !text.chars().all(allowed) {
                Err(malformed(rule))
            } else if text.chars().count() > max {
                Err(too_long(max))
            } else if field.presence == Presence::Required && text.trim().is_empty() {
                Err(fault(field, FaultCode::TooShort, "must not be blank"))
            } else {
                Ok(text.to_owned())
            }
        }
        Format::Url if text.chars().count() > URL_MAX => Err(too_long(URL_MAX)),
        Format::Url if formats::is_url(text) => Ok(text.to_owned()),
        Format::Url => Err(malformed("must be an absolute http or https address")),
        Format::Choice(words) if words.contains(&text) => Ok(text.to_owned()),
        Format::Choice(words) => {
            let hint =
                nearest(text, words.iter().copied()).map(|word| format!("; did you mean {word}?")).unwrap_or_default();
            Err(fault(field, FaultCode::NotAChoice, &format!("must be one of {}{hint}", words.join(", "))))
        }
        Format::Vin => formats::normalize_vin(text)
            .ok_or_else(|| malformed("must be 11 to 17 of the letters A-Z and digits, without I, O and Q")),
        Format::Money => formats::normalize_money(text).ok_or_else(|| match without_group_points(text) {
            Some(whole) if whole.len() <= INTEGER_DIGITS_MAX => malformed(&format!(
                "has at most 2 decimals; {text} may mean {whole}, so write {whole}.00 or a decimal such as 1299.00"
            )),
            _ => malformed("must be a decimal string such as \"1299.00\", at most 12 digits and 2 decimals"),
        }),
        Format::Date => match formats::parse_date(text) {
            Some(_) => Ok(text.to_owned()),
            None => Err(malformed("must be a calendar date written YYYY-MM-DD")),
        },
        Format::Timestamp => match formats::Timestamp::parse(text) {
            Some(moment) => Ok(moment.to_string()),
            None => Err(malformed("must be a timestamp such as 2026-06-01T12:00:00Z")),
        },
        Format::Reference(_) | Format::Subject => match formats::parse_id(text) {
            Some(id) => Ok(id.to_string()),
            None => Err(malformed("must be a UUID with hyphens")),
        },
        Format::TimeZone if time_zone::is_name(text) => Ok(text.to_owned()),
        Format::TimeZone => {
            let hint =
                nearest(text, time_zone::names()).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            Err(malformed(&format!("must be a time zone such as Europe/Berlin{hint}")))
        }
        Format::Currency => currency::normalize(text).ok_or_else(|| {
            let hint = nearest(&text.to_ascii_uppercase(), currency::codes());
            let hint = hint.map(|code| format!("; did you mean {code}?")).unwrap_or_default();
            malformed(&format!("must be a code of ISO 4217 such as EUR{hint}"))
        }),
        Format::Sha256 => formats::normalize_sha256(text).ok_or_else(|| malformed("must be 64 hex digits")),
        Format::Count { .. } | Format::Year => Err(fault(field, FaultCode::WrongType, "must be an integer")),
    }
}

/// The rule that a text breaks in an integer field. A text such as `135.000` gets its two meanings.
fn integer_rule(value: &Value) -> String {
    let text = value.as_str().map_or("", str::trim);
    match (text.split_once('.'), without_group_points(text)) {
        (Some((part, _)), Some(whole)) if whole.len() <= INTEGER_DIGITS_MAX => {
            format!("must be an integer; {text} may mean {part} or {whole}, so write the integer without a point")
        }
        _ => "must be an integer".to_owned(),
    }
}

fn fault(field: &Field, code: FaultCode, rule: &str) -> FieldFault {
    let stop = if rule.ends_with('?') { "" } else { "." };
    FieldFault::new(field.name, code, format!("{} {rule}{stop}", field.name))
}

fn missing(field: &Field) -> FieldFault {
    fault(field, FaultCode::Required, "is required")
}

fn read_only(name: &str) -> FieldFault {
    let message = match name {
        recurrence::COMPLETED_AT => format!("{name} is set by the service; it can be sent only with status done."),
        _ => format!("{name} is set by the service and cannot be sent."),
    };
    FieldFault::new(name, FaultCode::ReadOnly, message)
}

fn unknown(resource: &Resource, name: &str) -> FieldFault {
    let known = resource.fields.iter().filter(|field| field.is_sendable()).map(|field| field.name);
    let hint = nearest(name, known).map(|known| format!("; did you mean {known}?")).unwrap_or(".".to_owned());
    let message = format!("{} has no field {}{hint}", resource.kind, shorten(name, QUOTED_NAME_MAX));
    FieldFault::new(name, FaultCode::UnknownField, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The faults of a body, each as `field code`, in order.
    fn faults(kind: Kind, intent: Intent, body: Value) -> Vec<String> {
        check(kind, intent, &body).faults.iter().map(|f| format!("{} {}", f.field, f.code.as_str())).collect()
    }

    #[test]
    fn create_fills_fields_in_table_order() {
        let checked = check(Kind::Task, Intent::Create, &json!({ "priority": "high", "title": "Buy filter" }));
        assert!(checked.faults.is_empty());
        let names: Vec<&str> = checked.fields.keys().map(String::as_str).collect();
        let table: Vec<&str> = resource(Kind::Task).fields.iter().map(|field| field.name).collect();
        assert_eq!(names, table);
        assert_eq!(checked.fields["status"], "open");
        assert_eq!(checked.fields["due_on"], Value::Null);
    }

    #[test]
    fn check_reports_all_faults() {
        let body = json!({ "titel": "x", "priority": "hihg", "due_on": "2026-02-30", "estimated_cost": 5, "completed_at": null, "rev": 1 });
        assert_eq!(
            faults(Kind::Task, Intent::Create, body),
            [
                "titel unknown_field",
                "priority not_a_choice",
                "due_on invalid_format",
                "estimated_cost wrong_type",
                "completed_at read_only",
                "rev read_only",
                "title required"
            ]
        );
    }

    #[test]
    fn check_stops_after_faults_max() {
        let many: Map<String, Value> = (0..5000).map(|number| (format!("nothing_{number}"), Value::Null)).collect();
        assert_eq!(check(Kind::Task, Intent::Create, &Value::Object(many)).faults.len(), FAULTS_MAX + 1);
        let long = check(Kind::Task, Intent::Patch, &json!({ "x".repeat(1000): 0 })).faults;
        assert_eq!(long[0].message, format!("task has no field {}….", "x".repeat(64)));
    }

    #[test]
    fn fault_names_nearest_word() {
        let checked =
            check(Kind::Task, Intent::Create, &json!({ "title": "a", "priorty": "high", "status": "opened" }));
        let messages: Vec<&str> = checked.faults.iter().map(|f| f.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "task has no field priorty; did you mean priority?",
                "status must be one of open, in_progress, done; did you mean open?"
            ]
        );
    }

    #[test]
    fn completed_at_is_sent_with_done_only() {
        let at = "2026-06-01T12:00:00Z";
        for (body, expected) in [
            (json!({ "status": "done", "completed_at": at }), None),
            (json!({ "completed_at": "2026-06-01", "status": "done" }), None),
            (json!({ "completed_at": at }), Some("completed_at read_only")),
            (json!({ "status": "open", "completed_at": at }), Some("completed_at read_only")),
            (json!({ "status": "open", "completed_at": null }), Some("completed_at read_only")),
            (json!({ "status": "done", "completed_at": "yesterday" }), Some("completed_at invalid_format")),
            (json!({ "status": "done", "completed_at": 5 }), Some("completed_at wrong_type")),
            (json!({ "status": "done", "recurrence_anchor": "2026-06-01" }), Some("recurrence_anchor read_only")),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(faults(Kind::Task, Intent::Patch, body.clone()), expected, "{body}");
        }
        let sent = check(Kind::Task, Intent::Patch, &json!({ "status": "done", "completed_at": at }));
        assert_eq!(sent.fields["completed_at"], "2026-06-01T12:00:00.000Z");
        // Null is as if the moment were not sent.
        let unsent = check(Kind::Task, Intent::Patch, &json!({ "status": "done", "completed_at": null }));
        assert!(unsent.faults.is_empty() && !unsent.fields.contains_key("completed_at"));
    }

    #[test]
    fn each_format_refuses_wrong_values() {
        for (kind, body, expected) in [
            (Kind::Room, json!({ "name": "  " }), "name too_short"),
            (Kind::Room, json!({ "name": null }), "name required"),
            (Kind::Room, json!({ "name": "a\nb" }), "name invalid_format"),
            (Kind::Room, json!({ "name": "é".repeat(201) }), "name too_long"),
            (Kind::Room, json!({ "name": "a", "area_sq_ft": -1 }), "area_sq_ft out_of_range"),
            (Kind::Room, json!({ "name": "a", "area_sq_ft": 2.5 }), "area_sq_ft wrong_type"),
            (Kind::Room, json!({ "name": "a", "area_sq_ft": 1e300 }), "area_sq_ft out_of_range"),
            (Kind::Room, json!({ "name": "a", "area_sq_ft": "9" }), "area_sq_ft wrong_type"),
            (Kind::Room, json!({ "name": "a", "id": "nope" }), "id invalid_format"),
            (Kind::Inventory, json!({ "name": "a", "quantity": null }), "quantity not_nullable"),
            (Kind::Inventory, json!({ "name": "a", "room_id": 7 }), "room_id wrong_type"),
            (Kind::Task, json!({ "title": "a", "recurrence_every": 0 }), "recurrence_every out_of_range"),
            (Kind::Task, json!({ "title": "a", "recurrence_every": 100 }), "recurrence_every out_of_range"),
            (Kind::Task, json!({ "title": "a", "recurrence_every": null }), "recurrence_every not_nullable"),
            (Kind::Vehicle, json!({ "name": "a", "vin": "SHORT" }), "vin invalid_format"),
            (Kind::Vehicle, json!({ "name": "a", "year": 999 }), "year out_of_range"),
            (Kind::Document, json!({ "title": "a", "url": "nowhere" }), "url invalid_format"),
            (Kind::Document, json!({ "title": "a", "subject_type": "inventory" }), "subject_id required"),
            (Kind::Document, json!({ "title": "a", "subject_type": "room" }), "subject_type not_a_choice"),
            (
                Kind::Document,
                json!({ "title": "a", "subject_id": "0190a3b0-0000-7000-8000-00000000abcd" }),
                "subject_id inconsistent",
            ),
            (Kind::Room, json!({ "name": "a", "import_ref": "a\nb" }), "import_ref invalid_format"),
            (Kind::Room, json!({ "name": "a", "import_ref": "é".repeat(101) }), "import_ref too_long"),
            (Kind::Document, json!({ "title": "a", "file_sha256": "abc" }), "file_sha256 invalid_format"),
            (Kind::Property, json!({ "currency": "DEM" }), "currency invalid_format"),
            (Kind::Property, json!({ "unit_system": "feet" }), "unit_system not_a_choice"),
            (Kind::Room, json!([]), " wrong_type"),
        ] {
            assert_eq!(faults(kind, Intent::Create, body.clone()), [expected], "{body}");
        }
    }

    #[test]
    fn check_normalizes_values() {
        let body = json!({ "name": "Car", "vin": "1hgcm82633a004352", "odometer": 3.0, "purchase_price": "07.5" });
        let checked = check(Kind::Vehicle, Intent::Create, &body);
        assert!(checked.faults.is_empty());
        assert_eq!(checked.fields["vin"], "1HGCM82633A004352");
        assert_eq!(checked.fields["odometer"], json!(3));
        assert_eq!(checked.fields["purchase_price"], "7.50");
    }

    #[test]
    fn patch_keeps_only_sent_fields() {
        let checked = check(Kind::Room, Intent::Patch, &json!({ "floor": null }));
        assert_eq!(Value::Object(checked.fields), json!({ "floor": null }));
        assert_eq!(faults(Kind::Room, Intent::Patch, json!({ "name": null })), ["name not_nullable"]);
        assert_eq!(faults(Kind::Room, Intent::Patch, json!({ "id": null })), ["id read_only"]);
        assert_eq!(faults(Kind::Property, Intent::Patch, json!({ "id": null })), ["id read_only"]);
    }

    #[test]
    fn time_zone_must_be_exact_name() {
        let faults = |zone: &str| check(Kind::Property, Intent::Patch, &json!({ "time_zone": zone })).faults;
        assert_eq!(faults("Europe/Berlin"), []);
        let wrong = &faults("europe/berlin")[0];
        assert_eq!(wrong.code, FaultCode::InvalidFormat);
        let message = "time_zone must be a time zone such as Europe/Berlin; did you mean Europe/Berlin?";
        assert_eq!(wrong.message, message);
    }

    #[test]
    fn references_give_kind_and_id() {
        let id = "0190a3b0-0000-7000-8000-00000000abcd";
        let fields =
            check(Kind::Task, Intent::Create, &json!({ "title": "a", "subject_type": "room", "subject_id": id }))
                .fields;
        let found = references(Kind::Task, &fields);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].0.name, found[0].1, found[0].2.to_string().as_str()), ("subject_id", Kind::Room, id));
    }
}
