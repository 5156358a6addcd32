//! The words of a text, and the folded form in which spellings of one word are equal. Must not know records or questions.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, decompose_compatible, is_combining_mark};

use super::letters::{is_sign, plain_letters};

/// The byte ranges of the words in a text. A sign of a script that is written without spaces is a word.
pub fn word_ranges(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open = Open::Nothing;
    for (at, c) in text.char_indices() {
        let next = match char_role(c) {
            CharRole::Separator => Open::Nothing,
            CharRole::Letter => open.after_letter(c),
            CharRole::Mark => open,
        };
        match char_role(c) {
            CharRole::Letter if open != Open::Word || next != Open::Word => found.push(at..at + c.len_utf8()),
            CharRole::Letter | CharRole::Mark if open != Open::Nothing => {
                if let Some(last) = found.last_mut() {
                    last.end = at + c.len_utf8();
                }
            }
            _ => {}
        }
        open = next;
    }
    found
}

/// Folds a text for comparison, into words with spaces between them. Case, accents, composition (one character or two),
/// strokes (ø, ł) and invisible characters do not count. Other marks belong to a letter, such as the vowels of Devanagari
/// and the voicing marks of kana. Each sign of a script that is written without spaces becomes a word.
pub fn fold(text: &str) -> String {
    fold_beginning(text, usize::MAX)
}

/// As [`fold()`], but only as much of the text as folds to about `bytes_max` bytes, without folding the rest.
pub(super) fn fold_beginning(text: &str, bytes_max: usize) -> String {
    if text.is_ascii() {
        let folded = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
        return text.chars().take(bytes_max).map(folded).collect();
    }
    let mut out = String::with_capacity(text.len().min(bytes_max));
    for c in text.nfkd() {
        if out.len() >= bytes_max {
            break;
        }
        match char_role(c) {
            CharRole::Separator => out.push(' '),
            CharRole::Letter => push_folded(&mut out, c),
            CharRole::Mark if is_combining_mark(c) && !is_ignored(c) && !out.is_empty() && !out.ends_with(' ') => {
                out.push(c);
            }
            CharRole::Mark => {}
        }
    }
    // Compose again: otherwise one Hangul syllable would be a prefix of another.
    split_signs(out.nfc())
}

/// The places of the first bytes of the words of a folded text.
pub(super) fn word_starts(folded: &str) -> impl Iterator<Item = usize> {
    let bytes = folded.as_bytes();
    (0..bytes.len()).filter(move |at| bytes[*at] != b' ' && (*at == 0 || bytes[at - 1] == b' '))
}

/// Adds a letter in the form in which cases and strokes are equal.
fn push_folded(out: &mut String, letter: char) {
    // Upper case first: ß becomes SS, and both forms of the small sigma become the same letter.
    for lower in letter.to_uppercase().flat_map(char::to_lowercase) {
        match plain_letters(lower) {
            Some(plain) => out.push_str(plain),
            None => out.push(lower),
        }
    }
}

/// Puts spaces around each sign with its marks.
fn split_signs(folded: impl Iterator<Item = char>) -> String {
    let mut out = String::new();
    let mut open = Open::Nothing;
    for c in folded {
        if c == ' ' {
            open = Open::Nothing;
        } else if !is_combining_mark(c) {
            let next = open.after_letter(c);
            if open != Open::Nothing && (open, next) != (Open::Word, Open::Word) {
                out.push(' ');
            }
            open = next;
        }
        out.push(c);
    }
    out
}

/// What the characters so far have begun.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    /// A word of letters.
    Word,
    /// A sign, which is a word by itself.
    Sign,
}

impl Open {
    /// What a letter begins or continues.
    fn after_letter(self, letter: char) -> Open {
        if is_sign(letter) { Open::Sign } else { Open::Word }
    }
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
    // The halfwidth voicing marks of kana, and the vowel AM of Thai and Lao, are letters to Unicode, but begin with a mark
    // after decomposition.
    if is_combining_mark(c) || is_ignored(c) || matches!(c, '\u{ff9e}' | '\u{ff9f}' | '\u{e33}' | '\u{eb3}') {
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
    fn words_keep_accents_and_split_signs() {
        for (text, expected) in [
            ("serial_number OPS-306", &["serial", "number", "OPS", "306"][..]),
            ("cre\u{300}me e\u{301}tage", &["cre\u{300}me", "e\u{301}tage"]),
            ("हिन्दी किताब", &["हिन्दी", "किताब"]),
            ("SONY製テレビ用", &["SONY", "製", "テ", "レ", "ビ", "用"]),
            ("น้ำมัน 5W", &["น้ำ", "มั", "น", "5W"]),
            ("-- \u{301}\u{301}", &[]),
        ] {
            let words: Vec<&str> = word_ranges(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(words, expected, "{text}");
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
            &["Straße", "STRASSE", "strasse", "STRAẞE"],
            &["Łódź", "łódź", "Lodz"],
            &["Smørrebrød", "SMØRREBRØD", "smorrebrod"],
            &["Đorđe", "dorde"],
            &["Ðæþór", "daethor"],
            &["Ħal Għaxaq", "hal ghaxaq"],
            &["Œuvre", "oeuvre"],
            &["ısı", "ISI", "isi"],
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
        for (one, other) in [("हि", "हु"), ("か", "が"), ("กิ", "กุ"), ("가", "간")] {
            assert!(!fold(other).starts_with(&fold(one)), "{one} {other}");
        }
        assert_eq!(fold("Two: \u{301}words, ½"), "two  words  1 2");
        assert_eq!(fold("serial_number (A-1)"), "serial number  a 1 ");
        assert_eq!(fold("SONY製、テレビ2台"), "sony 製 テ レ ビ 2 台");
    }
}
