//! Equality filters (contract 5), and whether the JSON of a record matches them. Must not know how records are found.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::error::StoreError;

/// Values of one filter, at most (contract 5).
pub const FILTER_VALUES_MAX: usize = 50;

/// An equality filter: the field has one of the values. The value None is null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The name of the field.
    pub field: &'static str,
    /// The values, as in the JSON of a record; at least one, at most [`FILTER_VALUES_MAX`].
    pub values: BTreeSet<Option<String>>,
}

/// Whether the JSON of a record matches all filters. An absent member is null.
pub(super) fn matches_all(filters: &[Filter], json: &str) -> Result<bool, StoreError> {
    if filters.is_empty() {
        return Ok(true);
    }
    let mut text = serde_json::Deserializer::from_str(json);
    Matching(filters).deserialize(&mut text).map_err(|error| StoreError::Corrupt(format!("image of a record: {error}")))
}

/// Reads the members of a record that filters name, and skips the others.
struct Matching<'f>(&'f [Filter]);

impl<'de> DeserializeSeed<'de> for Matching<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Matching<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<bool, M::Error> {
        let mut open: Vec<&Filter> = self.0.iter().collect();
        let mut is_match = true;
        while let Some(name) = members.next_key::<&str>()? {
            match open.iter().position(|filter| filter.field == name) {
                None => drop(members.next_value::<IgnoredAny>()?),
                Some(at) => {
                    let value: Option<&str> = members.next_value()?;
                    is_match &= open.swap_remove(at).has(value);
                }
            }
        }
        Ok(is_match && open.iter().all(|filter| filter.has(None)))
    }
}

impl Filter {
    /// Whether a value is one of the filter.
    fn has(&self, value: Option<&str>) -> bool {
        self.values.iter().any(|wanted| wanted.as_deref() == value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(field: &'static str, values: &[Option<&str>]) -> Filter {
        Filter { field, values: values.iter().map(|value| value.map(str::to_owned)).collect() }
    }

    #[test]
    fn record_matches_all_filters_or_none() {
        let json = r#"{"id":"1","status":"open","notes":"a \"b\" é","due_on":null,"sizes":[{"status":"done"}]}"#;
        for (filters, expected) in [
            (vec![], true),
            (vec![filter("status", &[Some("done"), Some("open")])], true),
            (vec![filter("status", &[Some("done"), None])], false),
            (vec![filter("due_on", &[None])], true),
            (vec![filter("status", &[Some("open")]), filter("due_on", &[Some("2026-01-01")])], false),
            (vec![filter("status", &[Some("open")]), filter("due_on", &[None, Some("2026-01-01")])], true),
            (vec![filter("absent", &[None])], true),
            (vec![filter("absent", &[Some("")])], false),
        ] {
            assert_eq!(matches_all(&filters, json).unwrap(), expected, "{filters:?}");
        }
        assert!(matches_all(&[filter("status", &[None])], r#"{"status":5}"#).is_err());
    }
}
