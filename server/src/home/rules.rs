//! What the kinds do beyond holding values: when a task is completed, which task follows a recurring task, and how a
//! reference to a deleted record is cleared (contract 3). Pure functions of fields and a moment; must not know the store.

use hearth_contract::check::Fields;
use hearth_contract::formats::{Timestamp, format_date, parse_date};
use hearth_contract::schema::{Format, Kind, SUBJECT_ID, SUBJECT_TYPE};
use serde_json::Value;
use time::{Date, Duration, Month};
use uuid::Uuid;

/// Sets `completed_at` of a task by its status: the moment when the status becomes done, null when the task is not done.
pub fn set_completed_at(kind: Kind, before: Option<&Fields>, after: &mut Fields, now: Timestamp) {
    if kind != Kind::Task {
        return;
    }
    let completed_at = match (before.is_some_and(is_done), is_done(after)) {
        (false, true) => Value::from(now.to_string()),
        (true, true) => return,
        (_, false) => Value::Null,
    };
    after.insert("completed_at".to_owned(), completed_at);
}

/// The fields of the next occurrence, when a recurring task becomes done: open, and due one period after the due date, or
/// after today for a task without a due date. None: no task follows.
pub fn follow_up(kind: Kind, before: Option<&Fields>, after: &Fields, now: Timestamp) -> Option<Fields> {
    if kind != Kind::Task || before.is_some_and(is_done) || !is_done(after) {
        return None;
    }
    let period = after.get("recurrence").and_then(Value::as_str)?;
    let due = after.get("due_on").and_then(Value::as_str).and_then(parse_date).unwrap_or_else(|| now.date());
    let mut next = after.clone();
    next.insert("status".to_owned(), "open".into());
    next.insert("completed_at".to_owned(), Value::Null);
    next.insert(
        "due_on".to_owned(),
        one_period_later(due, period).map_or(Value::Null, |date| format_date(date).into()),
    );
    Some(next)
}

/// Clears each field that refers to a deleted record.
pub fn clear_reference(kind: Kind, fields: &mut Fields, target: Uuid) {
    let target = target.to_string();
    for field in hearth_contract::resources::resource(kind).fields {
        if fields.get(field.name).and_then(Value::as_str) != Some(target.as_str()) {
            continue;
        }
        match field.format {
            Format::Reference(_) => drop(fields.insert(field.name.to_owned(), Value::Null)),
            Format::Subject => {
                fields.insert(SUBJECT_TYPE.to_owned(), Value::Null);
                fields.insert(SUBJECT_ID.to_owned(), Value::Null);
            }
            _ => (),
        }
    }
}

fn is_done(fields: &Fields) -> bool {
    fields.get("status").and_then(Value::as_str) == Some("done")
}

/// The date one period later. None: after the year 9999.
fn one_period_later(date: Date, period: &str) -> Option<Date> {
    match period {
        "daily" => date.checked_add(Duration::days(1)),
        "weekly" => date.checked_add(Duration::weeks(1)),
        "monthly" => months_later(date, 1),
        "quarterly" => months_later(date, 3),
        _ => months_later(date, 12),
    }
}

/// The same day of a later month, or the last day of a shorter month.
fn months_later(date: Date, months: i32) -> Option<Date> {
    let count = date.year() * 12 + i32::from(u8::from(date.month())) - 1 + months;
    let (year, month) = (count.div_euclid(12), Month::try_from(count.rem_euclid(12) as u8 + 1).ok()?);
    Date::from_calendar_date(year, month, date.day().min(month.length(year))).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task(fields: Value) -> Fields {
        fields.as_object().cloned().unwrap()
    }

    #[test]
    fn completed_at_follows_status() {
        let now = Timestamp::from_millis(1000);
        let open = task(json!({ "status": "open", "completed_at": null }));
        let mut done = task(json!({ "status": "done", "completed_at": null }));
        set_completed_at(Kind::Task, Some(&open), &mut done, now);
        assert_eq!(done["completed_at"], "1970-01-01T00:00:01.000Z");
        let mut still = done.clone();
        set_completed_at(Kind::Task, Some(&done), &mut still, Timestamp::from_millis(9000));
        assert_eq!(still, done);
        let mut reopened = done.clone();
        reopened.insert("status".into(), "in_progress".into());
        set_completed_at(Kind::Task, Some(&done), &mut reopened, now);
        assert_eq!(reopened["completed_at"], Value::Null);
    }

    #[test]
    fn done_recurring_task_is_followed_by_next() {
        let now = Timestamp::parse("2026-08-31").unwrap();
        for (due, period, next) in [
            (json!("2026-01-31"), "daily", json!("2026-02-01")),
            (json!("2026-12-28"), "weekly", json!("2027-01-04")),
            (json!("2026-01-31"), "monthly", json!("2026-02-28")),
            (json!("2026-11-30"), "quarterly", json!("2027-02-28")),
            (json!("2024-02-29"), "yearly", json!("2025-02-28")),
            (json!(null), "monthly", json!("2026-09-30")),
            (json!("9999-12-31"), "daily", json!(null)),
        ] {
            let before = task(json!({ "title": "x", "status": "open", "due_on": due, "recurrence": period }));
            let mut after = before.clone();
            after.insert("status".into(), "done".into());
            let follow = follow_up(Kind::Task, Some(&before), &after, now).unwrap();
            assert_eq!(
                (&follow["due_on"], &follow["status"], &follow["recurrence"]),
                (&next, &json!("open"), &json!(period))
            );
            assert_eq!(follow_up(Kind::Task, Some(&after), &after, now), None);
        }
    }

    #[test]
    fn deleted_subject_is_cleared() {
        let id = Uuid::from_u128(5);
        let mut fields = task(json!({ "subject_type": "room", "subject_id": id.to_string() }));
        clear_reference(Kind::Task, &mut fields, id);
        assert_eq!(Value::Object(fields), json!({ "subject_type": null, "subject_id": null }));
    }
}
