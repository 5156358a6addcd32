//! The searched words of records and of questions (contract 8). The server and the replica use the same words, which gives
//! the same results, except for the words of a record beyond the server's limit. Must not know how words are indexed.
//!
//! - [`fold`](fold()): the form of a text in which spellings of one word are equal. [`letters`]: letters and signs.
//! - [`codes`]: two spellings of one product code. [`snippet`]: the part of a text that shows the found words.

mod codes;
mod fold;
pub mod letters;
mod snippet;

pub use codes::spellings;
pub use fold::{fold, word_ranges};
pub use snippet::marked;

use std::ops::Range;

use fold::{fold_beginning, word_starts};

use crate::check::Fields;
use crate::resources::resource;
use crate::schema::Kind;

/// The searched texts of a record: the title, and all other searchable fields, joined by line breaks.
pub fn title_and_rest(kind: Kind, fields: &Fields) -> (&str, String) {
    let resource = resource(kind);
    let text = |name: &str| fields.get(name).and_then(|value| value.as_str());
    let rest = resource.searchable().filter(|field| field.name != resource.title).filter_map(|field| text(field.name));
    (text(resource.title).unwrap_or_default(), rest.collect::<Vec<_>>().join("\n"))
}

/// Words of the other texts of a record that the server indexes at most: 20,000 letters of a language with spaces have about
/// 4,000. Without a limit, the words of one record could keep the writer from the records of all others.
const INDEXED_WORDS_MAX: usize = 6000;
/// Bytes of the other texts of a record that the server indexes at most, after folding. One character may fold to 33 bytes.
const INDEXED_BYTES_MAX: usize = 48 << 10;

/// Both texts of [`title_and_rest`], folded for the server's index.
pub fn indexed_texts(kind: Kind, fields: &Fields) -> (String, String) {
    let (title, rest) = title_and_rest(kind, fields);
    (indexed_title(title), indexed_rest(&rest))
}

/// The title of [`title_and_rest`], folded for the server's index.
pub fn indexed_title(title: &str) -> String {
    fold(title)
}

/// The other texts of [`title_and_rest`], folded for the server's index: their first words.
pub fn indexed_rest(rest: &str) -> String {
    let mut folded = fold_beginning(rest, INDEXED_BYTES_MAX);
    let end = word_starts(&folded).nth(INDEXED_WORDS_MAX);
    folded.truncate(end.unwrap_or(usize::MAX));
    folded
}

/// The terms of a question, folded, in the order of the question. Punctuation separates terms and has no other meaning: there
/// is no query syntax.
///
/// A term is one word, or several words separated by one space that must follow each other: the signs of a script that is
/// written without spaces. The last word of a term may be the beginning of a word.
pub fn terms(question: &str) -> Vec<String> {
    let folded = written_terms(question).into_iter().map(fold_term);
    folded.filter(|term| !term.is_empty()).collect()
}

/// The terms of a question as written: words, and runs of words without anything between them.
pub fn written_terms(question: &str) -> Vec<&str> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for range in word_ranges(question) {
        match runs.last_mut() {
            Some(run) if run.end == range.start => run.end = range.end,
            _ => runs.push(range),
        }
    }
    runs.into_iter().map(|run| &question[run]).collect()
}

/// The folded form of a written term: its words, separated by one space.
pub fn fold_term(written: &str) -> String {
    fold(written).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_split_at_punctuation_and_fold() {
        for (question, expected) in [
            ("a AND \"b\" NEAR(c) col:x -y ^z*", &["a", "and", "b", "near", "c", "col", "x", "y", "z"][..]),
            ("serial_number OPS-306", &["serial", "number", "ops", "306"]),
            ("cre\u{300}me e\u{301}tage", &["creme", "etage"]),
            ("🧹Staubsauger ☀\u{fe0f}Sonne \u{f8ff}TV", &["staubsauger", "sonne", "tv"]),
            ("हिन्दी किताब", &["हिन्दी", "किताब"]),
            ("½ inch", &["1 2", "inch"]),
            ("-- \u{301}\u{301}", &[]),
        ] {
            assert_eq!(terms(question), expected, "{question}");
        }
    }

    #[test]
    fn signs_without_spaces_stay_in_one_term() {
        for (question, expected) in [
            ("冷蔵庫 フィルター", &["冷 蔵 庫", "フ ィ ル タ ー"][..]),
            ("SONY製テレビ", &["sony 製 テ レ ビ"]),
            ("ﾊﾟｿｺﾝ", &["パ ソ コ ン"]),
            ("ตู้เย็น", &["ตู้ เ ย็ น"]),
            ("น้ำ", &["น้\u{e4d} า"]),
            ("세탁기", &["세 탁 기"]),
            ("庫", &["庫"]),
        ] {
            assert_eq!(terms(question), expected, "{question}");
        }
    }

    #[test]
    fn indexed_words_have_a_limit() {
        let index = |rest: &str| indexed_rest(rest);
        assert_eq!(index(" Crème,  brûlée "), " creme   brulee ");
        let natural = "Staubsauger ".repeat(1660);
        assert_eq!(index(&natural), natural.to_lowercase());
        assert_eq!(index(&"冷".repeat(20_000)).split_ascii_whitespace().count(), INDEXED_WORDS_MAX);
        let longest_expansion = index(&"\u{fdfa}".repeat(10_000));
        assert!((INDEXED_BYTES_MAX / 2..=INDEXED_BYTES_MAX + 64).contains(&longest_expansion.len()));
    }
}
