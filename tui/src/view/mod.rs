//! Draws the state on the terminal, one file per screen. Must not change the state, and must not decide what a key
//! does.

mod bars;
mod cells;
mod confirm;
mod conflict;
mod detail;
mod edits;
mod form;
mod home;
mod list;
mod palette;
mod quick;
mod results;
mod search;
mod sync;
mod theme;

use hearth_contract::schema::Kind;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Padding};

pub use theme::Theme;

use crate::app::{App, Layer};
use crate::keys::{self, Action, Context};
use crate::layout::{Layout, MIN_HEIGHT, MIN_WIDTH, is_too_small};
use crate::now::Now;
use crate::state::input;
use crate::words::glyphs::Sign;
use crate::words::sanitize::{self, fit, width};

/// Draws the whole screen.
pub fn draw(app: &App, now: Now, theme: &Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    if is_too_small(area.width, area.height) {
        let words = [format!("{}x{}", area.width, area.height), format!("needs {MIN_WIDTH}x{MIN_HEIGHT}")];
        for (row, text) in rows(area).zip(words) {
            frame.render_widget(Line::raw(text), row);
        }
        return;
    }
    frame.buffer_mut().set_style(area, theme.ground());
    let parts = parts(area);
    bars::tabs(app, theme, frame, parts.tabs);
    rule(app, theme, frame, parts.rule);
    let is_under = |layer: &&Layer| !matches!(layer, Layer::Confirm(_) | Layer::Quick(_) | Layer::Palette(_));
    match app.layers.iter().rev().find(is_under) {
        Some(Layer::Detail(record)) => detail::draw(app, record, now, theme, frame, parts.screen),
        Some(Layer::Form(form)) => form::draw(app, form, now, theme, frame, parts.screen),
        Some(Layer::Search(search)) => search::draw(app, search, theme, frame, parts.screen),
        Some(Layer::Edits(edits)) => edits::draw(app, edits, now, theme, frame, parts.screen),
        Some(Layer::Conflict(screen)) => conflict::draw(app, screen, theme, frame, parts.screen),
        Some(Layer::Sync(scroll)) => sync::draw(app, *scroll, now, theme, frame, parts.screen),
        Some(Layer::Results(results)) => results::draw(app, results, theme, frame, parts.screen),
        _ if app.tab == Kind::Property => home::draw(app, theme, frame, parts.screen),
        _ => list::draw(app, now, theme, frame, parts.screen),
    }
    rule(app, theme, frame, parts.foot);
    bars::status(app, now, theme, frame, parts.status);
    bars::hints(app, theme, frame, parts.hints);
    match app.layers.last() {
        Some(Layer::Confirm(question)) => confirm::draw(app, question, theme, frame, parts.screen),
        Some(Layer::Quick(quick)) => quick::draw(app, quick, theme, frame, parts.screen),
        Some(Layer::Palette(palette)) => palette::draw(app, palette, theme, frame, parts.screen),
        _ => {}
    }
    sanitize::clean_buffer(frame.buffer_mut());
    if app.setup.ascii {
        ascii_quotes(frame.buffer_mut());
    }
}

/// Replaces typographic quotation marks by ASCII marks in the whole frame.
fn ascii_quotes(frame: &mut Buffer) {
    for cell in frame.content.iter_mut().filter(|cell| matches!(cell.symbol(), "“" | "”")) {
        cell.set_char('"');
    }
}

/// The areas of the parts of the screen.
struct Parts {
    tabs: Rect,
    rule: Rect,
    screen: Rect,
    foot: Rect,
    status: Rect,
    hints: Rect,
}

fn parts(area: Rect) -> Parts {
    let layout = Layout::for_height(area.height);
    let mut y = area.y;
    let mut take = |height: u16| {
        let part = Rect { y, height, ..area };
        y += height;
        part
    };
    Parts {
        tabs: take(layout.tabs),
        rule: take(layout.rule),
        screen: take(layout.screen()),
        foot: take(layout.foot),
        status: take(layout.status),
        hints: take(layout.hints),
    }
}

/// The lines of an area, from top to bottom.
fn rows(area: Rect) -> impl Iterator<Item = Rect> {
    area.rows()
}

/// The area without the first and the last column.
fn inset(area: Rect) -> Rect {
    Rect { x: area.x + 1.min(area.width), width: area.width.saturating_sub(2), ..area }
}

fn rule(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let line = Sign::Rule.text(app.setup.ascii).repeat(area.width.into());
    frame.render_widget(Span::styled(line, theme.quiet()), area);
}

/// The first key of an action for display. None: the action has no key, and the screen must not mention one.
fn key_of(app: &App, context: Context, action: Action) -> Option<&str> {
    Some(keys::key_symbol(app.setup.keys.key_of(context, action)?, app.setup.ascii))
}

/// The clean text, cut or filled to exactly `columns`. `right`: whether the text is aligned right.
fn padded(app: &App, text: &str, columns: usize, right: bool) -> String {
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
fn scroll_bar(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect, top: usize, total: usize) {
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
fn window(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) -> Rect {
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

#[cfg(test)]
mod tests;
