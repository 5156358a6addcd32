//! Draws the choice of a list's columns: each value with a mark when the list shows it. Must not change the choice.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::list::columns_without_room;
use super::theme::Theme;
use super::widgets::{padded, rows, scroll_bar, window};
use crate::app::{App, ColumnChoice};
use crate::now::Now;
use crate::words::columns::column_name;
use crate::words::glyphs::Sign;
use crate::words::sanitize::fit;

/// The most columns of the window.
const WIDTH_MAX: u16 = 40;
/// Stands beside a chosen value for which the list has no room.
const NO_ROOM: &str = " no room";

pub(super) fn draw(app: &App, choice: &ColumnChoice, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let wide = area.width.min(WIDTH_MAX);
    let tall = u16::try_from(choice.all.len() + 4).unwrap_or(u16::MAX).min(area.height);
    // At the right, because the columns that come and go are behind.
    let place = Rect { x: area.right() - wide, y: area.y, width: wide, height: tall };
    let inside = window(app, theme, frame, place);
    let (ascii, columns) = (app.setup.ascii, usize::from(inside.width));
    let heading = fit("Columns of this list", columns, Sign::Cut.text(ascii));
    frame.render_widget(Span::styled(heading, theme.strong()), Rect { height: inside.height.min(1), ..inside });
    let gap = if inside.height > 4 { 2 } else { 1 };
    let below = Rect { y: inside.y + gap.min(inside.height), height: inside.height.saturating_sub(gap), ..inside };
    let fits = usize::from(below.height).max(1);
    let top = choice.selected.saturating_sub(fits.saturating_sub(1));
    let text = Rect { width: below.width.saturating_sub(2), ..below };
    let without_room = columns_without_room(app, now, area.width);
    for (row, (index, name)) in rows(text).zip(choice.all.iter().enumerate().skip(top)) {
        let mark = if choice.is_shown(name) { Sign::Marked.text(ascii) } else { " " };
        let note = if without_room.contains(name) { NO_ROOM } else { "" };
        let columns = usize::from(row.width).saturating_sub(2 + note.len());
        let name = padded(app, &column_name(choice.kind, name), columns, false);
        let spans =
            vec![Span::styled(format!("{mark} "), theme.accent()), Span::raw(name), Span::styled(note, theme.quiet())];
        frame.render_widget(Line::from(spans), row);
        if index == choice.selected {
            frame.buffer_mut().set_style(row, theme.selected());
        }
    }
    scroll_bar(app, theme, frame, below, top, choice.all.len());
}
