//! Records of the home that a draft of a new record may be about: the same serial number, the same bar code, or a picture that looks
//! alike (contract 22). Only reads. Must not decide whether they are the same thing.

use hearth_contract::record::Record;
use hearth_contract::schema::{Kind, SUBJECT_ID, SUBJECT_TYPE};
use hearth_reader::draft::FileReading;
use serde_json::{Map, Value, json};

use crate::store::record_keys::{self, RecordKey};
use crate::store::{HomeNumber, StoreError, Tx, field_values, looks};

/// Matches of one draft, at most.
const MATCHES_MAX: usize = 10;
/// Pictures of the home that look like one picture, at most.
const PICTURES_MAX: usize = 8;
/// Documents that name one picture, at most.
const DOCUMENTS_MAX: usize = 4;

/// The matches of a draft: `{ type, id, why }`, the surest first.
pub(super) fn of(
    tx: &Tx<'_>,
    home: HomeNumber,
    kind: Kind,
    fields: &Map<String, Value>,
    files: &[FileReading],
) -> Result<Vec<Value>, StoreError> {
    let mut found = Vec::new();
    let keys =
        [(RecordKey::Serial, "same_serial"), (RecordKey::Vin, "same_serial"), (RecordKey::Barcode, "same_barcode")];
    for (key, why) in keys {
        let (of, field) = key.field();
        let Some(value) = fields.get(field).and_then(Value::as_str).filter(|_| of == kind) else { continue };
        for (_, json) in record_keys::find(tx, home, key, value, MATCHES_MAX)? {
            let record = Record::from_json(kind, &json).ok_or_else(|| malformed(kind))?;
            add(&mut found, kind, &record.id.to_string(), why);
        }
    }
    if matches!(kind, Kind::Inventory | Kind::Vehicle) {
        looking_alike(tx, home, kind, files, &mut found)?;
    }
    Ok(found)
}

/// Adds the subjects of documents whose pictures look like those of the job.
fn looking_alike(
    tx: &Tx<'_>,
    home: HomeNumber,
    kind: Kind,
    files: &[FileReading],
    found: &mut Vec<Value>,
) -> Result<(), StoreError> {
    let looks = files.iter().filter_map(|file| file.reading.look_bits());
    for look in looks {
        for picture in looks::alike(tx, home, look, PICTURES_MAX)? {
            for (_, json) in field_values::documents_of(tx, home, &picture, 0, DOCUMENTS_MAX)? {
                let document = Record::from_json(Kind::Document, &json).ok_or_else(|| malformed(Kind::Document))?;
                let text = |name: &str| document.fields.get(name).and_then(Value::as_str);
                if let (Some(word), Some(id)) = (text(SUBJECT_TYPE), text(SUBJECT_ID))
                    && word == kind.as_str()
                {
                    add(found, kind, id, "looks_alike");
                }
            }
        }
    }
    Ok(())
}

fn add(found: &mut Vec<Value>, kind: Kind, id: &str, why: &str) {
    if found.len() < MATCHES_MAX && !found.iter().any(|known| known["id"] == id) {
        found.push(json!({ "type": kind.as_str(), "id": id, "why": why }));
    }
}

fn malformed(kind: Kind) -> StoreError {
    StoreError::Corrupt(format!("image of a {kind}"))
}
