//! The value of a label: what stands behind it in its row, sticks to it, or stands below it. Must not know what labels mean.

use super::phrases::Hit;
use super::rows::Row;

/// Words farther apart than this many letters are columns.
const GAP_LETTERS: f32 = 6.0;

/// The most words of a value.
const WORDS_MAX: usize = 5;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Labelled {
    /// The value without the label.
    pub(super) text: String,
    /// The number of the row in the file.
    pub(super) row: usize,
    /// The first word.
    pub(super) from: usize,
    /// The last word.
    pub(super) to: usize,
}

/// The value of a label in one of the rows. `next` is the label after it in the row.
pub(super) fn value<T: Copy>(rows: &[Row<'_>], at: usize, hit: &Hit<T>, next: Option<&Hit<T>>) -> Option<Labelled> {
    let row = &rows[at];
    if let Some(stuck) = stuck(row, hit) {
        let to = last(row, hit.to, next);
        let mut text = stuck;
        for word in hit.to + 1..=to {
            text = format!("{text} {}", row.words[word].text);
        }
        return Some(Labelled { text: trimmed(&text), row: at, from: hit.to, to });
    }
    let filler = |word: &str| {
        word.chars().all(|letter| !letter.is_alphanumeric())
            || matches!(word.trim_matches('.'), "no" | "nr" | "n" | "n°" | "no:" | "nr:")
    };
    let from = (hit.to + 1..row.words.len()).find(|word| !filler(row.word(*word)));
    match from.filter(|from| next.is_none_or(|next| next.from > *from)) {
        Some(from) => {
            let to = last(row, from, next);
            Some(Labelled { text: trimmed(&row.raw(from, to)), row: at, from, to })
        }
        None => below(rows, at, hit, next),
    }
}

/// The rest of the word in which a label ends: `S/N:AB123`, `SN123456`.
fn stuck<T: Copy>(row: &Row<'_>, hit: &Hit<T>) -> Option<String> {
    let marks = &row.compact.marks;
    let used = marks[..hit.end].iter().filter(|(word, _)| *word as usize == hit.to).count();
    let text = &row.words[hit.to].text;
    let mut left = used;
    let rest: String = text
        .chars()
        .skip_while(|letter| {
            let mine = left > 0 || !letter.is_alphanumeric();
            if letter.is_alphanumeric() && left > 0 {
                left -= 1;
            }
            mine
        })
        .collect();
    let rest = rest.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '+').to_owned();
    let only_filler = matches!(rest.to_lowercase().as_str(), "" | "no" | "nr" | "n" | "o");
    (!only_filler).then_some(rest)
}

/// The last word of a value that starts at a word: before the next label and before a wide gap.
fn last<T: Copy>(row: &Row<'_>, from: usize, next: Option<&Hit<T>>) -> usize {
    let end = next.map_or(row.words.len(), |next| next.from).min(from + WORDS_MAX).max(from + 1);
    (from..end - 1).find(|word| is_gap(row, *word)).unwrap_or(end - 1)
}

fn is_gap(row: &Row<'_>, at: usize) -> bool {
    row.letters_to_next(at).is_some_and(|letters| letters > GAP_LETTERS)
}

/// The words of the next row that stand below a label. Without places: the whole row.
fn below<T: Copy>(rows: &[Row<'_>], at: usize, hit: &Hit<T>, behind: Option<&Hit<T>>) -> Option<Labelled> {
    let next = rows.get(at + 1).filter(|next| next.page == rows[at].page)?;
    let Some(label) = rows[at].area(hit.from, hit.to) else {
        let to = next.words.len().min(WORDS_MAX) - 1;
        return Some(Labelled { text: trimmed(&next.raw(0, to)), row: at + 1, from: 0, to });
    };
    let label = next.span(label);
    let place = |word: usize| next.span(next.words[word].area);
    let touches = |word: &usize| place(*word).start < label.end && label.start < place(*word).end;
    let from = (0..next.words.len()).find(touches)?;
    let column = behind.and_then(|behind| rows[at].area(behind.from, behind.to)).map(|area| next.span(area).start);
    let end = next.words.len().min(from + WORDS_MAX) - 1;
    let ends = |word: &usize| is_gap(next, *word) || column.is_some_and(|start| place(word + 1).start >= start);
    let to = (from..end).find(ends).unwrap_or(end);
    Some(Labelled { text: trimmed(&next.raw(from, to)), row: at + 1, from, to })
}

fn trimmed(text: &str) -> String {
    text.trim_matches(|letter: char| {
        letter.is_whitespace() || matches!(letter, ':' | ';' | ',' | '=' | '#' | '|' | '*' | '"')
    })
    .to_owned()
}
