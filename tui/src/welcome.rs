//! A first run: it says what this is and offers the demo, a connection, or to begin without a server. A small application of
//! its own, built like the large one: state, keys, picture, and a loop that decides nothing. `connect` has what a connection
//! takes, `others` which homes there are.

mod connect;
pub mod others;
mod view;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use hearth_replica::profile::Profile;

use crate::config::Config;
use crate::input::Line;
use crate::terminal::Screen;
use crate::view::Theme;

/// What a first run led to.
#[derive(Debug)]
pub enum Outcome {
    /// To see the demo.
    Demo,
    /// To use this home, as the profile says it now.
    Home,
    /// To leave.
    Quit,
}

/// The offers, and what is said about each.
const OFFERS: [(&str, &str); 3] = [
    ("Look around in the demo", "A home with a family in it, all on this machine. Nothing of it stays."),
    ("Connect to a server", "Your own home. It takes the server's address and an API key."),
    ("Begin without a server", "Everything stays on this machine until you connect it."),
];

/// The state of a first run.
#[derive(Debug, Default)]
struct Welcome {
    /// Which offer is under the cursor.
    selected: usize,
    /// What a connection takes, while it is typed.
    connection: Option<Connection>,
    /// That this home is not set up, and which are.
    said: String,
}

/// A connection being typed.
#[derive(Debug, Default)]
struct Connection {
    server: Line,
    key: Line,
    /// Whether the keyboard is in the key.
    in_key: bool,
    /// Why it did not work.
    fault: Option<String>,
    /// Whether the server is being asked.
    asking: bool,
}

/// Where a server of one's own listens unless it is told otherwise.
const USUAL: &str = "http://127.0.0.1:8750";

impl Connection {
    /// The usual address makes way for what is typed.
    fn make_room(&mut self) {
        if !self.in_key && self.server.text() == USUAL {
            self.server = Line::default();
        }
    }
}

/// What a key leads to.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Stay,
    Demo,
    Local,
    Quit,
    Connect,
}

impl Welcome {
    fn key(&mut self, key: KeyEvent) -> Step {
        if key.kind == KeyEventKind::Release {
            return Step::Stay;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Step::Quit;
        }
        match &mut self.connection {
            Some(connection) => match key.code {
                KeyCode::Esc => self.connection = None,
                KeyCode::Enter if connection.in_key => return Step::Connect,
                KeyCode::Enter | KeyCode::Tab | KeyCode::BackTab | KeyCode::Up | KeyCode::Down => {
                    connection.in_key = !connection.in_key;
                }
                _ => {
                    if let KeyCode::Char(_) = key.code {
                        connection.make_room();
                    }
                    let line = if connection.in_key { &mut connection.key } else { &mut connection.server };
                    line.key(key);
                    connection.fault = None;
                }
            },
            None => match key.code {
                KeyCode::Char('q') | KeyCode::Esc => return Step::Quit,
                KeyCode::Down | KeyCode::Char('j') | KeyCode::Tab => self.selected = (self.selected + 1).min(2),
                KeyCode::Up | KeyCode::Char('k') | KeyCode::BackTab => self.selected = self.selected.saturating_sub(1),
                KeyCode::Char(digit @ '1'..='3') => {
                    self.selected = usize::from(digit as u8 - b'1');
                    return self.choose();
                }
                KeyCode::Enter => return self.choose(),
                _ => {}
            },
        }
        Step::Stay
    }

    fn choose(&mut self) -> Step {
        match self.selected {
            0 => Step::Demo,
            1 => {
                self.connection = Some(Connection { server: Line::holding(USUAL), ..Connection::default() });
                Step::Stay
            }
            _ => Step::Local,
        }
    }

    fn paste(&mut self, text: &str) {
        if let Some(connection) = &mut self.connection {
            connection.make_room();
            let line = if connection.in_key { &mut connection.key } else { &mut connection.server };
            line.paste(text.trim());
            connection.fault = None;
        }
    }
}

/// Runs a first run to its end.
pub fn run(profile: &mut Profile, config: &Config) -> anyhow::Result<Outcome> {
    let theme = Theme::from_environment(config.theme);
    let mut screen = Screen::open(false)?;
    let said = others::said(&profile.name, &others::names(profile));
    let mut welcome = Welcome { said, ..Welcome::default() };
    loop {
        screen.draw(|frame| view::draw(&welcome, config.ascii, &theme, frame))?;
        let step = match crossterm::event::read()? {
            Event::Key(key) => welcome.key(key),
            Event::Paste(text) => {
                welcome.paste(&text);
                Step::Stay
            }
            _ => Step::Stay,
        };
        match step {
            Step::Stay => {}
            Step::Demo => return Ok(Outcome::Demo),
            Step::Local => return Ok(Outcome::Home),
            Step::Quit => return Ok(Outcome::Quit),
            Step::Connect => {
                if let Some(connection) = &mut welcome.connection {
                    connection.asking = true;
                }
                screen.draw(|frame| view::draw(&welcome, config.ascii, &theme, frame))?;
                let Some(connection) = &mut welcome.connection else { continue };
                match connect::connect(profile, connection.server.text(), connection.key.text()) {
                    Ok(()) => return Ok(Outcome::Home),
                    Err(sentence) => connection.fault = Some(sentence),
                }
                connection.asking = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::config::Colors;

    fn press(welcome: &mut Welcome, code: KeyCode) -> Step {
        welcome.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn screen(welcome: &Welcome, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view::draw(welcome, false, &Theme::new(Colors::Mono), frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(row).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_first_run_explains_itself_and_offers_three_ways() {
        let mut welcome = Welcome::default();
        let text = screen(&welcome, 80, 24);
        for (offer, about) in OFFERS {
            assert!(text.contains(offer) && text.contains(&about[..20]), "{text}");
        }
        assert_eq!(press(&mut welcome, KeyCode::Enter), Step::Demo);
        assert_eq!(press(&mut welcome, KeyCode::Char('3')), Step::Local);
        press(&mut welcome, KeyCode::Char('2'));
        assert!(screen(&welcome, 80, 24).contains(USUAL));
        for letter in "http://10".chars() {
            press(&mut welcome, KeyCode::Char(letter));
        }
        assert!(screen(&welcome, 80, 24).contains("Address  http://10 "));
        press(&mut welcome, KeyCode::Enter);
        welcome.paste("svc_live_secret\n");
        let text = screen(&welcome, 80, 24);
        assert!(!text.contains("secret"), "a key is not shown:\n{text}");
        assert_eq!(press(&mut welcome, KeyCode::Enter), Step::Connect);
        press(&mut welcome, KeyCode::Esc);
        assert_eq!(press(&mut welcome, KeyCode::Char('q')), Step::Quit);
    }

    #[test]
    fn no_size_is_too_small() {
        let mut welcome = Welcome::default();
        for _ in 0..2 {
            for (width, height) in [(1, 1), (20, 5), (10, 30), (50, 15), (300, 100)] {
                screen(&welcome, width, height);
            }
            press(&mut welcome, KeyCode::Char('2'));
        }
    }
}
