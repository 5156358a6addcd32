//! Draws the state on the terminal, one file per screen. Must not change the state, and must not decide what a key
//! does.

mod attach;
mod bars;
mod cells;
mod columns;
mod confirm;
mod conflict;
mod detail;
mod edits;
mod form;
mod home;
mod import;
mod inbox;
mod list;
mod palette;
mod quick;
mod results;
mod search;
mod sync;
mod theme;
mod widgets;

use hearth_contract::schema::Kind;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

pub use theme::Theme;
pub(crate) use widgets::draw_input;
use widgets::rows;

use crate::app::{App, Layer};
use crate::layout::{Layout, MIN_HEIGHT, MIN_WIDTH, is_too_small};
use crate::now::Now;
use crate::words::glyphs::Sign;
use crate::words::sanitize;

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
    let is_under = |layer: &&Layer| {
        !matches!(layer, Layer::Confirm(_) | Layer::Quick(_) | Layer::Palette(_) | Layer::Columns(_) | Layer::Attach(_))
    };
    match app.layers.iter().rev().find(is_under) {
        Some(Layer::Detail(record)) => detail::draw(app, record, now, theme, frame, parts.screen),
        Some(Layer::Form(form)) => form::draw(app, form, now, theme, frame, parts.screen),
        Some(Layer::Search(search)) => search::draw(app, search, theme, frame, parts.screen),
        Some(Layer::Edits(edits)) => edits::draw(app, edits, now, theme, frame, parts.screen),
        Some(Layer::Conflict(screen)) => conflict::draw(app, screen, theme, frame, parts.screen),
        Some(Layer::Inbox(inbox)) => inbox::draw(app, inbox, now, theme, frame, parts.screen),
        Some(Layer::Sync(scroll)) => sync::draw(app, *scroll, now, theme, frame, parts.screen),
        Some(Layer::Import(screen)) => import::draw(app, screen, theme, frame, parts.screen),
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
        Some(Layer::Attach(prompt)) => attach::draw(app, prompt, theme, frame, parts.screen),
        Some(Layer::Palette(palette)) => palette::draw(app, palette, theme, frame, parts.screen),
        Some(Layer::Columns(choice)) => columns::draw(app, choice, now, theme, frame, parts.screen),
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

fn rule(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let line = Sign::Rule.text(app.setup.ascii).repeat(area.width.into());
    frame.render_widget(Span::styled(line, theme.quiet()), area);
}

#[cfg(test)]
mod tests;
