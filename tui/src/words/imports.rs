//! Texts of an import: what each row does, and the sums. Must not know how an import is carried out.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_exchange::import::plan::TableReport;
use hearth_exchange::import::{Action, Counts, Plan, PlannedRow};

use super::glyphs::{Sign, Tone};
use super::sanitize::wrap_max;
use super::{figure, singular, with_labels};

/// The new rows, and the changed rows, that a preview shows.
const SHOWN_MAX: usize = 10;

/// The most lines of one entry.
const LINES_MAX: usize = 6;

/// A part of the list of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A sentence.
    Text(String),
    /// The row at this place of the plan.
    Row(usize),
}

/// The list of a preview: columns, the first new and changed rows, then every refused row.
pub fn preview_entries(plan: &Plan) -> Vec<Entry> {
    let mut entries = Vec::new();
    for table in plan.tables.iter().filter(|table| !table.used.is_empty()) {
        entries.push(Entry::Text(columns_text(table)));
        if !table.kept_out.is_empty() {
            entries.push(Entry::Text(format!("Kept out: {}.", table.kept_out.join(", "))));
        }
    }
    let is_new: fn(&Action) -> bool = |action| matches!(action, Action::Create(_));
    let is_changed: fn(&Action) -> bool = |action| matches!(action, Action::Update(_));
    for (word, is) in [("new", is_new), ("changed", is_changed)] {
        let places: Vec<usize> = (0..plan.rows.len()).filter(|at| is(&plan.rows[*at].action)).collect();
        entries.extend(places.iter().take(SHOWN_MAX).map(|at| Entry::Row(*at)));
        let more = places.len().saturating_sub(SHOWN_MAX);
        entries.extend((more > 0).then(|| Entry::Text(format!("and {} more {word}", figure(more)))));
    }
    entries.extend(refused(plan));
    entries
}

/// The list of a result: every refused row.
pub fn done_entries(plan: &Plan) -> Vec<Entry> {
    refused(plan).collect()
}

fn refused(plan: &Plan) -> impl Iterator<Item = Entry> + '_ {
    let is_refused = |at: &usize| matches!(plan.rows[*at].action, Action::Fail(_));
    (0..plan.rows.len()).filter(is_refused).map(Entry::Row)
}

/// Which columns of a table become which fields.
fn columns_text(table: &TableReport) -> String {
    let shown = |(column, field): &(String, &str)| match column == field {
        true => column.clone(),
        false => format!("{column} = {field}"),
    };
    let used: Vec<String> = table.used.iter().map(shown).collect();
    format!("{}, columns of {}: {}.", table.kind.collection(), table.product.as_str(), used.join(", "))
}

/// The sum of a preview, or of a result.
pub fn sum(counts: Counts, is_done: bool) -> String {
    let words = if is_done { ["made", "changed"] } else { ["to make", "to change"] };
    format!(
        "{} {}, {} {}, {} unchanged, {} refused",
        figure(counts.created),
        words[0],
        figure(counts.updated),
        words[1],
        figure(counts.unchanged),
        figure(counts.failed)
    )
}

/// The kind of the rows as stated.
pub fn kind_text(kind: Option<Kind>) -> &'static str {
    kind.map_or("as the file tells", singular)
}

/// The sign, the tone and the text of an entry.
pub fn entry_text(entry: &Entry, plan: Option<&Plan>) -> (Option<Sign>, Tone, String) {
    match (entry, plan) {
        (Entry::Text(text), _) => (None, Tone::Quiet, text.clone()),
        (Entry::Row(at), Some(plan)) => plan.rows.get(*at).map_or((None, Tone::Quiet, String::new()), row_text),
        (Entry::Row(_), None) => (None, Tone::Quiet, String::new()),
    }
}

fn row_text(row: &PlannedRow) -> (Option<Sign>, Tone, String) {
    let title = row.title.as_deref().unwrap_or_default();
    let name = format!("row {}: {} {title}", row.number, singular(row.kind));
    let name = name.trim_end();
    match &row.action {
        Action::Create(_) => (None, Tone::Good, format!("New, {name}")),
        Action::Update(fields) => (None, Tone::Notice, format!("Changed, {name}: {}", field_names(row.kind, fields))),
        Action::Fail(fault) => (Some(Sign::Fault), Tone::Alarm, format!("Refused, {name}; {fault}")),
        Action::Unchanged => (None, Tone::Quiet, format!("Unchanged, {name}")),
    }
}

fn field_names(kind: Kind, fields: &Fields) -> String {
    with_labels(kind, &fields.keys().cloned().collect::<Vec<_>>().join(", "))
}

/// The lines of an entry in this many columns, without its sign.
pub fn entry_lines(text: &str, columns: usize, cut: &str) -> Vec<String> {
    let columns = columns.saturating_sub(SIGN_COLUMNS);
    let lines = wrap_max(text, columns, LINES_MAX, cut);
    if lines.is_empty() { vec![String::new()] } else { lines }
}

/// The columns of a sign and the space behind it.
pub const SIGN_COLUMNS: usize = 2;

/// The largest useful scroll position: from there, the rest of the entries fills the `height` lines.
pub fn last_top(entries: &[Entry], plan: Option<&Plan>, columns: usize, height: usize) -> usize {
    let mut used = 0;
    for (at, entry) in entries.iter().enumerate().rev() {
        used += entry_lines(&entry_text(entry, plan).2, columns, "").len();
        if used > height {
            return (at + 1).min(entries.len().saturating_sub(1));
        }
    }
    0
}
