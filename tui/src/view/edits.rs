//! The edits that wait, with their state and the server's words.

use hearth_replica::Edit;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::{Theme, inset, padded, rows, scroll_bar};
use crate::app::{App, Edits};
use crate::glyphs::{Sign, Tone};
use crate::now::Now;
use crate::sanitize::{fit, wrap};
use crate::words::{age, changed, choice, edit_state, method, plain, singular};

/// Columns of the state.
const STATE: usize = 14;
/// Columns of the age.
const AGE: usize = 7;

pub(super) fn draw(app: &App, screen: &Edits, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let columns = usize::from(inner.width);
    let cut = Sign::Cut.text(app.setup.ascii);
    let heading = match (screen.loaded, screen.edits.len()) {
        (false, _) => String::new(),
        (true, 0) => "Nothing waits: the server has everything that was done here.".into(),
        (true, 1) => "1 change has not been confirmed by the server".into(),
        (true, number) => format!("{number} changes have not been confirmed by the server"),
    };
    frame.render_widget(Span::styled(fit(&heading, columns, cut), theme.quiet()), inner);
    let Some(selected) = screen.edits.get(screen.selected) else { return };
    let words = said(app, selected, columns);
    let below = u16::try_from(words.len() + 1).unwrap_or(0).min(inner.height / 2);
    let top = 2.min(inner.height);
    let list = Rect { y: inner.y + top, height: inner.height.saturating_sub(top + below), ..inner };
    let fits = usize::from(list.height).max(1);
    let first = screen.selected.saturating_sub(fits - 1);
    for (row, (index, edit)) in rows(list).zip(screen.edits.iter().enumerate().skip(first)) {
        let (sign, tone) = look(edit);
        let state = padded(
            app,
            &format!("{} {}", sign.text(app.setup.ascii), edit_state(&edit.state).0),
            STATE.min(columns),
            false,
        );
        let what = columns.saturating_sub(STATE + AGE + 3);
        let text =
            padded(app, &format!("{} {}: {}", method(&edit.method), singular(edit.kind), edit.title), what, false);
        let old = padded(app, &age(now, &edit.created_at), AGE, true);
        let is_selected = index == screen.selected;
        let style = if is_selected { Default::default() } else { theme.tone(tone) };
        frame.render_widget(
            Line::from(vec![Span::styled(state, style), Span::raw(" "), Span::raw(text), Span::raw(old)]),
            row,
        );
        if is_selected {
            frame.buffer_mut().set_style(row, theme.selected());
        }
    }
    scroll_bar(app, theme, frame, Rect { width: list.width + 1, ..list }, first, screen.edits.len());
    let place = Rect { y: list.bottom() + u16::from(below > 0), height: below.saturating_sub(1), ..inner };
    for (row, (text, tone)) in rows(place).zip(words) {
        frame.render_widget(Span::styled(text, theme.tone(tone)), row);
    }
}

fn look(edit: &Edit) -> (Sign, Tone) {
    match edit.state.as_str() {
        "waiting" => (Sign::Waiting, Tone::Notice),
        "sending" | "sent" => (Sign::Working, Tone::Notice),
        _ => (Sign::NeedsYou, Tone::Alarm),
    }
}

/// What can be said about an edit: why it does not go on, in the server's words, and what it changes.
fn said(app: &App, edit: &Edit, columns: usize) -> Vec<(String, Tone)> {
    let mut out = Vec::new();
    let problem = edit.problem.as_ref();
    let word = |name: &str| problem.and_then(|problem| problem.get(name)).and_then(Value::as_str).map(str::to_owned);
    for sentence in [edit.reason.clone(), word("message"), word("fix")].into_iter().flatten() {
        out.extend(wrap(&sentence, columns).into_iter().map(|text| (text, look(edit).1)));
    }
    if edit.attempts > 0 {
        out.push((format!("Tried {} times.", edit.attempts).replace("1 times", "once"), Tone::Quiet));
    }
    for (name, value) in edit.patch.iter().filter(|(_, value)| edit.method != "create" || !value.is_null()) {
        let text = match edit.method.as_str() {
            "update" => changed(edit.kind, name, edit.base.get(name), value, app.setup.ascii),
            _ => format!("{}: {}", choice(name), plain(value)),
        };
        out.push((fit(&text, columns, Sign::Cut.text(app.setup.ascii)), Tone::Quiet));
    }
    out
}
