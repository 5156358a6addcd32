//! Drawing helpers that several screens use: padded text, text being typed, scroll bars, windows. Must not know a screen.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Span;
use ratatui::widgets::{Block, Clear, Padding};

use super::theme::Theme;
use crate::app::App;
use crate::keys::{self, Action, Context};
use crate::state::input;
use crate::words::glyphs::Sign;
use crate::words::sanitize::{self, fit, width};

/// The lines of an area, from top to bottom.
pub(super) fn rows(area: Rect) -> impl Iterator<Item = Rect> {
    area.rows()
}

/// The area without the first and the last column.
pub(super) fn inset(area: Rect) -> Rect {
    Rect { x: area.x + 1.min(area.width), width: area.width.saturating_sub(2), ..area }
}

/// The first key of an action for display. None: the action has no key, and the screen must not mention one.
pub(super) fn key_of(app: &App, context: Context, action: Action) -> Option<&str> {
    Some(keys::key_symbol(app.setup.keys.key_of(context, action)?, app.setup.ascii))
}

/// The clean text, cut or filled to exactly `columns`. `right`: whether the text is aligned right.
pub(super) fn padded(app: &App, text: &str, columns: usize, right: bool) -> String {
    let text = fit(text, columns, Sign::Cut.text(app.setup.ascii));
    let fill = " ".repeat(columns.saturating_sub(width(&text)));
    if right { fill + &text } else { text + &fill }
}

/// Draws a line of text that is being typed, scrolled to show the cursor, and places the terminal's cursor.
pub(crate) fn draw_input(line: &input::Line, style: Style, frame: &mut Frame<'_>, area: Rect) {
    if area.width == 0 || area.height == 0 {
        return;
    }
    let room = usize::from(area.width) - 1;
    let before = sanitize::clean_line(&line.before_cursor()).into_owned();
    let text = sanitize::clean_line(line.text()).into_owned();
    let mut hidden = width(&before).saturating_sub(room);
    let mut shown = text.as_str();
    while hidden > 0 {
        let Some(first) = shown.chars().next() else { break };
        let (head, tail) = shown.split_at(first.len_utf8());
        hidden = hidden.saturating_sub(width(head));
        shown = tail;
    }
    let before = width(&before).min(width(&text));
    let column = before - width(&text).saturating_sub(width(shown)).min(before);
    frame.render_widget(Span::styled(fit(shown, area.width.into(), ""), style), area);
    let x = area.x.saturating_add(u16::try_from(column).unwrap_or(u16::MAX)).min(area.right() - 1);
    frame.set_cursor_position(Position { x, y: area.y });
}

/// Draws a scroll bar at the right edge if `total` lines do not fit.
pub(super) fn scroll_bar(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect, top: usize, total: usize) {
    let height = usize::from(area.height);
    if total <= height || height == 0 || area.width == 0 {
        return;
    }
    let thumb = (height * height / total).max(1);
    let start = top * (height - thumb) / (total - height);
    for row in rows(area).skip(start).take(thumb) {
        let cell = Rect { x: area.right() - 1, width: 1, ..row };
        frame.render_widget(Span::styled(Sign::Thumb.text(app.setup.ascii), theme.quiet()), cell);
    }
}

/// Clears an area for a window over a screen, draws a border if there is room, and returns the inside.
pub(super) fn window(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) -> Rect {
    frame.render_widget(Clear, area);
    frame.buffer_mut().set_style(area, theme.ground());
    if area.height < 6 {
        return area;
    }
    let mut block = Block::bordered().border_style(theme.quiet()).padding(Padding::horizontal(1));
    if app.setup.ascii {
        block = block.border_set(ASCII);
    }
    let inside = block.inner(area);
    frame.render_widget(block, area);
    inside
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
