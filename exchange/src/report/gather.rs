//! Takes the records of a home in any order, and keeps what a report shows. Must not know the form of the report.

use std::collections::HashMap;

use hearth_contract::check::Fields;
use hearth_contract::schema::{Kind, SUBJECT_ID};
use serde_json::Value;

use super::money::{Cents, cents};
use super::{PAPERS_MAX, RECORDS_MAX};

/// The home has more than [`RECORDS_MAX`] records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge;

/// The records of a report.
#[derive(Default)]
pub struct Report {
    records: usize,
    /// The lines of the home's address.
    pub(super) address: Vec<String>,
    /// The ISO code of the home's currency; "" when it has none.
    pub(super) currency: String,
    /// The names of the rooms by id.
    pub(super) rooms: HashMap<String, String>,
    /// The things with the ids of their rooms; "" stands for no room.
    pub(super) things: Vec<(String, Thing)>,
    pub(super) vehicles: Vec<Thing>,
    /// The papers of a thing or vehicle by its id; "" stands for the home.
    pub(super) papers: HashMap<String, Papers>,
}

/// A thing or a vehicle.
pub(super) struct Thing {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) category: String,
    /// What identifies the thing, each with a label: make, model, serial number and so on.
    pub(super) details: Vec<(&'static str, String)>,
    pub(super) bought: String,
    pub(super) quantity: Cents,
    /// The price of one piece.
    pub(super) price: Option<Cents>,
    /// The current value of one piece.
    pub(super) value: Option<Cents>,
}

impl Thing {
    /// The price of all pieces.
    pub(super) fn price_of_all(&self) -> Option<Cents> {
        Some(self.price? * self.quantity)
    }

    /// The current value of all pieces; without one, the price.
    pub(super) fn worth(&self) -> Option<Cents> {
        Some(self.value.or(self.price)? * self.quantity)
    }
}

/// The papers of a thing.
#[derive(Default)]
pub(super) struct Papers {
    /// Each in one line, at most [`PAPERS_MAX`].
    pub(super) lines: Vec<String>,
    /// The papers beyond the limit.
    pub(super) more: usize,
    /// The SHA-256 of the first picture among the files.
    pub(super) photo: Option<String>,
}

/// The fields that identify a thing, with their labels.
const THING_DETAILS: [(&str, &str); 9] = [
    ("make", "Make"),
    ("model", "Model"),
    ("serial_number", "Serial number"),
    ("barcode", "Barcode"),
    ("location", "Place"),
    ("condition", "Condition"),
    ("purchased_from", "Bought from"),
    ("warranty_expires_on", "Warranty until"),
    ("description", "Description"),
];
/// The fields that identify a vehicle, with their labels.
const VEHICLE_DETAILS: [(&str, &str); 9] = [
    ("make", "Make"),
    ("model", "Model"),
    ("year", "Year"),
    ("color", "Color"),
    ("vin", "Vehicle number (VIN)"),
    ("license_plate", "Plate"),
    ("odometer", "Odometer"),
    ("insurance_provider", "Insured with"),
    ("insurance_policy_number", "Policy"),
];

impl Report {
    /// Adds a record. Records of kinds that a report does not show add nothing.
    pub fn add(&mut self, kind: Kind, id: &str, fields: &Fields) -> Result<(), TooLarge> {
        if self.records == RECORDS_MAX {
            return Err(TooLarge);
        }
        self.records += 1;
        match kind {
            Kind::Inventory => {
                self.things.push((text(fields, "room_id"), thing(id, fields, &THING_DETAILS)));
            }
            Kind::Vehicle => self.vehicles.push(thing(id, fields, &VEHICLE_DETAILS)),
            Kind::Room => drop(self.rooms.insert(id.to_owned(), text(fields, "name"))),
            Kind::Document => self.add_paper(fields),
            Kind::Property => self.add_home(fields),
            Kind::Task => (),
        }
        Ok(())
    }

    fn add_paper(&mut self, fields: &Fields) {
        let papers = self.papers.entry(text(fields, SUBJECT_ID)).or_default();
        let has_picture = text(fields, "content_type").starts_with("image/");
        if has_picture && papers.photo.is_none() {
            papers.photo = Some(text(fields, "file_sha256")).filter(|sha256| !sha256.is_empty());
        }
        if papers.lines.len() == PAPERS_MAX {
            papers.more += 1;
            return;
        }
        let category = text(fields, "category");
        let about = [spoken(&category), text(fields, "issuer"), text(fields, "issued_on")];
        let about: Vec<String> = about.into_iter().filter(|part| !part.is_empty()).collect();
        let title = text(fields, "title");
        papers.lines.push(if about.is_empty() { title } else { format!("{title} ({})", about.join(", ")) });
    }

    fn add_home(&mut self, fields: &Fields) {
        let part = |names: &[&str]| {
            let parts = names.iter().map(|name| text(fields, name)).filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join(" ")
        };
        let lines = [
            part(&["address"]),
            part(&["address_line_2"]),
            part(&["city", "state", "postal_code"]),
            part(&["country"]),
        ];
        self.address = lines.into_iter().filter(|line| !line.is_empty()).collect();
        self.currency = text(fields, "currency");
    }
}

fn thing(id: &str, fields: &Fields, details: &[(&'static str, &'static str)]) -> Thing {
    let detail = |(name, label): &(&'static str, &'static str)| {
        let value = text(fields, name);
        let value = if *name == "condition" { spoken(&value) } else { value };
        Some((*label, value)).filter(|(_, value)| !value.is_empty())
    };
    Thing {
        id: id.to_owned(),
        name: text(fields, "name"),
        category: text(fields, "category"),
        details: details.iter().filter_map(detail).collect(),
        bought: text(fields, "purchase_date"),
        quantity: fields.get("quantity").and_then(Value::as_u64).unwrap_or(1).into(),
        price: cents(&text(fields, "purchase_price")),
        value: cents(&text(fields, "current_value")),
    }
}

/// The text of a field; "" when it is null.
fn text(fields: &Fields, name: &str) -> String {
    match fields.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A word of a choice as people write it: `living room` for `living_room`.
pub(super) fn spoken(word: &str) -> String {
    word.replace('_', " ")
}
