//! One record in full: its fields, what belongs to it, what was changed about it here; as lines, of which one is under the
//! cursor. Must not know colours or where it is drawn.

use hearth_contract::formats::parse_date;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind, SUBJECT_ID, SUBJECT_TYPE};
use hearth_replica::{Change, Pending, Related, Row};

use crate::glyphs::{Sign, Tone};
use crate::now::Now;
use crate::sanitize::{width, wrap};
use crate::words::{self, Due, Names};

/// For so long after its last day a paper still is news.
const RECENT_DAYS: i64 = 60;

/// How many records that refer to a record are listed by name.
pub const RELATED_MAX: usize = 8;
/// How many changes of a record are listed.
pub const CHANGES_MAX: usize = 20;

/// A space at which no line is broken: `in 26 d` is one thing.
const KEPT: &str = "\u{a0}";

/// A record with what belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Full {
    /// The record.
    pub row: Row,
    /// The records that refer to it.
    pub related: Vec<Related>,
    /// What was changed about it here, newest first.
    pub changes: Vec<Change>,
    /// Names of what those changes point at.
    pub names: Names,
}

/// A record that is shown in full.
#[derive(Debug)]
pub struct Detail {
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// The record, once it is read.
    pub full: Option<Full>,
    /// Whether it was looked for and is not there.
    pub gone: bool,
    /// Which line is under the cursor.
    pub selected: usize,
    /// How many lines are above the picture.
    pub scroll: usize,
    /// The newest request; older answers are dropped.
    pub ticket: u64,
}

impl Detail {
    /// A record that is still to be read.
    pub fn of(kind: Kind, id: String) -> Detail {
        Detail { kind, id, full: None, gone: false, selected: 0, scroll: 0, ticket: 0 }
    }

    /// A record that is at hand.
    pub fn showing(row: Row) -> Detail {
        let full = Full { row: row.clone(), related: Vec::new(), changes: Vec::new(), names: Names::new() };
        Detail { full: Some(full), ..Detail::of(row.kind, row.id) }
    }

    /// The record itself.
    pub fn row(&self) -> Option<&Row> {
        self.full.as_ref().map(|full| &full.row)
    }

    /// Takes what was read.
    pub fn take(&mut self, full: Option<Full>) {
        self.gone = full.is_none();
        if let Some(full) = &full {
            self.id.clone_from(&full.row.id);
        }
        self.full = full;
    }

    /// Moves the cursor to a line of so many, so that it is among the visible ones.
    pub fn go(&mut self, line: usize, of: usize, height: usize) {
        self.selected = line.min(of.saturating_sub(1));
        self.scroll = self.scroll.clamp((self.selected + 1).saturating_sub(height.max(1)), self.selected);
        self.scroll = self.scroll.min(of.saturating_sub(height));
    }
}

/// One line of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetailLine {
    /// What it is; empty where a value goes on.
    pub label: String,
    /// The value.
    pub text: String,
    /// How much it wants to be seen.
    pub tone: Tone,
    /// The value as it would be copied: whole, in the contract's spelling.
    pub value: String,
    /// The record that it leads to.
    pub target: Option<(Kind, String)>,
}

/// The columns that labels take at a width.
pub fn label_width(kind: Kind, columns: usize) -> usize {
    let longest = resource(kind).fields.iter().map(|field| width(&words::label(field))).max().unwrap_or(0);
    longest.min(columns * 2 / 5).max(8)
}

/// The lines of a record in so many columns; fields that are not set only when all are wanted.
pub fn lines(now: Now, row: &Row, columns: usize, all: bool, ascii: bool) -> Vec<DetailLine> {
    let mut out = Lines { room: columns.saturating_sub(label_width(row.kind, columns) + 2), all: Vec::new() };
    match row.pending {
        Pending::No => {}
        Pending::Waiting => {
            let text = format!("{} waiting to reach the server", Sign::Waiting.text(ascii));
            out.push("Change", &text, Tone::Notice);
        }
        Pending::NeedsYou => {
            out.push("Change", &format!("{} needs you: see the edits", Sign::NeedsYou.text(ascii)), Tone::Alarm);
        }
    }
    let mut unset: Vec<String> = Vec::new();
    for field in resource(row.kind).fields {
        // The name of a subject says enough.
        if field.name == SUBJECT_TYPE && row.names.contains_key(SUBJECT_ID) {
            continue;
        }
        let text = match field.format {
            Format::Date => words::text(&row.fields, field.name).map_or(String::new(), |text| long_day(now, text)),
            _ => words::value(now, field, row),
        };
        let label = words::label(field);
        if !text.is_empty() {
            let target = target(row, field);
            let text = if target.is_some() && all { format!("{text} {}", Sign::Next.text(ascii)) } else { text };
            let value = words::plain(row.fields.get(field.name).unwrap_or(&serde_json::Value::Null));
            out.push_full(&label, &text, tone(now, field.name, row), &value, target);
        } else {
            // Abbreviations keep their capitals.
            let lower = !unset.is_empty() && label.chars().nth(1).is_some_and(char::is_lowercase);
            unset.push(if lower { label.to_lowercase() } else { label });
        }
    }
    if all {
        let when = |text: &Option<String>| text.as_deref().map(|text| words::moment(now, text));
        out.push("Created", &when(&row.created_at).unwrap_or("not on the server yet".into()), Tone::Quiet);
        let last = if row.rev.is_some() { when(&row.updated_at) } else { None };
        out.push("Last change", &last.unwrap_or("not on the server yet".into()), Tone::Quiet);
        out.push("Id", &row.id, Tone::Quiet);
        if !unset.is_empty() {
            out.push("Not set", &unset.join(", "), Tone::Quiet);
        }
    }
    out.all
}

/// The lines of a record with what belongs to it.
pub fn full_lines(now: Now, full: &Full, columns: usize, ascii: bool) -> Vec<DetailLine> {
    let row = &full.row;
    let mut out = Lines {
        room: columns.saturating_sub(label_width(row.kind, columns) + 2),
        all: lines(now, row, columns, true, ascii),
    };
    let next = Sign::Next.text(ascii);
    for related in &full.related {
        out.push("", "", Tone::Plain);
        for (index, (id, title)) in related.first.iter().enumerate() {
            let label = if index == 0 { words::plural(related.kind) } else { "" };
            let target = Some((related.kind, id.clone()));
            out.push_full(label, &format!("{title} {next}"), Tone::Plain, title, target);
        }
        if related.total > related.first.len() {
            let more = words::counted(related.kind, related.total - related.first.len());
            out.push("", &format!("and {more} more"), Tone::Quiet);
        }
    }
    if !full.changes.is_empty() {
        out.push("", "", Tone::Plain);
    }
    for (index, change) in full.changes.iter().enumerate() {
        let label = if index == 0 { "Changed here" } else { "" };
        let (said, tone) = words::edit_state(&change.state);
        let head = format!("{}: {}, {said}", words::moment(now, &change.at), words::method(&change.method));
        out.push(label, &head, tone);
        if change.method == "update" {
            for (name, value) in &change.patch {
                let text = words::changed(row.kind, name, change.base.get(name), value, &full.names, ascii);
                out.push("", &format!("  {text}"), Tone::Quiet);
            }
        }
        if let Some(reason) = &change.reason {
            out.push("", &format!("  {reason}"), Tone::Quiet);
        }
    }
    out.all
}

/// Lines under way.
struct Lines {
    room: usize,
    all: Vec<DetailLine>,
}

impl Lines {
    fn push(&mut self, label: &str, text: &str, tone: Tone) {
        self.push_full(label, text, tone, text, None);
    }

    fn push_full(&mut self, label: &str, text: &str, tone: Tone, value: &str, target: Option<(Kind, String)>) {
        let parts = if text.is_empty() { vec![String::new()] } else { wrap(text, self.room) };
        for (index, part) in parts.into_iter().enumerate() {
            let part = part.replace(KEPT, " ");
            let label = if index == 0 { label.to_owned() } else { String::new() };
            let (value, target) = (value.to_owned(), target.clone());
            self.all.push(DetailLine { label, text: part, tone, value, target });
        }
    }
}

/// The record that a field of a row leads to.
fn target(row: &Row, field: &Field) -> Option<(Kind, String)> {
    let kind = match field.format {
        Format::Reference(kind) => kind,
        Format::Subject => words::text(&row.fields, SUBJECT_TYPE).and_then(Kind::from_word)?,
        _ => return None,
    };
    // What is not there any more leads nowhere.
    row.names.get(field.name)?;
    Some((kind, words::text(&row.fields, field.name)?.to_owned()))
}

/// A day with its distance: `Fri 27 Nov 2026 · in 6 d`.
fn long_day(now: Now, text: &str) -> String {
    let Some(date) = parse_date(text) else { return text.to_owned() };
    let near = words::day(now.today(), date);
    let away = words::distance(now.today(), date);
    match (away.is_empty(), near.contains(' ')) {
        (true, false) => format!("{near}, {}", words::full_day(date)),
        (true, true) => words::full_day(date),
        _ => format!("{}, {}", words::full_day(date), away.replace(' ', KEPT)),
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
