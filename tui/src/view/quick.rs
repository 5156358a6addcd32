//! Quick add: the line being typed and, under it, the task it makes.

use hearth_contract::formats::parse_date;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Theme, rows, typing, window};
use crate::app::{App, QuickLine};
use crate::typed::quick;
use crate::words;
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{fit, folded, wrap};

pub(super) fn draw(app: &App, line: &QuickLine, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let wide = area.width.min(84);
    // Within the window's edge and its padding.
    let columns = usize::from(wide).saturating_sub(4);
    let texts = texts(app, line, theme, columns);
    // Beside what is said there are the edge, the line and the gap under it.
    let needed = 4 + texts.iter().map(|(text, _)| wrap(text, columns).len()).sum::<usize>();
    let tall = area.height.min(u16::try_from(needed).unwrap_or(u16::MAX).max(7));
    let y = area.y + (area.height - tall) / 3;
    let place = Rect { x: area.x + (area.width - wide) / 2, y, width: wide, height: tall };
    let inside = window(app, theme, frame, place);
    let prompt = if inside.width > 30 { "New task  " } else { "" };
    let used = u16::try_from(prompt.len()).unwrap_or(0);
    let first = Rect { height: inside.height.min(1), ..inside };
    frame.render_widget(Span::styled(prompt, theme.quiet()), first);
    typing(&line.line, theme.accent(), frame, Rect { x: first.x + used, width: first.width - used, ..first });
    let gap = if inside.height > 3 { 2 } else { 1 };
    let below = Rect { y: inside.y + gap, height: inside.height.saturating_sub(gap), ..inside };
    let mut lines = Vec::new();
    for (text, style) in texts {
        let free = usize::from(below.height) - lines.len();
        let parts = folded(&text, below.width.into(), free, Sign::Cut.text(app.setup.ascii));
        lines.extend(parts.into_iter().map(|part| Line::styled(part, style)));
    }
    for (row, text) in rows(below).zip(lines) {
        frame.render_widget(text, row);
    }
}

/// What stands under the line, what is wrong first: where there is no room for all, that is seen.
fn texts(app: &App, line: &QuickLine, theme: &Theme, columns: usize) -> Vec<(String, Style)> {
    let mut texts = Vec::new();
    let fault = line.refusal.as_ref().or(line.understood.faults.first());
    if let Some(fault) = fault {
        texts.push((format!("{} {fault}", Sign::Fault.text(app.setup.ascii)), theme.tone(Tone::Alarm)));
    }
    if line.saving.is_some() {
        texts.push(("Saving".to_owned(), theme.quiet()));
    }
    // What is not understood as something else is in the title, where it is seen.
    let title = words::text(&line.understood.fields, "title").unwrap_or_default();
    if !title.is_empty() {
        let title = fit(title, columns.saturating_sub(2), Sign::Cut.text(app.setup.ascii));
        texts.push((format!("“{title}”"), Style::new()));
    }
    let said = said(app, line);
    texts.push((if said.is_empty() { format!("such as: {}", quick::HOW) } else { said }, theme.quiet()));
    texts
}

/// What the line is understood to say, beside the title.
fn said(app: &App, line: &QuickLine) -> String {
    let fields = &line.understood.fields;
    let text = |name| words::text(fields, name);
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
        (None, Some(name)) => parts.push(format!("about {name}: nothing here is called so")),
        (None, None) => {}
    }
    parts.join(&format!(" {} ", Sign::Dot.text(app.setup.ascii)))
}
