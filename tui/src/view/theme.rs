//! Colours and weights. Only the terminal's own colours, so that light and dark themes both are right; with `NO_COLOR`
//! weights alone. Must not know what is drawn with them.

use ratatui::style::{Color, Modifier, Style};

use crate::glyphs::Tone;

/// How tones and parts look.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    color: bool,
}

impl Theme {
    /// With colours or without.
    pub const fn new(color: bool) -> Theme {
        Theme { color }
    }

    /// As the environment wants it (no-color.org: any value that is not empty).
    pub fn from_environment() -> Theme {
        Theme::new(std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()))
    }

    /// The look of a tone.
    pub fn tone(self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => Style::new(),
            Tone::Quiet => Style::new().add_modifier(Modifier::DIM),
            Tone::Good => self.colored(Color::Green),
            Tone::Notice => self.colored(Color::Yellow),
            Tone::Alarm => self.colored(Color::Red).add_modifier(Modifier::BOLD),
        }
    }

    /// What is in front or under the keyboard.
    pub fn accent(self) -> Style {
        self.colored(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// Names and titles.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Headings, hints, rules: there when looked for.
    pub fn quiet(self) -> Style {
        self.tone(Tone::Quiet)
    }

    /// The selected line.
    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn colored(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }
}
