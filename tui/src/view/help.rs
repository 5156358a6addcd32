//! The help: every action of the table, by where it works.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Theme, inset, padded, rows, scroll_bar};
use crate::app::App;
use crate::glyphs::Sign;
use crate::help::{HelpLine, lines};
use crate::sanitize::fit;

/// Columns of the keys.
const KEYS: usize = 22;

pub(super) fn draw(app: &App, scroll: usize, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let all = lines(app.ascii);
    let keys = KEYS.min(usize::from(inner.width) / 2);
    let room = usize::from(inner.width).saturating_sub(keys + 1);
    for (row, line) in rows(inner).zip(all.iter().skip(scroll)) {
        let text = match line {
            HelpLine::Heading(text) => Line::styled(*text, theme.accent()),
            HelpLine::Blank => Line::default(),
            HelpLine::Keys(names, about) => Line::from(vec![
                Span::styled(padded(app, names, keys, false), theme.strong()),
                Span::raw(" "),
                Span::raw(fit(about, room, Sign::Cut.text(app.ascii))),
            ]),
        };
        frame.render_widget(text, row);
    }
    scroll_bar(app, theme, frame, Rect { width: inner.width + 1, ..inner }, scroll, all.len());
}
