//! A question before something is lost: it names the thing, what follows, and the keys.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{Theme, window};
use crate::app::{App, Confirm};
use crate::keys::{Context, in_context};
use crate::sanitize::{line, wrap};

pub(super) fn draw(app: &App, question: &Confirm, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let width = area.width.min(64);
    let columns = usize::from(width.saturating_sub(4)).max(1);
    let mut lines: Vec<Line<'_>> = Vec::new();
    lines.extend(wrap(&line(&question.question), columns).into_iter().map(|l| Line::styled(l, theme.strong())));
    lines.extend(wrap(&question.consequence, columns).into_iter().map(|l| Line::styled(l, theme.quiet())));
    let mut spans = Vec::new();
    for (index, binding) in in_context(Context::Confirm).filter(|(_, binding)| !binding.hint.is_empty()) {
        if let Some(key) = app.setup.keys.keys(index).first() {
            spans.push(Span::styled(key.clone(), theme.accent()));
            spans.push(Span::raw(format!(" {}   ", binding.hint)));
        }
    }
    let wanted = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    // A window has an edge from six lines on.
    let border = u16::from(area.height >= 6) * 2;
    let height = if border > 0 { wanted.saturating_add(border).max(6) } else { wanted };
    let height = height.min(area.height);
    // The keys are the last thing to give way.
    lines.truncate(usize::from(height.saturating_sub(border + 1)));
    if lines.len() + 1 < usize::from(height.saturating_sub(border)) {
        lines.push(Line::default());
    }
    lines.push(Line::from(spans));
    let popup = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 3, width, height };
    let inside = window(app, theme, frame, popup);
    frame.render_widget(Paragraph::new(lines), inside);
}
