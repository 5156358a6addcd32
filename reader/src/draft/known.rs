//! Which record of the home the files are about: by serial number, code, VIN, plate or model. Must not know how values are read.

use std::collections::BTreeSet;

use hearth_contract::schema::Kind;
use hearth_contract::search_text::spellings;

use super::model::{Confidence, Evidence, KEYS_MAX, Keys, Known, KnownRecord, Source};
use super::plate::Thing;
use super::rows::fold;
use super::serial::Found;
use super::vehicle::VehicleFacts;

/// What was found in one file.
pub(super) struct FileFacts {
    /// Make, model, serial number and bar code.
    pub(super) thing: Thing,
    /// What it says of a vehicle.
    pub(super) vehicle: Option<VehicleFacts>,
    /// All codes.
    pub(super) codes: Vec<Found>,
}

/// The record that shares a value with a file, and the evidence of that. The values that name one piece count before the model.
/// Of two records with the same value neither is the subject.
pub(super) fn subject<'k>(facts: &FileFacts, known: &'k Known) -> Option<(&'k KnownRecord, Evidence)> {
    let thing = &facts.thing;
    let vehicle = facts.vehicle.as_ref();
    let (vin, plate) = (vehicle.and_then(|found| found.vin.as_ref()), vehicle.and_then(|found| found.plate.as_ref()));
    let only = |found: Option<&Found>, field: fn(&KnownRecord) -> Option<&String>, confidence: Confidence| {
        let found = found?;
        let mut same =
            known.records.iter().filter(|record| field(record).is_some_and(|value| same(value, &found.text)));
        let first = same.next().filter(|_| same.next().is_none())?;
        Some((first, evidence(found, confidence)))
    };
    let coded = || {
        let codes = facts.codes.iter();
        codes.filter_map(|code| only(Some(code), |record| record.serial.as_ref(), Confidence::Certain)).next()
    };
    only(thing.serial.as_ref(), |record| record.serial.as_ref(), Confidence::Certain)
        .or_else(coded)
        .or_else(|| only(vin, |record| record.vin.as_ref(), Confidence::Certain))
        .or_else(|| only(plate, |record| record.plate.as_ref(), Confidence::Likely))
        .or_else(|| only(thing.barcode.as_ref(), |record| record.barcode.as_ref(), Confidence::Likely))
        .or_else(|| only(thing.model.as_ref(), |record| record.model.as_ref(), Confidence::Guess))
}

/// The two sources are the file and the record.
fn evidence(found: &Found, confidence: Confidence) -> Evidence {
    Evidence { from: Source::Home, confidence, rivals: Vec::new(), ..found.evidence.clone() }
}

/// Whether two values are the same letters and digits, or two spellings of one product code.
fn same(one: &str, other: &str) -> bool {
    let plain = |text: &str| fold(text).chars().filter(|letter| letter.is_alphanumeric()).collect::<String>();
    let (one, other) = (plain(one), plain(other));
    !one.is_empty() && (one == other || spellings(&one).contains(&other))
}

/// The values by which the server looks up records.
pub(super) fn keys(files: &[FileFacts]) -> Keys {
    let mut keys = Keys::default();
    for file in files {
        if let Some(serial) = &file.thing.serial {
            add(&mut keys.serials, &serial.text);
            serial
                .evidence
                .rivals
                .iter()
                .filter_map(|rival| rival.as_str())
                .for_each(|rival| add(&mut keys.serials, rival));
        }
        if let Some(model) = &file.thing.model {
            add(&mut keys.models, &model.text);
        }
        for code in &file.codes {
            spellings(&code.text).iter().for_each(|code| add(&mut keys.codes, code));
        }
        for found in file.vehicle.iter().flat_map(|vehicle| [&vehicle.vin, &vehicle.plate]).flatten() {
            add(&mut keys.plates, &found.text);
        }
    }
    keys
}

fn add(keys: &mut BTreeSet<String>, value: &str) {
    if keys.len() < KEYS_MAX && !value.is_empty() {
        keys.insert(value.to_owned());
    }
}

/// The kind of the draft of a thing.
pub(super) fn kind(facts: &[FileFacts]) -> Kind {
    if facts.iter().any(|file| file.vehicle.is_some()) { Kind::Vehicle } else { Kind::Inventory }
}
