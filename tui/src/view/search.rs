//! Search across kinds: what is typed, and what was found with the words marked.

use hearth_replica::Hit;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::{Theme, inset, padded, typing};
use crate::app::App;
use crate::glyphs::Sign;
use crate::sanitize::{fit, line, width};
use crate::search::{HITS_MAX, Search};
use crate::words::singular;

/// Columns for the kind of a hit.
const KIND: usize = 12;

pub(super) fn draw(app: &App, search: &Search, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let prompt = "Search  ";
    let used = u16::try_from(width(prompt)).unwrap_or(0).min(inner.width);
    let first = Rect { height: inner.height.min(1), ..inner };
    frame.render_widget(Span::styled(prompt, theme.quiet()), first);
    let field = Rect { x: first.x + used, width: first.width - used, ..first };
    typing(&search.words, theme.accent(), frame, field);
    let below = Rect { y: inner.y + 2.min(inner.height), height: inner.height.saturating_sub(2), ..inner };
    if search.hits.is_empty() {
        let text = match (search.words.text().trim().is_empty(), search.answered) {
            (true, _) => "Type words, or their beginnings; everything is searched.",
            (false, true) => "Nothing has all of these words.",
            (false, false) => "",
        };
        let text = fit(text, below.width.into(), Sign::Cut.text(app.ascii));
        frame.render_widget(Span::styled(text, theme.quiet()), below);
        return;
    }
    // Two lines each where there is room, so that the words are seen in their place.
    let tall = if below.height >= 6 { 2 } else { 1 };
    let fits = usize::from(below.height) / tall;
    let top = search.selected.saturating_sub(fits.saturating_sub(1));
    for (index, hit) in search.hits.iter().enumerate().skip(top).take(fits) {
        let y = below.y + u16::try_from((index - top) * tall).unwrap_or(0);
        let place = Rect { y, height: 1, ..below };
        let columns = usize::from(place.width);
        let title = padded(app, &hit.title, columns.saturating_sub(KIND), false);
        let kind = padded(app, singular(hit.kind), KIND.min(columns), false);
        frame.render_widget(Line::from(vec![Span::styled(kind, theme.quiet()), Span::raw(title)]), place);
        if index == search.selected {
            frame.buffer_mut().set_style(place, theme.selected());
        }
        if tall == 2 {
            let second =
                Rect { x: place.x + 12.min(place.width), width: place.width.saturating_sub(12), y: y + 1, ..place };
            frame.render_widget(snippet(app, hit, theme, second.width.into()), second);
        }
    }
    if search.hits.len() >= HITS_MAX {
        let text = format!("the best {HITS_MAX}; more words find better ");
        let at = Rect { x: first.right().saturating_sub(u16::try_from(width(&text)).unwrap_or(0)), ..first };
        if at.x > field.x + 30 {
            frame.render_widget(Span::styled(text, theme.quiet()), at);
        }
    }
}

/// The text around the words, which stand between `**`.
fn snippet<'a>(app: &App, hit: &Hit, theme: &Theme, columns: usize) -> Line<'a> {
    let mut spans = Vec::new();
    let mut room = columns;
    for (index, part) in hit.snippet.split("**").enumerate() {
        let text = fit(&line(part), room, Sign::Cut.text(app.ascii));
        room = room.saturating_sub(width(&text));
        let look = if index % 2 == 1 { theme.accent().remove_modifier(Modifier::DIM) } else { theme.quiet() };
        spans.push(Span::styled(text, look));
    }
    Line::from(spans)
}
