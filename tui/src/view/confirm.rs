//! A question before something is lost: it names the thing, what follows, and the keys.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::Theme;
use crate::app::{App, Confirm};
use crate::keys::{Context, in_context};
use crate::sanitize::{line, wrap};

pub(super) fn draw(app: &App, question: &Confirm, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let width = area.width.min(64);
    let columns = usize::from(width.saturating_sub(4)).max(1);
    let mut lines: Vec<Line<'_>> = Vec::new();
    lines.extend(wrap(&line(&question.question), columns).into_iter().map(|l| Line::styled(l, theme.strong())));
    lines.extend(wrap(&question.consequence, columns).into_iter().map(|l| Line::styled(l, theme.quiet())));
    let keys = in_context(Context::Confirm).filter(|binding| !binding.hint.is_empty());
    let mut spans = Vec::new();
    for binding in keys {
        spans.push(Span::styled(binding.keys[0], theme.accent()));
        spans.push(Span::raw(format!(" {}   ", binding.hint)));
    }
    let border = u16::from(area.height >= 6) * 2;
    let height = u16::try_from(lines.len() + 1 + usize::from(border > 0)).unwrap_or(u16::MAX) + border;
    let height = height.min(area.height);
    // The keys are the last thing to give way.
    lines.truncate(usize::from(height.saturating_sub(border + 1)));
    if lines.len() + 1 < usize::from(height.saturating_sub(border)) {
        lines.push(Line::default());
    }
    lines.push(Line::from(spans));
    let popup = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 3, width, height };
    frame.render_widget(Clear, popup);
    let mut paragraph = Paragraph::new(lines);
    if border > 0 {
        let mut block = Block::bordered().padding(ratatui::widgets::Padding::horizontal(1));
        if app.ascii {
            block = block.border_set(ASCII);
        }
        paragraph = paragraph.block(block);
    }
    frame.render_widget(paragraph, popup);
}

const ASCII: ratatui::symbols::border::Set<'_> = ratatui::symbols::border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};
