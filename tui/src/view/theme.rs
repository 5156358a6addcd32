//! Colours and weights. By default only the terminal's own colours, so that light and dark both are right; two palettes of
//! our own for those who want them; with `NO_COLOR` weights alone. Must not know what is drawn with them.

use ratatui::style::{Color, Modifier, Style};

use crate::config::Colors;
use crate::words::glyphs::Tone;

/// How tones and parts look.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    colors: Colors,
}

impl Theme {
    /// With these colours.
    pub const fn new(colors: Colors) -> Theme {
        Theme { colors }
    }

    /// With these colours, unless the environment wants none (no-color.org: any value that is not empty).
    pub fn from_environment(colors: Colors) -> Theme {
        let wants_color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Theme::new(if wants_color { colors } else { Colors::Mono })
    }

    /// The look of everything that has no other.
    pub const fn ground(self) -> Style {
        match self.colors {
            Colors::Terminal | Colors::Mono => Style::new(),
            Colors::Light => Style::new().fg(Color::Rgb(0x2b, 0x2b, 0x33)).bg(Color::Rgb(0xfa, 0xf8, 0xf3)),
            Colors::Dark => Style::new().fg(Color::Rgb(0xd8, 0xd6, 0xcf)).bg(Color::Rgb(0x1c, 0x1d, 0x22)),
        }
    }

    /// The look of a tone.
    pub fn tone(self, tone: Tone) -> Style {
        let (terminal, light, dark) = match tone {
            Tone::Plain => return Style::new(),
            Tone::Quiet => return self.quiet(),
            Tone::Good => (Color::Green, Color::Rgb(0x2f, 0x6f, 0x3e), Color::Rgb(0x8f, 0xbf, 0x7f)),
            Tone::Notice => (Color::Yellow, Color::Rgb(0x8a, 0x5a, 0x00), Color::Rgb(0xe0, 0xb0, 0x60)),
            Tone::Alarm => (Color::Red, Color::Rgb(0xa8, 0x20, 0x20), Color::Rgb(0xf0, 0x80, 0x70)),
        };
        let style = self.colored(terminal, light, dark);
        if tone == Tone::Alarm { style.add_modifier(Modifier::BOLD) } else { style }
    }

    /// What is in front or under the keyboard.
    pub fn accent(self) -> Style {
        self.colored(Color::Cyan, Color::Rgb(0x00, 0x5f, 0x73), Color::Rgb(0x7f, 0xc0, 0xd0))
            .add_modifier(Modifier::BOLD)
    }

    /// Bars and lines that stand for a number.
    pub fn figure(self) -> Style {
        self.colored(Color::Cyan, Color::Rgb(0x00, 0x5f, 0x73), Color::Rgb(0x7f, 0xc0, 0xd0))
    }

    /// Names and titles.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Headings, hints, rules: there when looked for.
    pub fn quiet(self) -> Style {
        match self.colors {
            // A terminal dims its own colour as suits its background.
            Colors::Terminal | Colors::Mono => Style::new().add_modifier(Modifier::DIM),
            Colors::Light => Style::new().fg(Color::Rgb(0x6b, 0x6a, 0x70)),
            Colors::Dark => Style::new().fg(Color::Rgb(0x8f, 0x8e, 0x8a)),
        }
    }

    /// The selected line: one bar, whatever the look of its parts.
    pub fn selected(self) -> Style {
        let ground = self.ground();
        Style {
            fg: ground.fg.or(Some(Color::Reset)),
            bg: ground.bg.or(Some(Color::Reset)),
            ..Style::new().add_modifier(Modifier::REVERSED).remove_modifier(Modifier::DIM)
        }
    }

    fn colored(self, terminal: Color, light: Color, dark: Color) -> Style {
        match self.colors {
            Colors::Terminal => Style::new().fg(terminal),
            Colors::Light => Style::new().fg(light),
            Colors::Dark => Style::new().fg(dark),
            Colors::Mono => Style::new(),
        }
    }
}
