//! Foreign text made safe to print: the one list of characters that steer a terminal, reorder text or have no glyph. A title
//! may hold an escape sequence or a direction override. Must not know where a text is printed.

use std::borrow::Cow;
use std::fmt::Write;

/// Printed in place of a control character.
pub const PLACEHOLDER: char = '\u{fffd}';

/// True for a character that a terminal prints as itself, at one width on all terminals.
pub fn is_harmless(c: char) -> bool {
    !c.is_control() && !is_invisible(c) && !is_half_a_flag(c)
}

/// What is printed for a character on a line: a space for a line break or a tab, a placeholder for a control character, a
/// letter for one half of a flag. None: nothing is printed.
pub fn printed(c: char) -> Option<char> {
    match c {
        '\n' | '\t' => Some(' '),
        '\r' => None,
        c if c.is_control() => Some(PLACEHOLDER),
        c if is_invisible(c) => None,
        c if is_half_a_flag(c) => {
            REGIONAL_INDICATORS.zip('A'..='Z').find(|(half, _)| *half == c).map(|(_, letter)| letter)
        }
        c => Some(c),
    }
}

/// The text on one line: see [`printed`].
pub fn clean_line(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter_map(printed).collect())
}

/// The text without characters that steer a terminal or reorder text. Line breaks, tabs, joiners and flags stay: they are
/// part of words, and a program may read the text.
pub fn clean_lines(text: &str) -> Cow<'_, str> {
    let stays = |c: char| matches!(c, '\n' | '\r' | '\t') || !(c.is_control() || is_steering(c));
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter_map(|c| match c {
        c if stays(c) => Some(c),
        c if c.is_control() => Some(PLACEHOLDER),
        _ => None,
    });
    Cow::Owned(kept.collect())
}

/// JSON with the same content, in which strings hold such characters as `\u` escapes. Line breaks between members stay.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| c != '\n' && (c.is_control() || is_invisible(c));
    if !json.chars().any(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if !is_escaped(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    Cow::Owned(out)
}

/// Two regional indicators are a flag on some terminals and two letters of another width on others, which breaks the
/// layout.
fn is_half_a_flag(c: char) -> bool {
    REGIONAL_INDICATORS.contains(&c)
}

/// The Unicode characters from which flags are composed, A to Z.
const REGIONAL_INDICATORS: std::ops::RangeInclusive<char> = '\u{1f1e6}'..='\u{1f1ff}';

/// Characters that reorder text or end a line: bidi marks, embeddings, overrides and isolates, deprecated format
/// characters, line and paragraph separators, the byte order mark, interlinear marks.
fn is_steering(c: char) -> bool {
    matches!(c,
        '\u{061c}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}')
}

/// Characters without a glyph: those of [`is_steering`], and zero-width spaces and joiners, fillers, variation selectors and
/// tags.
fn is_invisible(c: char) -> bool {
    is_steering(c)
        || matches!(c,
            '\u{00ad}'
            | '\u{034f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{2065}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_become_text() {
        for (text, expected) in [
            ("plain é 字", "plain é 字"),
            ("red \u{1b}[31m", "red \u{fffd}[31m"),
            ("\u{9b}2J gone", "\u{fffd}2J gone"),
            ("bell\u{7}", "bell\u{fffd}"),
            ("two\nlines\tand\r", "two lines and"),
            ("evil\u{202e}gnp.exe", "evilgnp.exe"),
            ("a\u{200b}b\u{200d}c\u{feff}d", "abcd"),
            ("\u{2066}iso\u{2069}", "iso"),
            ("tag\u{e0041}", "tag"),
            ("del\u{7f}", "del\u{fffd}"),
            ("to \u{1f1e9}\u{1f1ea}", "to DE"),
            ("\u{1f1e6}\u{1f1ff}", "AZ"),
        ] {
            assert_eq!(clean_line(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_keep_breaks_and_joiners() {
        assert_eq!(clean_lines("a\r\n\tb \u{1b}[0m\u{9b}\u{202e}"), "a\r\n\tb \u{fffd}[0m\u{fffd}");
        let words = "می\u{200c}خواهم \u{1f468}\u{200d}\u{1f469} \u{1f1e9}\u{1f1ea}";
        assert_eq!(clean_lines(words), words);
    }

    #[test]
    fn escaped_json_has_equal_content() {
        let value = serde_json::json!({ "a\u{9b}\u{202e}": "\u{85}\u{e0041}\u{200d}é\n\u{7f}" });
        for json in [value.to_string(), format!("{value:#}")] {
            let escaped = escape_json(&json);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
            assert!(escaped.chars().all(|c| c == '\n' || is_harmless(c)), "{escaped:?}");
        }
    }
}
