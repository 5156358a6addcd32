//! Letters that no decomposition makes plain, and the signs of scripts that are written without spaces. Tables, because the
//! replica's triggers need them as SQL. Must not know texts.

/// Lower-case letters with their plain letters, as in the transliteration Latin-ASCII of Unicode's CLDR. Accents are not
/// listed: a decomposition separates them. Sorted.
pub const PLAIN_LETTERS: [(char, &str); 47] = [
    ('ß', "ss"),
    ('æ', "ae"),
    ('ð', "d"),
    ('ø', "o"),
    ('þ', "th"),
    ('đ', "d"),
    ('ħ', "h"),
    ('ı', "i"),
    ('ĸ', "q"),
    ('ł', "l"),
    ('ŋ', "n"),
    ('œ', "oe"),
    ('ŧ', "t"),
    ('ƀ', "b"),
    ('ƃ', "b"),
    ('ƈ', "c"),
    ('ƌ', "d"),
    ('ƒ', "f"),
    ('ƙ', "k"),
    ('ƚ', "l"),
    ('ƞ', "n"),
    ('ƥ', "p"),
    ('ƭ', "t"),
    ('ƴ', "y"),
    ('ƶ', "z"),
    ('ǥ', "g"),
    ('ȥ', "z"),
    ('ȼ', "c"),
    ('ɇ', "e"),
    ('ɉ', "j"),
    ('ɍ', "r"),
    ('ɏ', "y"),
    ('ɓ', "b"),
    ('ɖ', "d"),
    ('ɗ', "d"),
    ('ɛ', "e"),
    ('ɠ', "g"),
    ('ɨ', "i"),
    ('ɫ', "l"),
    ('ɲ', "n"),
    ('ɵ', "o"),
    ('ʈ', "t"),
    ('ʉ', "u"),
    ('ʋ', "v"),
    ('ẞ', "ss"),
    ('ⱥ', "a"),
    ('ⱦ', "t"),
];

/// Ranges of scripts that are written without spaces between words, or with few: Thai, Lao, Myanmar, Hangul, Khmer, the Tai
/// scripts, Javanese, Balinese, kana, Bopomofo, Yi and Han. Composed characters only.
pub const SIGNS: [(char, char); 18] = [
    ('\u{e00}', '\u{eff}'),
    ('\u{1000}', '\u{109f}'),
    ('\u{1780}', '\u{17ff}'),
    ('\u{1950}', '\u{19df}'),
    ('\u{1a20}', '\u{1aaf}'),
    ('\u{1b00}', '\u{1b7f}'),
    ('\u{3005}', '\u{3007}'),
    ('\u{3040}', '\u{30ff}'),
    ('\u{3105}', '\u{312f}'),
    ('\u{31a0}', '\u{31ff}'),
    ('\u{3400}', '\u{4dbf}'),
    ('\u{4e00}', '\u{a4cf}'),
    ('\u{a980}', '\u{a9ff}'),
    ('\u{aa60}', '\u{aadf}'),
    ('\u{ac00}', '\u{d7a3}'),
    ('\u{f900}', '\u{faff}'),
    ('\u{1b000}', '\u{1b16f}'),
    ('\u{20000}', '\u{323af}'),
];

/// The plain letters of a lower-case letter. None: the letter is plain, or has only accents.
pub fn plain_letters(letter: char) -> Option<&'static str> {
    if letter.is_ascii() {
        return None;
    }
    let found = PLAIN_LETTERS.binary_search_by_key(&letter, |(letter, _)| *letter).ok()?;
    Some(PLAIN_LETTERS[found].1)
}

/// Whether a letter is a sign of a script that is written without spaces: a part of a run of signs may be a word.
pub fn is_sign(letter: char) -> bool {
    letter >= SIGNS[0].0 && SIGNS.iter().any(|(first, last)| (*first..=*last).contains(&letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(PLAIN_LETTERS.is_sorted_by(|one, other| one.0 < other.0));
        assert!(SIGNS.is_sorted_by(|one, other| one.1 < other.0));
    }

    #[test]
    fn emoji_and_letters_are_no_signs() {
        for letter in ['a', 'é', 'ж', 'ש', 'क', '🧹', '½'] {
            assert!(!is_sign(letter), "{letter}");
        }
        for sign in ['庫', 'フ', 'ー', '々', 'ต', '세', 'ខ', 'မ', '𠮟'] {
            assert!(is_sign(sign), "{sign}");
        }
    }
}
