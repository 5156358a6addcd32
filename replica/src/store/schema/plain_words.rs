//! The plain form of searched texts: letters that FTS5 does not fold (ø, ё, ά, ５, ﬁ) as the contract folds them, and signs of
//! scripts without spaces apart from each other. The same form in Rust, for the sync, and as SQL, for the triggers; one list
//! of letters makes both. Must not know records.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hearth_contract::search_text::fold;
use hearth_contract::search_text::letters::{PLAIN_LETTERS, SIGNS, is_sign};

/// Blocks with letters that the contract folds and FTS5 does not. FTS5 removes accents of Latin letters only.
const BLOCKS: [(char, char); 8] = [
    // Raised letters and digits, and fractions (ª, m², ½).
    ('\u{aa}', '\u{be}'),
    // Modern Greek, with accents.
    ('\u{386}', '\u{3ce}'),
    // Cyrillic: ё, й, ї and others.
    ('\u{400}', '\u{4f9}'),
    // Raised and lowered letters and digits (CO₂).
    ('\u{2070}', '\u{209c}'),
    // Letters joined to one character, as texts copied from a PDF have them (ﬁ).
    ('\u{fb00}', '\u{fb06}'),
    // Full-width digits, and Latin letters in both cases.
    ('\u{ff10}', '\u{ff19}'),
    ('\u{ff21}', '\u{ff3a}'),
    ('\u{ff41}', '\u{ff5a}'),
];

/// The letters that FTS5 does not fold, each with its plain form.
static LETTERS: LazyLock<BTreeMap<char, String>> = LazyLock::new(|| {
    let strokes =
        PLAIN_LETTERS.iter().flat_map(|(letter, _)| [Some(*letter), upper_case(*letter)].into_iter().flatten());
    let in_blocks = BLOCKS.into_iter().flat_map(|(first, last)| first..=last);
    let plain = |letter: char| Some(fold(letter.encode_utf8(&mut [0; 4]))).filter(|plain| !plain.trim().is_empty());
    strokes
        .chain(in_blocks)
        .filter_map(|letter| Some((letter, plain(letter)?)))
        // FTS5 makes cases equal, and forms of one letter that have the same capital (ς, µ).
        .filter(|(letter, plain)| !plain.chars().eq([one_case(*letter)]))
        .collect()
});

/// The plain form of a title and a body; empty when the plain form has no other words than the texts.
pub(super) fn plain_form(title: &str, body: &str) -> String {
    if title.is_ascii() && body.is_ascii() {
        return String::new();
    }
    let text = format!("{title}\n{body}");
    if !text.chars().any(|c| !c.is_ascii() && (is_sign(c) || LETTERS.contains_key(&c))) {
        return String::new();
    }
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        match LETTERS.get(&c) {
            Some(plain) => out.push_str(plain),
            None if is_sign(c) => out.extend([' ', c, ' ']),
            None => out.push(c),
        }
    }
    out
}

/// The ends of three groups of letters: Latin; Greek and Cyrillic; all others. Each group is looked up by itself.
const LATIN_END: char = '\u{370}';
const CYRILLIC_END: char = '\u{500}';
/// The last character that a text can have.
const LAST: char = '\u{10ffff}';

/// SQL for [`plain_form`] of two SQL expressions. The first conditions are quick, and false for most texts whose letters FTS5
/// folds. The text is cut into blocks of 64 characters, because SQLite counts from the first character to reach another.
pub(super) fn plain_form_sql(title: &str, body: &str) -> String {
    let signs: String = SIGNS.iter().map(|(first, last)| format!("{first}-{last}")).collect();
    let latin_1: String = LETTERS.range(..='\u{ff}').map(|(letter, _)| letter).collect();
    let latin = glob_class(LETTERS.range(..LATIN_END).map(|(letter, _)| *letter));
    let others = glob_class(LETTERS.range(LATIN_END..).map(|(letter, _)| *letter));
    let of_latin = lookup_sql(LETTERS.range(..LATIN_END));
    let of_cyrillic = lookup_sql(LETTERS.range(LATIN_END..CYRILLIC_END));
    let of_others = lookup_sql(LETTERS.range(CYRILLIC_END..));
    let text = format!("{title} || char(10) || {body}");
    format!(
        "CASE WHEN {text} GLOB '*[{latin_1}\u{100}-{LAST}]*' AND ({text} GLOB '*[{latin}]*'\n    \
         OR {text} GLOB '*[{LATIN_END}-{LAST}]*' AND {text} GLOB '*[{others}{signs}]*') THEN (\n    \
         WITH RECURSIVE block(b, part, rest) AS (SELECT 0, substr({text}, 1, 64), substr({text}, 65)\n    \
         UNION ALL SELECT b + 1, substr(rest, 1, 64), substr(rest, 65) FROM block WHERE length(rest) > 0),\n    \
         step(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM step WHERE n < 64)\n    \
         SELECT group_concat(CASE WHEN c < '\u{80}' THEN c\n    \
         WHEN c < '{LATIN_END}' THEN {of_latin}\n    \
         WHEN c < '{CYRILLIC_END}' THEN {of_cyrillic}\n    \
         WHEN c GLOB '[{signs}]' THEN ' ' || c || ' '\n    \
         ELSE {of_others} END, '')\n    \
         FROM (SELECT substr(part, n, 1) AS c FROM block, step WHERE n <= length(part) ORDER BY b, n)) ELSE '' END"
    )
}

/// SQL for the plain form of the letter `c`. A letter is looked up in a string instead of nested replacements, because the parser
/// of older SQLite versions has a small stack.
fn lookup_sql<'a>(letters: impl Iterator<Item = (&'a char, &'a String)>) -> String {
    let (single, longer): (Vec<_>, Vec<_>) = letters.partition(|(_, plain)| plain.chars().count() == 1);
    let from: String = single.iter().map(|(letter, _)| **letter).collect();
    let to: String = single.iter().map(|(_, plain)| plain.as_str()).collect();
    let cases: String = longer.iter().map(|(letter, plain)| format!(" WHEN '{letter}' THEN '{plain}'")).collect();
    let otherwise = if cases.is_empty() { "c".to_owned() } else { format!("CASE c{cases} ELSE c END") };
    format!("coalesce(substr('{to}', nullif(instr('{from}', c), 0), 1), {otherwise})")
}

/// The content of a character class of GLOB: letters that follow each other become a range. The letters are sorted.
fn glob_class(letters: impl Iterator<Item = char>) -> String {
    let mut ranges: Vec<(char, char)> = Vec::new();
    for letter in letters {
        match ranges.last_mut() {
            Some((_, last)) if u32::from(*last) + 1 == u32::from(letter) => *last = letter,
            _ => ranges.push((letter, letter)),
        }
    }
    let range = |(first, last)| if first == last { String::from(first) } else { format!("{first}-{last}") };
    ranges.into_iter().map(range).collect()
}

/// The letter in the form in which FTS5 compares cases, if that is one character. FTS5 does not know that `ı` has the capital I.
fn one_case(letter: char) -> char {
    let upper = upper_case(letter).unwrap_or(letter);
    only(upper.to_lowercase()).unwrap_or(letter)
}

/// The character, if there is exactly one.
fn only(mut letters: impl Iterator<Item = char>) -> Option<char> {
    letters.next().filter(|_| letters.next().is_none())
}

/// The upper-case letter, if it is one character beyond ASCII.
fn upper_case(letter: char) -> Option<char> {
    only(letter.to_uppercase()).filter(|c| !c.is_ascii() && *c != letter)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn sql_makes_same_form_as_rust() {
        let connection = Connection::open_in_memory().unwrap();
        let select = format!("SELECT {} FROM (SELECT ?1 AS title, ?2 AS body)", plain_form_sql("title", "body"));
        let by_sql = |title: &str, body: &str| -> String {
            connection.query_row(&select, [title, body], |row| row.get(0)).unwrap()
        };
        for (title, body, expected) in [
            ("Lamp", "Café", ""),
            ("Łódź", "Ærø ı I", "lódź\naero i I"),
            ("冷蔵庫", "A製", " 冷  蔵  庫 \nA 製 "),
            ("ตู้", "", " ต  \u{e39}  \u{e49} \n"),
            ("Straße ẞ", &"ø".repeat(130), &format!("Strasse ss\n{}", "o".repeat(130))),
            ("Καφές", "καφες µ", "Καφες\nκαφες µ"),
            ("Ёлка й", "Жук", "елка и\nЖук"),
            ("ＡＢ１２", "ﬁlter m²", "ab12\nfilter m2"),
            ("Жук", "ąę", ""),
        ] {
            assert_eq!(plain_form(title, body), expected);
            assert_eq!(by_sql(title, body), expected, "{title}");
        }
        for letter in LETTERS.keys().copied().chain(SIGNS.map(|(first, _)| first)).chain('\u{80}'..='\u{24f}') {
            let title = letter.to_string();
            assert_eq!(by_sql(&title, ""), plain_form(&title, ""), "{title}");
        }
    }

    #[test]
    fn cases_that_fts5_folds_are_left_out() {
        for letter in ['ς', 'µ', 'Ж', 'Σ', 'a', 'é'] {
            assert_eq!(LETTERS.get(&letter), None);
        }
        assert_eq!(LETTERS.get(&'ΐ').map(String::as_str), Some("ι"));
    }
}
