//! An example record of each kind, validated and serialized by the code for real records. Must not know operations.

use hearth_contract::check::{Fields, Intent, check};
use hearth_contract::event::{EventType, StoredEvent};
use hearth_contract::formats::Timestamp;
use hearth_contract::problem::Problem;
use hearth_contract::record::Record;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};
use uuid::Uuid;

/// The SHA-256 of the bytes `test`.
pub(super) const FILE_HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
/// The request id of all examples.
pub(super) const REQUEST_ID: &str = "req_0XJ5M9Y1T7Q3W8R2N6K4B0ZHCD";
/// The cursor of all examples.
pub(super) const CURSOR: &str = "AUq2c3Jv0m8hBQABAA";
/// The time of the example create.
pub(super) const MOMENT: &str = "2026-06-01T08:30:00.000Z";
/// The time of the example patch.
pub(super) const LATER: &str = "2026-06-02T08:30:00.000Z";
/// The revision of the example create.
pub(super) const REV: i64 = 812;
/// The revision of the example patch.
pub(super) const PATCHED_REV: i64 = 813;
/// The author of the example records.
const AUTHOR: &str = "Kitchen tablet";

/// Adds the details of an expired cursor to an example.
pub(super) fn expired(problem: Problem) -> Problem {
    problem
        .with("reason", "retention")
        .with("resume_cursor", CURSOR)
        .with("retained_since", MOMENT)
        .with("retention_seconds", 2_592_000)
        .with("fork", Value::Null)
}

/// The body of an example create.
pub(super) fn create(kind: Kind) -> Value {
    match kind {
        Kind::Inventory => json!({ "name": "Dishwasher", "category": "appliance", "make": "Bosch",
            "purchase_date": "2024-05-03", "purchase_price": "649.00" }),
        Kind::Vehicle => json!({ "name": "Family car", "make": "Honda", "model": "Accord", "year": 2021,
            "fuel_type": "hybrid" }),
        Kind::Document => json!({ "title": "Dishwasher manual", "category": "manual",
            "url": "https://example.com/manual.pdf" }),
        Kind::Task => json!({ "title": "Replace the furnace filter", "priority": "medium", "due_on": "2026-07-01",
            "recurrence": "quarterly" }),
        Kind::Room => json!({ "name": "Kitchen", "room_type": "kitchen", "area_sq_ft": 160 }),
        Kind::Property => json!({ "address": "12 Mill Lane", "city": "Springfield", "hvac_make": "Carrier",
            "hvac_install_year": 2019 }),
    }
}

/// The body of an example patch.
pub(super) fn patch(kind: Kind) -> Value {
    match kind {
        Kind::Task => json!({ "status": "done" }),
        Kind::Property => create(kind),
        _ => json!({ "notes": "Checked in spring." }),
    }
}

/// The record that the example create makes.
pub(super) fn record(kind: Kind) -> Value {
    let mut fields = Fields::new();
    for field in resource(kind).fields {
        fields.insert(field.name.to_owned(), Value::Null);
    }
    let intent = if kind.is_singleton() { Intent::Patch } else { Intent::Create };
    fields.extend(check(kind, intent, &create(kind)).fields);
    let (moment, updated_by) = (moment(), AUTHOR.to_owned());
    let record = Record { kind, id: id(kind), rev: REV, fields, created_at: moment, updated_at: moment, updated_by };
    serde_json::from_str(&record.to_json()).unwrap_or_default()
}

/// The record after the example patch.
pub(super) fn patched(kind: Kind) -> Value {
    let mut record = record(kind);
    if let Value::Object(fields) = patch(kind) {
        fields.into_iter().for_each(|(name, value)| record[name] = value);
    }
    if kind == Kind::Task {
        record["completed_at"] = LATER.into();
    }
    record["rev"] = PATCHED_REV.into();
    record["updated_at"] = LATER.into();
    record
}

/// The event of the example create.
pub(super) fn event(kind: Kind) -> Value {
    let event = StoredEvent {
        id: REV,
        event_type: EventType::Created,
        kind,
        record: id(kind),
        payload: Some(record(kind).to_string()),
        created_at: moment(),
        idempotency_key: None,
    };
    let mut text = String::new();
    event.write_json(&mut text);
    serde_json::from_str(&text).unwrap_or_default()
}

/// The id of the example record of a kind.
pub(super) fn id(kind: Kind) -> Uuid {
    Uuid::from_u128(0x0197_2b1c_3f80_7c4e_9a51_0000_0000_0001 + kind as u128)
}

fn moment() -> Timestamp {
    Timestamp::parse(MOMENT).unwrap_or(Timestamp::from_millis(0))
}
