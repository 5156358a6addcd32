//! The values of a record by field name. Must not know which fields a kind has.

use serde_json::{Map, Value};

/// Field values by name, normalized (contract 2).
pub type Fields = Map<String, Value>;
