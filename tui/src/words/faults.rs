//! Sentences about faults in form fields. They give the same examples as the hints of the form. The rules themselves
//! belong to the contract. Must not decide whether a value is valid.

use hearth_contract::problem::{FaultCode, FieldFault};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECT_ID};
use serde_json::Value;

use crate::words::direction::Direction;
use crate::words::{AREA_EXAMPLES, MONEY_EXAMPLES, json_text, with_labels};

/// The sentence for a fault of a field. `value`: what the field holds.
pub fn fault_sentence(kind: Kind, fault: &FieldFault, value: Option<&Value>) -> String {
    let typed = value.map(json_text).unwrap_or_default();
    let typed = typed.trim();
    let field = resource(kind).field(&fault.field);
    let days = field.map_or(Direction::Future, Direction::of).examples();
    match (field.map(|field| field.format), fault.code) {
        (Some(Format::Date), FaultCode::InvalidFormat) => format!("{typed} is no day: try {days}"),
        (Some(Format::Money), FaultCode::InvalidFormat) => format!("{typed} is no sum: try {MONEY_EXAMPLES}"),
        (_, FaultCode::WrongType) if field.is_some_and(|field| field.is_area()) => {
            format!("{typed} is no area: try {AREA_EXAMPLES}")
        }
        (Some(Format::Count { .. } | Format::Year), FaultCode::WrongType) => format!("{typed} is no whole number"),
        _ if fault.field == SUBJECT_ID && fault.code == FaultCode::Required => "Choose what it is about.".to_owned(),
        _ if fault.field == SUBJECT_ID && fault.code == FaultCode::Inconsistent => {
            "Leave it empty, or choose another type of subject.".to_owned()
        }
        (_, FaultCode::NotNullable) => with_labels(kind, &format!("{} is required.", fault.field)),
        _ => with_labels(kind, &fault.message),
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::{Intent, check};
    use serde_json::json;

    use super::*;

    #[test]
    fn fault_sentence_matches_the_form_hints() {
        for (kind, name, typed, expected) in [
            (Kind::Task, "due_on", json!("someday"), "someday is no day: try tomorrow, fri, +2w, 1 dec or 2026-12-01"),
            (
                Kind::Inventory,
                "purchase_date",
                json!("someday"),
                "someday is no day: try yesterday, fri, -2w, 1 dec or 2026-12-01",
            ),
            (Kind::Task, "estimated_cost", json!("much"), "much is no sum: try 1299, 1,299.50 or 1299,50"),
            (Kind::Vehicle, "odometer", json!("far"), "far is no whole number"),
            (Kind::Room, "area_sq_ft", json!("wide"), "wide is no area: try 215 sq ft or 19.9 m2"),
            (Kind::Vehicle, "year", json!(12), "year must be from 1000 to 9999."),
            (Kind::Task, "title", json!(null), "title is required."),
            (
                Kind::Vehicle,
                "license_plate",
                json!("a\nb"),
                "license plate must be one line without control characters.",
            ),
        ] {
            let checked = check(kind, Intent::Patch, &json!({ name: typed }));
            assert_eq!(fault_sentence(kind, &checked.faults[0], Some(&typed)), expected);
        }
    }
}
