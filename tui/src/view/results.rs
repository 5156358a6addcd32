//! Draws the results of a change of many records: one line for each record, failures first with the reason. Must not
//! change the results.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::widgets::{inset, padded, rows, scroll_bar};
use crate::app::{App, Results};
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{fit, wrap_max};

pub(super) fn draw(app: &App, results: &Results, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let columns = usize::from(inner.width);
    let cut = Sign::Cut.text(app.setup.ascii);
    frame.render_widget(Span::styled(fit(&results.done, columns, cut), theme.strong()), inner);
    let below = Rect { y: inner.y + 2.min(inner.height), height: inner.height.saturating_sub(2), ..inner };
    let name = columns * 2 / 5;
    let room = columns.saturating_sub(name + 4);
    // Each record has one line. Longer reasons use the lines that are left.
    let mut spare = usize::from(below.height).saturating_sub(results.each.len());
    let mut free = rows(below);
    let did = format!("{} here", results.did);
    for (title, result) in results.each.iter().skip(results.scroll) {
        let Some(row) = free.next() else { break };
        let (sign, tone, sentence) = match result {
            Ok(()) => (Sign::Done, Tone::Good, did.as_str()),
            Err(sentence) => (Sign::Fault, Tone::Alarm, sentence.as_str()),
        };
        let look = if result.is_ok() { theme.quiet() } else { theme.tone(tone) };
        let mut sentence = wrap_max(sentence, room, 1 + spare, cut).into_iter();
        spare -= sentence.len().saturating_sub(1);
        frame.render_widget(
            Line::from(vec![
                Span::styled(format!("{} ", sign.text(app.setup.ascii)), theme.tone(tone)),
                Span::raw(padded(app, title, name, false)),
                Span::raw("  "),
                Span::styled(sentence.next().unwrap_or_default(), look),
            ]),
            row,
        );
        for part in sentence {
            let Some(row) = free.next() else { break };
            let indent = " ".repeat(columns - room);
            frame.render_widget(Line::from(vec![Span::raw(indent), Span::styled(part, look)]), row);
        }
    }
    scroll_bar(app, theme, frame, Rect { width: below.width + 1, ..below }, results.scroll, results.each.len());
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::app::Setup;
    use crate::config::Colors;
    use crate::fixtures::now;
    use crate::state::session::Session;

    #[test]
    fn reason_uses_free_lines() {
        let (app, _) = App::start(now(), Setup::default(), Session::default(), (80, 24));
        let why = "Leave it empty, or choose another type of subject: what it is about is a room of this home.";
        let shown = |records: usize| {
            let each = (1..=records).map(|number| (format!("Task {number}"), Err(why.to_owned()))).collect();
            let results = Results { done: "Changed 0 tasks".to_owned(), did: "changed", each, scroll: 0 };
            let mut terminal = Terminal::new(TestBackend::new(80, 20)).unwrap();
            terminal.draw(|frame| draw(&app, &results, &Theme::new(Colors::Mono), frame, frame.area())).unwrap();
            let buffer = terminal.backend().buffer();
            let row = |y: u16| (0..80).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
            (0..20).map(row).collect::<Vec<_>>()
        };
        let reason = |rows: &[String]| {
            let parts: Vec<&str> = rows.iter().filter_map(|row| row.get(34..)).map(str::trim).collect();
            parts.join(" ")
        };
        let few = shown(3);
        assert_eq!(reason(&few[2..]).matches(why).count(), 3, "{few:#?}");
        let many = shown(30);
        assert!(many[19].contains("Task 18") && many[2..].iter().all(|row| row.contains('…')), "{many:#?}");
    }
}
