//! Removes harmful characters from database text before drawing. A title may hold an escape sequence, a direction
//! override or invisible characters. Must not know what is drawn.
//!
//! Views call [`clean_line`] before they measure a text. [`clean_buffer`] checks the finished frame, in case a view
//! forgot.

use std::borrow::Cow;

use ratatui::buffer::{Buffer, CellWidth};
use ratatui::style::Style;
use ratatui::text::Span;

/// Drawn in place of a control character.
const PLACEHOLDER: char = '\u{fffd}';

/// The text on one line. Line breaks and tabs become spaces, control characters become a placeholder, invisible
/// characters are removed.
pub fn clean_line(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter_map(shown).collect())
}

/// Cleans every cell of a finished frame; the last step before the frame goes to the terminal.
pub fn clean_buffer(frame: &mut Buffer) {
    for cell in &mut frame.content {
        if cell.symbol().chars().all(is_harmless) {
            continue;
        }
        // Keep one character: without the joiner, the rest would need more columns than the cell has.
        let first = cell.symbol().chars().filter_map(shown).next().unwrap_or(' ');
        cell.set_char(first);
    }
}

fn is_harmless(c: char) -> bool {
    !c.is_control() && !is_invisible(c) && !is_half_a_flag(c)
}

/// Two regional indicators are a flag on some terminals and two letters of another width on others, which breaks the
/// layout.
fn is_half_a_flag(c: char) -> bool {
    REGIONAL_INDICATORS.contains(&c)
}

/// The Unicode characters from which flags are composed, A to Z.
const REGIONAL_INDICATORS: std::ops::RangeInclusive<char> = '\u{1f1e6}'..='\u{1f1ff}';

fn shown(c: char) -> Option<char> {
    match c {
        '\n' | '\t' => Some(' '),
        '\r' => None,
        c if c.is_control() => Some(PLACEHOLDER),
        c if is_invisible(c) => None,
        // A flag becomes its two letters.
        c if is_half_a_flag(c) => {
            REGIONAL_INDICATORS.zip('A'..='Z').find(|(half, _)| *half == c).map(|(_, letter)| letter)
        }
        c => Some(c),
    }
}

/// Characters without a glyph that move, hide or reorder others: bidi marks, embeddings, overrides and isolates,
/// zero-width spaces and joiners, variation selectors, tags, line and paragraph separators.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00ad}'
        | '\u{034f}'
        | '\u{061c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The width of a text in terminal columns, counted by grapheme: a skin tone modifier has no width.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.bytes().filter(|byte| !byte.is_ascii_control()).count();
    }
    let span = Span::raw(text);
    span.styled_graphemes(Style::new()).map(|sign| usize::from(sign.symbol.cell_width())).sum()
}

/// The clean text cut to at most `columns`. `mark` stands for the missing end.
pub fn fit(text: &str, columns: usize, mark: &str) -> String {
    let clean = clean_line(text);
    if width(&clean) <= columns {
        return clean.into_owned();
    }
    let room = columns.saturating_sub(width(mark));
    let mut out = String::new();
    let mut used = 0;
    for sign in Span::raw(clean.as_ref()).styled_graphemes(Style::new()) {
        used += usize::from(sign.symbol.cell_width());
        if used > room {
            break;
        }
        out.push_str(sign.symbol);
    }
    if columns >= width(mark) {
        out.push_str(mark);
    }
    out
}

/// The clean text wrapped at spaces into lines of at most `columns`.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut out = Vec::new();
    for paragraph in text.lines().map(clean_line) {
        let mut current = String::new();
        for word in paragraph.split(' ') {
            let gap = usize::from(!current.is_empty());
            if width(&current) + gap + width(word) <= columns {
                if gap == 1 {
                    current.push(' ');
                }
                current.push_str(word);
                continue;
            }
            if !current.is_empty() {
                out.push(std::mem::take(&mut current));
            }
            // Split a word that is longer than a line, such as a web address.
            let mut used = 0;
            for sign in Span::raw(word).styled_graphemes(Style::new()) {
                let wide = usize::from(sign.symbol.cell_width());
                if used + wide > columns {
                    out.push(std::mem::take(&mut current));
                    used = 0;
                }
                current.push_str(sign.symbol);
                used += wide;
            }
        }
        out.push(current);
    }
    out
}

/// The clean text wrapped into at most `lines` lines of `columns`. `mark` stands for the missing end.
pub fn wrap_max(text: &str, columns: usize, lines: usize, mark: &str) -> Vec<String> {
    let mut all = wrap(text, columns);
    if all.len() > lines {
        let rest = all.split_off(lines.saturating_sub(1)).join(" ");
        all.extend((lines > 0).then(|| fit(&rest, columns, mark)));
    }
    all
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;

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
    fn clean_buffer_removes_harmful_cells() {
        let mut frame = Buffer::empty(Rect::new(0, 0, 3, 1));
        frame.content[0].set_symbol("\u{1b}");
        frame.content[1].set_symbol("a\u{202e}");
        frame.content[2].set_symbol("\u{200b}");
        clean_buffer(&mut frame);
        let row: Vec<&str> = frame.content.iter().map(|cell| cell.symbol()).collect();
        assert_eq!(row, ["\u{fffd}", "a", " "]);
    }

    #[test]
    fn fit_counts_columns_not_characters() {
        assert_eq!(fit("kettle", 6, "…"), "kettle");
        assert_eq!(fit("kettles", 6, "…"), "kettl…");
        assert_eq!(fit("字字字字", 6, "…"), "字字…");
        assert_eq!(fit("abc", 0, "…"), "");
    }

    #[test]
    fn wrap_breaks_at_spaces_and_splits_long_words() {
        assert_eq!(wrap("the quick fox", 9), ["the quick", "fox"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("a\n\nb", 3), ["a", "", "b"]);
        assert_eq!(wrap("x", 0), ["x"]);
        assert_eq!(wrap_max("the quick brown fox", 9, 2, "…"), ["the quick", "brown fox"]);
        assert_eq!(wrap_max("the quick brown fox jumps", 9, 2, "…"), ["the quick", "brown fo…"]);
        assert_eq!(wrap_max("the quick", 9, 0, "…"), [""; 0]);
    }

    #[test]
    fn width_equals_drawn_columns() {
        for text in [
            "plain",
            "字é",
            "\u{1f44d}\u{1f3fd}!",
            "e\u{301}e",
            "\u{1f469}\u{1f3fd}\u{200d}\u{1f527}",
            "\u{1f1e9}\u{1f1ea}",
        ] {
            let clean = clean_line(text);
            let mut frame = Buffer::empty(Rect::new(0, 0, 20, 1));
            let (end, _) = frame.set_stringn(0, 0, &clean, 20, Style::new());
            assert_eq!(width(&clean), usize::from(end), "{text}");
        }
        assert_eq!(
            fit("\u{1f44d}\u{1f3fd}\u{1f44d}\u{1f3fd}\u{1f44d}", 5, "…"),
            "\u{1f44d}\u{1f3fd}\u{1f44d}\u{1f3fd}…"
        );
        assert_eq!(wrap("\u{1f44d}\u{1f3fd}\u{1f44d}\u{1f3fd}", 2), ["\u{1f44d}\u{1f3fd}"; 2]);
    }
}
