//! The words by which records are found, of texts and of questions alike (contract 8). The server and a replica look for the
//! same. Must not know how they are found.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, decompose_compatible, is_combining_mark};

use crate::check::Fields;
use crate::resources::resource;
use crate::schema::Kind;

/// The title of a record, and the rest of what it is found by.
pub fn texts(kind: Kind, fields: &Fields) -> (&str, String) {
    let resource = resource(kind);
    let text = |name: &str| fields.get(name).and_then(|value| value.as_str());
    let rest = resource.searchable().filter(|field| field.name != resource.title).filter_map(|field| text(field.name));
    (text(resource.title).unwrap_or_default(), rest.collect::<Vec<_>>().join("\n"))
}

/// The same in the spelling in which words are compared.
pub fn indexed(kind: Kind, fields: &Fields) -> (String, String) {
    let (title, rest) = texts(kind, fields);
    (folded(title), folded(&rest))
}

/// The words of a text: what stands between punctuation. They are words and nothing else, whatever was asked.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    places(text).into_iter().map(|place| &text[place])
}

/// Where in a text its words stand.
pub fn places(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut is_open = false;
    for (at, c) in text.char_indices() {
        match part(c) {
            Part::Letter if !is_open => {
                found.push(at..at + c.len_utf8());
                is_open = true;
            }
            Part::Between => is_open = false,
            Part::Letter | Part::Follower => {
                if let Some(last) = found.last_mut().filter(|_| is_open) {
                    last.end = at + c.len_utf8();
                }
            }
        }
    }
    found
}

/// A text in the one spelling in which words are compared: neither case nor accents count, nor whether a letter with an
/// accent is one character or two, nor what is not seen. Other marks are part of a letter, as the vowels of Devanagari and
/// the voicing of kana. What is between the words is blank, or ASCII.
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.nfkd() {
        match part(c) {
            Part::Between => out.push(' '),
            // By way of upper case, which writes ß as it writes ss, and both forms of the small sigma alike.
            Part::Letter => out.extend(c.to_uppercase().flat_map(char::to_lowercase)),
            Part::Follower if is_combining_mark(c) && !is_passed_over(c) && !out.is_empty() && !out.ends_with(' ') => {
                out.push(c);
            }
            Part::Follower => {}
        }
    }
    // Together again, so that a syllable of Hangul does not begin like another.
    out.nfc().collect()
}

/// What a character is to the words of a text.
enum Part {
    /// A letter or a digit, or what is written like some.
    Letter,
    /// Belongs to the letter before it, if there is one.
    Follower,
    /// Stands between words.
    Between,
}

fn part(c: char) -> Part {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { Part::Letter } else { Part::Between };
    }
    if is_combining_mark(c) || is_passed_over(c) {
        return Part::Follower;
    }
    let mut has_letter = false;
    decompose_compatible(c, |piece| has_letter |= piece.is_alphanumeric());
    if has_letter { Part::Letter } else { Part::Between }
}

/// Whether a character does not count: an accent or a vowel point, by its combining class (the others with one are the
/// nukta, the marks of kana and viramas, and what is above and below in scripts of their own), or one that is not seen.
fn is_passed_over(c: char) -> bool {
    matches!(canonical_combining_class(c), 10..=35 | 200..=240)
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{20dd}'..='\u{20e4}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
                | '\u{e0000}'..='\u{e0fff}'
        )
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
            ("🧹Staubsauger ☀\u{fe0f}Sonne \u{f8ff}TV", &["Staubsauger", "Sonne", "TV"]),
            ("हिन्दी किताब", &["हिन्दी", "किताब"]),
            ("-- \u{301}\u{301}", &[]),
        ] {
            assert_eq!(words(question).collect::<Vec<_>>(), expected, "{question}");
        }
    }

    #[test]
    fn spellings_of_one_word_fold_to_one() {
        for spellings in [
            &["Crème", "cre\u{300}me", "CREME"][..],
            &["Καφές", "ΚΑΦΕΣ", "καφεσ", "καφές"],
            &["Ёлка", "е\u{308}лка", "ЕЛКА"],
            &["パソコン", "ハ\u{309a}ソコン", "ﾊﾟｿｺﾝ"],
            &["가방", "\u{1100}\u{1161}\u{1107}\u{1161}\u{11bc}"],
            &["Straße", "STRASSE", "strasse"],
            &["ⓐⒷ", "ab"],
            &["სახლი", "ᲡᲐᲮᲚᲘ"],
            &["Haus\u{ad}tür", "haustur"],
            &["שָׁלוֹם", "שלום"],
            &["m²", "M2"],
        ] {
            for spelling in spellings {
                assert_eq!(folded(spelling), folded(spellings[0]), "{spelling}");
            }
        }
        for (one, other) in [("हि", "हु"), ("か", "が"), ("กิ", "กุ"), ("가", "간"), ("o", "ø")] {
            assert!(!folded(other).starts_with(&folded(one)), "{one} {other}");
        }
        assert_eq!(folded("Two: \u{301}words, ½"), "two  words  1 2");
    }
}
