//! What a paper says of a vehicle: identification number, plate, make, model, year, colour, fuel, policy. Must not know drafts.

use super::category::Sort;
use super::model::{Confidence, FileReading};
use super::phrases::Hit;
use super::rows::Row;
use super::serial::Found;
use super::values::{Labelled, value};
use super::vin::{VIN_LETTERS, coded_vin, labelled_vin, vin};
use super::words::makes::CARS;
use super::words::papers::Paperwork;
use super::words::vehicles::{FUELS, VEHICLES, Vehicle, code};

/// The rows that are read.
const ROWS_MAX: usize = 400;

/// A photo of a number has this many rows at most.
const FEW_ROWS: usize = 3;

/// Words of the names of makers, which are no models.
const COMPANY_WORDS: &[&str] = &["motor", "motors", "motorrad", "company", "group", "werke", "usa", "europe", "france"];

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
            // A code and its words, such as `D.1 Make`: the last label stands before the value.
            if next.is_some_and(|next| next.class == hit.class && next.from == hit.to + 1) {
                continue;
            }
            if let Some(value) = value(rows, at, hit, next) {
                facts.take(files, rows, hit.class, value);
            }
        }
    }
    let insured = sort.is_some_and(|sort| sort.paper == Paperwork::Insurance);
    let is_vehicle = facts.vin.is_some() || (facts.plate.is_some() && (european || insured));
    if is_vehicle && facts.make.is_none() {
        (facts.make, facts.model) = named(files, rows, facts.model.take());
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

/// Whether words speak of a vehicle, or a photo shows little more than one number. Serial numbers of other things may have 17 letters.
fn speaks_of_vehicle(rows: &[Row<'_>]) -> bool {
    let vehicle = |row: &Row<'_>| {
        let labels = VEHICLES.find(row);
        !CARS.find(row).is_empty() || labels.iter().any(|hit| matches!(hit.class, Vehicle::Vin | Vehicle::Plate))
    };
    rows.len() <= FEW_ROWS || rows.iter().any(vehicle)
}

/// A make of vehicles that stands among the words, and the word behind it as its model.
fn named(files: &[FileReading], rows: &[Row<'_>], model: Option<Found>) -> (Option<Found>, Option<Found>) {
    let found = rows.iter().find_map(|row| {
        let hits = CARS.find(row);
        let hit = hits.into_iter().find(|hit| hit.class.len() > 3 || row.words[hit.from].text == hit.class)?;
        Some((row, hit))
    });
    let Some((row, hit)) = found else { return (None, model) };
    let make =
        Found { text: hit.class.to_owned(), evidence: row.evidence(files, hit.from, hit.to, Confidence::Likely) };
    let next = hit.to + 1;
    let tells = next < row.words.len() && (2..=12).contains(&row.word(next).len()) && row.word(next).is_ascii();
    let labels = VEHICLES.find(row);
    let tells = tells && !COMPANY_WORDS.contains(&row.word(next));
    let free = tells && !row.word(next).ends_with([':', '.', ',']) && labels.iter().all(|label| label.from != next);
    let behind = free.then(|| Found {
        text: row.words[next].text.clone(),
        evidence: row.evidence(files, next, next, Confidence::Guess),
    });
    (Some(make), model.or(behind))
}
