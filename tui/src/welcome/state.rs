//! The state of the first run, and what a key does to it. Must not know how the state is drawn, or how a server is asked.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::error::TryRecvError;
use tui_input::InputRequest;

use super::connect::{Approval, News, ServerIdentity};
use crate::state::input::{self, Line};

/// The offers with their explanations.
pub(super) const OFFERS: [(&str, &str); 3] = [
    ("Look around in the demo", "A sample home with a family, all on this machine. The demo leaves no data behind."),
    ("Connect to a server", "Your own home. You need the server's address, and a browser or an API key."),
    ("Begin without a server", "All data stays on this machine until you connect a server."),
];

/// The state of the first run.
#[derive(Debug, Default)]
pub(super) struct Welcome {
    /// The index of the offer under the cursor.
    pub(super) selected: usize,
    /// The form for a connection. None: the offers are shown.
    pub(super) connection: Option<Connection>,
    /// The sentence that this home is not set up, with the names of existing homes.
    pub(super) introduction: String,
}

/// The form for a connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) server: Line,
    pub(super) key: Line,
    /// Whether the cursor is in the key.
    pub(super) in_key: bool,
    /// Whether the address is the default. The first typed character replaces the default.
    pub(super) is_default: bool,
    /// Why the last try failed.
    pub(super) fault: Option<String>,
    /// Receives the answer of the server. None: no request is running.
    pub(super) pending: Option<UnboundedReceiver<News>>,
    /// What a person must do in a browser while the request runs.
    pub(super) approval: Option<Approval>,
}

/// The default address of a server on this machine.
pub(super) const DEFAULT_SERVER: &str = "http://127.0.0.1:8750";

/// The time between two checks for the answer of the server.
pub(super) const ANSWER_POLL: Duration = Duration::from_millis(100);

impl Connection {
    /// A form with the default address.
    pub(super) fn with_default() -> Connection {
        Connection { server: Line::with_text(DEFAULT_SERVER), is_default: true, ..Connection::default() }
    }

    /// The line under the cursor, about to change. `types`: whether a character is inserted. The first inserted
    /// character replaces the default address; later characters never do.
    pub(super) fn line(&mut self, types: bool) -> &mut Line {
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
    pub(super) fn take_answer(&mut self) -> Option<Result<ServerIdentity, String>> {
        let answer = match self.pending.as_mut()?.try_recv() {
            Err(TryRecvError::Empty) => return None,
            Ok(News::Approval(approval)) => {
                self.approval = Some(approval);
                return None;
            }
            Ok(News::Done(answer)) => answer,
            Err(TryRecvError::Disconnected) => Err("The server could not be asked. Press enter to try again.".into()),
        };
        self.cancel();
        Some(answer)
    }

    /// Ends the request that is running.
    pub(super) fn cancel(&mut self) {
        (self.pending, self.approval) = (None, None);
    }
}

/// The result of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Stay,
    Demo,
    Local,
    Quit,
    Connect,
}

impl Welcome {
    pub(super) fn key(&mut self, key: KeyEvent) -> Step {
        if key.kind == KeyEventKind::Release {
            return Step::Stay;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Step::Quit;
        }
        match &mut self.connection {
            Some(connection) if connection.pending.is_some() => {
                if key.code == KeyCode::Esc {
                    connection.cancel();
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
                self.connection = Some(Connection::with_default());
                Step::Stay
            }
            _ => Step::Local,
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Some(connection) = self.connection.as_mut().filter(|connection| connection.pending.is_none()) {
            connection.line(true).paste(text.trim());
        }
    }
}
