//! A conflict: every field with what it was, what was written here, what the server has and what was chosen; under them the
//! field under the cursor in full.

use hearth_replica::Choice;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::{Theme, inset, padded, rows, scroll_bar, typing};
use crate::app::App;
use crate::conflict::ConflictScreen;
use crate::glyphs::{Sign, Tone};
use crate::sanitize::{fit, wrap};
use crate::words::{self, moment, plain};

/// Columns of the field names.
const LABELS: usize = 18;
/// Columns of what was chosen.
const CHOSEN: usize = 9;
/// Lines of the field in full.
const BELOW: u16 = 6;

pub(super) fn draw(app: &App, screen: &ConflictScreen, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let columns = usize::from(inner.width);
    let cut = Sign::Cut.text(app.setup.ascii);
    let Some((first, _)) = screen.fields.first() else {
        let text = if screen.loaded { "This conflict is settled by now." } else { "" };
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
    frame.render_widget(Span::styled(fit(&heading, columns, cut), theme.strong()), inner);
    let labels = LABELS.min(columns / 4);
    let wide = columns.saturating_sub(labels + CHOSEN + 4) / 3;
    let cell = |text: &str, look: Style| Span::styled(padded(app, text, wide, false) + " ", look);
    let table = Rect { y: inner.y + 2.min(inner.height), height: inner.height.saturating_sub(2), ..inner };
    let below = BELOW.min(table.height / 2);
    let list = Rect { height: table.height - below, ..table };
    let mut lines = rows(list);
    if let Some(row) = lines.next() {
        let mut spans = vec![Span::raw(" ".repeat(labels + 1))];
        spans.extend(["Before", "Mine", "Theirs"].map(|word| cell(word, theme.quiet())));
        frame.render_widget(Line::from(spans), row);
    }
    let fits = usize::from(list.height).saturating_sub(1).max(1);
    let top = (screen.selected + 1).saturating_sub(fits);
    for (row, (index, (conflict, choice))) in lines.zip(screen.fields.iter().enumerate().skip(top)) {
        let selected = index == screen.selected;
        let is = |wanted: &Choice| choice.as_ref() == Some(wanted);
        let look = |chosen: bool| if chosen && !selected { theme.accent() } else { Style::new() };
        let label = padded(app, &label(conflict.kind, &conflict.field), labels, false);
        let quiet = if selected { Style::new() } else { theme.quiet() };
        let chosen = match choice {
            None => format!("{} choose", Sign::NeedsYou.text(app.setup.ascii)),
            Some(Choice::Mine) => format!("{} mine", Sign::Done.text(app.setup.ascii)),
            Some(Choice::Theirs) => format!("{} theirs", Sign::Done.text(app.setup.ascii)),
            Some(Choice::Value(_)) => format!("{} typed", Sign::Done.text(app.setup.ascii)),
        };
        let tone = if choice.is_none() { Tone::Alarm } else { Tone::Good };
        let spans = vec![
            Span::styled(label + " ", quiet),
            cell(&said(app, &conflict.base), quiet),
            cell(&said(app, &conflict.mine), look(is(&Choice::Mine))),
            cell(&theirs(app, gone, &conflict.theirs), look(is(&Choice::Theirs))),
            Span::styled(padded(app, &chosen, CHOSEN, false), if selected { Style::new() } else { theme.tone(tone) }),
        ];
        frame.render_widget(Line::from(spans), row);
        if selected {
            frame.buffer_mut().set_style(row, theme.selected());
        }
    }
    scroll_bar(app, theme, frame, Rect { width: list.width + 1, ..list }, top, screen.fields.len());
    in_full(app, screen, gone, theme, frame, Rect { y: list.bottom(), height: below, ..inner });
}

/// The field under the cursor without cuts, the value that is being typed, and what is wrong.
fn in_full(app: &App, screen: &ConflictScreen, gone: bool, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let Some((conflict, choice)) = screen.fields.get(screen.selected) else { return };
    let columns = usize::from(area.width);
    let mut lines: Vec<(String, Tone)> = Vec::new();
    if let Some(fault) = &screen.fault {
        let text = format!("{} {fault}", Sign::Fault.text(app.setup.ascii));
        lines.extend(wrap(&text, columns).into_iter().map(|line| (line, Tone::Alarm)));
    }
    if let Some(Choice::Value(value)) = choice {
        lines.push((format!("typed: {}", said(app, value)), Tone::Good));
    }
    for (word, text) in [("mine", said(app, &conflict.mine)), ("theirs", theirs(app, gone, &conflict.theirs))] {
        let parts = wrap(&format!("{word}: {text}"), columns);
        lines.extend(parts.into_iter().take(2).map(|line| (line, Tone::Quiet)));
    }
    let mut at = rows(area).skip(usize::from(area.height > 3));
    if let (Some(line), Some(row)) = (&screen.typing, at.next()) {
        let prompt = format!("{}  ", label(conflict.kind, &conflict.field));
        let prompt = fit(&prompt, columns / 3, "");
        let used = u16::try_from(crate::sanitize::width(&prompt)).unwrap_or(0).min(row.width);
        frame.render_widget(Span::styled(prompt, theme.accent()), row);
        typing(line, Style::new(), frame, Rect { x: row.x + used, width: row.width - used, ..row });
    }
    for (row, (text, tone)) in at.zip(lines) {
        frame.render_widget(Span::styled(fit(&text, columns, Sign::Cut.text(app.setup.ascii)), theme.tone(tone)), row);
    }
}

fn label(kind: hearth_contract::schema::Kind, field: &str) -> String {
    hearth_contract::resources::resource(kind).field(field).map_or_else(|| words::choice(field), words::label)
}

fn said(app: &App, value: &Value) -> String {
    match plain(value) {
        text if text.is_empty() => Sign::Unset.text(app.setup.ascii).to_owned(),
        text => text,
    }
}

fn theirs(app: &App, gone: bool, value: &Value) -> String {
    if gone { "deleted".to_owned() } else { said(app, value) }
}
