//! Draws a form: labels, editors, a hint for the focused field, and faults under the fields. Must not change the form.

use hearth_contract::schema::{COUNT_MAX, Format, Presence, SUBJECT_TYPE};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::widgets::{draw_input, inset, padded, rows, scroll_bar};
use crate::app::App;
use crate::now::Now;
use crate::parse::{dates, names};
use crate::state::detail::label_width;
use crate::state::editor::Editor;
use crate::state::form::{Entry, Form};
use crate::state::picker::{Picker, Reference};
use crate::words::direction::Direction;
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{fit, width, wrap};
use crate::words::{AREA_EXAMPLES, MONEY_EXAMPLES, choice, distance, form_label, full_day, singular};

/// The lines of focused notes.
const NOTES_FOCUSED: usize = 5;
/// The most lines of notes without focus.
const NOTES_UNFOCUSED: usize = 3;
/// The most lines of a value that another device wrote.
const CHANGE_LINES_MAX: usize = 6;
/// The most visible names to choose from.
const OPTIONS: usize = 6;

/// A line of the form: a label and the content beside the label.
struct FormLine<'a> {
    label: Span<'a>,
    content: Content<'a>,
}

enum Content<'a> {
    Text(Line<'a>),
    Typing(&'a crate::state::input::Line),
    Area(&'a ratatui_textarea::TextArea<'static>, usize),
}

pub(super) fn draw(app: &App, form: &Form, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let above = heading(app, form, theme, frame, inner) + u16::from(inner.height > 6);
    let body = Rect { y: inner.y + above, height: inner.height.saturating_sub(above), ..inner };
    let labels = label_width(form.kind, usize::from(body.width)) + 2;
    let columns = usize::from(body.width).saturating_sub(labels + 1);
    let mut all = Lines { app, form, now, theme, labels, columns, lines: Vec::new() };
    let mut focused = 0..0;
    for (index, entry) in form.entries.iter().enumerate() {
        let from = all.lines.len();
        all.add_field(entry, index == form.focus);
        if index == form.focus {
            focused = from..all.lines.len();
        }
    }
    let lines = all.lines;
    // The focused field stays near the middle and is visible in full if there is room.
    let height = usize::from(body.height);
    let middle = focused.start + focused.len() / 2;
    let top = middle.saturating_sub(height / 2).min(focused.start).min(lines.len().saturating_sub(height));
    let total = lines.len();
    for (row, line) in rows(body).zip(lines.into_iter().skip(top)) {
        frame.render_widget(line.label, Rect { width: row.width.min(crop(labels)), ..row });
        let right = Rect { x: row.x + crop(labels).min(row.width), width: crop(columns).min(row.width), ..row };
        match line.content {
            Content::Text(text) => frame.render_widget(text, right),
            Content::Typing(text) => draw_input(text, Style::new(), frame, right),
            Content::Area(notes, tall) => {
                let room = crop(tall).min(body.bottom() - row.y);
                frame.render_widget(notes, Rect { height: room, ..right });
            }
        }
    }
    scroll_bar(app, theme, frame, Rect { width: body.width + 1, ..body }, top, total);
}

fn crop(columns: usize) -> u16 {
    u16::try_from(columns).unwrap_or(u16::MAX)
}

/// Draws the heading: the purpose of the form, or why saving failed. A failure, and the heading of a form for many
/// records, may take several lines. Returns the number of lines used.
fn heading(app: &App, form: &Form, theme: &Theme, frame: &mut Frame<'_>, area: Rect) -> u16 {
    let (text, tone) = match (&form.refusal, form.saving.is_some(), &form.id) {
        (Some(sentence), _, _) => (format!("{} {sentence}", Sign::Fault.text(app.setup.ascii)), Some(Tone::Alarm)),
        (None, true, _) => ("Saving".into(), None),
        (None, false, None) => (format!("New {}", singular(form.kind)), None),
        (None, false, _) if !form.many.is_empty() => {
            (format!("Change {}: each filled field is set in all of them", form.title), None)
        }
        (None, false, Some(_)) if form.title.is_empty() => (format!("Change the {}", singular(form.kind)), None),
        (None, false, Some(_)) => (format!("Change the {} “{}”", singular(form.kind), form.title), None),
    };
    let (columns, cut) = (usize::from(area.width), Sign::Cut.text(app.setup.ascii));
    let may_wrap = tone.is_some() || !form.many.is_empty();
    let most = if may_wrap { usize::from(area.height / 3).max(1) } else { 1 };
    let mut parts = wrap(&text, columns);
    let rest = parts.split_off(parts.len().min(most - 1));
    parts.extend((!rest.is_empty()).then(|| fit(&rest.join(" "), columns, cut)));
    let look = tone.map_or(theme.strong(), |tone| theme.tone(tone));
    let used = crop(parts.len());
    for (row, part) in rows(area).zip(parts) {
        frame.render_widget(Span::styled(part, look), row);
    }
    used
}

/// Draws the lines of one field after another.
struct Lines<'a, 't> {
    app: &'a App,
    form: &'a Form,
    now: Now,
    theme: &'t Theme,
    /// The width of the labels.
    labels: usize,
    /// The width of the content.
    columns: usize,
    lines: Vec<FormLine<'a>>,
}

impl<'a> Lines<'a, '_> {
    /// Adds the lines of a field: label and content, the hint, a change by another device, the fault.
    fn add_field(&mut self, entry: &'a Entry, focused: bool) {
        let label = self.label(entry, focused);
        match &entry.editor {
            Editor::Line(line) | Editor::Area(line, _) if focused => self.push(label, Content::Typing(line)),
            Editor::Line(line) | Editor::Area(line, _) => {
                let text = self.value(entry, line.text());
                self.push(label, Content::Text(text));
            }
            Editor::Notes(area) if focused => {
                self.push(label, Content::Area(area, NOTES_FOCUSED));
                (1..NOTES_FOCUSED).for_each(|_| self.push_text(Line::default()));
            }
            Editor::Notes(area) => self.add_notes(entry, label, &area.lines().join("\n")),
            Editor::Choice { words, chosen, .. } => self.add_choice(entry, label, words, *chosen, focused),
            Editor::Reference(Reference { picker: Some(picker), .. }) if focused => {
                self.push(label, Content::Typing(&picker.words));
                self.add_options(picker);
            }
            Editor::Reference(reference) => {
                let text = self.value(entry, reference.text());
                self.push(label, Content::Text(text));
            }
        }
        if focused {
            let hint = hint(self.form, entry, self.now);
            wrap(&hint, self.columns)
                .into_iter()
                .for_each(|part| self.push_text(Line::styled(part, self.theme.quiet())));
        }
        if let Some(theirs) = &entry.their_value {
            self.add_change(theirs);
        }
        if let Some(fault) = &entry.fault {
            let sentence = format!("{} {fault}", Sign::Fault.text(self.app.setup.ascii));
            let look = self.theme.tone(Tone::Alarm);
            wrap(&sentence, self.columns).into_iter().for_each(|part| self.push_text(Line::styled(part, look)));
        }
    }

    fn push(&mut self, label: Span<'a>, content: Content<'a>) {
        self.lines.push(FormLine { label, content });
    }

    /// Adds a line without a label.
    fn push_text(&mut self, line: Line<'a>) {
        self.push(Span::raw(""), Content::Text(line));
    }

    fn label(&self, entry: &Entry, focused: bool) -> Span<'a> {
        let mark = if focused { Sign::Selected.text(self.app.setup.ascii) } else { " " };
        // In a form for many records every field is optional.
        let required = entry.field.presence == Presence::Required && !self.form.is_open(entry);
        let star = if required { " *" } else { "" };
        let label = form_label(self.form.kind, entry.field, self.form.units.area, self.app.setup.ascii);
        let name = padded(self.app, &format!("{mark}{label}{star}"), self.labels, false);
        Span::styled(name, if focused { self.theme.accent() } else { self.theme.quiet() })
    }

    /// The text for a field without a value.
    fn unset_text(&self, entry: &Entry) -> &'static str {
        if self.form.is_open(entry) { "as it is" } else { Sign::Unset.text(self.app.setup.ascii) }
    }

    fn value(&self, entry: &Entry, value: &str) -> Line<'a> {
        match value {
            "" => Line::styled(self.unset_text(entry), self.theme.quiet()),
            value => Line::raw(fit(value, self.columns, Sign::Cut.text(self.app.setup.ascii))),
        }
    }

    /// Adds notes without focus: the first lines, with a mark if lines are missing.
    fn add_notes(&mut self, entry: &Entry, label: Span<'a>, notes: &str) {
        let cut = Sign::Cut.text(self.app.setup.ascii);
        let mut parts = wrap(notes, self.columns);
        let is_cut = parts.len() > NOTES_UNFOCUSED;
        parts.truncate(NOTES_UNFOCUSED);
        if let Some(last) = parts.last_mut().filter(|_| is_cut) {
            *last = fit(last, self.columns.saturating_sub(width(cut)), "") + cut;
        }
        let mut parts = parts.into_iter();
        let first = self.value(entry, &parts.next().unwrap_or_default());
        self.push(label, Content::Text(first));
        parts.for_each(|part| self.push_text(Line::raw(part)));
    }

    fn add_choice(&mut self, entry: &Entry, label: Span<'a>, words: &[&str], chosen: Option<usize>, focused: bool) {
        let word = chosen.map(|index| choice(words[index])).unwrap_or_default();
        let line = match focused {
            false => self.value(entry, &word),
            true => {
                let ascii = self.app.setup.ascii;
                let text = if word.is_empty() { self.unset_text(entry).to_owned() } else { word };
                Line::from(vec![
                    Span::styled(format!("{} ", Sign::Previous.text(ascii)), self.theme.accent()),
                    Span::raw(text),
                    Span::styled(format!(" {}", Sign::Next.text(ascii)), self.theme.accent()),
                ])
            }
        };
        self.push(label, Content::Text(line));
        if focused {
            let strip = choice_lines(self.app, words, chosen, self.theme, self.columns);
            strip.into_iter().for_each(|line| self.push_text(line));
        }
    }

    /// Adds the names to choose from.
    fn add_options(&mut self, picker: &Picker) {
        let first = picker.selected.saturating_sub(OPTIONS - 1);
        let dot = Sign::Dot.text(self.app.setup.ascii);
        // A reference to several kinds shows the kind of each name.
        let several = self.form.targets().len() > 1;
        let kind_of = |kind| if several { format!(" {dot} {}", singular(kind)) } else { String::new() };
        let titles = picker.options.iter().map(|(kind, _, title)| format!(" {title}{}", kind_of(*kind)));
        let new = picker.new.map(|kind| format!(" make {} “{}”", singular(kind), picker.name()));
        for (index, text) in titles.chain(new).enumerate().skip(first).take(OPTIONS) {
            let look = if index == picker.selected { self.theme.selected() } else { Style::new() };
            self.push_text(Line::styled(padded(self.app, &text, self.columns, false), look));
        }
        if picker.options.is_empty() && picker.new.is_none() && picker.is_answered {
            self.push_text(Line::styled("no name matches", self.theme.quiet()));
        }
    }

    /// Adds the value that another device wrote while the form was open.
    fn add_change(&mut self, theirs: &str) {
        let theirs = theirs.split_whitespace().collect::<Vec<_>>().join(" ");
        let change = if theirs.is_empty() { "cleared".to_owned() } else { format!("changed to “{theirs}”") };
        let ascii = self.app.setup.ascii;
        let mut parts = wrap(&format!("{} meanwhile {change}", Sign::News.text(ascii)), self.columns);
        let rest = parts.split_off(parts.len().min(CHANGE_LINES_MAX - 1));
        parts.extend((!rest.is_empty()).then(|| fit(&rest.join(" "), self.columns, Sign::Cut.text(ascii))));
        let look = self.theme.tone(Tone::Notice);
        parts.into_iter().for_each(|part| self.push_text(Line::styled(part, look)));
    }
}

/// All choices, with the chosen one highlighted, over as many lines as needed.
fn choice_lines<'a>(app: &App, words: &[&str], chosen: Option<usize>, theme: &Theme, columns: usize) -> Vec<Line<'a>> {
    let mut lines = vec![Vec::new()];
    let mut used = 0;
    for (index, word) in words.iter().enumerate() {
        let word = fit(&choice(word), columns, Sign::Cut.text(app.setup.ascii));
        let gap = if used == 0 { 0 } else { 2 };
        if used + gap + width(&word) > columns && used > 0 {
            lines.push(Vec::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(Span::raw("  "));
            }
            used += width(&word) + if used > 0 { 2 } else { 0 };
            let look = if chosen == Some(index) { theme.selected() } else { theme.quiet() };
            line.push(Span::styled(word, look));
        }
    }
    lines.into_iter().map(Line::from).collect()
}

/// The hint under the focused field: meaning and format, or the full date for a day that is being typed.
fn hint(form: &Form, entry: &Entry, now: Now) -> String {
    let field = entry.field;
    let meant = match (&entry.editor, field.format) {
        (Editor::Line(line), Format::Date) => dates::parse_day(line.text(), form.today, Direction::of(field)),
        _ => None,
    };
    if let Some(date) = meant {
        let away = distance(now.today(), date);
        return if away.is_empty() { full_day(date) } else { format!("{}, {away}", full_day(date)) };
    }
    if let Some(offered) = offered(entry) {
        return offered;
    }
    let how = match field.format {
        Format::Date => format!("such as {}", Direction::of(field).examples()),
        Format::Money => match form.units.currency {
            Some(code) => format!("in {code}, such as {MONEY_EXAMPLES}"),
            None => format!("such as {MONEY_EXAMPLES}"),
        },
        _ if field.is_area() => format!("with another unit such as {AREA_EXAMPLES}"),
        Format::Count { max: COUNT_MAX, .. } | Format::Year => "a whole number".to_owned(),
        Format::Count { min, max } => format!("a whole number from {min} to {max}"),
        Format::TimeZone => "such as Europe/Berlin".to_owned(),
        Format::Currency => "a code such as EUR".to_owned(),
        Format::Sha256 => "64 hex digits".to_owned(),
        Format::Url => "an http or https address".to_owned(),
        Format::Reference(_) | Format::Subject if form.targets().is_empty() => {
            "not needed for the home itself".to_owned()
        }
        Format::Reference(_) | Format::Subject => "type some letters of the name".to_owned(),
        _ => String::new(),
    };
    // The contract's text speaks of null, which people do not type.
    let what = if field.name == SUBJECT_TYPE { "What this is about; leave empty for general" } else { field.about };
    // The unit of an area is that of the label.
    let what = if field.is_area() { what.trim_end_matches(" in square feet") } else { what };
    if how.is_empty() { what.to_owned() } else { format!("{what}; {how}") }
}

/// The names for letters typed in a field of time zones or currencies. None: no letters, no such name, or the whole name.
fn offered(entry: &Entry) -> Option<String> {
    let Editor::Line(line) = &entry.editor else { return None };
    let (format, typed) = (entry.field.format, line.text().trim());
    match names::meant_name(format, typed) {
        Some(name) => (name != typed).then(|| name.to_owned()),
        None => Some(names::offered_names(format, typed).join(", ")).filter(|offered| !offered.is_empty()),
    }
}
