//! Draws an import: the typed path, the preview row by row, the progress, the result. Must not read a file.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::widgets::{draw_input, inset, rows, scroll_bar};
use crate::app::App;
use crate::layout::import_header;
use crate::state::import::{ImportScreen, ImportStage};
use crate::state::import_file::FORMATS;
use crate::state::input::Line as InputLine;
use crate::words::figure;
use crate::words::glyphs::{Sign, Tone};
use crate::words::imports::{SIGN_COLUMNS, entry_lines, entry_text, kind_text, sum};
use crate::words::sanitize::{fit, wrap_max};

/// The columns of the progress bar at most.
const BAR_MAX: usize = 40;

pub(super) fn draw(app: &App, screen: &ImportScreen, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    if let Some(line) = screen.typed_line() {
        return draw_typing(app, screen, line, theme, frame, inner);
    }
    let height = import_header(area.height).min(inner.height);
    draw_header(app, screen, theme, frame, Rect { height, ..inner });
    let below = Rect { y: inner.y + height, height: inner.height - height, ..inner };
    draw_entries(app, screen, theme, frame, below);
}

/// What a typed line is for, and what can be typed.
const fn typing_texts(stage: &ImportStage) -> (&'static str, &'static str) {
    match stage {
        ImportStage::Mapping => (
            "Which column is which field?",
            "Write COLUMN=FIELD with commas between: Bezeichnung=name, Raum=room, Farbe=notes. Nothing behind = keeps a column out.",
        ),
        _ => (
            "Import a table: CSV, JSON, or the zip of an export",
            "A path such as ~/things.csv; or drag the file here. The next screen shows what each row does, and nothing is written before you say so.",
        ),
    }
}

fn draw_typing(app: &App, screen: &ImportScreen, line: &InputLine, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let cut = Sign::Cut.text(app.setup.ascii);
    let mut lines = rows(area);
    let (title, hint) = typing_texts(&screen.stage);
    if let Some(row) = lines.next() {
        frame.render_widget(Span::styled(fit(title, row.width.into(), cut), theme.strong()), row);
    }
    if let Some(row) = lines.next() {
        draw_input(line, theme.accent(), frame, row);
    }
    let (text, style) = match &screen.refusal {
        Some(refusal) => (format!("{} {refusal}", Sign::Fault.text(app.setup.ascii)), theme.tone(Tone::Alarm)),
        None if screen.choices.is_empty() => (hint.to_owned(), theme.quiet()),
        None => (screen.choices.join("  "), Style::new()),
    };
    let space = usize::from(area.height).saturating_sub(3);
    for (row, part) in lines.skip(1).zip(wrap_max(&text, area.width.into(), space, cut)) {
        frame.render_widget(Line::styled(part, style), row);
    }
}

/// The lines above the list. A low screen has room for the sum and the last line alone.
fn draw_header(app: &App, screen: &ImportScreen, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let counts = screen.plan().map(|plan| sum(plan.counts(), matches!(screen.stage, ImportStage::Done(_))));
    let sum = (counts.unwrap_or_default(), theme.strong());
    let last = last_line(app, screen, theme, area.width.into());
    let all = if area.height < import_header(u16::MAX) {
        vec![sum, last]
    } else {
        let name = (screen.name(), theme.quiet());
        let kind = (format!("Kind of the rows: {}", kind_text(screen.kind)), theme.quiet());
        let format = (format!("Numbers and dates: {}", FORMATS[screen.format].1), theme.quiet());
        vec![name, sum, kind, format, last]
    };
    let cut = Sign::Cut.text(app.setup.ascii);
    for (row, (text, style)) in rows(area).zip(all) {
        frame.render_widget(Span::styled(fit(&text, row.width.into(), cut), style), row);
    }
}

/// The fault or the progress of the step.
fn last_line(app: &App, screen: &ImportScreen, theme: &Theme, columns: usize) -> (String, Style) {
    if let Some(refusal) = screen.refusal.as_ref().filter(|_| !matches!(screen.stage, ImportStage::Unusable)) {
        return (format!("{} {refusal}", Sign::Fault.text(app.setup.ascii)), theme.tone(Tone::Alarm));
    }
    match &screen.stage {
        ImportStage::Reading => ("Reading the file".to_owned(), theme.quiet()),
        ImportStage::Writing(preview, done) => {
            let counts = preview.plan.counts();
            (progress_bar(*done, counts.created + counts.updated, columns), theme.accent())
        }
        ImportStage::Done(_) => ("Stored on this device.".to_owned(), theme.quiet()),
        _ => (String::new(), Style::new()),
    }
}

/// `[=====     ]  120 of 300`
fn progress_bar(done: usize, total: usize, columns: usize) -> String {
    let numbers = format!("  {} of {}", figure(done), figure(total));
    let room = columns.saturating_sub(numbers.len() + 2).min(BAR_MAX);
    let full = (room * done.min(total)).checked_div(total).unwrap_or(room);
    format!("[{}{}]{numbers}", "=".repeat(full), " ".repeat(room - full))
}

fn draw_entries(app: &App, screen: &ImportScreen, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let cut = Sign::Cut.text(app.setup.ascii);
    let columns = usize::from(area.width);
    if let (ImportStage::Unusable, Some(refusal)) = (&screen.stage, &screen.refusal) {
        let style = theme.tone(Tone::Alarm);
        let text = format!("{} {refusal}", Sign::Fault.text(app.setup.ascii));
        for (row, part) in rows(area).zip(wrap_max(&text, columns, area.height.into(), cut)) {
            frame.render_widget(Line::styled(part, style), row);
        }
        return;
    }
    let mut free = rows(area);
    'entries: for entry in screen.entries.iter().skip(screen.scroll) {
        let (sign, tone, text) = entry_text(entry, screen.plan());
        let style = theme.tone(tone);
        let mut sign = sign.map_or("", |sign| sign.text(app.setup.ascii));
        for part in entry_lines(&text, columns, cut) {
            let Some(row) = free.next() else { break 'entries };
            let part = format!("{sign:SIGN_COLUMNS$}{part}");
            frame.render_widget(Line::styled(part, style), row);
            sign = "";
        }
    }
    let bar = Rect { width: area.width + 1, ..area };
    scroll_bar(app, theme, frame, bar, screen.scroll, screen.entries.len());
}
