//! A line of text with a cursor, for filters, search and forms. Must not know the meaning of the text.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tui_input::{Input, InputRequest};

use crate::keys::altgr_character;

/// The most letters of a line. No field of the contract takes as many: a longer value is refused with a reason instead
/// of cut.
const LETTERS_MAX: usize = 12_000;

/// A line of text with a cursor.
#[derive(Debug, Clone, Default)]
pub struct Line(Input);

impl Line {
    /// A line with this text and the cursor at its end.
    pub fn with_text(text: &str) -> Line {
        Line(Input::new(text.to_owned()))
    }

    /// The text of the line.
    pub fn text(&self) -> &str {
        self.0.value()
    }

    /// The text before the cursor.
    pub fn before_cursor(&self) -> String {
        self.text().chars().take(self.0.cursor()).collect()
    }

    /// Handles a key. True: the text changed.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let Some(request) = request(key) else { return false };
        if matches!(request, InputRequest::InsertChar(_)) && self.room() == 0 {
            return false;
        }
        self.0.handle(request).is_some_and(|changed| changed.value)
    }

    /// Inserts a pasted text; line breaks become spaces.
    pub fn paste(&mut self, text: &str) {
        let letters = text.trim_end_matches(['\r', '\n']).chars();
        let letters = letters.map(|letter| if letter.is_whitespace() { ' ' } else { letter });
        let typed: String = letters.filter(|letter| !letter.is_control()).take(self.room()).collect();
        // Insert once: letter by letter, a long paste takes quadratic time.
        let (before, after) = self.text().split_at(self.before_cursor().len());
        let cursor = self.0.cursor() + typed.chars().count();
        self.0 = Input::new([before, &typed, after].concat()).with_cursor(cursor);
    }

    /// The number of letters that still fit.
    fn room(&self) -> usize {
        LETTERS_MAX.saturating_sub(self.text().chars().count())
    }
}

/// The edit that a key stands for; None: no key of a line.
pub fn request(key: KeyEvent) -> Option<InputRequest> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    Some(match key.code {
        KeyCode::Char('a') if control => InputRequest::GoToStart,
        KeyCode::Char('e') if control => InputRequest::GoToEnd,
        KeyCode::Char('h') if control => InputRequest::DeletePrevChar,
        KeyCode::Char('w') if control => InputRequest::DeletePrevWord,
        KeyCode::Char('u') if control => InputRequest::DeleteFromStart,
        KeyCode::Char('k') if control => InputRequest::DeleteTillEnd,
        KeyCode::Char(letter) if (!control && !alt) || altgr_character(key).is_some() => {
            InputRequest::InsertChar(letter)
        }
        KeyCode::Backspace if control || alt => InputRequest::DeletePrevWord,
        KeyCode::Backspace => InputRequest::DeletePrevChar,
        KeyCode::Delete => InputRequest::DeleteNextChar,
        KeyCode::Left if control || alt => InputRequest::GoToPrevWord,
        KeyCode::Right if control || alt => InputRequest::GoToNextWord,
        KeyCode::Left => InputRequest::GoToPrevChar,
        KeyCode::Right => InputRequest::GoToNextChar,
        KeyCode::Home => InputRequest::GoToStart,
        KeyCode::End => InputRequest::GoToEnd,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paste_inserts_at_cursor_up_to_limit() {
        let mut line = Line::with_text("a zé");
        line.key(KeyCode::Left.into());
        line.key(KeyCode::Left.into());
        line.paste("b\tc\r\nd\u{1b}\u{7}\n");
        assert_eq!((line.text(), line.before_cursor().as_str()), ("a b c  dzé", "a b c  d"));
        let since = std::time::Instant::now();
        line.paste(&"é".repeat(1_000_000));
        assert!(since.elapsed().as_secs() < 5, "letter by letter it takes hours");
        assert_eq!(line.text().chars().count(), LETTERS_MAX);
        assert!(line.text().ends_with("ézé"), "what stood there stays");
        assert!(!line.key(KeyCode::Char('x').into()));
        assert!(line.key(KeyCode::Backspace.into()) && line.key(KeyCode::Char('x').into()));
    }

    #[test]
    fn altgr_characters_are_typed() {
        let mut line = Line::default();
        for (letter, modifiers) in [
            ('@', KeyModifiers::CONTROL | KeyModifiers::ALT),
            ('€', KeyModifiers::ALT),
            ('x', KeyModifiers::ALT),
            ('x', KeyModifiers::CONTROL | KeyModifiers::ALT),
        ] {
            line.key(KeyEvent::new(KeyCode::Char(letter), modifiers));
        }
        assert_eq!(line.text(), "@€");
    }

    #[test]
    fn ctrl_h_is_backspace() {
        let mut line = Line::with_text("ab");
        assert!(line.key(KeyEvent::new(KeyCode::Char('h'), KeyModifiers::CONTROL)));
        assert_eq!(line.text(), "a");
    }
}
