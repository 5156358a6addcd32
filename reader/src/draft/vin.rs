//! Vehicle identification numbers: where they stand, their check digit, and other readings. Must not know labels.

use hearth_contract::formats::normalize_vin;

use super::model::{Confidence, Evidence, FileReading};
use super::rows::Row;
use super::serial::{Found, code_evidence};

/// The letters of an identification number since 1981 (ISO 3779).
pub(super) const VIN_LETTERS: usize = 17;

/// A VIN in a bar code or matrix code.
pub(super) fn coded_vin(files: &[FileReading], number: usize) -> Option<Found> {
    files[number].reading.codes.iter().find_map(|code| {
        let text = code.text.trim_start_matches(['I', '*']).trim_end_matches('*');
        let vin = normalize_vin(text).filter(|vin| vin.len() == VIN_LETTERS && is_mixed(vin))?;
        let confidence = if has_check_digit(&vin) { Confidence::Certain } else { Confidence::Likely };
        Some(Found { text: vin, evidence: code_evidence(files, number, code, confidence) })
    })
}

/// A VIN that stands anywhere as one word. Without a label it counts only with its check digit.
pub(super) fn vin(files: &[FileReading], rows: &[Row<'_>]) -> Option<Found> {
    rows.iter().find_map(|row| {
        (0..row.words.len()).find_map(|at| {
            let text: String = row.words[at].text.chars().filter(char::is_ascii_alphanumeric).collect();
            let start = text.len().checked_sub(VIN_LETTERS)?;
            let vin = spelled(&text[start..])?;
            let found = Found { text: vin.clone(), evidence: row.evidence(files, at, at, Confidence::Certain) };
            has_check_digit(&vin).then_some(found)
        })
    })
}

/// A VIN behind its label. Where the check digit does not hold, readings with which it holds are rivals.
pub(super) fn labelled_vin(text: &str, evidence: Evidence) -> Option<Found> {
    let vin = spelled(text)?;
    if has_check_digit(&vin) {
        return Some(Found { text: vin, evidence: Evidence { confidence: Confidence::Certain, ..evidence } });
    }
    let pairs = [('S', '5'), ('B', '8'), ('Z', '2'), ('G', '6'), ('D', '0'), ('L', '1')];
    let mut rivals: Vec<serde_json::Value> = Vec::new();
    for (at, read) in vin.char_indices() {
        for (letter, digit) in pairs {
            let other = if read == letter {
                digit
            } else if read == digit {
                letter
            } else {
                continue;
            };
            let mut changed = vin.clone();
            changed.replace_range(at..at + 1, other.encode_utf8(&mut [0; 4]));
            if has_check_digit(&changed) {
                rivals.push(changed.into());
            }
        }
    }
    Some(Found { text: vin, evidence: Evidence { rivals, ..evidence } })
}

/// Seventeen letters and digits. I, O and Q are in no VIN (ISO 3779): they are digits that were read badly.
fn spelled(text: &str) -> Option<String> {
    let upper: String = text
        .to_ascii_uppercase()
        .chars()
        .map(|letter| match letter {
            'I' => '1',
            'O' | 'Q' => '0',
            other => other,
        })
        .collect();
    normalize_vin(&upper).filter(|vin| vin.len() == VIN_LETTERS && is_mixed(vin))
}

/// Letters and digits, and a digit at the end: the number of the piece.
fn is_mixed(vin: &str) -> bool {
    let letters = vin.bytes().filter(u8::is_ascii_uppercase).count();
    (2..=14).contains(&letters) && vin.bytes().skip(13).all(|byte| byte.is_ascii_digit())
}

/// The check digit of North America (49 CFR 565.15): weights times values, modulo 11, stands at place 9.
fn has_check_digit(vin: &str) -> bool {
    const WEIGHTS: [u32; VIN_LETTERS] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    let value = |byte: u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'H' => u32::from(byte - b'A') + 1,
        b'J'..=b'R' => u32::from(byte - b'J') + 1,
        b'S'..=b'Z' => u32::from(byte - b'S') + 2,
        _ => 0,
    };
    let sum: u32 = vin.bytes().zip(WEIGHTS).map(|(byte, weight)| value(byte) * weight).sum();
    let expected = match sum % 11 {
        10 => b'X',
        digit => b'0' + u8::try_from(digit).unwrap_or(0),
    };
    vin.as_bytes().get(8) == Some(&expected)
}
