//! How a question becomes terms, and how a hit is shown (contract 8). Pure; must not know the index.

use hearth_contract::record::Record;
use hearth_contract::search_text::letters::is_sign;
use hearth_contract::search_text::{self, marked};

/// Least and greatest number of characters of a question after trimming. One character is enough if it is a sign of a script
/// that is written without spaces.
pub const QUESTION: (usize, usize) = (2, 200);
/// The most terms of a question, repeated terms included.
pub const TERMS_MAX: usize = 16;

/// Words of a snippet at most.
const SNIPPET_WORDS: usize = 16;
/// Bytes of a text in which the words of a snippet are looked for. A record may have a thousand times as much text, and a
/// page has 100 records.
const SNIPPET_TEXT_MAX: usize = 8 << 10;

/// Why a question cannot be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadQuestion {
    /// The question is too short or too long.
    Length,
    /// The question has no letter, digit or sign.
    NoWord,
    /// The question has this number of words, more than [`TERMS_MAX`].
    TooManyWords(usize),
}

impl BadQuestion {
    /// A sentence. `subject`: how the reader calls the question.
    pub fn sentence(self, subject: &str) -> String {
        match self {
            BadQuestion::Length => format!("{subject} must have {} to {} characters.", QUESTION.0, QUESTION.1),
            BadQuestion::NoWord => format!("{subject} must have a word to look for."),
            BadQuestion::TooManyWords(count) => {
                format!("{subject} has {count} words; it may have {TERMS_MAX} at most.")
            }
        }
    }
}

/// The terms of a question, folded as in the index.
pub fn terms(question: &str) -> Result<Vec<String>, BadQuestion> {
    let length = question.trim().chars().count();
    let is_long_enough = length >= QUESTION.0 || question.chars().any(is_sign);
    if !is_long_enough || length > QUESTION.1 {
        return Err(BadQuestion::Length);
    }
    let terms = search_text::terms(question);
    if terms.is_empty() {
        return Err(BadQuestion::NoWord);
    }
    if terms.len() > TERMS_MAX {
        return Err(BadQuestion::TooManyWords(terms.len()));
    }
    Ok(without_redundant(&terms))
}

/// The terms without repetitions, and without terms that begin another term: a text with the longer term also matches the
/// shorter term.
fn without_redundant(terms: &[String]) -> Vec<String> {
    let is_needed = |index: usize| {
        let is_implied_by = |(other, term): (usize, &String)| {
            term.starts_with(&terms[index]) && (term.len() > terms[index].len() || other < index)
        };
        !terms.iter().enumerate().any(is_implied_by)
    };
    terms.iter().enumerate().filter(|(index, _)| is_needed(*index)).map(|(_, term)| term.clone()).collect()
}

/// Title and snippet of a record that was found by these terms. `read` gives the text that was read in its file, and is asked when
/// neither the title nor the other texts have the terms. The snippet shows the title when the terms stand behind the first
/// [`SNIPPET_TEXT_MAX`] bytes of all texts.
pub fn shown<E>(
    record: &Record,
    read: impl FnOnce() -> Result<String, E>,
    terms: &[String],
) -> Result<(String, String), E> {
    let (title, rest) = search_text::title_and_rest(record.kind, &record.fields);
    let beginning = |text: &str| marked(&text[..text.floor_char_boundary(SNIPPET_TEXT_MAX)], terms, SNIPPET_WORDS);
    let snippet = match beginning(&rest).or_else(|| marked(title, terms, usize::MAX)) {
        Some(snippet) => Some(snippet),
        None => beginning(&read()?),
    };
    Ok((title.to_owned(), snippet.unwrap_or_else(|| title.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_syntax_is_ignored() {
        for (question, expected) in [
            ("fil hvac", &["fil", "hvac"][..]),
            ("a AND \"b\" NEAR(c) col:x -y ^z*", &["and", "b", "near", "col", "x", "y", "z"]),
            ("Fil filter FILTER hvac fi", &["filter", "hvac"]),
            ("a b c d e f g h i j k l m A B C", &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"]),
            ("serial_number", &["serial", "number"]),
            ("Crème brûlée", &["creme", "brulee"]),
            ("OPS-306", &["ops", "306"]),
            ("庫", &["庫"]),
            ("冷蔵庫 冷", &["冷 蔵 庫"]),
        ] {
            assert_eq!(terms(question).unwrap(), expected, "{question}");
        }
        for bad in [
            "",
            " a ",
            "ł",
            "--",
            "\u{301}\u{301}",
            &"x".repeat(201),
            "a b c d e f g h i j k l m n o p q",
            &"a ".repeat(17),
        ] {
            assert!(terms(bad).is_err(), "{bad}");
        }
    }
}
