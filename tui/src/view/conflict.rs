//! A conflict: every field with what it was, what was written here, what the server has and what was chosen; under them the
//! field under the cursor in full.

use hearth_replica::{Choice, Conflict};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::{Theme, inset, padded, rows, scroll_bar, typing};
use crate::app::App;
use crate::keys::{Action, Context};
use crate::state::conflict::ConflictScreen;
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{fit, wrap};
use crate::words::{field_label, moment, plain, shown};

/// Columns of the field names.
const LABELS: usize = 18;
/// Columns of what was chosen.
const CHOSEN: usize = 9;
/// From this width on there is a column for what was before.
const NARROW: usize = 64;
/// Below this width there are no columns for values, only what stands under the fields.
const NARROWEST: usize = 40;
/// Below this many lines the fields have them all: no heading, and one line for each side under them.
const FLAT: u16 = 6;
/// Lines of the field in full, at least where there is room; it has the lines that the fields leave free, too.
const BELOW: u16 = 6;

pub(super) fn draw(app: &App, screen: &ConflictScreen, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let columns = usize::from(inner.width);
    let cut = Sign::Cut.text(app.setup.ascii);
    let Some((first, _)) = screen.fields.first() else {
        let settled = "Nothing stands against this change any more: saving sends it.";
        let text = screen.fault.as_deref().unwrap_or(if screen.is_loaded { settled } else { "" });
        frame.render_widget(Span::styled(fit(text, columns, cut), theme.quiet()), inner);
        return;
    };
    let gone = first.theirs_at.is_none();
    let since = first.theirs_at.as_deref().map(|at| moment(app.now, at)).unwrap_or_default();
    let heading = match (screen.deletes, gone) {
        (true, _) => format!("You deleted “{}”; it was changed on the server {since}", first.title),
        (false, true) => format!("You changed “{}”; it was deleted on the server", first.title),
        (false, false) => format!("“{}” was changed here and on the server ({since})", first.title),
    };
    let flat = inner.height < FLAT;
    if !flat {
        frame.render_widget(Span::styled(fit(&heading, columns, cut), theme.strong()), inner);
    }
    // A narrow screen shows what is to be chosen from; what was before stands under it.
    let narrow = columns < NARROW;
    let values = if columns < NARROWEST { 0 } else { 3 - usize::from(narrow) };
    let labels = if values == 0 { columns.saturating_sub(CHOSEN + 1) } else { LABELS.min(columns / 4) };
    let wide = columns.saturating_sub(labels + CHOSEN + 4) / values.max(1);
    let cell = |text: &str, look: Style| Span::styled(padded(app, text, wide, false) + " ", look);
    let above = if flat { 0 } else { 2 };
    let table = Rect { y: inner.y + above, height: inner.height.saturating_sub(above), ..inner };
    let below = if flat { table.height.saturating_sub(1) } else { BELOW.min(table.height / 2) };
    let list = Rect { height: table.height - below, ..table };
    let has_headings = !flat && values > 0;
    let mut lines = rows(list);
    if let Some(row) = has_headings.then(|| lines.next()).flatten() {
        let mut spans = vec![Span::raw(" ".repeat(labels + 1))];
        let headings = ["Before", "Mine", "Theirs"].into_iter().skip(usize::from(narrow));
        spans.extend(headings.map(|word| cell(word, theme.quiet())));
        frame.render_widget(Line::from(spans), row);
    }
    let fits = usize::from(list.height).saturating_sub(usize::from(has_headings)).max(1);
    let top = (screen.selected + 1).saturating_sub(fits);
    for (row, (index, (conflict, choice))) in lines.zip(screen.fields.iter().enumerate().skip(top)) {
        let selected = index == screen.selected;
        let is = |wanted: &Choice| choice.as_ref() == Some(wanted);
        let look = |chosen: bool| if chosen && !selected { theme.accent() } else { Style::new() };
        let label = padded(app, &field_label(conflict.kind, &conflict.field), labels, false);
        let quiet = if selected { Style::new() } else { theme.quiet() };
        let chosen = match choice {
            None => format!("{} choose", Sign::NeedsYou.text(app.setup.ascii)),
            Some(Choice::Mine) => format!("{} mine", Sign::Done.text(app.setup.ascii)),
            Some(Choice::Theirs) => format!("{} theirs", Sign::Done.text(app.setup.ascii)),
            Some(Choice::Value(_)) => format!("{} typed", Sign::Done.text(app.setup.ascii)),
        };
        let tone = if choice.is_none() { Tone::Alarm } else { Tone::Good };
        let mut spans = vec![Span::styled(label + " ", quiet)];
        let sides = [
            cell(&said(app, screen, conflict, &conflict.base), quiet),
            cell(&side(screen.deletes, || said(app, screen, conflict, &conflict.mine)), look(is(&Choice::Mine))),
            cell(&side(gone, || said(app, screen, conflict, &conflict.theirs)), look(is(&Choice::Theirs))),
        ];
        spans.extend(sides.into_iter().skip(3 - values));
        let look = if selected { Style::new() } else { theme.tone(tone) };
        spans.push(Span::styled(padded(app, &chosen, CHOSEN, false), look));
        frame.render_widget(Line::from(spans), row);
        if selected {
            frame.buffer_mut().set_style(row, theme.selected());
        }
    }
    scroll_bar(app, theme, frame, Rect { width: list.width + 1, ..list }, top, screen.fields.len());
    // Right under the fields, so that the eye has no way to go.
    let end = u16::try_from(screen.fields.len() - top).unwrap_or(u16::MAX);
    let end = end.saturating_add(u16::from(has_headings)).min(list.height);
    in_full(app, screen, gone, theme, frame, Rect { y: list.y + end, height: table.height - end, ..inner });
}

/// The field under the cursor as far as there is room, the value that is being typed, and what is wrong.
fn in_full(app: &App, screen: &ConflictScreen, gone: bool, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let Some((conflict, choice)) = screen.fields.get(screen.selected) else { return };
    let columns = usize::from(area.width);
    let mut lines: Vec<(String, Tone)> = Vec::new();
    if let Some(fault) = &screen.fault {
        let text = format!("{} {fault}", Sign::Fault.text(app.setup.ascii));
        lines.extend(wrap(&text, columns).into_iter().map(|line| (line, Tone::Alarm)));
    }
    let is_typed = matches!(choice, Some(Choice::Value(_)));
    let typed = screen.drafts.get(&conflict.field).map(|value| ("Typed ", full(app, screen, conflict, value)));
    let sides = [
        ("Mine  ", side(screen.deletes, || full(app, screen, conflict, &conflict.mine))),
        ("Theirs", side(gone, || full(app, screen, conflict, &conflict.theirs))),
        ("Before", said(app, screen, conflict, &conflict.base)),
    ];
    let sides = typed.into_iter().chain(sides.into_iter().take(if columns < NARROW { 3 } else { 2 }));
    let sides: Vec<_> = sides.map(|(word, text)| (word, wrap(&text, columns.saturating_sub(8)))).collect();
    let waiting = screen.fields.iter().filter(|(_, choice)| choice.is_none()).count();
    if waiting == 0 && screen.typing.is_none() {
        let key = app.setup.keys.key_of(Context::Conflict, Action::Save).unwrap_or("?");
        lines.insert(0, (format!("All is chosen: {key} settles it."), Tone::Good));
    }
    // A line apart, and one for what is typed, which is kept free for it where there is room.
    let blank = usize::from(area.height > 3);
    let typed = usize::from(area.height > 3 || screen.typing.is_some());
    let room = usize::from(area.height).saturating_sub(blank + typed + lines.len());
    let shares = shares(&sides.iter().map(|(_, parts)| parts.len()).collect::<Vec<_>>(), room);
    for ((word, mut parts), share) in sides.into_iter().zip(shares) {
        if share < parts.len() {
            parts.truncate(share);
            let cut = Sign::Cut.text(app.setup.ascii);
            // One column less than there are, so that the mark is always seen.
            let columns = columns.saturating_sub(8 + crate::words::sanitize::width(cut));
            parts.iter_mut().rev().take(1).for_each(|last| *last = fit(last, columns, "") + cut);
        }
        let lead = std::iter::once(word).chain(std::iter::repeat("      "));
        let tone = if word == "Typed " && is_typed { Tone::Good } else { Tone::Quiet };
        lines.extend(lead.zip(parts).map(|(word, line)| (format!("{word}  {line}"), tone)));
    }
    let mut at = rows(area).skip(blank);
    let place = if typed > 0 { at.next() } else { None };
    if let (Some(line), Some(row)) = (&screen.typing, place) {
        // A line that is in vain belongs to none of the fields.
        let prompt = match &screen.typing_blocked {
            Some(_) => String::new(),
            None => {
                let cut = Sign::Cut.text(app.setup.ascii);
                fit(&field_label(conflict.kind, &conflict.field), (columns / 3).saturating_sub(2), cut) + "  "
            }
        };
        let used = u16::try_from(crate::words::sanitize::width(&prompt)).unwrap_or(0).min(row.width);
        frame.render_widget(Span::styled(prompt, theme.accent()), row);
        typing(line, Style::new(), frame, Rect { x: row.x + used, width: row.width - used, ..row });
    }
    for (row, (text, tone)) in at.zip(lines) {
        frame.render_widget(Span::styled(fit(&text, columns, Sign::Cut.text(app.setup.ascii)), theme.tone(tone)), row);
    }
}

/// How many lines each of several texts has of those there are: what a short one does not need the longer ones have, and each
/// has one as long as there is one.
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
fn said(app: &App, screen: &ConflictScreen, conflict: &Conflict, value: &Value) -> String {
    shown(conflict.kind, &conflict.field, Some(value), &screen.names, app.setup.ascii)
}

/// A value with all its lines.
fn full(app: &App, screen: &ConflictScreen, conflict: &Conflict, value: &Value) -> String {
    match plain(value) {
        text if text.contains('\n') => text,
        _ => said(app, screen, conflict, value),
    }
}

/// What a side has in a field: nothing that could be kept by itself where it has deleted the record.
fn side(deleted: bool, value: impl FnOnce() -> String) -> String {
    if deleted { "deleted".to_owned() } else { value() }
}
