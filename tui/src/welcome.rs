//! A first run: it says what this is and offers the demo, a connection, or to begin without a server. A small application of
//! its own, built like the large one: state, keys, picture, and a loop that decides nothing. `connect` has what a connection
//! takes, `others` which homes there are.

mod connect;
pub mod others;
mod view;

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use hearth_replica::profile::Profile;
use tui_input::InputRequest;

use crate::TICK;
use crate::config::Config;
use crate::edge::background::Background;
use crate::edge::event::Keyboard;
use crate::edge::terminal::Screen;
use crate::message::Message;
use crate::state::input::{self, Line};
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
    /// Whether the address is still the offered one, which makes way for what is typed.
    is_offered: bool,
    /// Why it did not work.
    fault: Option<String>,
    /// The server's answer, while it is asked.
    asking: Option<Receiver<Result<connect::Met, String>>>,
}

/// Where a server of one's own listens unless it is told otherwise.
const USUAL: &str = "http://127.0.0.1:8750";

/// How long is waited for a message between two looks for the server's answer.
const LOOK: Duration = Duration::from_millis(100);

impl Connection {
    /// The line that the keyboard is in, about to be changed. The offered address makes way for what is typed, and only once:
    /// what a person has typed is theirs, also where it reads the same.
    fn line(&mut self, types: bool) -> &mut Line {
        self.fault = None;
        if self.in_key {
            return &mut self.key;
        }
        if std::mem::take(&mut self.is_offered) && types {
            self.server = Line::default();
        }
        &mut self.server
    }

    /// The server's answer, once it is here.
    fn answer(&mut self) -> Option<Result<connect::Met, String>> {
        let answer = match self.asking.as_ref()?.try_recv() {
            Err(TryRecvError::Empty) => return None,
            Ok(answer) => answer,
            Err(TryRecvError::Disconnected) => Err("The server could not be asked. Press enter to try again.".into()),
        };
        self.asking = None;
        Some(answer)
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
            Some(connection) if connection.asking.is_some() => {
                if key.code == KeyCode::Esc {
                    connection.asking = None;
                }
            }
            Some(connection) => match key.code {
                KeyCode::Esc => self.connection = None,
                KeyCode::Enter if connection.in_key => return Step::Connect,
                KeyCode::Enter | KeyCode::Tab | KeyCode::BackTab | KeyCode::Up | KeyCode::Down => {
                    connection.in_key = !connection.in_key;
                }
                _ => {
                    let Some(request) = input::request(key) else { return Step::Stay };
                    connection.line(matches!(request, InputRequest::InsertChar(_))).key(key);
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
                let server = Line::with_text(USUAL);
                self.connection = Some(Connection { server, is_offered: true, ..Connection::default() });
                Step::Stay
            }
            _ => Step::Local,
        }
    }

    fn paste(&mut self, text: &str) {
        if let Some(connection) = self.connection.as_mut().filter(|connection| connection.asking.is_none()) {
            connection.line(true).paste(text.trim());
        }
    }
}

/// Runs a first run to its end.
pub fn run(profile: &mut Profile, config: &Config) -> anyhow::Result<Outcome> {
    let theme = Theme::from_environment(config.theme);
    let (sender, messages) = channel();
    let _signals = Background::start(None, sender.clone())?;
    let mut screen = Screen::open(false)?;
    let _keyboard = Keyboard::listen(sender)?;
    let said = others::said(&profile.name, &others::names(profile));
    let mut welcome = Welcome { said, ..Welcome::default() };
    loop {
        screen.draw(|frame| view::draw(&welcome, config.ascii, &theme, frame))?;
        let mut wait = TICK;
        // While a server is asked the keyboard is heard all the same: one that stays silent can be left.
        if let Some(connection) = welcome.connection.as_mut().filter(|connection| connection.asking.is_some()) {
            match connection.answer() {
                None => wait = LOOK,
                Some(answer) => match answer.and_then(|met| connect::adopt(profile, met)) {
                    Ok(()) => return Ok(Outcome::Home),
                    Err(sentence) => {
                        connection.fault = Some(sentence);
                        continue;
                    }
                },
            }
        }
        let step = match messages.recv_timeout(wait) {
            Ok(Message::Key(key)) => welcome.key(key),
            Ok(Message::Paste(text)) => {
                welcome.paste(&text);
                Step::Stay
            }
            Ok(Message::Continued) => {
                screen.take_again()?;
                Step::Stay
            }
            Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => Step::Quit,
            _ => Step::Stay,
        };
        match step {
            Step::Stay => {}
            Step::Demo => return Ok(Outcome::Demo),
            Step::Local => return Ok(Outcome::Home),
            Step::Quit => return Ok(Outcome::Quit),
            Step::Connect => {
                if let Some(connection) = &mut welcome.connection {
                    connection.asking = Some(connect::ask(connection.server.text(), connection.key.text())?);
                }
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
    fn the_offered_address_makes_way_once_and_what_is_typed_stays() {
        let typed = |keys: &[KeyCode], text: &str| {
            let mut welcome = Welcome::default();
            press(&mut welcome, KeyCode::Char('2'));
            for code in keys.iter().copied().chain(text.chars().map(KeyCode::Char)) {
                press(&mut welcome, code);
            }
            welcome.connection.unwrap().server.text().to_owned()
        };
        assert_eq!(typed(&[], "http://127.0.0.1:87501"), "http://127.0.0.1:87501");
        assert_eq!(typed(&[], "http://127.0.0.1:8750/x"), "http://127.0.0.1:8750/x");
        assert_eq!(typed(&[KeyCode::Backspace], "1"), "http://127.0.0.1:8751");
        assert_eq!(typed(&[KeyCode::Backspace], "0/x"), "http://127.0.0.1:8750/x");
        assert_eq!(typed(&[KeyCode::F(5)], "nas"), "nas", "no key of a line");
    }

    #[test]
    fn a_server_that_says_nothing_can_be_left() {
        let (server, asking) = std::sync::mpsc::channel();
        let connection = Connection { server: Line::with_text("nas"), asking: Some(asking), ..Connection::default() };
        let mut welcome = Welcome { connection: Some(connection), ..Welcome::default() };
        assert!(screen(&welcome, 80, 24).contains("Asking the server; esc leaves it."));
        press(&mut welcome, KeyCode::Char('x'));
        welcome.paste("x");
        let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(welcome.key(control), Step::Quit);
        assert!(welcome.connection.as_mut().unwrap().answer().is_none());
        assert_eq!(press(&mut welcome, KeyCode::Esc), Step::Stay);
        let connection = welcome.connection.as_ref().unwrap();
        assert!(connection.asking.is_none() && connection.server.text() == "nas", "what was typed is there");
        assert!(server.send(Err("late".to_owned())).is_err(), "what it says after that is not heard");
        press(&mut welcome, KeyCode::Esc);
        assert!(welcome.connection.is_none());
    }

    #[test]
    fn a_key_that_is_none_is_not_sent_anywhere() {
        let asking = connect::ask("127.0.0.1:9", "svc_live_typo").unwrap();
        assert!(asking.recv().unwrap().unwrap_err().starts_with("This is no API key"));
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
