//! How syncing stands: what is known of the server and the way to it, each line in plain words.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Theme, inset, padded, rows, scroll_bar};
use crate::app::App;
use crate::glyphs::{Sign, Tone};
use crate::now::Now;
use crate::sanitize::{fit, wrap};
use crate::standing::{ReportLine, journal, report};

/// Columns of the labels.
const LABELS: usize = 20;

pub(super) fn draw(app: &App, scroll: usize, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let Some(status) = &app.status else { return };
    let mut all = report(now, status, app.keyless(), app.setup.ascii);
    all.extend(journal(now, &app.log));
    let labels = LABELS.min(usize::from(inner.width) / 3);
    let room = usize::from(inner.width).saturating_sub(labels + 2);
    // A sentence is read to its end.
    let mut lines: Vec<(&str, String, Tone)> = Vec::new();
    for ReportLine { label, text, tone } in &all {
        let labels = std::iter::once(*label).chain(std::iter::repeat(""));
        lines.extend(labels.zip(wrap(text, room)).map(|(label, text)| (label, text, *tone)));
    }
    let scroll = scroll.min(lines.len().saturating_sub(usize::from(inner.height)));
    for (row, (label, text, tone)) in rows(inner).zip(lines.iter().skip(scroll)) {
        let text = fit(text, room, Sign::Cut.text(app.setup.ascii));
        let label = Span::styled(padded(app, label, labels, false), theme.quiet());
        frame.render_widget(Line::from(vec![label, Span::raw("  "), Span::styled(text, theme.tone(*tone))]), row);
    }
    scroll_bar(app, theme, frame, Rect { width: inner.width + 1, ..inner }, scroll, lines.len());
}
