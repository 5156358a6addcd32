//! The first run: introduces Hearth and offers the demo, a connection to a server, or a start without a server. A small
//! application with its own state, keys, view and loop. `connect` connects to a server, `others` lists the existing
//! homes. Must not know the screens of the main application.

mod connect;
pub mod others;
mod view;

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use hearth_replica::profile::Profile;
use tui_input::InputRequest;

use crate::config::Config;
use crate::edge::background::Background;
use crate::edge::event::{Keyboard, TICK};
use crate::edge::terminal::Screen;
use crate::message::Message;
use crate::state::input::{self, Line};
use crate::view::Theme;

/// The choice of the person at the end of the first run.
#[derive(Debug)]
pub enum Outcome {
    /// Show the demo.
    Demo,
    /// Open the home of the profile. After a connection, the profile holds the server and the key.
    Home,
    /// Leave the program.
    Quit,
}

/// The offers with their explanations.
const OFFERS: [(&str, &str); 3] = [
    ("Look around in the demo", "A sample home with a family, all on this machine. The demo leaves no data behind."),
    ("Connect to a server", "Your own home. You need the server's address and an API key."),
    ("Begin without a server", "All data stays on this machine until you connect a server."),
];

/// The state of the first run.
#[derive(Debug, Default)]
struct Welcome {
    /// The index of the offer under the cursor.
    selected: usize,
    /// The form for a connection. None: the offers are shown.
    connection: Option<Connection>,
    /// The sentence that this home is not set up, with the names of existing homes.
    introduction: String,
}

/// The form for a connection.
#[derive(Debug, Default)]
struct Connection {
    server: Line,
    key: Line,
    /// Whether the cursor is in the key.
    in_key: bool,
    /// Whether the address is the default. The first typed character replaces the default.
    is_default: bool,
    /// Why the last try failed.
    fault: Option<String>,
    /// Receives the answer of the server. None: no request is running.
    pending: Option<Receiver<Result<connect::ServerIdentity, String>>>,
}

/// The default address of a server on this machine.
const DEFAULT_SERVER: &str = "http://127.0.0.1:8750";

/// The time between two checks for the answer of the server.
const ANSWER_POLL: Duration = Duration::from_millis(100);

impl Connection {
    /// The line under the cursor, about to change. `types`: whether a character is inserted. The first inserted
    /// character replaces the default address; later characters never do.
    fn line(&mut self, types: bool) -> &mut Line {
        self.fault = None;
        if self.in_key {
            return &mut self.key;
        }
        if std::mem::take(&mut self.is_default) && types {
            self.server = Line::default();
        }
        &mut self.server
    }

    /// The answer of the server. None: no answer yet.
    fn take_answer(&mut self) -> Option<Result<connect::ServerIdentity, String>> {
        let answer = match self.pending.as_ref()?.try_recv() {
            Err(TryRecvError::Empty) => return None,
            Ok(answer) => answer,
            Err(TryRecvError::Disconnected) => Err("The server could not be asked. Press enter to try again.".into()),
        };
        self.pending = None;
        Some(answer)
    }
}

/// The result of a key.
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
            Some(connection) if connection.pending.is_some() => {
                if key.code == KeyCode::Esc {
                    connection.pending = None;
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
                let server = Line::with_text(DEFAULT_SERVER);
                self.connection = Some(Connection { server, is_default: true, ..Connection::default() });
                Step::Stay
            }
            _ => Step::Local,
        }
    }

    fn paste(&mut self, text: &str) {
        if let Some(connection) = self.connection.as_mut().filter(|connection| connection.pending.is_none()) {
            connection.line(true).paste(text.trim());
        }
    }
}

/// Runs the first run until the person chooses.
///
/// # Errors
/// When the terminal cannot be used.
pub fn run(profile: &mut Profile, config: &Config) -> anyhow::Result<Outcome> {
    let theme = Theme::from_environment(config.theme);
    let (sender, messages) = channel();
    let _signals = Background::start(None, sender.clone())?;
    let mut screen = Screen::open(false)?;
    let _keyboard = Keyboard::listen(sender)?;
    let introduction = others::missing_home_sentence(&profile.name, &others::home_names(profile));
    let mut welcome = Welcome { introduction, ..Welcome::default() };
    loop {
        screen.draw(|frame| view::draw(&welcome, config.ascii, &theme, frame))?;
        let mut wait = TICK;
        // Keys still work during the request, because a silent server must not block the person.
        if let Some(connection) = welcome.connection.as_mut().filter(|connection| connection.pending.is_some()) {
            match connection.take_answer() {
                None => wait = ANSWER_POLL,
                Some(answer) => match answer.and_then(|identity| connect::adopt(profile, identity)) {
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
                screen.reenter()?;
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
                    connection.pending =
                        Some(connect::request_identity(connection.server.text(), connection.key.text())?);
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
    fn first_run_offers_three_choices() {
        let mut welcome = Welcome::default();
        let text = screen(&welcome, 80, 24);
        for (offer, about) in OFFERS {
            assert!(text.contains(offer) && text.contains(&about[..20]), "{text}");
        }
        assert_eq!(press(&mut welcome, KeyCode::Enter), Step::Demo);
        assert_eq!(press(&mut welcome, KeyCode::Char('3')), Step::Local);
        press(&mut welcome, KeyCode::Char('2'));
        assert!(screen(&welcome, 80, 24).contains(DEFAULT_SERVER));
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
    fn default_address_is_replaced_once() {
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
        assert_eq!(typed(&[KeyCode::F(5)], "nas"), "nas", "F5 changes no line");
    }

    #[test]
    fn escape_leaves_a_silent_server() {
        let (server, pending) = std::sync::mpsc::channel();
        let connection = Connection { server: Line::with_text("nas"), pending: Some(pending), ..Connection::default() };
        let mut welcome = Welcome { connection: Some(connection), ..Welcome::default() };
        assert!(screen(&welcome, 80, 24).contains("Connecting; esc cancels."));
        press(&mut welcome, KeyCode::Char('x'));
        welcome.paste("x");
        let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(welcome.key(control), Step::Quit);
        assert!(welcome.connection.as_mut().unwrap().take_answer().is_none());
        assert_eq!(press(&mut welcome, KeyCode::Esc), Step::Stay);
        let connection = welcome.connection.as_ref().unwrap();
        assert!(connection.pending.is_none() && connection.server.text() == "nas", "the typed text stays");
        assert!(server.send(Err("late".to_owned())).is_err(), "a late answer is dropped");
        press(&mut welcome, KeyCode::Esc);
        assert!(welcome.connection.is_none());
    }

    #[test]
    fn malformed_key_is_not_sent() {
        let pending = connect::request_identity("127.0.0.1:9", "svc_live_typo").unwrap();
        assert!(pending.recv().unwrap().unwrap_err().starts_with("This is no API key"));
    }

    #[test]
    fn first_run_draws_at_any_size() {
        let mut welcome = Welcome::default();
        for _ in 0..2 {
            for (width, height) in [(1, 1), (20, 5), (10, 30), (50, 15), (300, 100)] {
                screen(&welcome, width, height);
            }
            press(&mut welcome, KeyCode::Char('2'));
        }
    }
}
