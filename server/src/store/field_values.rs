//! The values of the fields that lists filter by and that refer to other records: an index over the current records. A
//! row changes only when its value changes, so that a write costs no more than the values it touches. Must not know why
//! a value changed.

use std::collections::HashSet;

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, IMPORT_REF, Kind};
use serde_json::Value;
use uuid::Uuid;

use super::days::{NEXT_DUE, NEXT_END, ends};
use super::error::StoreError;
use super::file_hash::FileHash;
use super::home_number::HomeNumber;
use super::record_keys::{self, RecordKey};
use super::records::{id, kind, number, text};
use super::tx::Tx;
use hearth_exchange::ends::due_day;

/// The indexed fields, with the numbers under which they are stored (contract 5). A number never changes. All references
/// are among them, because a delete finds the records that refer to the deleted record.
const INDEXED: [(&str, i64); 6] =
    [("status", 1), ("due_on", 2), ("room_id", 3), ("subject_id", 4), ("category", 5), ("file_sha256", FILE_SHA256)];

/// The number of the field that names a file.
pub(super) const FILE_SHA256: i64 = 7;

/// The number under which `import_ref` is stored, unless it is null: it is no filter, and few records have one.
const IMPORT_REF_NUMBER: i64 = 8;

/// The stored form of null. No value of an indexed field is empty.
const NULL: &str = "";

/// A row of the table: kind, number of the field, value, and the event that created the record.
pub type Row = (Kind, i64, String, i64);

/// The number of an indexed field. None: the field has no index.
pub(super) fn field_number(field: &str) -> Option<i64> {
    INDEXED.iter().find(|(name, _)| *name == field).map(|(_, number)| *number)
}

/// The stored form of a value.
pub(super) fn stored(value: Option<&str>) -> &str {
    value.unwrap_or(NULL)
}

/// The rows of a record that was created by an event.
pub fn rows_of(kind: Kind, created: i64, fields: &Fields) -> impl Iterator<Item = Row> {
    let value = |field: &Field| stored(fields.get(field.name).and_then(Value::as_str)).to_owned();
    let indexed = resource(kind).fields.iter().filter_map(|field| Some((field, field_number(field.name)?)));
    let next = due_day(kind, fields).map(|day| (kind, NEXT_DUE, day.to_owned(), created));
    let ends = ends(kind, fields).into_iter().map(move |day| (kind, NEXT_END, day.to_owned(), created));
    let import_ref = fields.get(IMPORT_REF).and_then(Value::as_str);
    let import_ref = import_ref.map(|name| (kind, IMPORT_REF_NUMBER, name.to_owned(), created));
    let indexed = indexed.map(move |(field, number)| (kind, number, value(field), created));
    let keys = record_keys::rows(kind, fields).into_iter().map(move |(field, value)| (kind, field, value, created));
    indexed.chain(next).chain(ends).chain(import_ref).chain(keys)
}

/// The number of records of a kind with a value of an indexed field, at most `most`.
pub fn count(
    tx: &Tx<'_>,
    home: HomeNumber,
    kind: Kind,
    (field, value): (&str, &str),
    most: i64,
) -> Result<i64, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM field_values
                               WHERE home = ?1 AND kind = ?2 AND field = ?3 AND value = ?4 LIMIT ?5)",
    )?;
    let values = (home.0, number(kind), field_number(field).unwrap_or_default(), value, most);
    Ok(statement.query_row(values, |row| row.get(0))?)
}

/// The record of a kind that has an `import_ref`. None: it is free.
pub fn with_import_ref(
    tx: &Tx<'_>,
    home: HomeNumber,
    record_kind: Kind,
    import_ref: &str,
) -> Result<Option<Uuid>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT r.id FROM field_values v
         CROSS JOIN records r INDEXED BY records_by_creation
           ON r.home = v.home AND r.kind = v.kind AND r.deleted = 0 AND r.created = v.created
         WHERE v.home = ?1 AND v.kind = ?2 AND v.field = ?3 AND v.value = ?4",
    )?;
    let mut rows = statement.query((home.0, number(record_kind), IMPORT_REF_NUMBER, import_ref))?;
    rows.next()?.map(|row| id(row.get_ref(0)?.as_str().unwrap_or_default())).transpose()
}

/// Replaces the rows of a record. `before` and `after` are the fields around the write; None: the record does not exist.
pub fn replace(
    tx: &Tx<'_>,
    home: HomeNumber,
    kind: Kind,
    created: i64,
    before: Option<&Fields>,
    after: Option<&Fields>,
) -> Result<(), StoreError> {
    let rows = |fields: Option<&Fields>| fields.into_iter().flat_map(|fields| rows_of(kind, created, fields)).collect();
    let (old, new): (Vec<Row>, Vec<Row>) = (rows(before), rows(after));
    let mut delete = tx.conn.prepare_cached(
        "DELETE FROM field_values WHERE home = ?1 AND kind = ?2 AND field = ?3 AND value = ?4 AND created = ?5",
    )?;
    for (_, field, value, _) in old.iter().filter(|row| !new.contains(row)) {
        delete.execute((home.0, number(kind), field, value, created))?;
    }
    let mut insert = tx
        .conn
        .prepare_cached("INSERT INTO field_values (home, kind, field, value, created) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (_, field, value, _) in new.iter().filter(|row| !old.contains(row)) {
        insert.execute((home.0, number(kind), field, value, created))?;
    }
    Ok(())
}

/// The JSON of the documents that name a file, the oldest first, at most `limit`, of those created after an event.
pub fn documents_of(
    tx: &Tx<'_>,
    home: HomeNumber,
    file: &FileHash,
    after: i64,
    limit: usize,
) -> Result<Vec<(i64, String)>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT v.created, e.body FROM field_values v
         CROSS JOIN records r INDEXED BY records_by_creation
           ON r.home = v.home AND r.kind = v.kind AND r.deleted = 0 AND r.created = v.created
         CROSS JOIN events e ON e.event_rowid = ?5 + r.rev
         WHERE v.home = ?1 AND v.kind = ?2 AND v.field = ?3 AND v.value = ?4 AND v.created > ?6
         ORDER BY v.created LIMIT ?7",
    )?;
    let file = file.as_str();
    let values = (home.0, number(Kind::Document), FILE_SHA256, file, home.event_rowid(0), after, limit as i64);
    Ok(statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
}

/// Records that refer to a record, by kind, then by id. If there are more than `limit`, any `limit` of them.
pub fn sources(tx: &Tx<'_>, home: HomeNumber, target: Uuid, limit: usize) -> Result<Vec<(Kind, Uuid)>, StoreError> {
    // CROSS JOIN: SQLite would otherwise begin with all records of the kind.
    let mut statement = tx.conn.prepare_cached(
        "SELECT r.id FROM field_values v
         CROSS JOIN records r INDEXED BY records_by_creation
           ON r.home = v.home AND r.kind = v.kind AND r.deleted = 0 AND r.created = v.created
         WHERE v.home = ?1 AND v.kind = ?2 AND v.field = ?3 AND v.value = ?4 LIMIT ?5",
    )?;
    let mut found = Vec::new();
    for kind in Kind::ALL {
        for (_, field) in resource(kind).relations() {
            let field = field_number(field.name)
                .ok_or_else(|| StoreError::Corrupt(format!("{} of {kind} has no index", field.name)))?;
            let left = i64::try_from(limit.saturating_sub(found.len())).unwrap_or(i64::MAX);
            let mut rows = statement.query((home.0, number(kind), field, text(&target), left))?;
            while let Some(row) = rows.next()? {
                found.push((kind, id(row.get_ref(0)?.as_str().unwrap_or_default())?));
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// All rows of a home.
pub fn all(tx: &Tx<'_>, home: HomeNumber) -> Result<HashSet<Row>, StoreError> {
    let mut statement = tx.conn.prepare("SELECT kind, field, value, created FROM field_values WHERE home = ?1")?;
    let rows = statement.query_and_then([home.0], |row| -> Result<Row, StoreError> {
        Ok((kind(row.get(0)?)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    rows.collect()
}

/// The name of an indexed field, for messages.
pub fn field_name(stored: i64) -> &'static str {
    if stored == NEXT_DUE {
        return "due_on as a task that is not done";
    }
    if stored == NEXT_END {
        return "a day on which something ends";
    }
    if stored == IMPORT_REF_NUMBER {
        return IMPORT_REF;
    }
    if let Some(key) = RecordKey::ALL.into_iter().find(|key| key.number() == stored) {
        return key.field().1;
    }
    INDEXED.iter().find(|(_, number)| *number == stored).map_or("unknown field", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tasks_that_are_not_done_are_next() {
        let fields = |text: &str| serde_json::from_str::<Fields>(text).unwrap();
        for (kind, text, next) in [
            (Kind::Task, r#"{ "status": "open", "due_on": "2026-06-01" }"#, true),
            (Kind::Task, r#"{ "status": "in_progress", "due_on": "2026-06-01" }"#, true),
            (Kind::Task, r#"{ "status": "done", "due_on": "2026-06-01" }"#, false),
            (Kind::Task, r#"{ "status": "open", "due_on": null }"#, false),
            (Kind::Room, r#"{ "status": "open", "due_on": "2026-06-01" }"#, false),
        ] {
            let rows: Vec<Row> = rows_of(kind, 7, &fields(text)).collect();
            assert_eq!(rows.contains(&(kind, NEXT_DUE, "2026-06-01".to_owned(), 7)), next, "{kind} {text}");
        }
    }

    #[test]
    fn every_reference_is_indexed() {
        for kind in Kind::ALL {
            for (relation, field) in resource(kind).relations() {
                assert!(field_number(field.name).is_some(), "{relation} of {kind}");
            }
        }
        for (name, _) in INDEXED {
            assert!(
                Kind::ALL.into_iter().any(|kind| resource(kind).field(name).is_some_and(Field::is_filter)),
                "{name}"
            );
        }
    }
}
