//! The session, restored after a restart: tab, list settings, draft of a form. Plain values; must not know where a
//! session is stored.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// The kind of the visible tab, such as `task`; `property` is the home screen.
    pub tab: String,
    /// The settings of each list, by kind.
    pub lists: BTreeMap<String, ListSession>,
    /// The draft of an open form.
    pub draft: Option<Draft>,
}

/// The settings of a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListSession {
    /// The column of the order.
    pub sort: String,
    /// Whether the order was reversed.
    pub reversed: bool,
    /// Whether groups were shown.
    pub grouped: bool,
    /// The chosen columns beside the title; None: the usual columns.
    pub columns: Option<Vec<String>>,
    /// The filter as typed.
    pub filter: String,
}

/// The draft of a form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The kind of the record.
    pub kind: String,
    /// The id of the record; None for a new record.
    pub id: Option<String>,
    /// The title of the record.
    pub title: String,
    /// The fields of the record when the form was opened.
    pub before: Fields,
    /// The typed values by field; may be incomplete.
    pub typed: BTreeMap<String, Value>,
    /// Names of the referenced records, by field.
    pub names: BTreeMap<String, String>,
    /// The edit that the form changes.
    #[serde(default)]
    pub edit: Option<i64>,
    /// Ids and titles of the records of a bulk change.
    #[serde(default)]
    pub many: Vec<(String, String)>,
}
