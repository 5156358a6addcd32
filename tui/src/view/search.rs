//! Draws the search across kinds: the typed words, and the hits with the words highlighted. Must not search.

use hearth_replica::Hit;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::widgets::{draw_input, inset, padded, rows};
use crate::app::App;
use crate::state::search::{HITS_MAX, Search};
use crate::words::glyphs::Sign;
use crate::words::sanitize::{clean_line, fit, width};
use crate::words::singular;

/// The columns of a hit's kind and the gap after the kind; fewer on a narrow screen.
const KIND: usize = 14;

pub(super) fn draw(app: &App, search: &Search, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let prompt = "Search  ";
    let used = u16::try_from(width(prompt)).unwrap_or(0).min(inner.width);
    let first = Rect { height: inner.height.min(1), ..inner };
    frame.render_widget(Span::styled(prompt, theme.quiet()), first);
    let field = Rect { x: first.x + used, width: first.width - used, ..first };
    draw_input(&search.words, theme.accent(), frame, field);
    let below = Rect { y: inner.y + 2.min(inner.height), height: inner.height.saturating_sub(2), ..inner };
    if search.hits.is_empty() {
        let text = match (search.words.text().trim().is_empty(), search.is_answered) {
            (true, _) => "Type words or the first letters of words. All records are searched.",
            (false, true) => "No record has all of these words.",
            (false, false) => "",
        };
        let text = fit(text, below.width.into(), Sign::Cut.text(app.setup.ascii));
        frame.render_widget(Span::styled(text, theme.quiet()), below);
        return;
    }
    let top = search.top(below.height.into());
    let kind = KIND.min(usize::from(below.width) / 2);
    let shown = search.hits.iter().skip(top).take(below.height.into());
    let title = title_columns(shown, usize::from(below.width).saturating_sub(kind));
    for (row, (index, hit)) in rows(below).zip(search.hits.iter().enumerate().skip(top)) {
        frame.render_widget(hit_line(app, hit, theme, (kind, title), row.width.into()), row);
        if index == search.selected {
            frame.buffer_mut().set_style(row, theme.selected());
        }
    }
    if search.hits.len() >= HITS_MAX {
        let text = format!("the best {HITS_MAX}; type more words for better results ");
        let at = Rect { x: first.right().saturating_sub(u16::try_from(width(&text)).unwrap_or(0)), ..first };
        if at.x > field.x + 30 {
            frame.render_widget(Span::styled(text, theme.quiet()), at);
        }
    }
}

/// The columns of the titles beside snippets, of the columns that both share. A title is not cut beside a short snippet.
fn title_columns<'a>(hits: impl Iterator<Item = &'a Hit>, both: usize) -> usize {
    let (titles, snippets) = hits.filter(|hit| !is_title(hit)).fold((0, 0), |(titles, snippets), hit| {
        let snippet = clean_line(&hit.snippet).replace("**", "");
        (titles.max(width(&clean_line(&hit.title))), snippets.max(width(&snippet)))
    });
    let (fair, free) = (both * 2 / 5, both.saturating_sub(snippets + 2));
    if free >= fair { titles.clamp(fair, free) } else { titles.min(fair) }
}

/// Whether the searched words are in the title.
fn is_title(hit: &Hit) -> bool {
    hit.snippet.replace("**", "") == hit.title.replace("**", "")
}

/// A hit: kind, title, and the place of the words unless the title contains the words.
fn hit_line<'a>(app: &App, hit: &Hit, theme: &Theme, (kind, title): (usize, usize), columns: usize) -> Line<'a> {
    let name = padded(app, singular(hit.kind), kind.saturating_sub(2), false);
    let mut spans = vec![Span::styled(name, theme.quiet()), Span::raw("  ")];
    let rest = columns.saturating_sub(kind);
    let is_title = is_title(hit);
    // Stars in the title look like highlight marks, therefore such a title is shown without highlights.
    if is_title && !hit.title.contains("**") {
        spans.extend(highlighted(app, &hit.snippet, Style::new(), theme, rest));
    } else if is_title || rest < 48 {
        spans.push(Span::raw(fit(&hit.title, rest, Sign::Cut.text(app.setup.ascii))));
    } else {
        spans.push(Span::raw(padded(app, &hit.title, title, false)));
        spans.push(Span::raw("  "));
        spans.extend(highlighted(app, &hit.snippet, theme.quiet(), theme, rest - title - 2));
    }
    Line::from(spans)
}

/// A snippet with the searched words highlighted. In the snippet, `**` surrounds each searched word.
fn highlighted<'a>(app: &App, text: &str, look: Style, theme: &Theme, columns: usize) -> Vec<Span<'a>> {
    let mut room = columns;
    let mut spans = Vec::new();
    for (index, part) in text.split("**").enumerate() {
        let part = fit(&clean_line(part), room, Sign::Cut.text(app.setup.ascii));
        room = room.saturating_sub(width(&part));
        spans.push(Span::styled(part, if index % 2 == 1 { theme.accent() } else { look }));
    }
    spans
}
