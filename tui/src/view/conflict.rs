//! Draws a conflict: a table of the fields with the value before, mine, theirs and the choice; below, the selected
//! field in full. Must not change a choice.

use hearth_replica::{Choice, Conflict};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::theme::Theme;
use super::widgets::{draw_input, inset, padded, rows, scroll_bar};
use crate::app::App;
use crate::keys::{Action, Context};
use crate::state::conflict::ConflictScreen;
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{fit, width, wrap};
use crate::words::{field_label, json_text, moment, shown_value};

/// The most columns of the field names.
const LABEL_WIDTH_MAX: usize = 18;
/// The columns of the choice.
const CHOICE_WIDTH: usize = 9;
/// From this width the table shows the value before.
const BEFORE_FROM: usize = 64;
/// From this width the table shows values. Below, values are shown only for the selected field.
const VALUES_FROM: usize = 40;
/// From this height there is a heading. Below, the selected field has one line for each side.
const HEADING_FROM: u16 = 6;
/// The most lines that are reserved for the selected field. The field also uses lines that the table leaves free.
const FULL_FIELD_LINES: u16 = 6;

pub(super) fn draw(app: &App, screen: &ConflictScreen, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let columns = usize::from(inner.width);
    let cut = Sign::Cut.text(app.setup.ascii);
    let Some((first, _)) = screen.fields.first() else {
        let settled = "No field is in conflict any more: saving sends the change.";
        let text = screen.fault.as_deref().unwrap_or(if screen.is_loaded { settled } else { "" });
        frame.render_widget(Span::styled(fit(text, columns, cut), theme.quiet()), inner);
        return;
    };
    let is_flat = inner.height < HEADING_FROM;
    if !is_flat {
        let heading = heading(app, screen, first);
        frame.render_widget(Span::styled(fit(&heading, columns, cut), theme.strong()), inner);
    }
    let above = if is_flat { 0 } else { 2 };
    let table = Rect { y: inner.y + above, height: inner.height.saturating_sub(above), ..inner };
    let below = if is_flat { table.height.saturating_sub(1) } else { FULL_FIELD_LINES.min(table.height / 2) };
    let list = Rect { height: table.height - below, ..table };
    let used = draw_table(app, screen, theme, frame, list, !is_flat);
    // Directly under the last row of the table.
    in_full(app, screen, theme, frame, Rect { y: list.y + used, height: table.height - used, ..inner });
}

/// Whether the record was deleted on the server. All fields of a conflict agree on that.
fn is_deleted_there(screen: &ConflictScreen) -> bool {
    screen.fields.first().is_some_and(|(first, _)| first.theirs_at.is_none())
}

fn heading(app: &App, screen: &ConflictScreen, conflict: &Conflict) -> String {
    let title = &conflict.title;
    let since = conflict.theirs_at.as_deref().map(|at| moment(app.now, at)).unwrap_or_default();
    // The name takes the place of the server: the line is short.
    let by = conflict.theirs_by.as_ref().map_or("on the server".to_owned(), |author| format!("by {author}"));
    match (screen.deletes, is_deleted_there(screen)) {
        (true, _) => format!("You deleted “{title}”; it was changed {by} {since}"),
        (false, true) => format!("You changed “{title}”; it was deleted on the server"),
        (false, false) => format!("“{title}” was changed here and {by} ({since})"),
    }
}

/// The widths of the columns of the table.
struct Widths {
    label: usize,
    value: usize,
    /// The number of value columns: 0, 2 (mine, theirs) or 3 (also before).
    values: usize,
}

impl Widths {
    fn for_columns(columns: usize) -> Widths {
        let values = match columns {
            columns if columns < VALUES_FROM => 0,
            columns if columns < BEFORE_FROM => 2,
            _ => 3,
        };
        let label =
            if values == 0 { columns.saturating_sub(CHOICE_WIDTH + 1) } else { LABEL_WIDTH_MAX.min(columns / 4) };
        Widths { label, value: columns.saturating_sub(label + CHOICE_WIDTH + 4) / values.max(1), values }
    }
}

/// Draws the table of the fields. Returns the number of lines used.
fn draw_table(
    app: &App,
    screen: &ConflictScreen,
    theme: &Theme,
    frame: &mut Frame<'_>,
    list: Rect,
    may_have_headings: bool,
) -> u16 {
    let widths = Widths::for_columns(list.width.into());
    let has_headings = may_have_headings && widths.values > 0;
    let mut lines = rows(list);
    if let Some(row) = has_headings.then(|| lines.next()).flatten() {
        let mut spans = vec![Span::raw(" ".repeat(widths.label + 1))];
        let headings = ["Before", "Mine", "Theirs"].into_iter().skip(3 - widths.values);
        let cell = |word: &str| Span::styled(padded(app, word, widths.value, false) + " ", theme.quiet());
        spans.extend(headings.map(cell));
        frame.render_widget(Line::from(spans), row);
    }
    let fits = usize::from(list.height).saturating_sub(usize::from(has_headings)).max(1);
    let top = (screen.selected + 1).saturating_sub(fits);
    for (row, (index, (conflict, choice))) in lines.zip(screen.fields.iter().enumerate().skip(top)) {
        let selected = index == screen.selected;
        frame.render_widget(field_line(app, screen, theme, &widths, conflict, choice.as_ref(), selected), row);
        if selected {
            frame.buffer_mut().set_style(row, theme.selected());
        }
    }
    scroll_bar(app, theme, frame, Rect { width: list.width + 1, ..list }, top, screen.fields.len());
    let shown = u16::try_from(screen.fields.len() - top).unwrap_or(u16::MAX);
    shown.saturating_add(u16::from(has_headings)).min(list.height)
}

/// A row of the table.
fn field_line<'a>(
    app: &App,
    screen: &ConflictScreen,
    theme: &Theme,
    widths: &Widths,
    conflict: &Conflict,
    choice: Option<&Choice>,
    selected: bool,
) -> Line<'a> {
    let cell = |text: &str, look: Style| Span::styled(padded(app, text, widths.value, false) + " ", look);
    let look = |side: &Choice| if choice == Some(side) && !selected { theme.accent() } else { Style::new() };
    let quiet = if selected { Style::new() } else { theme.quiet() };
    let value = |value: &Value| one_line(app, screen, conflict, value);
    let sides = [
        cell(&value(&conflict.base), quiet),
        cell(&unless_deleted(screen.deletes, || value(&conflict.mine)), look(&Choice::Mine)),
        cell(&unless_deleted(is_deleted_there(screen), || value(&conflict.theirs)), look(&Choice::Theirs)),
    ];
    let (sign, word, tone) = match choice {
        None => (Sign::NeedsYou, "choose", Tone::Alarm),
        Some(Choice::Mine) => (Sign::Done, "mine", Tone::Good),
        Some(Choice::Theirs) => (Sign::Done, "theirs", Tone::Good),
        Some(Choice::Value(_)) => (Sign::Done, "typed", Tone::Good),
    };
    let chosen = format!("{} {word}", sign.text(app.setup.ascii));
    let label = padded(app, &field_label(conflict.kind, &conflict.field), widths.label, false);
    let mut spans = vec![Span::styled(label + " ", quiet)];
    spans.extend(sides.into_iter().skip(3 - widths.values));
    let look = if selected { Style::new() } else { theme.tone(tone) };
    spans.push(Span::styled(padded(app, &chosen, CHOICE_WIDTH, false), look));
    Line::from(spans)
}

/// Draws the selected field in full, the value being typed, and the fault.
fn in_full(app: &App, screen: &ConflictScreen, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let Some((conflict, _)) = screen.fields.get(screen.selected) else { return };
    let columns = usize::from(area.width);
    let mut lines = messages(app, screen, columns);
    // An empty line above, and a line for the input even before the person types.
    let blank = usize::from(area.height > 3);
    let input = usize::from(area.height > 3 || screen.typing.is_some());
    let room = usize::from(area.height).saturating_sub(blank + input + lines.len());
    lines.extend(side_lines(app, screen, columns, room));
    let mut rest = rows(area).skip(blank);
    let input_row = if input > 0 { rest.next() } else { None };
    let cut = Sign::Cut.text(app.setup.ascii);
    if let (Some(line), Some(row)) = (&screen.typing, input_row) {
        // A line that no field can take has no label.
        let prompt = match &screen.typing_blocked {
            Some(_) => String::new(),
            None => fit(&field_label(conflict.kind, &conflict.field), (columns / 3).saturating_sub(2), cut) + "  ",
        };
        let used = u16::try_from(width(&prompt)).unwrap_or(0).min(row.width);
        frame.render_widget(Span::styled(prompt, theme.accent()), row);
        draw_input(line, Style::new(), frame, Rect { x: row.x + used, width: row.width - used, ..row });
    }
    for (row, (text, tone)) in rest.zip(lines) {
        frame.render_widget(Span::styled(fit(&text, columns, cut), theme.tone(tone)), row);
    }
}

/// The hint that all fields are chosen, and the fault.
fn messages(app: &App, screen: &ConflictScreen, columns: usize) -> Vec<(String, Tone)> {
    let mut lines = Vec::new();
    let is_complete = screen.fields.iter().all(|(_, choice)| choice.is_some());
    if is_complete && screen.typing.is_none() {
        let key = app.setup.keys.key_of(Context::Conflict, Action::Save).unwrap_or("?");
        lines.push((format!("All fields are chosen: {key} saves the decision."), Tone::Good));
    }
    if let Some(fault) = &screen.fault {
        let text = format!("{} {fault}", Sign::Fault.text(app.setup.ascii));
        lines.extend(wrap(&text, columns).into_iter().map(|line| (line, Tone::Alarm)));
    }
    lines
}

/// The values of the selected field, each over as many of `room` lines as its share allows.
fn side_lines(app: &App, screen: &ConflictScreen, columns: usize, room: usize) -> Vec<(String, Tone)> {
    let Some((conflict, choice)) = screen.fields.get(screen.selected) else { return Vec::new() };
    let is_typed = matches!(choice, Some(Choice::Value(_)));
    let full = |value: &Value| full_text(app, screen, conflict, value);
    let typed_tone = if is_typed { Tone::Good } else { Tone::Quiet };
    let typed = screen.drafts.get(&conflict.field).map(|value| ("Typed ", typed_tone, full(value)));
    let sides = [
        ("Mine  ", Tone::Quiet, unless_deleted(screen.deletes, || full(&conflict.mine))),
        ("Theirs", Tone::Quiet, unless_deleted(is_deleted_there(screen), || full(&conflict.theirs))),
        ("Before", Tone::Quiet, one_line(app, screen, conflict, &conflict.base)),
    ];
    let sides = typed.into_iter().chain(sides.into_iter().take(if columns < BEFORE_FROM { 3 } else { 2 }));
    let sides: Vec<_> = sides.map(|(word, tone, text)| (word, tone, wrap(&text, columns.saturating_sub(8)))).collect();
    let shares = shares(&sides.iter().map(|(.., parts)| parts.len()).collect::<Vec<_>>(), room);
    let mut lines = Vec::new();
    for ((word, tone, mut parts), share) in sides.into_iter().zip(shares) {
        if share < parts.len() {
            parts.truncate(share);
            let cut = Sign::Cut.text(app.setup.ascii);
            // Leave a column for the mark.
            let columns = columns.saturating_sub(8 + width(cut));
            parts.iter_mut().rev().take(1).for_each(|last| *last = fit(last, columns, "") + cut);
        }
        let lead = std::iter::once(word).chain(std::iter::repeat("      "));
        lines.extend(lead.zip(parts).map(|(word, line)| (format!("{word}  {line}"), tone)));
    }
    lines
}

/// Shares `room` lines among texts that want `wanted` lines each. Texts take lines in turn; a short text leaves its
/// unused share to the longer texts. Each text gets at least one line while lines are left.
fn shares(wanted: &[usize], room: usize) -> Vec<usize> {
    let mut shares = vec![0; wanted.len()];
    let mut room = room.max(wanted.len().min(1));
    while room > 0 {
        let before = room;
        for (share, wanted) in shares.iter_mut().zip(wanted) {
            if *share < *wanted && room > 0 {
                *share += 1;
                room -= 1;
            }
        }
        if room == before {
            break;
        }
    }
    shares
}

/// A value on one line.
fn one_line(app: &App, screen: &ConflictScreen, conflict: &Conflict, value: &Value) -> String {
    shown_value(conflict.kind, &conflict.field, Some(value), &screen.names, app.units(), app.setup.ascii)
}

/// A value with all its lines.
fn full_text(app: &App, screen: &ConflictScreen, conflict: &Conflict, value: &Value) -> String {
    match json_text(value) {
        text if text.contains('\n') => text,
        _ => one_line(app, screen, conflict, value),
    }
}

/// The value of a side, or `deleted` if the side has deleted the record.
fn unless_deleted(is_deleted: bool, value: impl FnOnce() -> String) -> String {
    if is_deleted { "deleted".to_owned() } else { value() }
}
