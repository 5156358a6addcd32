//! Draws the pending edits with state, age, the reason, and advice for the selected edit. Must not decide about an
//! edit.

use hearth_replica::{Edit, EditProgress, EditState, Method};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::theme::Theme;
use super::widgets::{inset, padded, rows, scroll_bar};
use crate::app::{App, Edits};
use crate::keys::{Action, Context};
use crate::now::Now;
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{fit, wrap};
use crate::words::{
    age, capital, changed_field, edit_progress, field_label, figure, method, shown_value, singular, with_labels,
};

/// The columns of the state.
const STATE_COLUMNS: usize = 14;
/// From this number of columns the list shows states and ages.
const STATES_FROM_COLUMNS: usize = 40;
/// The columns of the age.
const AGE_COLUMNS: usize = 7;

pub(super) fn draw(app: &App, screen: &Edits, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let columns = usize::from(inner.width);
    let cut = Sign::Cut.text(app.setup.ascii);
    let has_server = app.status.as_ref().is_some_and(|status| status.server.is_some());
    let heading = match (screen.is_loaded, screen.edits.len()) {
        (false, _) => String::new(),
        (true, 0) if app.is_local() => "Nothing waits: this home has no server.".into(),
        (true, number) if app.is_local() => {
            let s = if number == 1 { "" } else { "s" };
            format!("{} change{s} made here; nothing waits, because this home has no server", figure(number))
        }
        (true, 0) if has_server => "Nothing waits: the server has all changes of this device.".into(),
        (true, 0) => "Nothing waits.".into(),
        (true, 1) => "1 change is not yet confirmed by the server".into(),
        (true, number) => format!("{} changes are not yet confirmed by the server", figure(number)),
    };
    // A small screen shows only the list.
    let is_list_only = inner.height < 6 && !screen.edits.is_empty();
    if !is_list_only {
        frame.render_widget(Span::styled(fit(&heading, columns, cut), theme.quiet()), inner);
    }
    let Some(selected) = screen.edits.get(screen.selected) else { return };
    let words = explanation(app, screen, selected, columns);
    let (top, below) = match is_list_only {
        true => (0, 0),
        false => (2, u16::try_from(words.len() + 1).unwrap_or(0).min(inner.height / 2)),
    };
    let list = Rect { y: inner.y + top, height: inner.height.saturating_sub(top + below), ..inner };
    let fits = usize::from(list.height).max(1);
    let first = screen.selected.saturating_sub(fits - 1);
    for (row, (index, edit)) in rows(list).zip(screen.edits.iter().enumerate().skip(first)) {
        let (sign, tone) = look(app, edit);
        // A narrow list shows the sign of the state only. The text under the list names the state of the selected edit.
        let (state_columns, age_columns) =
            if columns < STATES_FROM_COLUMNS { (2, 0) } else { (STATE_COLUMNS, AGE_COLUMNS) };
        let sign = sign.text(app.setup.ascii);
        let state_text = if columns < STATES_FROM_COLUMNS {
            sign.to_owned()
        } else {
            let is_here = app.is_local() && edit.state == EditState::Waiting;
            let word = if is_here { "here" } else { edit_progress(EditProgress::Open(edit.state)).0 };
            format!("{sign} {word}")
        };
        let title_columns = columns.saturating_sub(state_columns + age_columns + 3);
        let state = padded(app, &state_text, state_columns, false);
        let text = padded(
            app,
            &format!("{} {}: {}", method(edit.method), singular(edit.kind), edit.title),
            title_columns,
            false,
        );
        let old = padded(app, &age(now, &edit.created_at), age_columns, true);
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
    // The explanation follows directly after the list.
    let end = u16::try_from(screen.edits.len() - first).unwrap_or(u16::MAX).min(list.height);
    let place = Rect { y: list.y + end + u16::from(below > 0), height: below.saturating_sub(1), ..inner };
    for (row, (text, tone)) in rows(place).zip(words) {
        frame.render_widget(Span::styled(text, theme.tone(tone)), row);
    }
}

fn look(app: &App, edit: &Edit) -> (Sign, Tone) {
    match edit.state {
        EditState::Waiting if app.is_local() => (Sign::Local, Tone::Quiet),
        EditState::Waiting => (Sign::Waiting, Tone::Notice),
        EditState::Sending | EditState::Sent => (Sign::Working, Tone::Notice),
        _ => (Sign::NeedsYou, Tone::Alarm),
    }
}

/// The explanation of an edit: why the edit is stuck, the next keys, the number of tries, the changed fields.
fn explanation(app: &App, screen: &Edits, edit: &Edit, columns: usize) -> Vec<(String, Tone)> {
    let tone = look(app, edit).1;
    let mut out = Vec::new();
    for sentence in reasons(screen, edit) {
        let mut sentence = capital(&with_labels(edit.kind, &sentence));
        if !sentence.ends_with(['.', '!', '?']) {
            sentence.push('.');
        }
        out.extend(wrap(&sentence, columns).into_iter().map(|text| (text, tone)));
    }
    let key = |action| app.setup.keys.key_of(Context::Edits, action).unwrap_or("?").to_owned();
    let advice = match edit.state {
        EditState::Conflict => format!("{} shows both values, and you decide.", key(Action::Open)),
        EditState::Rejected if edit.method == Method::Delete => {
            format!("{} discards the change.", key(Action::Discard))
        }
        EditState::Rejected => {
            format!("{} enters other values, {} discards the change.", key(Action::Edit), key(Action::Discard))
        }
        _ => String::new(),
    };
    if !advice.is_empty() {
        out.extend(wrap(&advice, columns).into_iter().map(|text| (text, Tone::Plain)));
    }
    if edit.attempts > 1 {
        out.push((format!("Tried {} times.", edit.attempts), Tone::Quiet));
    }
    let (names, units, ascii) = (&screen.names, app.units(), app.setup.ascii);
    for (name, value) in edit.patch.iter().filter(|(_, value)| edit.method != Method::Create || !value.is_null()) {
        let text = match edit.method {
            Method::Update => changed_field(edit.kind, name, (edit.base.get(name), value), names, units, ascii),
            _ => {
                let value = shown_value(edit.kind, name, Some(value), names, units, ascii);
                format!("{}: {value}", field_label(edit.kind, name))
            }
        };
        out.push((fit(&text, columns, Sign::Cut.text(ascii)), Tone::Quiet));
    }
    out
}

/// Why an edit is stuck, each sentence once: the reason of the replica, the message of the server, and the server's
/// advice. Advice about single fields is meant for programs and left out.
fn reasons(screen: &Edits, edit: &Edit) -> Vec<String> {
    let member = |name: &str| edit.problem.as_ref().and_then(|problem| problem.get(name));
    let word = |name: &str| member(name).and_then(Value::as_str).map(str::to_owned);
    let of_fields = member("details").and_then(|details| details.get("fields")).is_some();
    let mut all: Vec<String> = Vec::new();
    for sentence in [edit.reason.clone(), word("message"), word("fix").filter(|_| !of_fields)].into_iter().flatten() {
        let sentence = name_edit(screen, &sentence);
        if all.iter().all(|other| other.trim_end_matches('.') != sentence.trim_end_matches('.')) {
            all.push(sentence);
        }
    }
    all
}

/// The sentence with `edit 12` replaced by the title of the record, if the edit is in the list. The replica's sentence
/// names another edit by number, as its commands do, so the text is searched for the number. Only the display depends on
/// the search: a sentence without a match is shown unchanged.
fn name_edit(screen: &Edits, sentence: &str) -> String {
    let mut parts = sentence.splitn(2, "edit ");
    let (Some(before), Some(rest)) = (parts.next(), parts.next()) else { return sentence.to_owned() };
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let number = rest[..digits].parse::<i64>().ok();
    match number.and_then(|number| screen.edits.iter().find(|edit| edit.id == number)) {
        Some(edit) => format!("{before}the change of “{}”{}", edit.title, &rest[digits..]),
        None => sentence.to_owned(),
    }
}
