//! Make, model and serial number of a rating plate, a box or an invoice. Must not know drafts or records of the home.

use super::model::{Confidence, Evidence, FileReading, Source};
use super::phrases::Hit;
use super::rows::{Row, fold};
use super::values::{Labelled, value};
use super::words::makes::MAKES;
use super::words::plates::{PLATES, Plate};
use crate::reading::{Code, CodeFormat};

/// The rows that are read: a plate has few, a manual many.
const ROWS_MAX: usize = 400;

/// A word with a lower score was read badly.
const WELL_READ: f32 = 0.9;

/// The most letters of a make, model or serial number (contract 3).
const LETTERS_MAX: usize = 100;

/// The most other readings of a serial number.
const RIVALS_MAX: usize = 6;

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

/// What one file says of a thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Thing {
    /// Who made it.
    pub(super) make: Option<Found>,
    /// The model.
    pub(super) model: Option<Found>,
    /// The serial number.
    pub(super) serial: Option<Found>,
    /// The trade item number.
    pub(super) barcode: Option<Found>,
}

/// Reads a file for make, model, serial number and bar code.
pub(super) fn thing(files: &[FileReading], number: usize, rows: &[Row<'_>]) -> Thing {
    let rows = &rows[..rows.len().min(ROWS_MAX)];
    let mut values: Vec<(Plate, Labelled)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let hits = labels(row);
        for (place, hit) in hits.iter().enumerate().filter(|(_, hit)| hit.class != Plate::Other) {
            let next = hits[place + 1..].iter().find(|next| next.from > hit.to);
            if let Some(value) = value(rows, at, hit, next).and_then(|value| fitting(hit.class, value)) {
                values.push((hit.class, value));
            }
        }
    }
    let best = |classes: &[Plate]| {
        let all = classes.iter().flat_map(|class| values.iter().filter(move |(found, _)| found == class));
        all.map(|(_, value)| value.clone()).next()
    };
    let codes = &files[number].reading.codes;
    let found = |value: Labelled| {
        let row = &rows[value.row];
        let well = row.score(value.from, value.to) >= WELL_READ;
        let confidence = if well { Confidence::Likely } else { Confidence::Guess };
        Found { text: cut(&value.text), evidence: row.evidence(files, value.from, value.to, confidence) }
    };
    let serial = best(&[Plate::Serial]).map(|value| {
        let well = rows[value.row].score(value.from, value.to) >= WELL_READ;
        let rivals = rivals(&value.text, well);
        proved_by_code(files, number, with_rivals(found(value), &rivals), codes)
    });
    Thing {
        make: best(&[Plate::Make]).map(found).or_else(|| make(files, rows)),
        model: best(&[Plate::OrderNumber, Plate::Model, Plate::Type, Plate::Product]).map(found),
        serial: serial.or_else(|| coded_serial(files, number, codes)),
        barcode: barcode(files, number, codes),
    }
}

/// The labels of a row. A short label counts at the start of a row, behind a number, or before a sign of a label.
fn labels(row: &Row<'_>) -> Vec<Hit<Plate>> {
    let mut hits = PLATES.find(row);
    hits.retain(|hit| {
        let letters =
            (hit.from..=hit.to).map(|word| row.word(word).chars().filter(|letter| letter.is_alphanumeric()).count());
        let signed = row.word(hit.to).contains([':', '=', '#', '.', '/', '°'])
            || (hit.to + 1 < row.words.len() && row.word(hit.to + 1).starts_with([':', '=', '#']));
        letters.sum::<usize>() > 4 || signed || hit.from == 0 || row.words.len() <= 3
    });
    hits
}

/// The value when it can be what the label says.
fn fitting(class: Plate, mut value: Labelled) -> Option<Labelled> {
    if class == Plate::Serial {
        let joined: String = value.text.chars().take_while(|letter| !matches!(letter, '(' | ',' | ';')).collect();
        let mut parts = joined.split_whitespace();
        let mut serial = parts.next()?.to_owned();
        let mut words = 1;
        for part in parts
            .filter(|part| part.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase() || byte == b'-'))
        {
            if !part.bytes().any(|byte| byte.is_ascii_digit()) {
                break;
            }
            serial = format!("{serial} {part}");
            words += 1;
        }
        value.to = value.to.min(value.from + words);
        let fits = serial.bytes().any(|byte| byte.is_ascii_digit())
            && (4..=40).contains(&serial.len())
            && serial.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'/' | b'.' | b' '))
            && !is_measure(&serial);
        value.text = serial;
        return fits.then_some(value);
    }
    let first = value.text.split_whitespace().next()?.to_owned();
    let letters = value.text.chars().filter(|letter| letter.is_alphanumeric()).count();
    let fits = match class {
        Plate::Make => value.text.chars().any(char::is_alphabetic) && !first.contains("://"),
        _ => {
            !is_measure(&first)
                && (first.bytes().any(|byte| byte.is_ascii_digit())
                    || value.text.bytes().any(|byte| byte.is_ascii_digit()))
        }
    };
    (fits && (2..=60).contains(&letters)).then_some(value)
}

/// A number with a unit, such as `230V`, `50/60Hz`, `220-240V~`.
fn is_measure(text: &str) -> bool {
    let lower = text.to_lowercase();
    let unit = lower.trim_start_matches(|letter: char| {
        letter.is_ascii_digit() || matches!(letter, '-' | '/' | '.' | ',' | ' ' | '~')
    });
    unit.len() < lower.len()
        && matches!(
            unit.trim_end_matches(['~', '=', '⎓', '.']),
            "v" | "vac"
                | "vdc"
                | "hz"
                | "w"
                | "kw"
                | "a"
                | "ma"
                | "mah"
                | "kg"
                | "va"
                | "l"
                | "bar"
                | "mm"
                | "cm"
                | "rpm"
        )
}

/// A make that stands alone among the words.
fn make(files: &[FileReading], rows: &[Row<'_>]) -> Option<Found> {
    rows.iter().find_map(|row| {
        let hit = MAKES.find(row).into_iter().next()?;
        let short = hit.class.len() <= 3;
        let as_written =
            !short || row.words[hit.from].text.trim_matches(|letter: char| !letter.is_alphanumeric()) == hit.class;
        let well = row.score(hit.from, hit.to) >= WELL_READ;
        let confidence = if well { Confidence::Likely } else { Confidence::Guess };
        as_written
            .then(|| Found { text: hit.class.to_owned(), evidence: row.evidence(files, hit.from, hit.to, confidence) })
    })
}

/// Other readings of a serial number: one letter each that looks like a digit, or a digit that looks like a letter.
fn rivals(serial: &str, well_read: bool) -> Vec<String> {
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

fn with_rivals(found: Found, rivals: &[String]) -> Found {
    let rivals = rivals.iter().map(|rival| rival.as_str().into()).collect();
    Found { evidence: Evidence { rivals, ..found.evidence }, ..found }
}

/// A serial number that a code on the same plate repeats has two sources.
fn proved_by_code(files: &[FileReading], number: usize, found: Found, codes: &[Code]) -> Found {
    let plain = |text: &str| fold(text).chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    let read = plain(&found.text);
    let rivals: Vec<String> = found.evidence.rivals.iter().filter_map(|rival| rival.as_str()).map(plain).collect();
    let same = codes.iter().filter(|code| code.format != CodeFormat::Gtin).find(|code| {
        let text = plain(serial_text(&code.text));
        text.len() >= 5 && (text == read || rivals.contains(&text))
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

/// A code that says itself that it holds a serial number: `S/N:…`, `SN…`.
fn coded_serial(files: &[FileReading], number: usize, codes: &[Code]) -> Option<Found> {
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

fn barcode(files: &[FileReading], number: usize, codes: &[Code]) -> Option<Found> {
    let code = codes.iter().find(|code| code.format == CodeFormat::Gtin)?;
    let confidence = if code.proved { Confidence::Certain } else { Confidence::Guess };
    Some(Found { text: cut(&code.text), evidence: code_evidence(files, number, code, confidence) })
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

fn cut(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(LETTERS_MAX).collect()
}
