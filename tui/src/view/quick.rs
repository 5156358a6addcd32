//! Draws quick add: the line being typed and, under the line, the resulting task. Must not parse the line.

use hearth_contract::formats::parse_date;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::widgets::{draw_input, key_of, rows, window};
use crate::app::{App, QuickLine};
use crate::keys::{Action, Context};
use crate::parse::quick;
use crate::words;
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{fit, wrap, wrap_max};

pub(super) fn draw(app: &App, line: &QuickLine, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let wide = area.width.min(84);
    // The border and the padding take four columns.
    let columns = usize::from(wide).saturating_sub(4);
    let texts = texts(app, line, theme, columns);
    // Four more lines: two for the border, one for the input, one empty.
    let needed = 4 + texts.iter().map(|(text, _)| wrap(text, columns).len()).sum::<usize>();
    let tall = area.height.min(u16::try_from(needed).unwrap_or(u16::MAX).max(7));
    let y = area.y + (area.height - tall) / 3;
    let place = Rect { x: area.x + (area.width - wide) / 2, y, width: wide, height: tall };
    let inside = window(app, theme, frame, place);
    let prompt = if inside.width > 30 { "New task  " } else { "" };
    let used = u16::try_from(prompt.len()).unwrap_or(0);
    let first = Rect { height: inside.height.min(1), ..inside };
    frame.render_widget(Span::styled(prompt, theme.quiet()), first);
    draw_input(&line.line, theme.accent(), frame, Rect { x: first.x + used, width: first.width - used, ..first });
    let gap = if inside.height > 3 { 2 } else { 1 };
    let below = Rect { y: inside.y + gap, height: inside.height.saturating_sub(gap), ..inside };
    let mut lines = Vec::new();
    for (text, style) in texts {
        let free = usize::from(below.height) - lines.len();
        let parts = wrap_max(&text, below.width.into(), free, Sign::Cut.text(app.setup.ascii));
        lines.extend(parts.into_iter().map(|part| Line::styled(part, style)));
    }
    for (row, text) in rows(below).zip(lines) {
        frame.render_widget(text, row);
    }
}

/// The texts under the line, the fault first: on a small screen the fault stays visible.
fn texts(app: &App, line: &QuickLine, theme: &Theme, columns: usize) -> Vec<(String, Style)> {
    let mut texts = Vec::new();
    let fault = line.refusal.as_ref().or(line.understood.faults.first());
    if let Some(fault) = fault {
        texts.push((format!("{} {fault}", Sign::Fault.text(app.setup.ascii)), theme.tone(Tone::Alarm)));
    }
    if line.saving.is_some() {
        texts.push(("Saving".to_owned(), theme.quiet()));
    }
    // The title shows every word that is no field of the task.
    let title = words::text_field(&line.understood.fields, "title").unwrap_or_default();
    if !title.is_empty() {
        let title = fit(title, columns.saturating_sub(2), Sign::Cut.text(app.setup.ascii));
        texts.push((format!("“{title}”"), Style::new()));
    }
    let summary = summary(app, line);
    let example = || format!("such as: {}", quick::EXAMPLE);
    texts.push((if summary.is_empty() { example() } else { summary }, theme.quiet()));
    texts.extend(unknown_person(app, line).map(|text| (text, theme.tone(Tone::Notice))));
    texts
}

/// The sentence about a `+name` that is no person, with the key that makes the name a person.
fn unknown_person(app: &App, line: &QuickLine) -> Option<String> {
    let name = line.understood.unknown_person.as_deref()?;
    let offer = key_of(app, Context::Quick, Action::Assign).map(|key| format!(" {key} makes {name} the assignee."));
    Some(format!("+{name} stays in the title: nobody is called {name} yet.{}", offer.unwrap_or_default()))
}

/// The parsed fields of the task, without the title.
fn summary(app: &App, line: &QuickLine) -> String {
    let fields = &line.understood.fields;
    let text = |name| words::text_field(fields, name);
    let mut parts = Vec::new();
    parts.extend(text("priority").map(|word| format!("{word} priority")));
    let due = text("due_on").and_then(parse_date);
    parts.extend(due.map(|date| format!("due {}", words::day(app.today, date))));
    parts.extend(text("recurrence").map(str::to_owned));
    parts.extend(text("assignee").map(|name| format!("for {name}")));
    parts.extend(text("estimated_cost").map(|sum| format!("costs {sum}")));
    match (&line.about, &line.understood.about) {
        (Some((_, _, title)), _) => parts.push(format!("about {}", fit(title, 40, Sign::Cut.text(app.setup.ascii)))),
        (None, Some(name)) if line.is_looking_up => parts.push(format!("about {name}")),
        (None, Some(name)) => parts.push(format!("about {name}: no record has this name")),
        (None, None) => {}
    }
    parts.join(&format!(" {} ", Sign::Dot.text(app.setup.ascii)))
}
