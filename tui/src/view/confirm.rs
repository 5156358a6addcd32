//! Draws a question before data is lost: the question, the consequence and the keys. Must not decide the answer.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::theme::Theme;
use super::widgets::window;
use crate::app::{App, Confirm};
use crate::keys::{Context, in_context};
use crate::words::glyphs::Sign;
use crate::words::sanitize::{clean_line, fit, wrap};

/// The least columns of a shortened name.
const NAME_MIN: usize = 4;

pub(super) fn draw(app: &App, question: &Confirm, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let width = area.width.min(64);
    let columns = usize::from(width.saturating_sub(4)).max(1);
    // A window has a border from six lines. The last line shows the keys.
    let border = u16::from(area.height >= 6) * 2;
    let room = usize::from(area.height.saturating_sub(border + 1));
    let cut = Sign::Cut.text(app.setup.ascii);
    let follows = wrap(&question.consequence, columns);
    let asked = shorten(&clean_line(&question.question), columns, room.saturating_sub(follows.len()), room, cut);
    let number = asked.len();
    let mut all: Vec<String> = asked.into_iter().chain(follows).collect();
    if all.len() > room {
        let rest = all.split_off(room.saturating_sub(1)).join(" ");
        all.push(fit(&rest, columns, cut));
    }
    let look = |at| if at < number { theme.strong() } else { theme.quiet() };
    let mut lines: Vec<Line<'_>> = all.into_iter().enumerate().map(|(at, text)| Line::styled(text, look(at))).collect();
    let mut spans = Vec::new();
    for (index, binding) in in_context(Context::Confirm).filter(|(_, binding)| !binding.hint.is_empty()) {
        if let Some(key) = app.setup.keys.keys(index).first() {
            spans.push(Span::styled(key.clone(), theme.accent()));
            spans.push(Span::raw(format!(" {}   ", binding.hint)));
        }
    }
    let wanted = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let height = if border > 0 { wanted.saturating_add(border).max(6) } else { wanted };
    let height = height.min(area.height);
    if lines.len() + 1 < usize::from(height.saturating_sub(border)) {
        lines.push(Line::default());
    }
    lines.push(Line::from(spans));
    let popup = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 3, width, height };
    let inside = window(app, theme, frame, popup);
    frame.render_widget(Paragraph::new(lines), inside);
}

/// Wraps a question into at most `wanted` lines by shortening the names between quotation marks. If the shortest names
/// need more lines: the fewest possible lines up to `most`.
fn shorten(question: &str, columns: usize, wanted: usize, most: usize, cut: &str) -> Vec<String> {
    let with_names_of = |columns: usize| {
        let mut parts = question.split('“');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| match part.split_once('”') {
            Some((name, rest)) => format!("{text}“{}”{rest}", fit(name, columns, cut)),
            None => format!("{text}“{part}"),
        })
    };
    let whole = wrap(question, columns);
    if whole.len() <= wanted {
        return whole;
    }
    let fitting = (wanted.max(1)..=most).find_map(|lines| {
        let mut shorter = (NAME_MIN..columns * lines).rev().map(|name| wrap(&with_names_of(name), columns));
        shorter.find(|shorter| shorter.len() <= lines)
    });
    fitting.unwrap_or(whole)
}
