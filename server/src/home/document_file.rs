//! The file that a document names (contract 3, 21): it must exist, and gives the document its size and its type. Must not know
//! where the bytes lie.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{FaultCode, FieldFault};
use hearth_contract::schema::Kind;
use serde_json::Value;

use crate::store::stored_files::{self, FileHash};
use crate::store::{HomeNumber, StoreError, Tx, readings, search};

/// The field that names a file.
const FILE_SHA256: &str = "file_sha256";
/// The fields that follow from the file.
const SIZE_BYTES: &str = "size_bytes";
const CONTENT_TYPE: &str = "content_type";

/// Checks the file that a record names, and fills size and type from it. `sent`: the fields of the request, None for those of `after`; `before` and
/// `after`: the record around the write. Gives the faults.
pub(crate) fn complete(
    tx: &Tx<'_>,
    home: HomeNumber,
    sent: Option<&Fields>,
    before: Option<&Fields>,
    after: &mut Fields,
) -> Result<Vec<FieldFault>, StoreError> {
    let Some(hash) = named(after) else { return Ok(Vec::new()) };
    let Some(file) = stored_files::find(tx, home, &hash)? else {
        // As for other references: a name that was there before is not this request's fault.
        if before.and_then(named).as_ref() == Some(&hash) {
            return Ok(Vec::new());
        }
        let message = "file_sha256 names no file of this home; upload the bytes first.";
        return Ok(vec![FieldFault::new(FILE_SHA256, FaultCode::NotFound, message)]);
    };
    let mut faults = Vec::new();
    let of_file = [(SIZE_BYTES, Value::from(file.size_bytes)), (CONTENT_TYPE, Value::from(file.content_type))];
    for (field, value) in of_file {
        if sent.unwrap_or(after).get(field).is_some_and(|sent| !sent.is_null() && *sent != value) {
            let message = format!("{field} must be {value}, as the file has it, or be left out.");
            faults.push(FieldFault::new(field, FaultCode::Inconsistent, message));
        }
        after.insert(field.to_owned(), value);
    }
    Ok(faults)
}

/// Stores which files are in use after a write of a record.
pub(super) fn note_use(
    tx: &Tx<'_>,
    home: HomeNumber,
    kind: Kind,
    before: Option<&Fields>,
    after: Option<&Fields>,
    now: Timestamp,
) -> Result<(), StoreError> {
    if kind != Kind::Document {
        return Ok(());
    }
    let (old, new) = (before.and_then(named), after.and_then(named));
    if old == new {
        return Ok(());
    }
    [old, new].iter().flatten().try_for_each(|hash| stored_files::note_use(tx, home, hash, now))
}

/// Indexes the text that was read in the file which a record names, when the file has changed. `created`: the event that created the
/// record.
pub(super) fn index_reading(
    tx: &Tx<'_>,
    home: HomeNumber,
    created: i64,
    kind: Kind,
    before: Option<&Fields>,
    after: &Fields,
) -> Result<(), StoreError> {
    let (old, new) = (before.and_then(named), named(after));
    if kind != Kind::Document || old == new {
        return Ok(());
    }
    let text = new.map(|hash| readings::searched(tx, home, &hash)).transpose()?.unwrap_or_default();
    if old.is_some() || !text.is_empty() {
        search::index_reading(tx, home, created, &text);
    }
    Ok(())
}

/// The file that a record names. None: none, or a kind without files.
pub(super) fn named(fields: &Fields) -> Option<FileHash> {
    fields.get(FILE_SHA256).and_then(Value::as_str).and_then(FileHash::parse)
}
