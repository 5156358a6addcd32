//! Drafts of records from readings (contract 22): each field with its evidence. Pure: must not know the clock, storage or how files
//! are decoded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::reading::Area;

/// A draft of one record. A person accepts it field by field; nothing is written before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// Names the draft inside of its job, such as `item` or `document`.
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
