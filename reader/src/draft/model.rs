//! The plain types of drafts: what goes in, what comes out, and the evidence of each field. Must not know how a value is found.

use std::collections::{BTreeMap, BTreeSet};

use hearth_contract::schema::Kind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use time::Date;

use crate::reading::{Area, Reading};

/// One file of a capture and what was read in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileReading {
    /// The SHA-256 of the file, 64 hex digits.
    pub sha256: String,
    /// The name of the file, when it is known.
    pub name: Option<String>,
    /// What was read.
    pub reading: Reading,
}

/// What the home knows and drafts need.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// The currency of all sums of the home.
    pub currency: Option<String>,
    /// The day of today in the home. A later date is no date of a receipt. None: any date may be one.
    pub today: Option<Date>,
    /// The records that share a serial number, code, model or plate with the files: those that [`Keys`] name, no others.
    pub records: Vec<KnownRecord>,
}

/// The fields of one item or vehicle of the home that drafts compare with.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownRecord {
    /// `Inventory` or `Vehicle`.
    pub kind: Kind,
    /// The id of the record.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Who made it.
    pub make: Option<String>,
    /// The maker's name for it.
    pub model: Option<String>,
    /// The serial number of an item.
    pub serial: Option<String>,
    /// The bar code of an item.
    pub barcode: Option<String>,
    /// The license plate of a vehicle.
    pub plate: Option<String>,
    /// The identification number of a vehicle.
    pub vin: Option<String>,
}

/// The values in the files by which the server finds records of the home. Each list has at most [`KEYS_MAX`] values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// Serial numbers, as read, and with the rivals of letters that look alike.
    pub serials: BTreeSet<String>,
    /// The texts of bar codes.
    pub codes: BTreeSet<String>,
    /// Models of items.
    pub models: BTreeSet<String>,
    /// License plates and identification numbers of vehicles.
    pub plates: BTreeSet<String>,
}

/// The most values in each list of [`Keys`].
pub const KEYS_MAX: usize = 32;

/// A draft of one record. A person accepts it field by field; nothing is written before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// Names the draft inside of its job: `item`, `vehicle`, `document`, `document_2` and so on.
    pub name: String,
    /// The kind of the record: `inventory`, `vehicle` or `document`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The record that the draft changes. None: it makes a new one.
    pub id: Option<String>,
    /// The fields, in the formats of contract 2.
    pub fields: Map<String, Value>,
    /// Where each field comes from, by the name of the field.
    pub evidence: BTreeMap<String, Evidence>,
}

/// Where the value of a field comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What kind of source.
    pub from: Source,
    /// The SHA-256 of the file. None: not from a file.
    pub file: Option<String>,
    /// The number of the page in its file, from 0.
    pub page: usize,
    /// The place on the page. None: no place, such as EXIF data.
    #[serde(rename = "box")]
    pub area: Option<Area>,
    /// The text as it was read, or the equation that proves the value, such as `20.00 − 3.50 = 16.50`.
    pub text: String,
    /// How sure the value is.
    pub confidence: Confidence,
    /// Other values that the text allows, the likeliest first.
    pub rivals: Vec<Value>,
}

/// What kind of source a value has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Text in the file.
    Text,
    /// A bar code, matrix code or electronic invoice.
    Code,
    /// Data that the camera wrote.
    Exif,
    /// A record of the home.
    Home,
    /// An equation of several values in the text.
    Equation,
}

/// How sure a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The text allows it.
    Guess,
    /// A labelled value that was read well.
    Likely,
    /// A rule proves it: a check digit, a VIN, an equation, or two sources that agree.
    Certain,
}
