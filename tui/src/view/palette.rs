//! Draws the list of actions: the typed words, and each matching action with its keys. Must not run an action.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::widgets::{draw_input, padded, rows, scroll_bar, window};
use crate::app::App;
use crate::keys::{BINDINGS, key_symbol};
use crate::state::palette::Palette;
use crate::words::glyphs::Sign;
use crate::words::sanitize::{fit, width};

/// The most columns of the keys. The text of a row uses the columns that the keys do not need.
const KEYS_MAX: usize = 18;

pub(super) fn draw(app: &App, palette: &Palette, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let wide = area.width.min(78);
    let wanted = u16::try_from(palette.found.len() + 4).unwrap_or(u16::MAX).max(8);
    let tall = wanted.min(area.height);
    let place = Rect { x: area.x + (area.width - wide) / 2, y: area.y, width: wide, height: tall };
    let inside = window(app, theme, frame, place);
    let prompt = format!("What to do {}  ", palette.context.heading());
    let prompt = if width(&prompt) + 12 > usize::from(inside.width) { String::new() } else { prompt };
    let used = u16::try_from(width(&prompt)).unwrap_or(0);
    let first = Rect { height: inside.height.min(1), ..inside };
    frame.render_widget(Span::styled(prompt, theme.quiet()), first);
    draw_input(&palette.words, theme.accent(), frame, Rect { x: first.x + used, width: first.width - used, ..first });
    let gap = if inside.height > 4 { 2 } else { 1 };
    let below = Rect { y: inside.y + gap, height: inside.height.saturating_sub(gap), ..inside };
    if palette.found.is_empty() {
        let wish = format!("There is no action “{}”.", palette.words.text().trim());
        let text = fit(&wish, below.width.into(), Sign::Cut.text(app.setup.ascii));
        frame.render_widget(Span::styled(text, theme.quiet()), below);
        return;
    }
    let fits = usize::from(below.height).max(1);
    let top = palette.selected.saturating_sub(fits.saturating_sub(1));
    let keys_max = KEYS_MAX.min(usize::from(below.width) / 3);
    let text = Rect { width: below.width.saturating_sub(2), ..below };
    for (row, (index, number)) in rows(text).zip(palette.found.iter().enumerate().skip(top)) {
        let keys_of = app.setup.keys.keys_of(palette.context, BINDINGS[*number].action);
        let names: Vec<&str> = keys_of.map(|key| key_symbol(key, app.setup.ascii)).collect();
        let names = names.join(" ");
        let keys = width(&names).min(keys_max);
        let about = padded(app, BINDINGS[*number].about, usize::from(row.width).saturating_sub(keys + 2), false);
        let spans =
            vec![Span::raw(about), Span::raw("  "), Span::styled(padded(app, &names, keys, true), theme.strong())];
        frame.render_widget(Line::from(spans), row);
        if index == palette.selected {
            frame.buffer_mut().set_style(row, theme.selected());
        }
    }
    scroll_bar(app, theme, frame, below, top, palette.found.len());
}
