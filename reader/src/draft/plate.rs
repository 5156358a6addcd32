//! Make, model and serial number of a rating plate, a box or an invoice. Must not know drafts or records of the home.

use super::model::{Confidence, FileReading};
use super::phrases::Hit;
use super::rows::Row;
use super::serial::{Found, code_evidence, coded_serial, cut, proved_by_code, rivals, with_rivals};
use super::values::{Labelled, value};
use super::words::makes::MAKES;
use super::words::plates::{PLATES, Plate};
use crate::reading::{Code, CodeFormat};

/// The rows that are read: a plate has few, a manual many.
const ROWS_MAX: usize = 400;

/// A word with a lower score was read badly.
const WELL_READ: f32 = 0.9;

/// The most words of a model behind its make.
const MODEL_WORDS: usize = 3;

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

/// Reads a file for make, model, serial number and bar code. On a receipt only a model and a serial number with a sign behind the
/// label count: its other words speak of many things.
pub(super) fn thing(files: &[FileReading], number: usize, rows: &[Row<'_>], receipt: bool) -> Thing {
    let rows = &rows[..rows.len().min(ROWS_MAX)];
    let mut values: Vec<(Plate, Labelled)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let mut hits = labels(row);
        if receipt {
            hits.retain(|hit| hit.class == Plate::Other || (may_stand_on_receipt(hit.class) && is_signed(row, hit)));
        }
        for (place, hit) in hits.iter().enumerate().filter(|(_, hit)| hit.class != Plate::Other) {
            // Labels of two languages in one word, such as `Modell/Model`: the last one stands before the value.
            if hits[place + 1..].iter().any(|other| other.class == hit.class && other.from <= hit.to) {
                continue;
            }
            let next = hits[place + 1..].iter().find(|next| next.from > hit.to);
            let value =
                value(rows, at, hit, next).filter(|value| value.row == at || labels(&rows[value.row]).is_empty());
            if let Some(value) = value.and_then(|value| fitting(hit.class, value)) {
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
        make: best(&[Plate::Make]).map(found).or_else(|| make(files, rows).filter(|_| !receipt)),
        model: best(&[Plate::OrderNumber, Plate::Model, Plate::Type])
            .or_else(|| beside_make(rows).filter(|_| !receipt))
            .or_else(|| best(&[Plate::Product]))
            .map(found),
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
        hit.class == Plate::Other
            || letters.sum::<usize>() > 4
            || is_signed(row, hit)
            || hit.from == 0
            || row.words.len() <= 3
    });
    // The value of a label may begin like a label: `E-Nr.: SN236I01KE`.
    let ends: Vec<usize> = hits.iter().map(|hit| hit.to).collect();
    hits.retain(|hit| !(is_glued(row, hit) && hit.from > 0 && ends.contains(&(hit.from - 1))));
    hits
}

/// Whether the value follows a label of one word without any sign: `SN236`.
fn is_glued(row: &Row<'_>, hit: &Hit<Plate>) -> bool {
    let used = row.compact.marks[..hit.end].iter().filter(|(word, _)| *word as usize == hit.to).count();
    hit.from == hit.to && row.words[hit.to].text.chars().nth(used).is_some_and(char::is_alphanumeric)
}

/// Whether a sign such as a colon ends a label.
fn is_signed(row: &Row<'_>, hit: &Hit<Plate>) -> bool {
    row.word(hit.to).contains([':', '=', '#', '.', '/', '°'])
        || (hit.to + 1 < row.words.len() && row.word(hit.to + 1).starts_with([':', '=', '#']))
}

fn may_stand_on_receipt(class: Plate) -> bool {
    matches!(class, Plate::Serial | Plate::Model | Plate::OrderNumber)
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

/// The words behind a make at the start of a row, when they have a number: `FRITZ!Box 7590`.
fn beside_make(rows: &[Row<'_>]) -> Option<Labelled> {
    rows.iter().enumerate().find_map(|(at, row)| {
        let from = MAKES.find(row).first().filter(|hit| hit.from == 0 && labels(row).is_empty())?.to + 1;
        let to = row.words.len() - 1;
        let text = (from <= to && to < from + MODEL_WORDS).then(|| row.raw(from, to))?;
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        (digits >= 2 && text.len() >= 3 && !is_measure(&text)).then_some(Labelled { text, row: at, from, to })
    })
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

fn barcode(files: &[FileReading], number: usize, codes: &[Code]) -> Option<Found> {
    let code = codes.iter().find(|code| code.format == CodeFormat::Gtin)?;
    let confidence = if code.proved { Confidence::Certain } else { Confidence::Guess };
    Some(Found { text: cut(&code.text), evidence: code_evidence(files, number, code, confidence) })
}
