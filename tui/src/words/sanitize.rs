//! Removes harmful characters from database text before drawing, by the contract's list, and fits text into columns. Must
//! not know what is drawn.
//!
//! Views call [`clean_line`] before they measure a text. [`clean_buffer`] checks the finished frame, in case a view
//! forgot.

pub use hearth_contract::printed_text::clean_line;
use hearth_contract::printed_text::{is_harmless, printed};
use ratatui::buffer::{Buffer, CellWidth};
use ratatui::style::Style;
use ratatui::text::Span;

/// Cleans every cell of a finished frame; the last step before the frame goes to the terminal.
pub fn clean_buffer(frame: &mut Buffer) {
    for cell in &mut frame.content {
        if cell.symbol().chars().all(is_harmless) {
            continue;
        }
        // Keep one character: without the joiner, the rest would need more columns than the cell has.
        let first = cell.symbol().chars().filter_map(printed).next().unwrap_or(' ');
        cell.set_char(first);
    }
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
