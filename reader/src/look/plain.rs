//! The words of a plain text. They stand in a grid of characters, so that columns of the text stay columns. Must not know files.

use crate::reading::{Area, Line, Page, Word};

/// The width of a page in characters, at least.
const COLUMNS_MIN: usize = 80;
/// Width divided by height of a sheet of paper.
const ASPECT: f32 = 0.707;

/// The text as one page.
pub(super) fn page(text: &str) -> Page {
    let rows = text.lines().count().max(1) as f32;
    let columns = text.lines().map(|line| line.chars().count()).max().unwrap_or(0).max(COLUMNS_MIN) as f32;
    let lines = text.lines().enumerate().map(|(row, line)| Line {
        words: words(line)
            .map(|(column, word)| Word {
                text: word.to_owned(),
                area: Area {
                    x: column as f32 / columns,
                    y: row as f32 / rows,
                    w: word.chars().count() as f32 / columns,
                    h: 1.0 / rows,
                },
                score: 1.0,
            })
            .collect(),
    });
    Page { aspect: ASPECT, lines: lines.filter(|line| !line.words.is_empty()).collect(), ..Page::default() }
}

/// The words of a line, each with the number of its first character.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut column = 0;
    line.split(char::is_whitespace).filter_map(move |word| {
        let start = column;
        column += word.chars().count() + 1;
        (!word.is_empty()).then_some((start, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_in_a_grid() {
        let page = page("Total:  9,30 €\n\n  ü  b");
        let texts: Vec<String> = page.lines.iter().map(Line::text).collect();
        assert_eq!(texts, ["Total: 9,30 €", "ü b"]);
        assert_eq!(page.lines[0].words[1].area, Area { x: 8.0 / 80.0, y: 0.0, w: 4.0 / 80.0, h: 1.0 / 3.0 });
        assert_eq!(page.lines[1].words[1].area.x, 5.0 / 80.0);
    }
}
