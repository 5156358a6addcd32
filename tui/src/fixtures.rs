//! Sample records, status and time for tests. Must not be used outside tests.

use hearth_contract::check::{Intent, check};
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use hearth_replica::{Conflict, Pending, Phase, Row, Status};
use serde_json::{Value, json};
use time::UtcOffset;

use crate::now::Now;

/// Saturday, 21 November 2026, 14:00 UTC.
pub(crate) fn now() -> Now {
    Now { moment: Timestamp::parse("2026-11-21T14:00:00Z").unwrap(), zone: |_| UtcOffset::UTC }
}

/// A record with these fields, as the contract's check completes them.
pub(crate) fn record(kind: Kind, id: &str, fields: Value) -> Row {
    let mut body = fields;
    if let Value::Object(members) = &mut body {
        members.retain(|_, value| !value.is_null());
    }
    let fields = check(kind, Intent::Create, &body).fields;
    let title = ["title", "name", "address"].iter().find_map(|name| fields.get(*name)?.as_str()).unwrap_or_default();
    Row {
        kind,
        id: id.into(),
        title: title.into(),
        rev: Some(7),
        created_at: Some("2026-11-01T09:00:00.000Z".into()),
        updated_at: Some("2026-11-20T09:00:00.000Z".into()),
        updated_by: Some("Ana's phone".into()),
        pending: Pending::No,
        own: false,
        names: Default::default(),
        file: None,
        units: Default::default(),
        fields,
    }
}

/// A room.
pub(crate) fn room(id: &str, name: &str) -> Row {
    record(Kind::Room, id, json!({ "name": name }))
}

/// A task, due on `due_on` (`2026-11-18`) if given.
pub(crate) fn task(id: &str, title: &str, due_on: Option<&str>) -> Row {
    record(Kind::Task, id, json!({ "title": title, "due_on": due_on }))
}

/// The status of a replica that is connected and complete.
pub(crate) fn live() -> Status {
    Status {
        phase: Phase::Live,
        server: Some("http://127.0.0.1:8750".into()),
        home: Some("Maple Street".into()),
        environment: Some("live".into()),
        position: 812,
        head: Some(812),
        ..Status::default()
    }
}

/// A conflict of edit 4 in a field of task `a`.
pub(crate) fn conflict(field: &str, theirs: &str) -> Conflict {
    Conflict {
        edit_id: 4,
        kind: Kind::Task,
        record_id: "a".into(),
        field: field.into(),
        base: json!("2026-11-18"),
        mine: json!("2026-11-20"),
        theirs: json!(theirs),
        theirs_at: Some("2026-11-21T13:02:00.000Z".into()),
        theirs_by: Some("Ana's phone".into()),
        title: "Clean gutters".into(),
    }
}
