//! One record in full: which lines it has, and how far one has scrolled. Must not know colours or where it is drawn.

use hearth_contract::formats::parse_date;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECT_ID, SUBJECT_TYPE};
use hearth_replica::{Pending, Row};

use crate::glyphs::{Sign, Tone};
use crate::now::Now;
use crate::sanitize::{width, wrap};
use crate::words::{self, Due};

/// For so long after its last day a paper still is news.
const RECENT_DAYS: i64 = 60;

/// A record that is shown in full.
#[derive(Debug)]
pub struct Detail {
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// The record, once it is read.
    pub row: Option<Row>,
    /// Whether it was looked for and is not there.
    pub gone: bool,
    /// How many lines are above the picture.
    pub scroll: usize,
    /// The newest request; older answers are dropped.
    pub ticket: u64,
}

impl Detail {
    /// A record that is still to be read.
    pub fn of(kind: Kind, id: String) -> Detail {
        Detail { kind, id, row: None, gone: false, scroll: 0, ticket: 0 }
    }

    /// A record that is at hand.
    pub fn showing(row: Row) -> Detail {
        Detail { row: Some(row.clone()), ..Detail::of(row.kind, row.id) }
    }

    /// Takes what was read.
    pub fn take(&mut self, row: Option<Row>) {
        self.gone = row.is_none();
        if let Some(row) = &row {
            self.id.clone_from(&row.id);
        }
        self.row = row;
    }
}

/// One line of a record.
#[derive(Debug, PartialEq, Eq)]
pub struct DetailLine {
    /// What it is; empty where a value goes on.
    pub label: String,
    /// The value.
    pub text: String,
    /// How much it wants to be seen.
    pub tone: Tone,
}

/// The columns that labels take at a width.
pub fn label_width(kind: Kind, columns: usize) -> usize {
    let longest = resource(kind).fields.iter().map(|field| width(&words::label(field))).max().unwrap_or(0);
    longest.min(columns * 2 / 5).max(8)
}

/// The lines of a record in so many columns; fields that are not set only when all are wanted.
pub fn lines(now: Now, row: &Row, columns: usize, all: bool, ascii: bool) -> Vec<DetailLine> {
    let room = columns.saturating_sub(label_width(row.kind, columns) + 2);
    let mut out = Vec::new();
    let mut push = |label: String, text: &str, tone: Tone| {
        for (index, part) in wrap(text, room).into_iter().enumerate() {
            let label = if index == 0 { label.clone() } else { String::new() };
            out.push(DetailLine { label, text: part, tone });
        }
    };
    match row.pending {
        Pending::No => {}
        Pending::Waiting => {
            push("Change".into(), &format!("{} waiting to reach the server", Sign::Waiting.text(ascii)), Tone::Notice);
        }
        Pending::NeedsYou => {
            push("Change".into(), &format!("{} needs you: see the edits", Sign::NeedsYou.text(ascii)), Tone::Alarm);
        }
    }
    for field in resource(row.kind).fields {
        // Beside a list the name of a subject says enough.
        if !all && field.name == SUBJECT_TYPE && row.names.contains_key(SUBJECT_ID) {
            continue;
        }
        let text = match field.format {
            Format::Date => words::text(&row.fields, field.name).map_or(String::new(), |text| long_day(now, text)),
            _ => words::value(now, field, row),
        };
        if !text.is_empty() {
            push(words::label(field), &text, tone(now, field.name, row));
        } else if all {
            push(words::label(field), Sign::Unset.text(ascii), Tone::Quiet);
        }
    }
    if all {
        let when = |text: &Option<String>| text.as_deref().map(|text| words::moment(now, text));
        push("Created".into(), &when(&row.created_at).unwrap_or("not on the server yet".into()), Tone::Quiet);
        push("Last change".into(), &when(&row.updated_at).unwrap_or("not on the server yet".into()), Tone::Quiet);
        push("Id".into(), &row.id, Tone::Quiet);
    }
    out
}

/// A day with its distance: `Fri 27 Nov 2026 · in 6 d`.
fn long_day(now: Now, text: &str) -> String {
    let Some(date) = parse_date(text) else { return text.to_owned() };
    let near = words::day(now.today(), date);
    let away = words::distance(now.today(), date);
    match (away.is_empty(), near.contains(' ')) {
        (true, false) => format!("{near}, {}", words::full_day(date)),
        (true, true) => words::full_day(date),
        _ => format!("{}, {away}", words::full_day(date)),
    }
}

/// How much a field of a record wants to be seen: days that pass, and what is urgent.
pub fn tone(now: Now, field: &str, row: &Row) -> Tone {
    let is_deadline = match field {
        "due_on" => words::text(&row.fields, "status") != Some("done"),
        name => name.ends_with("expires_on"),
    };
    let value = words::text(&row.fields, field);
    if is_deadline {
        return match value.and_then(parse_date).map(|date| words::due(now.today(), date)) {
            // A warranty that has ended is no news; an insurance that has is.
            Some(Due::Overdue(_)) if field == "warranty_expires_on" => Tone::Quiet,
            // Most papers simply end; only one that just did may have been forgotten.
            Some(Due::Overdue(days)) if field == "expires_on" && days > RECENT_DAYS => Tone::Quiet,
            Some(Due::Overdue(_)) => Tone::Alarm,
            Some(Due::Today | Due::Soon) => Tone::Notice,
            Some(Due::Later) | None => Tone::Plain,
        };
    }
    match (field, value) {
        ("priority", Some("urgent")) => Tone::Alarm,
        ("priority", Some("high")) => Tone::Notice,
        ("priority", Some("low")) | ("status", Some("done")) => Tone::Quiet,
        ("status", Some("in_progress")) => Tone::Good,
        _ => Tone::Plain,
    }
}
