//! Items and vehicles by what stands on them: serial number, bar code, model, identification number, plate (contract 22). A part of
//! the table of field values. Must not know who looks for a record.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use serde_json::Value;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::records::number;
use super::tx::Tx;

/// Something that stands on an item or a vehicle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKey {
    /// `serial_number` of an item.
    Serial,
    /// `barcode` of an item.
    Barcode,
    /// `model` of an item.
    Model,
    /// `vin` of a vehicle.
    Vin,
    /// `license_plate` of a vehicle.
    Plate,
}

impl RecordKey {
    /// All keys.
    pub const ALL: [RecordKey; 5] =
        [RecordKey::Serial, RecordKey::Barcode, RecordKey::Model, RecordKey::Vin, RecordKey::Plate];

    /// The kind and the field.
    pub const fn field(self) -> (Kind, &'static str) {
        match self {
            RecordKey::Serial => (Kind::Inventory, "serial_number"),
            RecordKey::Barcode => (Kind::Inventory, "barcode"),
            RecordKey::Model => (Kind::Inventory, "model"),
            RecordKey::Vin => (Kind::Vehicle, "vin"),
            RecordKey::Plate => (Kind::Vehicle, "license_plate"),
        }
    }

    /// The number under which the values are stored. A number never changes.
    pub(super) const fn number(self) -> i64 {
        match self {
            RecordKey::Serial => 10,
            RecordKey::Barcode => 11,
            RecordKey::Model => 12,
            RecordKey::Vin => 13,
            RecordKey::Plate => 14,
        }
    }
}

/// The stored form of a value: its letters and digits, in upper case. None: it has none.
pub fn folded(value: &str) -> Option<String> {
    let text: String = value.chars().filter(|sign| sign.is_alphanumeric()).flat_map(char::to_uppercase).collect();
    (!text.is_empty()).then_some(text)
}

/// The keys of a record: number of the field, and value.
pub(super) fn rows(kind: Kind, fields: &Fields) -> Vec<(i64, String)> {
    let keys = RecordKey::ALL.into_iter().filter(|key| key.field().0 == kind);
    keys.filter_map(|key| {
        let value = fields.get(key.field().1).and_then(Value::as_str).and_then(folded)?;
        Some((key.number(), value))
    })
    .collect()
}

/// The JSON of the records with a value of a key, the oldest first, at most `limit`.
pub fn find(
    tx: &Tx<'_>,
    home: HomeNumber,
    key: RecordKey,
    value: &str,
    limit: usize,
) -> Result<Vec<(Kind, String)>, StoreError> {
    let Some(value) = folded(value) else { return Ok(Vec::new()) };
    // CROSS JOIN: SQLite would otherwise begin with all records of the kind.
    let mut statement = tx.conn.prepare_cached(
        "SELECT e.body FROM field_values v
         CROSS JOIN records r INDEXED BY records_by_creation
           ON r.home = v.home AND r.kind = v.kind AND r.deleted = 0 AND r.created = v.created
         CROSS JOIN events e ON e.event_rowid = ?5 + r.rev
         WHERE v.home = ?1 AND v.kind = ?2 AND v.field = ?3 AND v.value = ?4 ORDER BY v.created LIMIT ?6",
    )?;
    let kind = key.field().0;
    let values = (home.0, number(kind), key.number(), value, home.event_rowid(0), limit as i64);
    let found = statement.query_map(values, |row| Ok((kind, row.get(0)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_and_case_of_a_key_do_not_count() {
        assert_eq!(folded("sn-12 ab").as_deref(), Some("SN12AB"));
        assert_eq!(folded(" -/ "), None);
        let fields = serde_json::from_str(r#"{ "serial_number": "a-1", "barcode": null, "model": "-", "vin": "X" }"#);
        assert_eq!(rows(Kind::Inventory, &fields.unwrap()), [(10, "A1".to_owned())]);
    }
}
