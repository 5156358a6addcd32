//! What is asked of a search, as words (contract 8). The server and a replica look for the same. Must not know how they are
//! found.

/// The words of a question: what stands between punctuation. They are words and nothing else, whatever was asked.
pub fn words(question: &str) -> impl Iterator<Item = &str> {
    question.split(|c| !is_word_char(c)).filter(|word| word.contains(char::is_alphanumeric))
}

/// Letters, digits, and the accents that may follow a letter as characters of their own.
fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_between_punctuation_and_keep_their_accents() {
        for (question, expected) in [
            ("a AND \"b\" NEAR(c) col:x -y ^z*", &["a", "AND", "b", "NEAR", "c", "col", "x", "y", "z"][..]),
            ("serial_number OPS-306", &["serial", "number", "OPS", "306"]),
            ("cre\u{300}me e\u{301}tage", &["cre\u{300}me", "e\u{301}tage"]),
            ("-- \u{301}\u{301}", &[]),
        ] {
            assert_eq!(words(question).collect::<Vec<_>>(), expected, "{question}");
        }
    }
}
