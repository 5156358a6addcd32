//! Draws the inbox: the captures with their state; or one draft with field, value and why. Must not decide about a capture.

use hearth_contract::schema::Kind;
use hearth_replica::{Capture, CaptureState, Draft};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::theme::Theme;
use super::widgets::{draw_input, inset, padded, rows, scroll_bar};
use crate::app::App;
use crate::keys::{Action, Context};
use crate::now::Now;
use crate::state::inbox::{Inbox, OpenCapture, SameRecord};
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{clean_line, fit, width};
use crate::words::{age, field_label, shown_value, singular};

/// The columns of the state.
const STATE_COLUMNS: usize = 13;
/// The columns of the age.
const AGE_COLUMNS: usize = 7;
/// The most columns of the field names.
const LABEL_COLUMNS_MAX: usize = 18;
/// From this number of columns a line tells why, beside the value.
const WHY_FROM_COLUMNS: usize = 50;

pub(super) fn draw(app: &App, inbox: &Inbox, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    match &inbox.open {
        Some(open) => draw_open(app, inbox, open, theme, frame, area),
        None => draw_list(app, inbox, now, theme, frame, area),
    }
}

fn draw_list(app: &App, inbox: &Inbox, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let columns = usize::from(inner.width);
    let ready = inbox.captures.iter().filter(|capture| capture.state == CaptureState::Ready).count();
    let heading = match (inbox.is_loaded, inbox.captures.len(), ready) {
        (false, ..) => String::new(),
        (true, 0, _) => "No drafts wait. hearth-replica capture PHOTO makes some.".to_owned(),
        (true, _, 0) => "No drafts wait for your decision".to_owned(),
        (true, _, 1) => "1 capture waits for your decision".to_owned(),
        (true, _, ready) => format!("{ready} captures wait for your decision"),
    };
    let below = heading_and_rest(app, theme, frame, inner, &heading);
    let list = Rect { height: below.height.saturating_sub(2), ..below };
    let top = (inbox.selected + 1).saturating_sub(usize::from(list.height).max(1));
    for (row, (index, capture)) in rows(list).zip(inbox.captures.iter().enumerate().skip(top)) {
        let is_selected = index == inbox.selected;
        let (sign, word, tone) = look(capture);
        let state = padded(app, &format!("{} {word}", sign.text(app.setup.ascii)), STATE_COLUMNS, false);
        let title = padded(app, &capture.title(), columns.saturating_sub(STATE_COLUMNS + AGE_COLUMNS + 2), false);
        let old = padded(app, &age(now, &capture.created_at), AGE_COLUMNS, true);
        let style = if is_selected { Default::default() } else { theme.tone(tone) };
        let spans = vec![Span::styled(state, style), Span::raw(" "), Span::raw(title), Span::raw(old)];
        frame.render_widget(Line::from(spans), row);
        if is_selected {
            frame.buffer_mut().set_style(row, theme.selected());
        }
    }
    scroll_bar(app, theme, frame, Rect { width: list.width + 1, ..list }, top, inbox.captures.len());
    let why = inbox.current().and_then(Capture::why).map(clean_line).unwrap_or_default();
    let last = Rect { y: list.y + list.height, height: below.height - list.height, ..below };
    for (row, text) in rows(last).skip(1).zip([why]) {
        let text = fit(&text, columns, Sign::Cut.text(app.setup.ascii));
        frame.render_widget(Span::styled(text, theme.tone(Tone::Notice)), row);
    }
}

/// Draws a heading, and returns the area under it. A small screen has no heading.
fn heading_and_rest(app: &App, theme: &Theme, frame: &mut Frame<'_>, inner: Rect, heading: &str) -> Rect {
    let above = if inner.height < 6 { 0 } else { 2 };
    if above > 0 {
        let text = fit(heading, inner.width.into(), Sign::Cut.text(app.setup.ascii));
        frame.render_widget(Span::styled(text, theme.quiet()), inner);
    }
    Rect { y: inner.y + above, height: inner.height.saturating_sub(above), ..inner }
}

fn look(capture: &Capture) -> (Sign, &'static str, Tone) {
    match capture.state {
        CaptureState::Waiting => (Sign::Waiting, "not sent", Tone::Notice),
        CaptureState::Queued | CaptureState::Running => (Sign::Working, "is read", Tone::Notice),
        CaptureState::Ready => (Sign::NeedsYou, "decide", Tone::Alarm),
        CaptureState::Failed => (Sign::Fault, "failed", Tone::Alarm),
        CaptureState::Accepted | CaptureState::Discarded | CaptureState::Expired => {
            (Sign::Done, capture.state.as_str(), Tone::Quiet)
        }
    }
}

fn draw_open(app: &App, inbox: &Inbox, open: &OpenCapture, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let (Some(capture), Some(draft)) = (inbox.current(), inbox.draft()) else { return };
    let same = inbox.same_record();
    let what = match (&draft.id, draft.kind) {
        (Some(_), kind) => format!("Change of the {}", singular(kind)),
        (None, kind) if same.as_ref().is_some_and(|same| same.is_changed) => {
            format!("Change of the {}", singular(kind))
        }
        (None, Kind::Document) => "Document".to_owned(),
        (None, kind) => format!("New {}", singular(kind)),
    };
    let number = match capture.drafts.len() {
        1 => String::new(),
        all => format!(", draft {} of {all}", open.draft + 1),
    };
    let same = same.map(|same| same_words(app, &same)).unwrap_or_default();
    let below = heading_and_rest(app, theme, frame, inner, &format!("{what} by the {}{number}{same}", draft.source));
    let fields = inbox.fields();
    let list = Rect { height: below.height.saturating_sub(3).max(1), ..below };
    let top = (open.selected + 1).saturating_sub(usize::from(list.height));
    for (row, (index, (name, value))) in rows(list).zip(fields.iter().enumerate().skip(top)) {
        frame.render_widget(field_line(app, inbox, theme, row.width, (name, value), index == open.selected), row);
        if index == open.selected {
            frame.buffer_mut().set_style(row, theme.selected());
        }
    }
    scroll_bar(app, theme, frame, Rect { width: list.width + 1, ..list }, top, fields.len());
    let used = u16::try_from(fields.len() - top.min(fields.len())).unwrap_or(u16::MAX).min(list.height);
    let last = Rect { y: list.y + used, height: below.height - used, ..below };
    draw_below(app, inbox, open, theme, frame, last);
}

/// The record that may be the same, why, and the key for the other choice.
fn same_words(app: &App, same: &SameRecord) -> String {
    let why = match same.why.as_str() {
        "same_serial" => "same serial number",
        "same_barcode" => "same bar code",
        _ => "looks like it",
    };
    let key = app.setup.keys.key_of(Context::Inbox, Action::NewOrKnown).unwrap_or("?");
    let name = clean_line(&same.name);
    match same.is_changed {
        true => format!(": {name} ({why}); {key} makes a new one"),
        false => format!("; perhaps you have it: {name} ({why}); {key} changes that"),
    }
}

/// A field of a draft: whether it is taken, its name, its value, and why.
fn field_line<'a>(
    app: &App,
    inbox: &Inbox,
    theme: &Theme,
    columns: u16,
    (name, value): (&str, &Value),
    is_selected: bool,
) -> Line<'a> {
    let Some(draft) = inbox.draft() else { return Line::default() };
    let columns = usize::from(columns);
    let is_taken = inbox.is_marked(name) && !value.is_null();
    let why_columns = if columns < WHY_FROM_COLUMNS { 0 } else { columns / 3 };
    let label_columns = LABEL_COLUMNS_MAX.min(columns / 4);
    let sign = if is_taken { Sign::Done.text(app.setup.ascii) } else { " " };
    let label = padded(app, &field_label(draft.kind, name), label_columns, false);
    let shown = shown_value(draft.kind, name, Some(value), &inbox.known.titles, app.units(), app.setup.ascii);
    let shown = padded(app, &shown, columns.saturating_sub(label_columns + why_columns + 4), false);
    let why = if why_columns > 0 { padded(app, &why(app, inbox, name), why_columns, false) } else { String::new() };
    let tone = if is_typed(inbox, name) || draft.confidence(name) == "certain" { Tone::Good } else { Tone::Notice };
    let plain = is_selected || !is_taken;
    Line::from(vec![
        Span::raw(format!("{sign} ")),
        Span::styled(label + " ", if is_selected { Style::new() } else { theme.quiet() }),
        Span::styled(shown + " ", if is_taken { Style::new() } else { theme.quiet() }),
        Span::styled(why, if plain { Style::new() } else { theme.tone(tone) }),
    ])
}

/// Under the fields: the value that is being typed, or why the draft proposes the value, and what to press.
fn draw_below(app: &App, inbox: &Inbox, open: &OpenCapture, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let cut = Sign::Cut.text(app.setup.ascii);
    let (Some(draft), name) = (inbox.draft(), inbox.fields().get(open.selected).map(|(name, _)| *name)) else { return };
    let key = |action| app.setup.keys.key_of(Context::Inbox, action).unwrap_or("?");
    let advice = format!(
        "{} accepts, {} leaves a field out, {} types another value.",
        key(Action::Save),
        key(Action::Mark),
        key(Action::Typed)
    );
    let why = (
        name.map(|name| why(app, inbox, name)).unwrap_or_else(|| "The record has all values of this draft.".to_owned()),
        Tone::Plain,
    );
    let fault =
        open.fault.as_ref().map(|fault| (format!("{} {fault}", Sign::Fault.text(app.setup.ascii)), Tone::Alarm));
    let texts = match (&open.typing, fault) {
        (Some(_), fault) => vec![fault.unwrap_or(why)],
        (None, fault) => vec![why, fault.unwrap_or((advice, Tone::Quiet))],
    };
    let mut lines = rows(area).skip(1);
    if let Some(line) = &open.typing {
        let Some(row) = lines.next() else { return };
        let label = name.map(|name| field_label(draft.kind, name)).unwrap_or_default();
        let prompt = fit(&label, usize::from(row.width / 3).saturating_sub(2), cut) + "  ";
        let used = u16::try_from(width(&prompt)).unwrap_or(0).min(row.width);
        frame.render_widget(Span::styled(prompt, theme.accent()), row);
        draw_input(line, Style::new(), frame, Rect { x: row.x + used, width: row.width - used, ..row });
    }
    for (row, (text, tone)) in lines.zip(texts) {
        let text = fit(&text, row.width.into(), cut);
        frame.render_widget(Span::styled(text, theme.tone(tone)), row);
    }
}

/// Whether the person has typed the value of a field.
fn is_typed(inbox: &Inbox, field: &str) -> bool {
    inbox.choice().is_some_and(|choice| choice.typed.contains_key(field))
}

/// The value that the record has now, and why a draft proposes another one: how sure it is, where it was found, and the words that were
/// read.
fn why(app: &App, inbox: &Inbox, field: &str) -> String {
    let Some(draft) = inbox.draft() else { return String::new() };
    let proposed = why_proposed(inbox, draft, field);
    let Some(stored) = inbox.stored_value(field) else { return proposed };
    let stored = shown_value(draft.kind, field, Some(stored), &inbox.known.titles, app.units(), app.setup.ascii);
    format!("now {}; {proposed}", clean_line(&stored))
}

fn why_proposed(inbox: &Inbox, draft: &Draft, field: &str) -> String {
    if is_typed(inbox, field) {
        return "typed by you".to_owned();
    }
    if !draft.fields.contains_key(field) {
        return "not read: type it".to_owned();
    }
    let (from, read) = draft.source_of(field);
    let from = match from {
        "" => String::new(),
        "home" => ", from this home".to_owned(),
        "equation" => ", the sums agree".to_owned(),
        from => format!(", in the {from}"),
    };
    let read = clean_line(read);
    let read = if read.is_empty() { String::new() } else { format!(": {read}") };
    format!("{}{from}{read}", draft.confidence(field))
}
