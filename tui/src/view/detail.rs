//! Draws one record in full, on its own screen or beside a list. Must not change the state.

use hearth_contract::schema::Kind;
use hearth_replica::Row;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::widgets::{inset, key_of, padded, rows, scroll_bar};
use crate::app::App;
use crate::keys::{Action, Context};
use crate::now::Now;
use crate::state::detail::{Detail, DetailLine, Page, label_width, lines};
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{fit, wrap_max};
use crate::words::singular;

/// Draws a record on a screen of its own.
pub(super) fn draw(app: &App, detail: &Detail, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let columns = usize::from(inner.width);
    match &detail.full {
        Some(full) => {
            title(app, &full.row, theme, frame, inner);
            let below = Rect { y: inner.y + 2.min(inner.height), height: inner.height.saturating_sub(2), ..inner };
            let all = detail.lines(Page { now, ..app.page() });
            fields(app, full.row.kind, all.iter().skip(detail.scroll), theme, frame, below);
            let cursor = detail.selected.saturating_sub(detail.scroll);
            if let Some(line) = rows(below).nth(cursor).filter(|_| detail.selected < all.len()) {
                frame.buffer_mut().set_style(line, theme.selected());
            }
            let bar = Rect { width: below.width + 1, ..below };
            scroll_bar(app, theme, frame, bar, detail.scroll, all.len());
        }
        None => {
            let text = match (detail.kind, detail.is_missing, key_of(app, Context::Detail, Action::Edit)) {
                (_, false, _) => String::new(),
                (Kind::Property, true, Some(key)) => format!("The home has no profile yet. Press {key} to write it."),
                (Kind::Property, true, None) => "The home has no profile yet.".to_owned(),
                (_, true, _) => "This record no longer exists: it was deleted.".to_owned(),
            };
            let text = fit(&text, columns, Sign::Cut.text(app.setup.ascii));
            frame.render_widget(Span::styled(text, theme.quiet()), inner);
        }
    }
}

/// Draws the selected record beside a list: only the fields that have a value.
pub(super) fn draw_preview(app: &App, row: Option<&Row>, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    for line in rows(area) {
        let edge = Rect { width: 1, ..line };
        frame.render_widget(Span::styled(Sign::Divider.text(app.setup.ascii), theme.quiet()), edge);
    }
    let Some(row) = row else { return };
    let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(3), ..area };
    let above = whole_title(app, row, theme, frame, inner) + 1;
    let below = Rect { y: inner.y + above.min(inner.height), height: inner.height.saturating_sub(above), ..inner };
    let set = lines(now, row, usize::from(below.width), false, app.setup.ascii);
    fields(app, row.kind, set.iter(), theme, frame, below);
}

/// Draws the title over as many lines as it needs, at most a third of the area, and the kind at the end of the first line.
/// Returns the number of lines.
fn whole_title(app: &App, row: &Row, theme: &Theme, frame: &mut Frame<'_>, area: Rect) -> u16 {
    let kind = singular(row.kind);
    let room = usize::from(area.width).saturating_sub(kind.len() + 2);
    let most = usize::from(area.height / 3).max(1);
    let parts = wrap_max(&row.title, room, most, Sign::Cut.text(app.setup.ascii));
    let lines = u16::try_from(parts.len()).unwrap_or(u16::MAX);
    for (line, text) in rows(area).zip(parts) {
        frame.render_widget(Span::styled(text, theme.strong()), line);
    }
    let end = Rect { x: area.right().saturating_sub(u16::try_from(kind.len()).unwrap_or(0)), height: 1, ..area };
    frame.render_widget(Span::styled(kind, theme.quiet()), end.intersection(area));
    lines
}

fn title(app: &App, row: &Row, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let kind = singular(row.kind);
    let room = usize::from(area.width).saturating_sub(kind.len() + 2);
    let name = padded(app, &row.title, room, false);
    let line = Line::from(vec![Span::styled(name, theme.strong()), Span::raw("  "), Span::styled(kind, theme.quiet())]);
    frame.render_widget(line, area);
}

fn fields<'a>(
    app: &App,
    kind: Kind,
    lines: impl Iterator<Item = &'a DetailLine>,
    theme: &Theme,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let labels = label_width(kind, usize::from(area.width));
    for (row, line) in rows(area).zip(lines) {
        let label = padded(app, &line.label, labels, false);
        let value =
            fit(&line.text, usize::from(area.width).saturating_sub(labels + 2), Sign::Cut.text(app.setup.ascii));
        let look = if line.tone == Tone::Plain { Style::new() } else { theme.tone(line.tone) };
        let spans = vec![Span::styled(label, theme.quiet()), Span::raw("  "), Span::styled(value, look)];
        frame.render_widget(Line::from(spans), row);
    }
}
