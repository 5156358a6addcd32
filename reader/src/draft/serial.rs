//! Serial numbers: their other readings, and the codes that repeat them. Must not know labels.

use super::model::{Confidence, Evidence, FileReading, Source};
use super::rows::fold;
use crate::reading::{Code, CodeFormat};

/// The most letters of a make, model or serial number (contract 3).
const LETTERS_MAX: usize = 100;

/// The most other readings of a serial number.
const RIVALS_MAX: usize = 6;

/// The most codes of a file that are compared with records.
const CODES_MAX: usize = 100;

/// A shorter number may be equal by chance.
const SHAPE_MIN: usize = 5;

/// Letters that no print tells apart from digits.
const SAME: &[(char, char)] = &[('O', '0'), ('I', '1')];

/// Letters that are taken for digits when they are read badly.
const LIKE: &[(char, char)] = &[('B', '8'), ('S', '5'), ('Z', '2'), ('G', '6'), ('Q', '0'), ('D', '0'), ('L', '1')];

/// A value and its evidence.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// The value.
    pub(super) text: String,
    /// Where it comes from.
    pub(super) evidence: Evidence,
}

/// Other readings of a serial number: one letter each that looks like a digit, or a digit that looks like a letter.
pub(super) fn rivals(serial: &str, well_read: bool) -> Vec<String> {
    let pairs = SAME.iter().chain(if well_read { &[] } else { LIKE });
    let letters: Vec<char> = serial.chars().collect();
    let mut rivals: Vec<String> = Vec::new();
    for (letter, digit) in pairs {
        for (at, read) in letters.iter().enumerate() {
            let other = match read.to_ascii_uppercase() {
                upper if upper == *letter => *digit,
                upper if upper == *digit => *letter,
                _ => continue,
            };
            let mut changed = letters.clone();
            changed[at] = other;
            rivals.push(changed.into_iter().collect());
        }
    }
    let natural = |text: &str| changes(text);
    rivals.sort_by_key(|rival| natural(rival));
    rivals.dedup();
    rivals.truncate(RIVALS_MAX);
    rivals
}

/// How often letters and digits change: serial numbers have runs of each.
fn changes(text: &str) -> usize {
    let kinds: Vec<bool> =
        text.chars().filter(|letter| letter.is_ascii_alphanumeric()).map(|letter| letter.is_ascii_digit()).collect();
    kinds.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

pub(super) fn with_rivals(found: Found, rivals: &[String]) -> Found {
    let rivals = rivals.iter().map(|rival| rival.as_str().into()).collect();
    Found { evidence: Evidence { rivals, ..found.evidence }, ..found }
}

/// A serial number that a code on the same plate repeats has two sources.
pub(super) fn proved_by_code(files: &[FileReading], number: usize, found: Found, codes: &[Code]) -> Found {
    let read = shape(&found.text);
    let same = codes.iter().filter(|code| code.format != CodeFormat::Gtin).find(|code| {
        let text = shape(serial_text(&code.text));
        text.len() >= SHAPE_MIN && text == read
    });
    match same {
        Some(code) => Found {
            text: cut(serial_text(&code.text)),
            evidence: Evidence {
                from: Source::Code,
                rivals: Vec::new(),
                ..code_evidence(files, number, code, Confidence::Certain)
            },
        },
        None => found,
    }
}

/// The letters and digits of a number, each letter as the digit that it looks like.
fn shape(text: &str) -> String {
    let digit =
        |letter: char| SAME.iter().chain(LIKE).find(|(like, _)| *like == letter).map_or(letter, |(_, digit)| *digit);
    fold(text).to_uppercase().chars().filter(char::is_ascii_alphanumeric).map(digit).collect()
}

/// A code that says itself that it holds a serial number: `S/N:…`, `SN…`.
pub(super) fn coded_serial(files: &[FileReading], number: usize, codes: &[Code]) -> Option<Found> {
    let code =
        codes.iter().find(|code| code.format != CodeFormat::Gtin && serial_text(&code.text).len() < code.text.len())?;
    let text = cut(serial_text(&code.text));
    (text.len() >= 4).then(|| Found { text, evidence: code_evidence(files, number, code, Confidence::Likely) })
}

/// The text of a code without a leading `SN` or `S/N`.
fn serial_text(text: &str) -> &str {
    let marks = ["S/N:", "S/N", "SN:", "SN=", "s/n:", "sn:"];
    marks.iter().find_map(|mark| text.strip_prefix(mark)).map_or(text, str::trim)
}

/// The evidence of a value that a code holds.
pub(super) fn code_evidence(files: &[FileReading], number: usize, code: &Code, confidence: Confidence) -> Evidence {
    Evidence {
        from: Source::Code,
        file: Some(files[number].sha256.clone()),
        page: code.page,
        area: Some(code.area),
        text: code.text.clone(),
        confidence,
        rivals: Vec::new(),
    }
}

pub(super) fn cut(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(LETTERS_MAX).collect()
}

/// All codes of a file, each with its text.
pub(super) fn codes(files: &[FileReading], number: usize) -> Vec<Found> {
    let codes = files[number].reading.codes.iter().take(CODES_MAX);
    codes
        .map(|code| Found { text: cut(&code.text), evidence: code_evidence(files, number, code, Confidence::Likely) })
        .collect()
}
