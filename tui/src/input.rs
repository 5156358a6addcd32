//! A text line under the cursor, for filters, search and forms. Turns keys into edits; must not know what is typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tui_input::{Input, InputRequest};

/// A line of text with a cursor.
#[derive(Debug, Clone, Default)]
pub struct Line(Input);

impl Line {
    /// A line that holds this text, the cursor at its end.
    pub fn holding(text: &str) -> Line {
        Line(Input::new(text.to_owned()))
    }

    /// What it holds.
    pub fn text(&self) -> &str {
        self.0.value()
    }

    /// What stands before the cursor.
    pub fn before_cursor(&self) -> String {
        self.text().chars().take(self.0.cursor()).collect()
    }

    /// Handles a key. True: the text changed.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let request = match key.code {
            KeyCode::Char('a') if control => InputRequest::GoToStart,
            KeyCode::Char('e') if control => InputRequest::GoToEnd,
            KeyCode::Char('w') if control => InputRequest::DeletePrevWord,
            KeyCode::Char('u') if control => InputRequest::DeleteFromStart,
            KeyCode::Char('k') if control => InputRequest::DeleteTillEnd,
            KeyCode::Char(letter) if !control && !alt => InputRequest::InsertChar(letter),
            KeyCode::Backspace if control || alt => InputRequest::DeletePrevWord,
            KeyCode::Backspace => InputRequest::DeletePrevChar,
            KeyCode::Delete => InputRequest::DeleteNextChar,
            KeyCode::Left if control || alt => InputRequest::GoToPrevWord,
            KeyCode::Right if control || alt => InputRequest::GoToNextWord,
            KeyCode::Left => InputRequest::GoToPrevChar,
            KeyCode::Right => InputRequest::GoToNextChar,
            KeyCode::Home => InputRequest::GoToStart,
            KeyCode::End => InputRequest::GoToEnd,
            _ => return false,
        };
        self.0.handle(request).is_some_and(|changed| changed.value)
    }

    /// Types a text; breaks become spaces, because a line is one line.
    pub fn paste(&mut self, text: &str) {
        for letter in text.trim_end_matches(['\r', '\n']).chars() {
            let letter = if letter.is_whitespace() { ' ' } else { letter };
            if !letter.is_control() {
                self.0.handle(InputRequest::InsertChar(letter));
            }
        }
    }
}
