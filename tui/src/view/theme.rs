//! Colours and text weights. The default uses the terminal's own palette, which fits light and dark backgrounds. Two
//! fixed palettes are optional. `NO_COLOR` leaves text weights only. Must not know what is drawn.

use ratatui::style::{Color, Modifier, Style};

use crate::config::Colors;
use crate::words::glyphs::Tone;

/// The styles of tones and parts.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    colors: Colors,
}

impl Theme {
    /// A theme with these colours.
    pub const fn new(colors: Colors) -> Theme {
        Theme { colors }
    }

    /// A theme with these colours, or without colours if `NO_COLOR` is set and not empty (no-color.org).
    pub fn from_environment(colors: Colors) -> Theme {
        let wants_color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Theme::new(if wants_color { colors } else { Colors::Mono })
    }

    /// The style of text and background without another style.
    pub const fn ground(self) -> Style {
        match self.colors {
            Colors::Terminal | Colors::Mono => Style::new(),
            Colors::Light => Style::new().fg(Color::Rgb(0x2b, 0x2b, 0x33)).bg(Color::Rgb(0xfa, 0xf8, 0xf3)),
            Colors::Dark => Style::new().fg(Color::Rgb(0xd8, 0xd6, 0xcf)).bg(Color::Rgb(0x1c, 0x1d, 0x22)),
        }
    }

    /// The style of a tone.
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

    /// White on black, for a picture that needs both. Without colours: those of the terminal.
    pub fn white_on_black(self) -> Style {
        match self.colors {
            Colors::Mono => Style::new(),
            _ => Style::new().fg(Color::White).bg(Color::Black),
        }
    }

    /// The style of the tab in front and of the focused field.
    pub fn accent(self) -> Style {
        self.colored(Color::Cyan, Color::Rgb(0x00, 0x5f, 0x73), Color::Rgb(0x7f, 0xc0, 0xd0))
            .add_modifier(Modifier::BOLD)
    }

    /// The style of bars and sparklines.
    pub fn figure(self) -> Style {
        self.colored(Color::Cyan, Color::Rgb(0x00, 0x5f, 0x73), Color::Rgb(0x7f, 0xc0, 0xd0))
    }

    /// The style of names and titles.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The style of headings, hints and rules.
    pub fn quiet(self) -> Style {
        match self.colors {
            // The terminal dims its own text colour to fit its background.
            Colors::Terminal | Colors::Mono => Style::new().add_modifier(Modifier::DIM),
            Colors::Light => Style::new().fg(Color::Rgb(0x6b, 0x6a, 0x70)),
            Colors::Dark => Style::new().fg(Color::Rgb(0x8f, 0x8e, 0x8a)),
        }
    }

    /// The style of the selected line. The style overrides the colours of all parts of the line.
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
