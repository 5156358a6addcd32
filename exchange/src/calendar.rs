//! The calendar of a home in the form that calendar programs subscribe to (RFC 5545): an all-day event for each open task with a
//! due day, and for each day on which something ends. A repeating task has one event: the next task appears when this one is
//! done. Equal records give equal bytes. Must not know the clock, nor where the records come from.
//!
//! The crates that write this format bring a second library of dates into both programs; the format needs the three rules of
//! [`line`].

use std::fmt::Write;

use hearth_contract::check::Fields;
use hearth_contract::formats;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use serde_json::Value;

use crate::ends::{due_day, ends};

/// The most events of a calendar. Calendar programs become slow beyond it.
pub const EVENTS_MAX: usize = 5_000;
/// The most bytes of a line (RFC 5545, 3.1), without its end.
const LINE_BYTES_MAX: usize = 75;
/// When the alarm of an end rings: 14 days before the day, at 9 o'clock. An all-day event begins at midnight.
const ALARM_TRIGGER: &str = "-P13DT15H";
/// How often a program should read the calendar again.
const REFRESH: &str = "PT1H";

/// The kinds whose days a calendar shows.
pub const KINDS: [Kind; 4] = [Kind::Task, Kind::Inventory, Kind::Vehicle, Kind::Document];

/// A calendar that is being written.
pub struct Calendar {
    text: String,
    events: usize,
}

impl Calendar {
    /// An empty calendar with a name for people.
    pub fn new(name: &str) -> Calendar {
        let mut calendar = Calendar { text: String::new(), events: 0 };
        for (property, value) in [
            ("BEGIN", "VCALENDAR"),
            ("VERSION", "2.0"),
            ("PRODID", "-//Hearth//Hearth//EN"),
            ("CALSCALE", "GREGORIAN"),
            ("METHOD", "PUBLISH"),
            ("REFRESH-INTERVAL;VALUE=DURATION", REFRESH),
            ("X-PUBLISHED-TTL", REFRESH),
        ] {
            line(&mut calendar.text, property, value);
        }
        line(&mut calendar.text, "NAME", &escaped(name));
        line(&mut calendar.text, "X-WR-CALNAME", &escaped(name));
        calendar
    }

    /// Adds the events of a record. `updated_at`: the moment of the last change, `YYYY-MM-DDTHH:MM:SS.mmmZ`. A record without a day
    /// adds nothing, and so does each record after [`EVENTS_MAX`] events.
    pub fn add(&mut self, kind: Kind, id: &str, updated_at: &str, fields: &Fields) {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let title = text(resource(kind).title);
        if let Some(day) = due_day(kind, fields) {
            self.event(&Event { uid: id, updated_at, day, summary: title, notes: text("notes"), has_alarm: false });
        }
        for (end, day) in ends(kind, fields) {
            // A vehicle has two ends, so the record's id alone is not unique.
            let uid = format!("{id}-{}", end.what);
            let summary = format!("{title}: {}", end.sentence);
            self.event(&Event { uid: &uid, updated_at, day, summary: &summary, notes: "", has_alarm: true });
        }
    }

    /// The number of events so far.
    pub fn events(&self) -> usize {
        self.events
    }

    /// The complete text.
    pub fn finish(mut self) -> String {
        line(&mut self.text, "END", "VCALENDAR");
        self.text
    }

    fn event(&mut self, event: &Event<'_>) {
        // A day that is no date would make the whole calendar unreadable.
        if self.events == EVENTS_MAX || formats::parse_date(event.day).is_none() {
            return;
        }
        self.events += 1;
        let out = &mut self.text;
        line(out, "BEGIN", "VEVENT");
        line(out, "UID", &format!("{}@hearth", event.uid));
        line(out, "DTSTAMP", &moment(event.updated_at));
        line(out, "DTSTART;VALUE=DATE", &event.day.replace('-', ""));
        line(out, "SUMMARY", &escaped(event.summary));
        if !event.notes.is_empty() {
            line(out, "DESCRIPTION", &escaped(event.notes));
        }
        // The day stays free for appointments.
        line(out, "TRANSP", "TRANSPARENT");
        if event.has_alarm {
            line(out, "BEGIN", "VALARM");
            line(out, "ACTION", "DISPLAY");
            line(out, "TRIGGER", ALARM_TRIGGER);
            line(out, "DESCRIPTION", &escaped(event.summary));
            line(out, "END", "VALARM");
        }
        line(out, "END", "VEVENT");
    }
}

/// One all-day event.
struct Event<'a> {
    /// Unique among the events of all calendars, and the same at each reading.
    uid: &'a str,
    updated_at: &'a str,
    day: &'a str,
    summary: &'a str,
    notes: &'a str,
    has_alarm: bool,
}

/// A moment of the contract in the form of the standard: `20260601T083000Z`.
fn moment(timestamp: &str) -> String {
    let seconds = timestamp.split('.').next().unwrap_or_default();
    format!("{}Z", seconds.trim_end_matches('Z').replace(['-', ':'], ""))
}

/// A text as a value: `\`, `;`, `,` and line breaks are written with `\`. Characters that no text may hold are left out.
fn escaped(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | ';' | ',' => value.extend(['\\', letter]),
            '\n' => value.push_str("\\n"),
            '\t' => value.push('\t'),
            other if formats::is_line_char(other) => value.push(other),
            _ => (),
        }
    }
    value
}

/// Writes a property. A longer line continues on the next one after a space, and never breaks a character.
fn line(out: &mut String, property: &str, value: &str) {
    let whole = format!("{property}:{value}");
    let (mut rest, mut first) = (whole.as_str(), true);
    while !rest.is_empty() {
        let room = if first { LINE_BYTES_MAX } else { LINE_BYTES_MAX - 1 };
        let (part, after) = rest.split_at(rest.floor_char_boundary(room));
        // Writing into a text cannot fail.
        let _ = write!(out, "{}{part}\r\n", if first { "" } else { " " });
        (rest, first) = (after, false);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "01972b1c-3f80-7c4e-9a51-000000000001";
    const AT: &str = "2026-06-01T08:30:00.000Z";

    fn calendar(records: &[(Kind, Value)]) -> String {
        let mut calendar = Calendar::new("Home, sweet");
        for (kind, fields) in records {
            calendar.add(*kind, ID, AT, fields.as_object().expect("an object"));
        }
        calendar.finish()
    }

    #[test]
    fn open_task_is_one_event_without_rule() {
        let task = json!({ "title": "Filter; clean, dry", "status": "open", "due_on": "2026-07-01",
            "recurrence": "monthly", "notes": "a\nb\\c" });
        let text = calendar(&[(Kind::Task, task)]);
        for part in [
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n",
            "NAME:Home\\, sweet\r\n",
            "UID:01972b1c-3f80-7c4e-9a51-000000000001@hearth\r\n",
            "DTSTAMP:20260601T083000Z\r\nDTSTART;VALUE=DATE:20260701\r\nSUMMARY:Filter\\; clean\\, dry\r\n",
            "DESCRIPTION:a\\nb\\\\c\r\n",
            "END:VEVENT\r\nEND:VCALENDAR\r\n",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
        assert!(!text.contains("RRULE") && !text.contains("VALARM"));
    }

    #[test]
    fn ends_have_alarms_and_uids_of_their_own() {
        let car =
            json!({ "name": "Car", "insurance_expires_on": "2026-08-01", "registration_expires_on": "2026-08-01" });
        let text = calendar(&[(Kind::Vehicle, car)]);
        for part in ["-insurance@hearth", "-registration@hearth", "SUMMARY:Car: insurance ends"] {
            assert!(text.contains(part), "{part}");
        }
        assert_eq!(text.matches("TRIGGER:-P13DT15H").count(), 2);
    }

    #[test]
    fn records_without_a_day_add_nothing() {
        let empty = calendar(&[]);
        for (kind, fields) in [
            (Kind::Task, json!({ "title": "t", "status": "done", "due_on": "2026-07-01" })),
            (Kind::Task, json!({ "title": "t", "status": "open", "due_on": null })),
            (Kind::Document, json!({ "title": "t", "expires_on": "soon" })),
            (Kind::Room, json!({ "name": "Kitchen" })),
        ] {
            assert_eq!(calendar(&[(kind, fields.clone())]), empty, "{fields}");
        }
    }

    #[test]
    fn lines_are_folded_at_75_bytes_between_characters() {
        let title = "Größe 🏠 ".repeat(60);
        let task = json!({ "title": title, "status": "open", "due_on": "2026-07-01" });
        let text = calendar(&[(Kind::Task, task)]);
        assert!(text.split("\r\n").all(|line| line.len() <= LINE_BYTES_MAX));
        assert!(text.replace("\r\n ", "").contains(&format!("SUMMARY:{title}\r\n")));
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    }

    #[test]
    fn events_have_a_limit() {
        let task = json!({ "title": "t", "status": "open", "due_on": "2026-07-01" });
        let records = vec![(Kind::Task, task); EVENTS_MAX + 1];
        assert_eq!(calendar(&records).matches("BEGIN:VEVENT").count(), EVENTS_MAX);
    }
}
