//! The names of keys: what the table and a configuration call them. Must not know what they start.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key's name as it is shown: arrows as arrows, unless everything is ASCII.
pub fn shown(name: &str, ascii: bool) -> &str {
    match name {
        "up" if !ascii => "↑",
        "down" if !ascii => "↓",
        "left" if !ascii => "←",
        "right" if !ascii => "→",
        name => name,
    }
}

/// A key by its name: `j`, `G`, `ctrl-c`, `shift-tab`, `pagedown`.
pub fn name(key: KeyEvent) -> Option<String> {
    let base = match key.code {
        KeyCode::Char(' ') => "space".to_owned(),
        KeyCode::Char(letter) => letter.to_string(),
        KeyCode::Enter => "enter".into(),
        KeyCode::Esc => "esc".into(),
        KeyCode::Tab => "tab".into(),
        KeyCode::BackTab => return Some("shift-tab".into()),
        KeyCode::Backspace => "backspace".into(),
        KeyCode::Delete => "delete".into(),
        KeyCode::Insert => "insert".into(),
        KeyCode::Up => "up".into(),
        KeyCode::Down => "down".into(),
        KeyCode::Left => "left".into(),
        KeyCode::Right => "right".into(),
        KeyCode::Home => "home".into(),
        KeyCode::End => "end".into(),
        KeyCode::PageUp => "pageup".into(),
        KeyCode::PageDown => "pagedown".into(),
        KeyCode::F(number) => format!("f{number}"),
        _ => return None,
    };
    let mut out = String::new();
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        out.push_str("ctrl-");
    }
    if key.modifiers.contains(KeyModifiers::ALT) {
        out.push_str("alt-");
    }
    // The shift of a letter is already in the letter.
    if key.modifiers.contains(KeyModifiers::SHIFT) && !matches!(key.code, KeyCode::Char(_)) {
        out.push_str("shift-");
    }
    out.push_str(&base);
    Some(out)
}
