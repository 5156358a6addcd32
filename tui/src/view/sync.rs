//! Draws the sync screen: the report and the log. Must not know the meaning of a line.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::widgets::{inset, padded, rows, scroll_bar};
use crate::app::App;
use crate::now::Now;
use crate::words::glyphs::Sign;
use crate::words::sanitize::fit;
use crate::words::sync_status::label_width;

pub(super) fn draw(app: &App, scroll: usize, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let columns = usize::from(inner.width);
    let labels = label_width(columns);
    let room = columns.saturating_sub(labels + 2);
    let lines = app.sync_lines(now, columns);
    let scroll = scroll.min(lines.len().saturating_sub(usize::from(inner.height)));
    for (row, (label, text, tone)) in rows(inner).zip(lines.iter().skip(scroll)) {
        let text = fit(text, room, Sign::Cut.text(app.setup.ascii));
        let label = Span::styled(padded(app, label, labels, false), theme.quiet());
        frame.render_widget(Line::from(vec![label, Span::raw("  "), Span::styled(text, theme.tone(*tone))]), row);
    }
    scroll_bar(app, theme, frame, Rect { width: inner.width + 1, ..inner }, scroll, lines.len());
}
