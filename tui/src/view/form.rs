//! A form: labels, editors, what a field wants, and under it what is wrong with it.

use hearth_contract::schema::{Format, Presence, SUBJECT_TYPE};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Theme, inset, padded, rows, scroll_bar, typing};
use crate::app::App;
use crate::now::Now;
use crate::state::detail::label_width;
use crate::state::editor::{Editor, Reference};
use crate::state::form::{Entry, Form};
use crate::typed::{dates, numbers};
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{fit, width, wrap};
use crate::words::{choice, distance, full_day, label as label_of, singular};

/// Lines of notes that are being typed.
const NOTES: usize = 5;
/// Lines of notes that are not.
const NOTES_AT_REST: usize = 3;
/// Lines of what somebody else wrote meanwhile.
const MEANWHILE: usize = 6;
/// Names to choose from that are seen at once.
const OPTIONS: usize = 6;

/// One line of the form: its label, and what stands at its right.
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
    let mut lines = Vec::new();
    let mut focused = 0..0;
    for (index, entry) in form.entries.iter().enumerate() {
        let from = lines.len();
        block(app, form, entry, now, index == form.focus, theme, labels, columns, &mut lines);
        if index == form.focus {
            focused = from..lines.len();
        }
    }
    // The field under the keyboard stays near the middle, all of it in view where it fits.
    let height = usize::from(body.height);
    let middle = focused.start + focused.len() / 2;
    let top = middle.saturating_sub(height / 2).min(focused.start).min(lines.len().saturating_sub(height));
    let total = lines.len();
    for (row, line) in rows(body).zip(lines.into_iter().skip(top)) {
        frame.render_widget(line.label, Rect { width: row.width.min(crop(labels)), ..row });
        let right = Rect { x: row.x + crop(labels).min(row.width), width: crop(columns).min(row.width), ..row };
        match line.content {
            Content::Text(text) => frame.render_widget(text, right),
            Content::Typing(text) => typing(text, Style::new(), frame, right),
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

/// What the form is for, or why it was not saved. That, and what a form for many does, is read to its end where there is room.
/// Gives the lines it takes.
fn heading(app: &App, form: &Form, theme: &Theme, frame: &mut Frame<'_>, area: Rect) -> u16 {
    let (text, tone) = match (&form.refusal, form.saving.is_some(), &form.id) {
        (Some(sentence), _, _) => (format!("{} {sentence}", Sign::Fault.text(app.setup.ascii)), Some(Tone::Alarm)),
        (None, true, _) => ("Saving".into(), None),
        (None, false, None) => (format!("New {}", singular(form.kind)), None),
        (None, false, _) if !form.many.is_empty() => {
            (format!("Change {} alike: what is filled in is set for all", form.title), None)
        }
        (None, false, Some(_)) if form.title.is_empty() => (format!("Change the {}", singular(form.kind)), None),
        (None, false, Some(_)) => (format!("Change the {} “{}”", singular(form.kind), form.title), None),
    };
    let (columns, cut) = (usize::from(area.width), Sign::Cut.text(app.setup.ascii));
    let is_read = tone.is_some() || !form.many.is_empty();
    let most = if is_read { usize::from(area.height / 3).max(1) } else { 1 };
    let mut parts = wrap(&text, columns);
    let rest = parts.split_off(parts.len().min(most - 1));
    parts.extend((!rest.is_empty()).then(|| fit(&rest.join(" "), columns, cut)));
    let look = tone.map_or(theme.strong(), |tone| theme.tone(tone));
    let taken = crop(parts.len());
    for (row, part) in rows(area).zip(parts) {
        frame.render_widget(Span::styled(part, look), row);
    }
    taken
}

#[expect(clippy::too_many_arguments, reason = "one block of a form needs what the form needs")]
fn block<'a>(
    app: &'a App,
    form: &'a Form,
    entry: &'a Entry,
    now: Now,
    focused: bool,
    theme: &Theme,
    labels: usize,
    columns: usize,
    lines: &mut Vec<FormLine<'a>>,
) {
    let mark = if focused { Sign::Selected.text(app.setup.ascii) } else { " " };
    // What may be left as it is may be left out, whatever it is.
    let is_open = form.is_open(entry);
    let required = entry.field.presence == Presence::Required && !is_open;
    let star = if required { " *" } else { "" };
    let name = padded(app, &format!("{mark}{}{star}", label_of(entry.field)), labels, false);
    let label = Span::styled(name, if focused { theme.accent() } else { theme.quiet() });
    let blank = || Span::raw("");
    let text = |line: Line<'a>| FormLine { label: blank(), content: Content::Text(line) };
    let cut = Sign::Cut.text(app.setup.ascii);
    let none = if is_open { "as it is" } else { Sign::Unset.text(app.setup.ascii) };
    let unset = || Line::styled(none, theme.quiet());
    let shown = |value: &str| if value.is_empty() { unset() } else { Line::raw(fit(value, columns, cut)) };
    match &entry.editor {
        Editor::Line(line) if focused => lines.push(FormLine { label, content: Content::Typing(line) }),
        Editor::Line(line) => lines.push(FormLine { label, content: Content::Text(shown(line.text())) }),
        Editor::Notes(area) if focused => {
            lines.push(FormLine { label, content: Content::Area(area, NOTES) });
            lines.extend((1..NOTES).map(|_| text(Line::default())));
        }
        Editor::Notes(area) => {
            let mut parts = wrap(&area.lines().join("\n"), columns);
            let is_cut = parts.len() > NOTES_AT_REST;
            parts.truncate(NOTES_AT_REST);
            if let Some(last) = parts.last_mut().filter(|_| is_cut) {
                *last = fit(last, columns.saturating_sub(width(cut)), "") + cut;
            }
            let mut parts = parts.into_iter();
            lines.push(FormLine { label, content: Content::Text(shown(&parts.next().unwrap_or_default())) });
            lines.extend(parts.map(|part| text(Line::raw(part))));
        }
        Editor::Choice { words, chosen, .. } => {
            let word = chosen.map(|index| choice(words[index])).unwrap_or_default();
            let line = match (focused, word.is_empty()) {
                (false, _) => shown(&word),
                (true, _) => Line::from(vec![
                    Span::styled(format!("{} ", Sign::Previous.text(app.setup.ascii)), theme.accent()),
                    Span::raw(if word.is_empty() { none.to_owned() } else { word.clone() }),
                    Span::styled(format!(" {}", Sign::Next.text(app.setup.ascii)), theme.accent()),
                ]),
            };
            lines.push(FormLine { label, content: Content::Text(line) });
            if focused {
                lines.extend(strip(app, words, *chosen, theme, columns).into_iter().map(text));
            }
        }
        Editor::Reference(Reference { picker: Some(picker), .. }) if focused => {
            lines.push(FormLine { label, content: Content::Typing(&picker.words) });
            let first = picker.selected.saturating_sub(OPTIONS - 1);
            let dot = Sign::Dot.text(app.setup.ascii);
            // Where it can be of several kinds, its kind is said.
            let several = form.targets().len() > 1;
            let of = |kind| if several { format!(" {dot} {}", singular(kind)) } else { String::new() };
            for (index, (kind, _, title)) in picker.options.iter().enumerate().skip(first).take(OPTIONS) {
                let selected = index == picker.selected;
                let look = if selected { theme.selected() } else { Style::new() };
                lines.push(text(Line::styled(
                    padded(app, &format!(" {title}{}", of(*kind)), columns.min(48), false),
                    look,
                )));
            }
            if picker.options.is_empty() && picker.is_answered {
                lines.push(text(Line::styled("no name has these letters", theme.quiet())));
            }
        }
        Editor::Reference(reference) => lines.push(FormLine { label, content: Content::Text(shown(&reference.title)) }),
    }
    if focused {
        let about = about(form, entry, now);
        lines.extend(wrap(&about, columns).into_iter().map(|part| text(Line::styled(part, theme.quiet()))));
    }
    if let Some(theirs) = &entry.their_value {
        let theirs = theirs.split_whitespace().collect::<Vec<_>>().join(" ");
        let became = if theirs.is_empty() { "cleared".to_owned() } else { format!("changed to “{theirs}”") };
        let mut parts = wrap(&format!("{} meanwhile {became}", Sign::News.text(app.setup.ascii)), columns);
        let rest = parts.split_off(parts.len().min(MEANWHILE - 1));
        parts.extend((!rest.is_empty()).then(|| fit(&rest.join(" "), columns, cut)));
        lines.extend(parts.into_iter().map(|part| text(Line::styled(part, theme.tone(Tone::Notice)))));
    }
    if let Some(fault) = &entry.fault {
        let sentence = format!("{} {fault}", Sign::Fault.text(app.setup.ascii));
        lines.extend(wrap(&sentence, columns).into_iter().map(|p| text(Line::styled(p, theme.tone(Tone::Alarm)))));
    }
}

/// All choices at once, the chosen one marked, over as many lines as they need.
fn strip<'a>(app: &App, words: &[&str], chosen: Option<usize>, theme: &Theme, columns: usize) -> Vec<Line<'a>> {
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

/// What a field is and how it is written; of a day that is being typed, which day is meant.
fn about(form: &Form, entry: &Entry, now: Now) -> String {
    let field = entry.field;
    let meant = match (&entry.editor, field.format) {
        (Editor::Line(line), Format::Date) => dates::understood(line.text(), form.today),
        _ => None,
    };
    if let Some(date) = meant {
        let away = distance(now.today(), date);
        return if away.is_empty() { full_day(date) } else { format!("{}, {away}", full_day(date)) };
    }
    let how = match field.format {
        Format::Date => format!("such as {}", dates::HOW),
        Format::Money => format!("such as {}", numbers::SUM),
        Format::Count | Format::Year => "a whole number".to_owned(),
        Format::Url => "an http or https address".to_owned(),
        Format::Reference(_) | Format::Subject if form.targets().is_empty() => "the home needs none".to_owned(),
        Format::Reference(_) | Format::Subject => "type some letters of its name".to_owned(),
        _ => String::new(),
    };
    // The contract speaks to programs, which send null.
    let what = if field.name == SUBJECT_TYPE { "What it is about; leave empty for general" } else { field.about };
    if how.is_empty() { what.to_owned() } else { format!("{what}; {how}") }
}
