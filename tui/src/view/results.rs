//! What became of a change of many: each record, those that could not be changed first and with the reason.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Theme, inset, padded, rows, scroll_bar};
use crate::app::{App, Results};
use crate::glyphs::{Sign, Tone};
use crate::sanitize::fit;

pub(super) fn draw(app: &App, results: &Results, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let columns = usize::from(inner.width);
    let cut = Sign::Cut.text(app.setup.ascii);
    frame.render_widget(Span::styled(fit(&results.done, columns, cut), theme.strong()), inner);
    let below = Rect { y: inner.y + 2.min(inner.height), height: inner.height.saturating_sub(2), ..inner };
    let name = columns * 2 / 5;
    for (row, (title, result)) in rows(below).zip(results.each.iter().skip(results.scroll)) {
        let (sign, tone, said) = match result {
            Ok(()) => (Sign::Done, Tone::Good, "changed here"),
            Err(sentence) => (Sign::Fault, Tone::Alarm, sentence.as_str()),
        };
        let room = columns.saturating_sub(name + 4);
        frame.render_widget(
            Line::from(vec![
                Span::styled(format!("{} ", sign.text(app.setup.ascii)), theme.tone(tone)),
                Span::raw(padded(app, title, name, false)),
                Span::raw("  "),
                Span::styled(fit(said, room, cut), if result.is_ok() { theme.quiet() } else { theme.tone(tone) }),
            ]),
            row,
        );
    }
    scroll_bar(app, theme, frame, Rect { width: below.width + 1, ..below }, results.scroll, results.each.len());
}
