//! Draws the prompt for the path of a file: the line being typed, and names that continue it. Must not read a directory.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::widgets::{draw_input, rows, window};
use crate::app::App;
use crate::state::attach::AttachPrompt;
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{fit, wrap_max};

/// The width of the window at most.
const WIDTH_MAX: u16 = 84;
/// The lines of the window at most: border, title, input, and hints.
const HEIGHT: u16 = 9;

pub(super) fn draw(app: &App, prompt: &AttachPrompt, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let (wide, tall) = (area.width.min(WIDTH_MAX), area.height.min(HEIGHT));
    let y = area.y + (area.height - tall) / 3;
    let inside = window(app, theme, frame, Rect { x: area.x + (area.width - wide) / 2, y, width: wide, height: tall });
    let cut = Sign::Cut.text(app.setup.ascii);
    let title = fit(&format!("Attach a file to {}", prompt.title), inside.width.into(), cut);
    frame.render_widget(Span::styled(title, theme.quiet()), Rect { height: inside.height.min(1), ..inside });
    let line = Rect { y: inside.y + 1, height: inside.height.saturating_sub(1).min(1), ..inside };
    draw_input(&prompt.line, theme.accent(), frame, line);
    let below = Rect { y: inside.y + 2, height: inside.height.saturating_sub(2), ..inside };
    let (text, style) = match (&prompt.refusal, &prompt.saving) {
        (Some(refusal), _) => (format!("{} {refusal}", Sign::Fault.text(app.setup.ascii)), theme.tone(Tone::Alarm)),
        (None, Some(_)) => ("Saving".to_owned(), theme.quiet()),
        (None, None) if prompt.choices.is_empty() => {
            ("A path such as ~/receipt.pdf; or drag the file here.".to_owned(), theme.quiet())
        }
        (None, None) => (prompt.choices.join("  "), Style::new()),
    };
    let parts = wrap_max(&text, below.width.into(), below.height.into(), cut);
    for (row, part) in rows(below).zip(parts) {
        frame.render_widget(Line::styled(part, style), row);
    }
}
