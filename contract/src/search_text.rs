//! The searched words of records and of queries (contract 8). The server and the replica use the same words, which gives
//! the same results. Must not know how words are indexed.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, decompose_compatible, is_combining_mark};

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

/// The texts of [`title_and_rest`], folded for comparison.
pub fn folded_title_and_rest(kind: Kind, fields: &Fields) -> (String, String) {
    let (title, rest) = title_and_rest(kind, fields);
    (fold(title), fold(&rest))
}

/// The words of a text, as written. Punctuation separates words and has no other meaning: there is no query syntax.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    word_ranges(text).into_iter().map(|range| &text[range])
}

/// The byte ranges of the words in a text.
pub fn word_ranges(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut is_open = false;
    for (at, c) in text.char_indices() {
        match char_role(c) {
            CharRole::Letter if !is_open => {
                found.push(at..at + c.len_utf8());
                is_open = true;
            }
            CharRole::Separator => is_open = false,
            CharRole::Letter | CharRole::Mark => {
                if let Some(last) = found.last_mut().filter(|_| is_open) {
                    last.end = at + c.len_utf8();
                }
            }
        }
    }
    found
}

/// Folds a text for comparison. Case, accents, composition (one character or two) and invisible characters do not count.
/// Other marks belong to a letter, such as the vowels of Devanagari and the voicing marks of kana. Separators become
/// spaces or stay ASCII.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.nfkd() {
        match char_role(c) {
            CharRole::Separator => out.push(' '),
            // Upper case first: ß becomes SS, and both forms of the small sigma become the same letter.
            CharRole::Letter => out.extend(c.to_uppercase().flat_map(char::to_lowercase)),
            CharRole::Mark if is_combining_mark(c) && !is_ignored(c) && !out.is_empty() && !out.ends_with(' ') => {
                out.push(c);
            }
            CharRole::Mark => {}
        }
    }
    // Compose again: otherwise one Hangul syllable would be a prefix of another.
    out.nfc().collect()
}

/// The role of a character in a text.
enum CharRole {
    /// A letter or digit, or a character that decomposes into letters or digits, such as ½.
    Letter,
    /// A mark or an invisible character. Belongs to the letter before, if any.
    Mark,
    /// A separator between words.
    Separator,
}

fn char_role(c: char) -> CharRole {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { CharRole::Letter } else { CharRole::Separator };
    }
    if is_combining_mark(c) || is_ignored(c) {
        return CharRole::Mark;
    }
    let mut has_letter = false;
    decompose_compatible(c, |piece| has_letter |= piece.is_alphanumeric());
    if has_letter { CharRole::Letter } else { CharRole::Separator }
}

/// Whether comparison ignores a character. Ignored are accents and vowel points, by combining class, and invisible
/// characters. Marks of other combining classes count: nukta, kana voicing marks, viramas, and marks of single scripts.
fn is_ignored(c: char) -> bool {
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
    fn words_split_at_punctuation_keep_accents() {
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
    fn fold_unifies_spellings() {
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
                assert_eq!(fold(spelling), fold(spellings[0]), "{spelling}");
            }
        }
        for (one, other) in [("हि", "हु"), ("か", "が"), ("กิ", "กุ"), ("가", "간"), ("o", "ø")] {
            assert!(!fold(other).starts_with(&fold(one)), "{one} {other}");
        }
        assert_eq!(fold("Two: \u{301}words, ½"), "two  words  1 2");
    }
}
