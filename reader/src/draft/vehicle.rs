//! What a paper says of a vehicle: identification number, plate, make, model, year, colour, fuel, policy. Must not know drafts.

use hearth_contract::formats::normalize_vin;

use super::category::Sort;
use super::model::{Confidence, Evidence, FileReading};
use super::phrases::Hit;
use super::rows::Row;
use super::serial::{Found, code_evidence};
use super::values::{Labelled, value};
use super::words::makes::CARS;
use super::words::papers::Paperwork;
use super::words::vehicles::{FUELS, VEHICLES, Vehicle, code};

/// The rows that are read.
const ROWS_MAX: usize = 400;

/// The letters of an identification number since 1981 (ISO 3779).
const VIN_LETTERS: usize = 17;

/// A photo of a number has this many rows at most.
const FEW_ROWS: usize = 3;

/// So many codes of Europe make a registration paper.
const CODES_MIN: usize = 3;

/// What one file says of a vehicle.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct VehicleFacts {
    /// The identification number.
    pub(super) vin: Option<Found>,
    /// The license plate.
    pub(super) plate: Option<Found>,
    /// Who made it.
    pub(super) make: Option<Found>,
    /// The model.
    pub(super) model: Option<Found>,
    /// The model year, as text of four digits.
    pub(super) year: Option<Found>,
    /// The colour.
    pub(super) color: Option<Found>,
    /// A word of the field `fuel_type`.
    pub(super) fuel: Option<Found>,
    /// The number of the policy.
    pub(super) policy: Option<Found>,
}

/// Reads a file for a vehicle. None: it is no paper of a vehicle.
pub(super) fn vehicle(
    files: &[FileReading],
    number: usize,
    rows: &[Row<'_>],
    sort: Option<Sort>,
) -> Option<VehicleFacts> {
    let rows = &rows[..rows.len().min(ROWS_MAX)];
    let vin = coded_vin(files, number).or_else(|| vin(files, rows).filter(|_| speaks_of_vehicle(rows)));
    let registration = sort.is_some_and(|sort| sort.paper == Paperwork::Identification);
    let codes = rows.iter().filter(|row| code(row.word(0)).is_some()).count();
    let european = registration || codes >= CODES_MIN;
    let mut facts = VehicleFacts { vin, ..VehicleFacts::default() };
    for (at, row) in rows.iter().enumerate() {
        let hits = labels(row, european && codes >= CODES_MIN);
        for (place, hit) in hits.iter().enumerate() {
            let next = hits[place + 1..].iter().find(|next| next.from > hit.to);
            if let Some(value) = value(rows, at, hit, next) {
                facts.take(files, rows, hit.class, value);
            }
        }
    }
    let insured = sort.is_some_and(|sort| sort.paper == Paperwork::Insurance);
    let is_vehicle = facts.vin.is_some() || (facts.plate.is_some() && (european || insured));
    if is_vehicle && facts.make.is_none() {
        facts.make = named_make(files, rows);
    }
    is_vehicle.then_some(facts)
}

fn labels(row: &Row<'_>, european: bool) -> Vec<Hit<Vehicle>> {
    let mut hits = VEHICLES.find(row);
    if european {
        let mut end = 0;
        let codes = (0..row.words.len()).filter_map(|word| code(row.word(word)).map(|class| (word, class)));
        let mut found: Vec<Hit<Vehicle>> = Vec::new();
        for (word, class) in codes {
            end = end
                .max(row.compact.marks.iter().rposition(|(owner, _)| *owner as usize == word).map_or(end, |at| at + 1));
            found.push(Hit { class, from: word, to: word, end });
        }
        hits.retain(|hit| found.iter().all(|code| code.from != hit.from));
        hits.extend(found);
        hits.sort_by_key(|hit| hit.from);
    }
    hits
}

impl VehicleFacts {
    fn take(&mut self, files: &[FileReading], rows: &[Row<'_>], class: Vehicle, value: Labelled) {
        let row = &rows[value.row];
        let confidence = if row.score(value.from, value.to) >= 0.9 { Confidence::Likely } else { Confidence::Guess };
        let found = |text: String| Found { text, evidence: row.evidence(files, value.from, value.to, confidence) };
        let words = |max: usize| value.text.split_whitespace().take(max).collect::<Vec<_>>().join(" ");
        let letters = value.text.chars().any(char::is_alphabetic);
        match class {
            Vehicle::Vin if self.vin.is_none() => {
                let joined: String = value.text.chars().filter(char::is_ascii_alphanumeric).take(VIN_LETTERS).collect();
                self.vin = labelled_vin(&joined, found(String::new()).evidence);
            }
            Vehicle::Plate if self.plate.is_none() => self.plate = plate_text(&value.text).map(found),
            Vehicle::Make if letters => {
                let short = value.text.len() <= 40;
                self.make = self.make.take().or_else(|| short.then(|| found(words(3))));
            }
            Vehicle::Model if value.text.len() <= 60 => {
                self.model = self.model.take().or_else(|| Some(found(words(4))))
            }
            Vehicle::Year => {
                let year = value
                    .text
                    .split_whitespace()
                    .find(|word| word.len() == 4 && matches!(word.parse(), Ok(1900..=2100)));
                self.year = self.year.take().or_else(|| year.map(|year| found(year.to_owned())));
            }
            Vehicle::Color if letters => self.color = self.color.take().or_else(|| Some(found(words(3)))),
            Vehicle::Fuel => {
                let fuel = FUELS.find(row).into_iter().find(|hit| hit.from >= value.from).map(|hit| hit.class);
                self.fuel = self.fuel.take().or_else(|| fuel.map(|word| found(word.to_owned())));
            }
            Vehicle::Policy if value.text.bytes().any(|byte| byte.is_ascii_digit()) => {
                self.policy = self.policy.take().or_else(|| Some(found(words(3))));
            }
            _ => {}
        }
    }
}

/// A text that can stand on a license plate: 2 to 10 letters and digits with a digit.
fn plate_text(text: &str) -> Option<String> {
    let plate = text.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
    let count = plate.chars().filter(|letter| letter.is_alphanumeric()).count();
    let fits = plate.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | ' ' | '·' | '.'))
        && plate.chars().all(|letter| !letter.is_lowercase())
        && plate.bytes().any(|byte| byte.is_ascii_digit());
    (fits && (2..=10).contains(&count)).then_some(plate)
}

/// A VIN in a bar code or matrix code.
fn coded_vin(files: &[FileReading], number: usize) -> Option<Found> {
    files[number].reading.codes.iter().find_map(|code| {
        let text = code.text.trim_start_matches(['I', '*']).trim_end_matches('*');
        let vin = normalize_vin(text).filter(|vin| vin.len() == VIN_LETTERS && is_mixed(vin))?;
        let confidence = if has_check_digit(&vin) { Confidence::Certain } else { Confidence::Likely };
        Some(Found { text: vin, evidence: code_evidence(files, number, code, confidence) })
    })
}

/// A VIN that stands anywhere as one word. Without a label it counts only with its check digit.
fn vin(files: &[FileReading], rows: &[Row<'_>]) -> Option<Found> {
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
fn labelled_vin(text: &str, evidence: Evidence) -> Option<Found> {
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

/// Whether words speak of a vehicle, or a photo shows little more than one number. Serial numbers of other things may have 17 letters.
fn speaks_of_vehicle(rows: &[Row<'_>]) -> bool {
    let vehicle = |row: &Row<'_>| {
        let labels = VEHICLES.find(row);
        !CARS.find(row).is_empty() || labels.iter().any(|hit| matches!(hit.class, Vehicle::Vin | Vehicle::Plate))
    };
    rows.len() <= FEW_ROWS || rows.iter().any(vehicle)
}

/// A make of vehicles that stands among the words.
fn named_make(files: &[FileReading], rows: &[Row<'_>]) -> Option<Found> {
    rows.iter().find_map(|row| {
        let hit =
            CARS.find(row).into_iter().find(|hit| hit.class.len() > 3 || row.words[hit.from].text == hit.class)?;
        Some(Found { text: hit.class.to_owned(), evidence: row.evidence(files, hit.from, hit.to, Confidence::Likely) })
    })
}
