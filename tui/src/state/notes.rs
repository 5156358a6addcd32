//! The text area of notes: its keys, and the cleaning of text from elsewhere. Must not know which field the notes belong to.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use tui_input::InputRequest;

use super::input;

/// A text area with these lines.
pub(super) fn area(lines: Vec<String>) -> TextArea<'static> {
    let mut area = TextArea::new(lines);
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(Default::default());
    area
}

/// A text without control characters except newline and tab, with `\n` line breaks, without a byte order mark.
pub(super) fn clean(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let is_kept = |letter: &char| matches!(letter, '\n' | '\t') || !(letter.is_control() || *letter == '\u{feff}');
    lines.chars().filter(is_kept).collect()
}

/// The keys of notes: the same keys as in a line, and keys that move between lines. True: the text has changed.
pub(super) fn key(area: &mut TextArea<'_>, key: KeyEvent) -> bool {
    let goes = match (key.code, input::request(key)) {
        // Some terminals send ctrl-j for a line break.
        (KeyCode::Char('j'), _) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            area.insert_newline();
            return true;
        }
        (KeyCode::Up, _) => CursorMove::Up,
        (KeyCode::Down, _) => CursorMove::Down,
        (_, Some(InputRequest::GoToStart)) => CursorMove::Head,
        (_, Some(InputRequest::GoToEnd)) => CursorMove::End,
        (_, Some(InputRequest::GoToPrevWord)) => CursorMove::WordBack,
        (_, Some(InputRequest::GoToNextWord)) => CursorMove::WordForward,
        (_, Some(InputRequest::GoToPrevChar)) => CursorMove::Back,
        (_, Some(InputRequest::GoToNextChar)) => CursorMove::Forward,
        (_, Some(InputRequest::DeletePrevChar)) => return area.delete_char(),
        (_, Some(InputRequest::DeletePrevWord)) => return area.delete_word(),
        (_, Some(InputRequest::DeleteFromStart)) => return area.delete_line_by_head(),
        (_, Some(InputRequest::DeleteTillEnd)) => return area.delete_line_by_end(),
        (_, Some(InputRequest::InsertChar(letter))) => {
            area.insert_char(letter);
            return true;
        }
        _ => return area.input_without_shortcuts(key),
    };
    area.move_cursor(goes);
    false
}
