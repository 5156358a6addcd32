//! Tests of series: which task follows, and when.

use serde_json::json;

use super::*;

fn task(fields: Value) -> Fields {
    fields.as_object().cloned().unwrap()
}

/// The due date after completing a task. `every` is part of the period: `monthly 2`.
fn next_due(period: &str, anchor: &str, due: &str, completed: &str) -> Option<String> {
    let (period, every) = period.split_once(' ').unwrap_or((period, "1"));
    let fields = task(json!({
        "status": "done", "completed_at": Timestamp::parse(completed).unwrap(), "recurrence": period,
        "recurrence_every": every.parse::<i64>().unwrap(), "recurrence_anchor": anchor, "due_on": due,
    }));
    let next = next_task(Uuid::nil(), &fields, None)?;
    assert_eq!(next.fields["recurrence_anchor"], anchor, "a series keeps its anchor");
    next.fields["due_on"].as_str().map(str::to_owned)
}

#[test]
fn computed_fields_follow_status_and_series() {
    let at = Timestamp::from_millis;
    let mut created = task(json!({ "status": "open", "due_on": "2026-01-31", "recurrence": "monthly" }));
    set_computed(None, &mut created, at(1000));
    assert_eq!((&created["completed_at"], &created["recurrence_anchor"]), (&Value::Null, &json!("2026-01-31")));

    let mut done = created.clone();
    done.insert("status".into(), "done".into());
    set_computed(Some(&created), &mut done, at(1000));
    assert_eq!(done["completed_at"], "1970-01-01T00:00:01.000Z");
    let mut still = done.clone();
    set_computed(Some(&done), &mut still, at(9000));
    assert_eq!(still, done);
    let mut reopened = done.clone();
    reopened.insert("status".into(), "in_progress".into());
    set_computed(Some(&done), &mut reopened, at(9000));
    assert_eq!(reopened["completed_at"], Value::Null);
}

#[test]
fn anchor_follows_changes_of_series_only() {
    let clamped = task(json!({ "title": "a", "due_on": "2026-02-28", "recurrence": "monthly",
        "recurrence_every": 1, "recurrence_anchor": "2026-01-31" }));
    for (change, anchor) in [
        (json!({ "title": "b", "due_on": "2026-02-28" }), json!("2026-01-31")),
        (json!({ "due_on": "2026-02-27" }), json!("2026-02-27")),
        (json!({ "recurrence": "weekly" }), json!("2026-02-28")),
        (json!({ "recurrence_every": 2 }), json!("2026-02-28")),
        (json!({ "recurrence": null }), json!(null)),
        (json!({ "due_on": null }), json!(null)),
    ] {
        let mut after = clamped.clone();
        after.extend(task(change.clone()));
        set_computed(Some(&clamped), &mut after, Timestamp::from_millis(0));
        assert_eq!(after["recurrence_anchor"], anchor, "{change}");
    }
}

#[test]
fn series_keeps_its_day_over_short_months() {
    let mut due = "2026-01-31".to_owned();
    for expected in ["2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"] {
        due = next_due("monthly", "2026-01-31", &due, "2026-01-05").unwrap();
        assert_eq!(due, expected);
    }
    let mut due = "2024-02-29".to_owned();
    for expected in ["2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29", "2029-02-28"] {
        due = next_due("yearly", "2024-02-29", &due, "2024-01-05").unwrap();
        assert_eq!(due, expected);
    }
}

#[test]
fn next_date_is_after_due_date_and_completion() {
    for (period, anchor, due, completed, expected) in [
        ("daily", "2026-01-31", "2026-01-31", "2026-01-31", Some("2026-02-01")),
        ("daily", "2026-01-31", "2026-01-31", "2026-03-05", Some("2026-03-06")),
        ("daily 3", "2026-01-01", "2026-01-04", "2026-01-07", Some("2026-01-10")),
        ("daily 3", "2026-01-01", "2026-01-04", "2026-01-06", Some("2026-01-07")),
        ("weekly", "2026-12-28", "2026-12-28", "2026-12-01", Some("2027-01-04")),
        ("weekly 2", "2026-01-05", "2026-01-05", "2026-02-02", Some("2026-02-16")),
        ("monthly", "2026-01-31", "2026-02-28", "2026-02-28", Some("2026-03-31")),
        ("monthly", "2026-01-31", "2026-02-28", "2026-03-30", Some("2026-03-31")),
        ("monthly", "2026-01-31", "2026-02-28", "2026-03-31", Some("2026-04-30")),
        ("monthly 2", "2026-12-31", "2026-12-31", "2027-01-01", Some("2027-02-28")),
        ("quarterly", "2026-11-30", "2026-11-30", "2026-11-30", Some("2027-02-28")),
        ("yearly 4", "2024-02-29", "2024-02-29", "2027-01-01", Some("2028-02-29")),
        ("monthly 99", "2026-01-15", "2026-01-15", "2026-01-15", Some("2034-04-15")),
        ("daily", "9999-12-30", "9999-12-30", "9999-12-01", Some("9999-12-31")),
        ("daily", "9999-12-31", "9999-12-31", "9999-12-31", None),
        ("yearly 99", "9950-06-01", "9950-06-01", "9950-06-01", None),
    ] {
        let found = next_due(period, anchor, due, completed);
        assert_eq!(found.as_deref(), expected, "{period} from {anchor}, due {due}, completed {completed}");
    }
}

#[test]
fn series_without_due_date_counts_from_completion() {
    let fields = task(json!({ "title": "Filter", "status": "done", "completed_at": "2026-01-31T23:30:00.000Z",
        "recurrence": "monthly", "recurrence_every": 1, "recurrence_anchor": null, "due_on": null, "assignee": "Ada" }));
    let next = next_task(Uuid::from_u128(7), &fields, None).unwrap();
    assert_eq!(next.id, next_id(Uuid::from_u128(7)));
    assert_eq!(
        Value::Object(next.fields),
        json!({ "title": "Filter", "status": "open", "completed_at": null, "recurrence": "monthly",
            "recurrence_every": 1, "recurrence_anchor": "2026-01-31", "due_on": "2026-02-28", "assignee": "Ada" })
    );
    let next = next_task(Uuid::from_u128(7), &fields, Some("Europe/Berlin")).unwrap();
    assert_eq!(
        (&next.fields["due_on"], &next.fields["recurrence_anchor"]),
        (&json!("2026-03-01"), &json!("2026-02-01"))
    );
}

#[test]
fn task_has_one_next_id() {
    // Python: uuid.uuid5(uuid.UUID("0190a3b0-…"), "next")
    let id = Uuid::try_parse("0190a3b0-0000-7000-8000-00000000abcd").unwrap();
    assert_eq!(next_id(id).to_string(), "dc27a77d-e541-5da4-8591-9df52a97d8a9");
}

#[test]
fn open_or_single_task_has_no_next() {
    for fields in [
        json!({ "status": "open", "completed_at": null, "recurrence": "daily", "due_on": "2026-01-01" }),
        json!({ "status": "done", "completed_at": "2026-01-01T00:00:00.000Z", "recurrence": null }),
        json!({ "status": "done", "completed_at": "2026-01-01T00:00:00.000Z", "recurrence": "hourly" }),
    ] {
        assert_eq!(next_task(Uuid::nil(), &task(fields), None), None);
    }
}

#[test]
fn completion_is_not_in_the_future() {
    let at = |text: &str| Timestamp::parse(text).unwrap();
    let now = at("2026-03-01T12:00:00Z");
    for (completed, expected) in
        [("1999-01-01", true), ("2026-03-01T12:05:00Z", true), ("2026-03-01T12:05:00.001Z", false)]
    {
        assert_eq!(is_plausible_completion(at(completed), now), expected, "{completed}");
    }
}
