//! The first run: introduces Hearth and offers the demo, a connection to a server, or a start without a server. A small
//! application with its own state, keys, view and loop. `connect` connects to a server, `others` lists the existing
//! homes. Must not know the screens of the main application.

mod connect;
pub mod others;
mod state;
mod view;

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use hearth_replica::profile::Profile;

use crate::config::Config;
use crate::edge::background::Background;
use crate::edge::event::TICK;
use crate::edge::keyboard::Keyboard;
use crate::edge::terminal::Screen;
use crate::message::Message;
use crate::view::Theme;
use state::{ANSWER_POLL, Step, Welcome};

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

/// Runs the first run until the person chooses.
///
/// # Errors
/// When the terminal cannot be used.
pub fn run(profile: &mut Profile, config: &Config) -> anyhow::Result<Outcome> {
    let theme = Theme::from_environment(config.theme);
    let (sender, messages) = channel();
    let _signals = Background::start(None, sender.clone())?;
    let mut screen = Screen::open(false)?;
    let _keyboard = Keyboard::listen(sender, config.keys.clone())?;
    let introduction = others::missing_home_sentence(&profile.name, &others::home_names(profile));
    let mut welcome = Welcome { introduction, ..Welcome::default() };
    loop {
        match next_step(&mut welcome, profile, &mut screen, &messages, config.ascii, &theme)? {
            Next::Connected(_) | Next::Step(Step::Local) => return Ok(Outcome::Home),
            Next::Step(Step::Demo) => return Ok(Outcome::Demo),
            Next::Step(Step::Quit) | Next::Other(Message::End) => return Ok(Outcome::Quit),
            Next::Step(Step::Stay | Step::Connect) | Next::Other(_) => {}
        }
    }
}

/// The end of [`ask_connection`].
#[derive(Debug)]
pub struct Asked {
    /// The name of the connected home. None: the person went back.
    pub home: Option<String>,
    /// The messages that were not for the form, in order.
    pub others: Vec<Message>,
}

/// Shows the form for a connection on an open screen, until the home is connected or the person goes back.
///
/// # Errors
/// When the terminal cannot be used.
pub fn ask_connection(
    screen: &mut Screen,
    messages: &Receiver<Message>,
    profile: &mut Profile,
    ascii: bool,
    theme: &Theme,
) -> anyhow::Result<Asked> {
    let mut welcome = Welcome { connection: Some(state::Connection::with_default()), ..Welcome::default() };
    let mut others = Vec::new();
    while welcome.connection.is_some() {
        match next_step(&mut welcome, profile, screen, messages, ascii, theme)? {
            Next::Connected(home) => return Ok(Asked { home: Some(home), others }),
            Next::Step(Step::Quit) => {
                others.push(Message::End);
                break;
            }
            // Mouse events on the form are not for the screen behind it.
            Next::Other(Message::Mouse(_)) => {}
            Next::Other(message) => {
                let ends = matches!(message, Message::End);
                others.push(message);
                if ends {
                    break;
                }
            }
            Next::Step(_) => {}
        }
    }
    Ok(Asked { home: None, others })
}

/// What has happened on the screen.
#[expect(clippy::large_enum_variant, reason = "one is alive at once; a box would cost more than it saves")]
enum Next {
    /// The home is connected; its name.
    Connected(String),
    /// A key was handled.
    Step(Step),
    /// A message that is not for this screen.
    Other(Message),
}

/// Draws the screen, and handles one answer of the server, or one message.
fn next_step(
    welcome: &mut Welcome,
    profile: &mut Profile,
    screen: &mut Screen,
    messages: &Receiver<Message>,
    ascii: bool,
    theme: &Theme,
) -> anyhow::Result<Next> {
    screen.draw(|frame| view::draw(welcome, ascii, theme, frame))?;
    let mut wait = TICK;
    // Keys still work during the request, because a silent server must not block the person.
    if let Some(connection) = welcome.connection.as_mut().filter(|connection| connection.pending.is_some()) {
        match connection.take_answer() {
            None => wait = ANSWER_POLL,
            Some(answer) => match answer.and_then(|identity| connect::adopt(profile, identity)) {
                Ok(home) => return Ok(Next::Connected(home)),
                Err(sentence) => {
                    connection.fault = Some(sentence);
                    return Ok(Next::Step(Step::Stay));
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
        Ok(Message::Tick) | Err(RecvTimeoutError::Timeout) => Step::Stay,
        Ok(other) => return Ok(Next::Other(other)),
        Err(RecvTimeoutError::Disconnected) => Step::Quit,
    };
    if step == Step::Connect
        && let Some(connection) = &mut welcome.connection
    {
        connection.pending = Some(connect::request_identity(connection.server.text(), connection.key.text())?);
    }
    Ok(Next::Step(step))
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::connect::{Approval, News};
    use super::state::{Connection, DEFAULT_SERVER, OFFERS};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::config::Colors;
    use crate::state::input::Line;

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
        let (server, pending) = tokio::sync::mpsc::unbounded_channel();
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
        assert!(server.send(News::Done(Err("late".to_owned()))).is_err(), "a late answer is dropped");
        press(&mut welcome, KeyCode::Esc);
        assert!(welcome.connection.is_none());
    }

    #[test]
    fn malformed_key_is_not_sent() {
        let mut pending = connect::request_identity("127.0.0.1:9", "svc_live_typo").unwrap();
        let Some(News::Done(Err(sentence))) = pending.blocking_recv() else { panic!("an end") };
        assert!(sentence.starts_with("This is no API key"));
    }

    #[test]
    fn approval_shows_page_code_and_qr() {
        let (server, pending) = tokio::sync::mpsc::unbounded_channel();
        let mut connection = Connection { pending: Some(pending), ..Connection::default() };
        let qr = hearth_replica::qr_lines("https://home.example/oauth/device?user_code=BCDF-GHJK").unwrap();
        let (address, code) = ("https://home.example/oauth/device".to_owned(), "BCDF-GHJK".to_owned());
        server.send(News::Approval(Approval { address, code, qr: qr.clone() })).unwrap();
        assert!(connection.take_answer().is_none());
        let mut welcome = Welcome { connection: Some(connection), ..Welcome::default() };
        for (width, height, has_qr) in
            [(80, 24, true), (60, 40, true), (50, 40, true), (60, 24, false), (40, 10, false)]
        {
            let text = screen(&welcome, width, height);
            assert!(text.contains("BCDF-GHJK") && text.contains("esc cancels"), "{text}");
            assert!(!text.contains("esc back") && !text.contains("enter next"), "{text}");
            assert_eq!(qr.iter().all(|line| text.contains(line.as_str())), has_qr, "{width}x{height}\n{text}");
        }
        press(&mut welcome, KeyCode::Esc);
        assert!(server.is_closed() && welcome.connection.as_ref().unwrap().approval.is_none());
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
