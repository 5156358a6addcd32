//! One record in full: its fields, what belongs to it, what was changed about it here; as lines, of which one is under the
//! cursor. Must not know colours or where it is drawn.

use hearth_contract::formats::parse_date;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind, SUBJECT_ID, SUBJECT_TYPE};
use hearth_replica::{Change, Pending, Related, Row};

use crate::now::Now;
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{width, wrap};
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

/// The room that a record in full has, and the moment at which it is read.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// The moment.
    pub now: Now,
    /// Columns of a line.
    pub columns: usize,
    /// Lines that are visible at once.
    pub height: usize,
    /// Whether signs are drawn in ASCII.
    pub ascii: bool,
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

    /// Its lines on a page.
    pub fn lines(&self, page: Page) -> Vec<DetailLine> {
        let lines = |full| full_lines(page.now, full, page.columns, page.ascii);
        self.full.as_ref().map_or_else(Vec::new, lines)
    }

    /// Takes what was read. The cursor stays on its line.
    pub fn take(&mut self, full: Option<Full>, page: Page) {
        let before = self.lines(page);
        self.gone = full.is_none();
        if let Some(full) = &full {
            self.id.clone_from(&full.row.id);
        }
        self.full = full;
        self.stay(&before, page);
    }

    /// Goes from one page to another. The cursor stays on its line.
    pub fn refit(&mut self, from: Page, to: Page) {
        let before = self.lines(from);
        self.stay(&before, to);
    }

    /// Keeps the cursor on its line, and that one where it is on the screen unless the first line is there.
    fn stay(&mut self, before: &[DetailLine], page: Page) {
        let lines = self.lines(page);
        if lines.is_empty() {
            return;
        }
        let line = same_line(before, self.selected, &lines).unwrap_or(self.selected);
        if self.scroll > 0 {
            self.scroll = (self.scroll + line).saturating_sub(self.selected);
        }
        self.go(line, lines.len(), page.height);
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

/// Where a line is among others that took its place: under its label that which says the same, else that which leads to the
/// same record, else that of the same number. None where nothing has its label any more.
fn same_line(before: &[DetailLine], at: usize, after: &[DetailLine]) -> Option<usize> {
    type Alike = fn(&DetailLine, &DetailLine) -> bool;
    const ALIKE: [Alike; 3] =
        [|a, b| (&a.target, &a.value) == (&b.target, &b.value), |a, b| a.target == b.target, |_, _| true];
    let line = before.get(at)?;
    let label = labels(before).nth(at)?;
    ALIKE.into_iter().find_map(|alike| {
        let of = |lines: &[DetailLine]| -> Vec<usize> {
            let all = labels(lines).zip(lines).enumerate();
            all.filter(|(_, (under, one))| *under == label && alike(one, line)).map(|(number, _)| number).collect()
        };
        let nth = of(before).iter().position(|number| *number == at)?;
        let found = of(after);
        found.get(nth).or(found.last()).copied()
    })
}

/// The label that each line stands under.
fn labels(lines: &[DetailLine]) -> impl Iterator<Item = &str> {
    lines.iter().scan("", |label, line| {
        if !line.label.is_empty() {
            *label = &line.label;
        }
        Some(*label)
    })
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
            Format::Date => {
                words::text_field(&row.fields, field.name).map_or(String::new(), |text| long_day(now, text))
            }
            _ => words::field_value(now, field, row),
        };
        let label = words::label(field);
        if !text.is_empty() {
            let target = target(row, field);
            let text = if target.is_some() && all { format!("{text} {}", Sign::Next.text(ascii)) } else { text };
            let value = words::json_text(row.fields.get(field.name).unwrap_or(&serde_json::Value::Null));
            out.push_full(&label, &text, tone(now, field.name, row), &value, target);
        } else {
            // Abbreviations keep their capitals.
            let lower = !unset.is_empty() && label.chars().nth(1).is_some_and(char::is_lowercase);
            unset.push(if lower { label.to_lowercase() } else { label });
        }
    }
    if all {
        let updated_at = row.updated_at.as_deref().filter(|_| row.rev.is_some());
        for (label, at) in [("Created", row.created_at.as_deref()), ("Last change", updated_at)] {
            let text = at.map_or("not on the server yet".to_owned(), |at| words::moment(now, at));
            out.push_full(label, &text, Tone::Quiet, at.unwrap_or_default(), None);
        }
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
                let text = words::changed_field(row.kind, name, change.base.get(name), value, &full.names, ascii);
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
        Format::Subject => words::text_field(&row.fields, SUBJECT_TYPE).and_then(Kind::parse)?,
        _ => return None,
    };
    // What is not there any more leads nowhere.
    row.names.get(field.name)?;
    Some((kind, words::text_field(&row.fields, field.name)?.to_owned()))
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
        "due_on" => words::text_field(&row.fields, "status") != Some("done"),
        name => name.ends_with("expires_on"),
    };
    let value = words::text_field(&row.fields, field);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixtures::{now, record};

    fn page(columns: usize, height: usize) -> Page {
        Page { now: now(), columns, height, ascii: false }
    }

    /// A task with notes of many lines, and the records that refer to it.
    fn full(pending: Pending, documents: &[&str]) -> Full {
        let notes = "Ring the plumber twice, he never hears it the first time. ".repeat(6);
        let mut row = record(Kind::Task, "a", json!({ "title": "Sweep", "due_on": "2026-12-01", "notes": notes }));
        row.pending = pending;
        let first = documents.iter().map(|title| (title.to_lowercase(), (*title).to_owned())).collect();
        let related = vec![Related { kind: Kind::Document, total: documents.len(), first }];
        Full { row, related, changes: Vec::new(), names: Names::new() }
    }

    /// The record as it is on a page, the cursor on the first line with this text.
    fn showing(full: Full, text: &str, page: Page) -> Detail {
        let mut detail = Detail::of(Kind::Task, "a".to_owned());
        detail.take(Some(full), page);
        let lines = detail.lines(page);
        let at = lines.iter().position(|line| line.text.contains(text)).unwrap();
        detail.go(at, lines.len(), page.height);
        detail
    }

    fn under(detail: &Detail, page: Page) -> String {
        let visible = detail.scroll..detail.scroll + page.height;
        assert!(visible.contains(&detail.selected), "line {} of {visible:?}", detail.selected);
        detail.lines(page)[detail.selected].text.clone()
    }

    #[test]
    fn the_cursor_stays_on_its_line_whatever_comes_or_goes_around_it() {
        let page = page(60, 6);
        for text in ["1 Dec 2026", "Warranty", "Sweep"] {
            let mut detail = showing(full(Pending::Waiting, &["Manual", "Warranty"]), text, page);
            detail.take(Some(full(Pending::No, &["Bill", "Manual", "Warranty"])), page);
            assert!(under(&detail, page).contains(text), "{}", under(&detail, page));
        }
        let mut detail = showing(full(Pending::No, &[]), "1 Dec 2026", page);
        let mut other = full(Pending::Waiting, &[]);
        other.row.fields.insert("due_on".into(), "2026-12-24".into());
        detail.take(Some(other), page);
        assert!(under(&detail, page).contains("24 Dec 2026"), "its value is another by now");
    }

    #[test]
    fn a_record_is_in_sight_on_a_terminal_of_another_size() {
        let (narrow, wide) = (page(30, 4), page(120, 30));
        for text in ["Manual", "Sweep", "1 Dec 2026"] {
            let mut detail = showing(full(Pending::No, &["Bill", "Manual"]), text, narrow);
            detail.refit(narrow, wide);
            assert!(under(&detail, wide).contains(text));
            assert_eq!(detail.scroll, 0, "all of it has room");
            detail.refit(wide, narrow);
            assert!(under(&detail, narrow).contains(text));
        }
    }

    #[test]
    fn a_time_is_copied_whole() {
        let lines = lines(now(), &full(Pending::No, &[]).row, 80, true, false);
        let copied = |label: &str| lines.iter().find(|line| line.label == label).unwrap().value.clone();
        assert_eq!(copied("Created"), "2026-11-01T09:00:00.000Z");
        assert_eq!(copied("Last change"), "2026-11-20T09:00:00.000Z");
    }
}
