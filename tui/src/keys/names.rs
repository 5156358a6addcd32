//! The names of keys in the table and in a configuration. Must not know which action a key starts.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The name of a key on screens: arrow signs for arrow keys, unless signs are ASCII.
pub fn key_symbol(name: &str, ascii: bool) -> &str {
    match name {
        "up" if !ascii => "↑",
        "down" if !ascii => "↓",
        "left" if !ascii => "←",
        "right" if !ascii => "→",
        name => name,
    }
}

/// Keys without a letter.
const NAMED_KEYS: [&str; 16] = [
    "space",
    "enter",
    "esc",
    "tab",
    "shift-tab",
    "backspace",
    "delete",
    "insert",
    "up",
    "down",
    "left",
    "right",
    "home",
    "end",
    "pageup",
    "pagedown",
];

/// Whether a text is the name of a key.
pub fn is_key_name(text: &str) -> bool {
    let base = text.strip_prefix("ctrl-").unwrap_or(text);
    let base = base.strip_prefix("alt-").unwrap_or(base);
    let base = match base.strip_prefix("shift-") {
        // The letter is already the shifted one.
        Some(rest) if rest.chars().count() > 1 => rest,
        _ => base,
    };
    let number = base.strip_prefix('f').and_then(|number| number.parse::<u8>().ok());
    let mut letters = base.chars();
    let one = letters.next().is_some_and(|letter| !letter.is_control() && letter != ' ') && letters.next().is_none();
    one || NAMED_KEYS.contains(&base) || number.is_some_and(|number| (1..=24).contains(&number))
}

/// The name of a key: `j`, `G`, `ctrl-c`, `shift-tab`, `pagedown`. None: the key has no name.
pub fn key_name(key: KeyEvent) -> Option<String> {
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
    // The letter is already the shifted one.
    if key.modifiers.contains(KeyModifiers::SHIFT) && !matches!(key.code, KeyCode::Char(_)) {
        out.push_str("shift-");
    }
    out.push_str(&base);
    Some(out)
}

/// The character that AltGr made. Terminals report AltGr as Alt, some with Ctrl: `ctrl-alt-@` is `@`. None: an ASCII letter
/// or digit, which AltGr never makes, or another key.
pub fn altgr_character(key: KeyEvent) -> Option<char> {
    let KeyCode::Char(letter) = key.code else { return None };
    let is_made = key.modifiers.contains(KeyModifiers::ALT) && !letter.is_ascii_alphanumeric() && letter != ' ';
    is_made.then_some(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_roundtrip() {
        let key = |code, modifiers| key_name(KeyEvent::new(code, modifiers)).unwrap();
        assert_eq!(key(KeyCode::Char('G'), KeyModifiers::SHIFT), "G");
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), "ctrl-c");
        assert_eq!(key(KeyCode::BackTab, KeyModifiers::SHIFT), "shift-tab");
        assert_eq!(key(KeyCode::Char(' '), KeyModifiers::NONE), "space");
        for text in ["j", "G", "é", "ctrl-s", "alt-x", "f12", "shift-tab", "pagedown", "-"] {
            assert!(is_key_name(text), "{text}");
        }
        for text in ["", "jj", "ctrl+s", "f0", "f99", "shift-j", "Enter", " "] {
            assert!(!is_key_name(text), "{text}");
        }
    }

    #[test]
    fn altgr_makes_signs_and_foreign_letters() {
        let altgr = KeyModifiers::CONTROL | KeyModifiers::ALT;
        for (letter, modifiers, expected) in [
            ('@', altgr, Some('@')),
            ('[', altgr, Some('[')),
            ('ą', altgr, Some('ą')),
            ('€', KeyModifiers::ALT, Some('€')),
            ('Ą', altgr | KeyModifiers::SHIFT, Some('Ą')),
            ('a', altgr, None),
            ('7', KeyModifiers::ALT, None),
            (' ', KeyModifiers::ALT, None),
            ('@', KeyModifiers::CONTROL, None),
            ('@', KeyModifiers::NONE, None),
        ] {
            assert_eq!(altgr_character(KeyEvent::new(KeyCode::Char(letter), modifiers)), expected, "{letter}");
        }
        assert_eq!(altgr_character(KeyEvent::new(KeyCode::Left, KeyModifiers::ALT)), None);
    }

    #[test]
    fn table_keys_are_valid_names() {
        for key in crate::keys::BINDINGS.iter().flat_map(|binding| binding.keys) {
            assert!(is_key_name(key), "{key}");
        }
    }
}
