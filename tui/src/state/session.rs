//! What is found again after a restart: the tab, how each list stood, and a form that was not saved. Plain values; must not
//! know where they are kept.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The whole session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// The kind of the tab in front.
    pub tab: String,
    /// How each list stood, by kind.
    pub lists: BTreeMap<String, ListSession>,
    /// A form that was open.
    pub draft: Option<Draft>,
}

/// How a list stood.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListSession {
    /// The field it was sorted by.
    pub sort: String,
    /// Whether that order was turned round.
    pub reversed: bool,
    /// Whether groups were shown.
    pub grouped: bool,
    /// The filter as typed.
    pub filter: String,
}

/// A form that was not saved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// Of this kind.
    pub kind: String,
    /// Which record; None for a new one.
    pub id: Option<String>,
    /// What the record was called.
    pub title: String,
    /// The record as it was when the form was opened.
    pub before: Fields,
    /// What was typed, by field: as much of a value as there was.
    pub typed: BTreeMap<String, Value>,
    /// Names of what the reference fields point at.
    pub names: BTreeMap<String, String>,
    /// The waiting edit that the form changes.
    #[serde(default)]
    pub edit: Option<i64>,
    /// The records that it changes together, ids and titles.
    #[serde(default)]
    pub many: Vec<(String, String)>,
}
