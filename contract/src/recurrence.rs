//! Series of recurring tasks (contract 3): when a task was completed, from which date its series counts, and which task
//! follows. Server and replica call the same functions, so both make the same next task. Pure: a moment is an argument.
//! Must not know where records are stored.

use serde_json::Value;
use time::{Date, Duration, Month};
use uuid::Uuid;

use crate::fields::Fields;
use crate::formats::{Timestamp, format_date, parse_date};
use crate::schema::IMPORT_REF;
use crate::time_zone;

/// The field that holds how far a task is.
pub const STATUS: &str = "status";
/// The value of [`STATUS`] that completes a task.
pub const DONE: &str = "done";
/// The field of the profile that holds the home's time zone.
pub const TIME_ZONE: &str = "time_zone";
/// The field that holds when a task was completed.
pub const COMPLETED_AT: &str = "completed_at";
/// The field that holds the date from which a series counts.
pub const ANCHOR: &str = "recurrence_anchor";
/// A change of one of these fields begins a series anew: its anchor becomes the due date.
pub const SERIES_FIELDS: [&str; 3] = ["due_on", RECURRENCE, EVERY];

/// The field that holds the day by which a task should be done.
pub const DUE_ON: &str = "due_on";
/// The field that holds the period of a series.
pub const RECURRENCE: &str = "recurrence";
/// The field that holds how many periods lie between two tasks of a series.
pub const EVERY: &str = "recurrence_every";

/// How far `completed_at` may lie in the future, in milliseconds: clocks differ.
pub const CLOCK_GRACE_MILLIS: i64 = 5 * 60 * 1000;

/// The task that follows a completed task of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct NextTask {
    /// The id, which follows from the id of the completed task.
    pub id: Uuid,
    /// All fields of the task.
    pub fields: Fields,
}

/// Whether a task is done.
pub fn is_done(task: &Fields) -> bool {
    text(task, STATUS) == Some(DONE)
}

/// Whether a write completes a task. `before` is None for a create.
pub fn becomes_done(before: Option<&Fields>, after: &Fields) -> bool {
    is_done(after) && !before.is_some_and(is_done)
}

/// Whether a task belongs to a series.
pub fn recurs(task: &Fields) -> bool {
    text(task, RECURRENCE).is_some()
}

/// Sets the fields that follow from a write of a task. `completed_at`: null unless the task is done; the value that was
/// sent, or `now`. The anchor: the due date, if the write changes the series; null without a due date or a recurrence.
pub fn set_computed(before: Option<&Fields>, after: &mut Fields, now: Timestamp) {
    if !is_done(after) {
        after.insert(COMPLETED_AT.to_owned(), Value::Null);
    } else if after.get(COMPLETED_AT).is_none_or(Value::is_null) {
        after.insert(COMPLETED_AT.to_owned(), now.to_string().into());
    }
    if before.is_none_or(|before| SERIES_FIELDS.iter().any(|name| before.get(*name) != after.get(*name))) {
        set_anchor(after);
    }
}

/// Begins the series of a task at its due date. Without a due date or a recurrence, the task has no anchor.
pub(crate) fn set_anchor(task: &mut Fields) {
    let anchor = task.get(DUE_ON).filter(|_| recurs(task)).cloned().unwrap_or_default();
    task.insert(ANCHOR.to_owned(), anchor);
}

/// Removes the fields that [`set_computed`] sets from a patch that no longer has the fields from which they follow.
pub fn drop_orphans(patch: &mut Fields) {
    if !patch.contains_key(STATUS) {
        patch.shift_remove(COMPLETED_AT);
    }
    if !SERIES_FIELDS.iter().any(|name| patch.contains_key(*name)) {
        patch.shift_remove(ANCHOR);
    }
}

/// Whether a task can have been completed at a moment: not in the future. There is no earliest moment, because a client that
/// was offline may complete a task long before the service makes its record.
pub fn is_plausible_completion(completed_at: Timestamp, now: Timestamp) -> bool {
    completed_at <= now.plus_millis(CLOCK_GRACE_MILLIS)
}

/// The id of the task that follows a task: one for each task, whatever its dates.
pub fn next_id(completed: Uuid) -> Uuid {
    Uuid::new_v5(&completed, b"next")
}

/// The task that follows a completed task. `time_zone`: of the home. None: the task is not done or does not recur, or the
/// next date is after the year 9999, which ends the series.
pub fn next_task(id: Uuid, completed: &Fields, time_zone: Option<&str>) -> Option<NextTask> {
    let completed_at = text(completed, COMPLETED_AT).and_then(Timestamp::parse).filter(|_| is_done(completed))?;
    let Dates { anchor, due } = next_dates(completed, time_zone::day(time_zone, completed_at))?;
    let mut fields = completed.clone();
    for (name, value) in [
        (STATUS, "open".into()),
        (COMPLETED_AT, Value::Null),
        (DUE_ON, format_date(due).into()),
        (ANCHOR, format_date(anchor).into()),
    ] {
        fields.insert(name.to_owned(), value);
    }
    // It belongs to the completed task alone: no two tasks have the same.
    if let Some(import_ref) = fields.get_mut(IMPORT_REF) {
        *import_ref = Value::Null;
    }
    Some(NextTask { id: next_id(id), fields })
}

/// The dates of a task of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dates {
    /// The date from which the series counts.
    pub anchor: Date,
    /// The day by which the task should be done.
    pub due: Date,
}

/// The dates of the task that follows a task which is completed on a day. None: the task does not recur, or the next date is
/// after the year 9999.
pub fn next_dates(task: &Fields, day: Date) -> Option<Dates> {
    let period = Period::of(task)?;
    Some(match date(task, DUE_ON) {
        Some(due) => {
            let anchor = date(task, ANCHOR).unwrap_or(due);
            Dates { anchor, due: period.first_after(anchor, due.max(day))? }
        }
        None => Dates { anchor: day, due: period.times(day, 1)? },
    })
}

/// The distance between two dates of a series.
#[derive(Debug, Clone, Copy)]
enum Period {
    Days(i64),
    Months(i64),
}

impl Period {
    /// The period of a task. None: the task does not recur.
    fn of(task: &Fields) -> Option<Period> {
        // A task from before this field recurs every period.
        let every = task.get(EVERY).and_then(Value::as_i64).unwrap_or(1).max(1);
        match text(task, RECURRENCE)? {
            "daily" => Some(Period::Days(every)),
            "weekly" => Some(Period::Days(7 * every)),
            "monthly" => Some(Period::Months(every)),
            "quarterly" => Some(Period::Months(3 * every)),
            "yearly" => Some(Period::Months(12 * every)),
            _ => None,
        }
    }

    /// The date so many periods after the anchor. In a shorter month, its last day. None: after the year 9999.
    fn times(self, anchor: Date, count: i64) -> Option<Date> {
        match self {
            Period::Days(days) => anchor.checked_add(Duration::days(days.checked_mul(count)?)),
            Period::Months(months) => {
                let number = month_number(anchor) + months * count;
                let year = i32::try_from(number.div_euclid(12)).ok()?;
                let month = Month::try_from(number.rem_euclid(12) as u8 + 1).ok()?;
                Date::from_calendar_date(year, month, anchor.day().min(month.length(year))).ok()
            }
        }
    }

    /// The first date of the series that is after a day. None: after the year 9999.
    fn first_after(self, anchor: Date, day: Date) -> Option<Date> {
        let whole_periods = match self {
            Period::Days(days) => (day - anchor).whole_days().div_euclid(days),
            Period::Months(months) => (month_number(day) - month_number(anchor)).div_euclid(months),
        };
        // The date in the month of `day` may be before or after `day`.
        (whole_periods.max(0)..=whole_periods.max(0) + 1)
            .map(|count| self.times(anchor, count))
            .find(|date| date.is_none_or(|date| date > day))?
    }
}

/// The months from the beginning of year 0 to the month of a date.
fn month_number(date: Date) -> i64 {
    i64::from(date.year()) * 12 + i64::from(u8::from(date.month())) - 1
}

fn text<'a>(task: &'a Fields, name: &str) -> Option<&'a str> {
    task.get(name).and_then(Value::as_str)
}

fn date(task: &Fields, name: &str) -> Option<Date> {
    text(task, name).and_then(parse_date)
}

#[cfg(test)]
mod tests;
