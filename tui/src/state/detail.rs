//! The full view of a record: fields, related records and local changes, as lines with a cursor. Must not know colours
//! or positions on the screen.

use hearth_contract::formats::parse_date;
use hearth_contract::recurrence;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind, SUBJECT_ID, SUBJECT_TYPE};
use hearth_replica::{Change, EditProgress, Method, Pending, Related, Row};

use crate::now::Now;
use crate::words::files::{FILE, file_state, file_text};
use crate::words::glyphs::{Sign, Tone, choice_sign};
use crate::words::sanitize::{width, wrap};
use crate::words::{self, Due, Names};

/// How long an expired document stays highlighted, in days.
const RECENT_DAYS: i64 = 60;

/// The most related records listed by name, per kind.
pub const RELATED_MAX: usize = 8;
/// The most changes listed.
pub const CHANGES_MAX: usize = 20;

/// The columns of the state before the title of a related task.
const STATE_COLUMNS: usize = 8;

/// A no-break space, which keeps `in 26 d` on one line.
const NO_BREAK_SPACE: &str = "\u{a0}";

/// A record with its related records and changes.
#[derive(Debug, Clone, PartialEq)]
pub struct FullRecord {
    /// The record.
    pub row: Row,
    /// The records that refer to this record.
    pub related: Vec<Related>,
    /// The changes made on this device, newest first.
    pub changes: Vec<Change>,
    /// Names of the records in the changes, by id.
    pub names: Names,
}

/// The size of the full view and the current time.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// The current time.
    pub now: Now,
    /// The columns of a line.
    pub columns: usize,
    /// The number of visible lines.
    pub height: usize,
    /// Whether signs are ASCII only.
    pub ascii: bool,
}

/// The full view of a record.
#[derive(Debug)]
pub struct Detail {
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record.
    pub id: String,
    /// The record; None until the first answer.
    pub full: Option<FullRecord>,
    /// Whether the record was read and does not exist.
    pub is_missing: bool,
    /// The number of the line under the cursor.
    pub selected: usize,
    /// The number of lines scrolled off the top.
    pub scroll: usize,
    /// The ticket of the newest request; older answers are dropped.
    pub ticket: u64,
}

impl Detail {
    /// The view of a record that is still to be read.
    pub fn new(kind: Kind, id: String) -> Detail {
        Detail { kind, id, full: None, is_missing: false, selected: 0, scroll: 0, ticket: 0 }
    }

    /// The view of a record whose row is loaded.
    pub fn with_row(row: Row) -> Detail {
        let full = FullRecord { row: row.clone(), related: Vec::new(), changes: Vec::new(), names: Names::new() };
        Detail { full: Some(full), ..Detail::new(row.kind, row.id) }
    }

    /// The record itself.
    pub fn row(&self) -> Option<&Row> {
        self.full.as_ref().map(|full| &full.row)
    }

    /// The lines on a page of this size.
    pub fn lines(&self, page: Page) -> Vec<DetailLine> {
        let lines = |full| full_lines(page.now, full, page.columns, page.ascii);
        self.full.as_ref().map_or_else(Vec::new, lines)
    }

    /// Takes the record that was read. The cursor stays on its line.
    pub fn set_record(&mut self, full: Option<FullRecord>, page: Page) {
        let before = self.lines(page);
        self.is_missing = full.is_none();
        if let Some(full) = &full {
            self.id.clone_from(&full.row.id);
        }
        self.full = full;
        self.keep_cursor(&before, page);
    }

    /// Fits the view to another page size. The cursor stays on its line.
    pub fn refit(&mut self, from: Page, to: Page) {
        let before = self.lines(from);
        self.keep_cursor(&before, to);
    }

    /// Keeps the cursor on the same line of the record and, when scrolled, at the same height.
    fn keep_cursor(&mut self, before: &[DetailLine], page: Page) {
        let lines = self.lines(page);
        if lines.is_empty() {
            return;
        }
        let line = same_line(before, self.selected, &lines).unwrap_or(self.selected);
        if self.scroll > 0 {
            self.scroll = (self.scroll + line).saturating_sub(self.selected);
        }
        self.select_line(line, lines.len(), page.height);
    }

    /// Moves the cursor to a line of `of` lines and scrolls until the line is visible.
    pub fn select_line(&mut self, line: usize, of: usize, height: usize) {
        self.selected = line.min(of.saturating_sub(1));
        self.scroll = self.scroll.clamp((self.selected + 1).saturating_sub(height.max(1)), self.selected);
        self.scroll = self.scroll.min(of.saturating_sub(height));
    }
}

/// A line of the full view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetailLine {
    /// The label; empty when the line continues the value above.
    pub label: String,
    /// The displayed value.
    pub text: String,
    /// The urgency of the value.
    pub tone: Tone,
    /// The complete value in the API's format, for copying.
    pub value: String,
    /// The record that the line links to.
    pub target: Option<(Kind, String)>,
}

/// The number of a line after the record has changed: below the same label the line with the same value, else with the
/// same link, else with the same number. None: the label is gone.
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

/// The label that applies to each line.
fn labels(lines: &[DetailLine]) -> impl Iterator<Item = &str> {
    lines.iter().scan("", |label, line| {
        if !line.label.is_empty() {
            *label = &line.label;
        }
        Some(*label)
    })
}

/// The columns of the labels at a width.
pub fn label_width(kind: Kind, columns: usize) -> usize {
    let longest = resource(kind).fields.iter().map(|field| width(&words::label(kind, field))).max().unwrap_or(0);
    longest.min(columns * 2 / 5).max(8)
}

/// The lines of a record in this many columns. `all` adds the unset fields, the id and both timestamps.
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
        // The name of the subject includes its type.
        if field.name == SUBJECT_TYPE && row.names.contains_key(SUBJECT_ID) {
            continue;
        }
        // The recurrence includes the number of periods. The anchor matters where a short month hides the day.
        let is_hidden = field.name == recurrence::EVERY || (field.name == recurrence::ANCHOR && !is_clamped(row));
        if is_hidden {
            continue;
        }
        let text = match field.format {
            Format::Date => {
                words::text_field(&row.fields, field.name).map_or(String::new(), |text| long_day(now, text))
            }
            _ => match row.file.filter(|_| field.name == FILE) {
                Some(state) => file_text(state, ascii),
                None => words::field_value_with_unit(now, field, row, ascii),
            },
        };
        let label = words::label(row.kind, field);
        if !text.is_empty() {
            let target = target(row, field);
            let text = if target.is_some() && all { format!("{text} {}", Sign::Next.text(ascii)) } else { text };
            let value = words::json_text(row.fields.get(field.name).unwrap_or(&serde_json::Value::Null));
            let tone = match row.file.filter(|_| field.name == FILE) {
                Some(state) => file_state(state).2,
                None => tone(now, field.name, row),
            };
            out.push_full(&label, &text, tone, &value, target);
        } else {
            // Abbreviations keep their capitals.
            let lower = !unset.is_empty() && label.chars().nth(1).is_some_and(char::is_lowercase);
            unset.push(if lower { label.to_lowercase() } else { label });
        }
        if field.name == "current_value" {
            out.push_worth(row);
        }
    }
    if all {
        let updated_at = row.updated_at.as_deref().filter(|_| row.rev.is_some());
        let times =
            [("Created", row.created_at.as_deref(), None), ("Last change", updated_at, row.updated_by.as_deref())];
        // Without a server, the changes made here are all there is to know.
        for (label, at, by) in times.into_iter().filter(|(_, at, _)| at.is_some() || !is_local(row)) {
            let text = at.map_or("not on the server yet".to_owned(), |at| words::moment_by(now, at, by));
            out.push_full(label, &text, Tone::Quiet, at.unwrap_or_default(), None);
        }
        out.push("Id", &row.id, Tone::Quiet);
        if !unset.is_empty() {
            out.push("Not set", &unset.join(", "), Tone::Quiet);
        }
    }
    out.all
}

/// Whether a task of a series is due on another day of the month than the series has.
fn is_clamped(row: &Row) -> bool {
    let day = |name: &str| words::text_field(&row.fields, name).and_then(|date| date.get(8..));
    let is_of_months = !matches!(words::text_field(&row.fields, recurrence::RECURRENCE), Some("daily" | "weekly"));
    is_of_months && day(recurrence::ANCHOR).is_some() && day(recurrence::ANCHOR) != day(recurrence::DUE_ON)
}

/// The lines of a record, its related records and its changes.
pub fn full_lines(now: Now, full: &FullRecord, columns: usize, ascii: bool) -> Vec<DetailLine> {
    let row = &full.row;
    let mut out = Lines {
        room: columns.saturating_sub(label_width(row.kind, columns) + 2),
        all: lines(now, row, columns, true, ascii),
    };
    let next = Sign::Next.text(ascii);
    for related in &full.related {
        out.push("", "", Tone::Plain);
        for (index, other) in related.first.iter().enumerate() {
            let label = if index == 0 { words::plural(related.kind) } else { "" };
            let target = Some((related.kind, other.id.clone()));
            let (text, tone) = related_text(now, other, ascii);
            out.push_full(label, &format!("{text} {next}"), tone, &other.title, target);
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
        let (progress, tone) = words::edit_progress(change.state);
        // In a home without a server, an open edit is in effect and waits for nothing.
        let is_done = is_local(row) && matches!(change.state, EditProgress::Open(_));
        let (progress, tone) = if is_done { (String::new(), Tone::Plain) } else { (format!(", {progress}"), tone) };
        let head = format!("{}: {}{progress}", words::moment(now, &change.at), words::method(change.method));
        out.push(label, &head, tone);
        if change.method == Method::Update {
            for (name, value) in &change.patch {
                let values = (change.base.get(name), value);
                let text = words::changed_field(row.kind, name, values, &full.names, row.units, ascii);
                out.push("", &format!("  {text}"), Tone::Quiet);
            }
        }
        if let Some(reason) = &change.reason {
            out.push("", &format!("  {reason}"), Tone::Quiet);
        }
    }
    out.all
}

/// Whether the home of a record has no server: the server has not confirmed the record, and nothing waits for the server.
fn is_local(row: &Row) -> bool {
    row.rev.is_none() && row.pending == Pending::No
}

/// A record that refers to the shown one, and its tone: for a task its state and its day too.
fn related_text(now: Now, row: &Row, ascii: bool) -> (String, Tone) {
    let status = words::text_field(&row.fields, "status").unwrap_or_default();
    let Some(sign) = choice_sign("status", status) else { return (row.title.clone(), Tone::Plain) };
    let state = format!("{} {}", sign.text(ascii), words::choice(status));
    let date = words::text_field(&row.fields, "due_on").and_then(parse_date);
    let is_done = status == "done";
    let day = date.map(|date| match words::due(now.today(), date) {
        Due::Overdue(days) if !is_done => format!(", {days} d overdue"),
        _ => format!(", {}", words::day(now.today(), date)),
    });
    let tone = if is_done { Tone::Quiet } else { tone(now, "due_on", row) };
    (format!("{state:<STATE_COLUMNS$}{}{}", row.title, day.unwrap_or_default()), tone)
}

/// A list of lines under construction.
struct Lines {
    room: usize,
    all: Vec<DetailLine>,
}

impl Lines {
    fn push(&mut self, label: &str, text: &str, tone: Tone) {
        self.push_full(label, text, tone, text, None);
    }

    /// Adds the worth of all pieces, unless it is the worth of one.
    fn push_worth(&mut self, row: &Row) {
        let quantity = row.fields.get("quantity").and_then(serde_json::Value::as_i64).unwrap_or(1);
        if let Some(cents) = row.worth_cents().filter(|_| quantity != 1) {
            let worth = row.units.sum(&words::cents(row.units, cents));
            let text = format!("{worth} for {}", words::grouped(quantity));
            self.push("Worth", &text, Tone::Plain);
        }
    }

    fn push_full(&mut self, label: &str, text: &str, tone: Tone, value: &str, target: Option<(Kind, String)>) {
        let parts = if text.is_empty() { vec![String::new()] } else { wrap(text, self.room) };
        for (index, part) in parts.into_iter().enumerate() {
            let part = part.replace(NO_BREAK_SPACE, " ");
            let label = if index == 0 { label.to_owned() } else { String::new() };
            let (value, target) = (value.to_owned(), target.clone());
            self.all.push(DetailLine { label, text: part, tone, value, target });
        }
    }
}

/// The record that a field links to; None: the field is no link, or the record does not exist.
fn target(row: &Row, field: &Field) -> Option<(Kind, String)> {
    let kind = match field.format {
        Format::Reference(kind) => kind,
        Format::Subject => words::text_field(&row.fields, SUBJECT_TYPE).and_then(Kind::parse)?,
        _ => return None,
    };
    // A deleted record has no name.
    row.names.get(field.name)?;
    Some((kind, words::text_field(&row.fields, field.name)?.to_owned()))
}

/// A date with its distance: `Fri 27 Nov 2026, in 6 d`.
fn long_day(now: Now, text: &str) -> String {
    let Some(date) = parse_date(text) else { return text.to_owned() };
    let near = words::day(now.today(), date);
    let away = words::distance(now.today(), date);
    match (away.is_empty(), near.contains(' ')) {
        (true, false) => format!("{near}, {}", words::full_day(date)),
        (true, true) => words::full_day(date),
        _ => format!("{}, {}", words::full_day(date), away.replace(' ', NO_BREAK_SPACE)),
    }
}

/// The urgency of a field: due and expiry dates, priority, status.
pub fn tone(now: Now, field: &str, row: &Row) -> Tone {
    let is_deadline = match field {
        "due_on" => words::text_field(&row.fields, "status") != Some("done"),
        name => name.ends_with("expires_on"),
    };
    let value = words::text_field(&row.fields, field);
    if is_deadline {
        return match value.and_then(parse_date).map(|date| words::due(now.today(), date)) {
            // An expired warranty needs no action.
            Some(Due::Overdue(_)) if field == "warranty_expires_on" => Tone::Quiet,
            // A document that expired long ago needs no action; a recent one may have been forgotten.
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

    /// A task with long notes and related documents.
    fn full(pending: Pending, documents: &[&str]) -> FullRecord {
        let notes = "Ring the plumber twice, he never hears it the first time. ".repeat(6);
        let mut row = record(Kind::Task, "a", json!({ "title": "Sweep", "due_on": "2026-12-01", "notes": notes }));
        row.pending = pending;
        let paper = |title: &&str| record(Kind::Document, &title.to_lowercase(), json!({ "title": title }));
        let first = documents.iter().map(paper).collect();
        let related = vec![Related { kind: Kind::Document, total: documents.len(), first }];
        FullRecord { row, related, changes: Vec::new(), names: Names::new() }
    }

    /// The view of a record with the cursor on the first line that contains this text.
    fn showing(full: FullRecord, text: &str, page: Page) -> Detail {
        let mut detail = Detail::new(Kind::Task, "a".to_owned());
        detail.set_record(Some(full), page);
        let lines = detail.lines(page);
        let at = lines.iter().position(|line| line.text.contains(text)).unwrap();
        detail.select_line(at, lines.len(), page.height);
        detail
    }

    fn under(detail: &Detail, page: Page) -> String {
        let visible = detail.scroll..detail.scroll + page.height;
        assert!(visible.contains(&detail.selected), "line {} of {visible:?}", detail.selected);
        detail.lines(page)[detail.selected].text.clone()
    }

    #[test]
    fn series_shows_period_and_hidden_day() {
        for (recurs, every, due, shown) in [
            ("monthly", 1, "2026-12-31", vec!["monthly"]),
            ("monthly", 2, "2027-02-28", vec!["every 2 months", "Sat 31 Oct 2026"]),
            ("weekly", 3, "2027-02-28", vec!["every 3 weeks"]),
        ] {
            let fields = json!({ "title": "Rent", "due_on": due, "recurrence": recurs, "recurrence_every": every });
            let mut row = record(Kind::Task, "a", fields);
            row.fields.insert(recurrence::ANCHOR.to_owned(), "2026-10-31".into());
            let lines = lines(now(), &row, 60, true, false);
            let of_series =
                lines.iter().filter(|line| ["Recurrence", "Every", "Counted from"].contains(&line.label.as_str()));
            let found: Vec<&str> = of_series.map(|line| line.text.split(", ").next().unwrap_or_default()).collect();
            assert_eq!(found, shown);
        }
    }

    #[test]
    fn cursor_stays_on_line_after_reload() {
        let page = page(60, 6);
        for text in ["1 Dec 2026", "Warranty", "Sweep"] {
            let mut detail = showing(full(Pending::Waiting, &["Manual", "Warranty"]), text, page);
            detail.set_record(Some(full(Pending::No, &["Bill", "Manual", "Warranty"])), page);
            assert!(under(&detail, page).contains(text), "{}", under(&detail, page));
        }
        let mut detail = showing(full(Pending::No, &[]), "1 Dec 2026", page);
        let mut other = full(Pending::Waiting, &[]);
        other.row.fields.insert("due_on".into(), "2026-12-24".into());
        detail.set_record(Some(other), page);
        assert!(under(&detail, page).contains("24 Dec 2026"), "its value is another by now");
    }

    #[test]
    fn resize_keeps_cursor_visible() {
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
    fn timestamps_are_copied_complete() {
        let lines = lines(now(), &full(Pending::No, &[]).row, 80, true, false);
        let copied = |label: &str| lines.iter().find(|line| line.label == label).unwrap().value.clone();
        assert_eq!(copied("Created"), "2026-11-01T09:00:00.000Z");
        assert_eq!(copied("Last change"), "2026-11-20T09:00:00.000Z");
    }

    #[test]
    fn related_tasks_show_state_and_day() {
        let item = record(Kind::Inventory, "i", json!({ "name": "Saw" }));
        let task = |title: &str, status: &str, day: Option<&str>| {
            record(Kind::Task, title, json!({ "title": title, "status": status, "due_on": day }))
        };
        let first = vec![
            task("Sharpen", "open", Some("2026-11-18")),
            task("Oil", "in_progress", Some("2026-11-27")),
            task("Clean", "open", None),
            task("Buy", "done", Some("2026-11-01")),
        ];
        let related = vec![Related { kind: Kind::Task, total: 4, first }];
        let full = FullRecord { row: item, related, changes: Vec::new(), names: Names::new() };
        let lines = full_lines(now(), &full, 80, false);
        let shown: Vec<(&str, Tone)> = lines.iter().rev().take(4).rev().map(|l| (l.text.as_str(), l.tone)).collect();
        assert_eq!(
            shown,
            [
                ("○ open  Sharpen, 3 d overdue ›", Tone::Alarm),
                ("◐ doing Oil, Fri 27 Nov ›", Tone::Notice),
                ("○ open  Clean ›", Tone::Plain),
                ("✓ done  Buy, 1 Nov ›", Tone::Quiet)
            ]
        );
    }

    #[test]
    fn item_of_several_pieces_shows_its_worth() {
        let worth = |quantity: i64| {
            let chairs = json!({ "name": "Chair", "quantity": quantity, "purchase_price": "130.50" });
            let lines = lines(now(), &record(Kind::Inventory, "i", chairs), 80, true, false);
            lines.into_iter().find(|line| line.label == "Worth").map(|line| line.text)
        };
        assert_eq!((worth(8).as_deref(), worth(1)), (Some("1,044.00 for 8"), None));
    }

    #[test]
    fn record_without_server_waits_for_nothing() {
        let mut row = record(Kind::Room, "r", json!({ "name": "Hall" }));
        row.rev = None;
        let change = Change {
            edit: 1,
            at: "2026-11-21T12:48:00.000Z".into(),
            method: Method::Create,
            patch: Default::default(),
            base: Default::default(),
            origin: hearth_replica::Origin::Tui,
            state: EditProgress::Open(hearth_replica::EditState::Waiting),
            reason: None,
        };
        let full = FullRecord { row, related: Vec::new(), changes: vec![change], names: Names::new() };
        let lines = full_lines(now(), &full, 80, false);
        let text = lines.iter().map(|line| format!("{} {}", line.label, line.text)).collect::<Vec<_>>().join("\n");
        assert!(text.contains("Changed here 12:48: made\n") || text.ends_with("Changed here 12:48: made"), "{text}");
        for word in ["waiting", "server", "Last change"] {
            assert!(!text.contains(word), "{word}:\n{text}");
        }
    }
}
