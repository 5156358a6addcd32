//! The server's form of records that have edits, and the row that comes of it: image, then edits, in order. Must not
//! know how either arrived.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde_json::Value;

use crate::model::Method;
use crate::store::edits::judge::Known;
use crate::store::{StoreError, rows};

/// Keeps the server's newest form of a record.
pub(crate) fn keep(tx: &Transaction<'_>, kind: Kind, id: &str, stored: &rows::StoredRecord) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO _base (kind, record_id, rev, fields, created_at, updated_at, extra) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT DO UPDATE SET rev = excluded.rev, fields = excluded.fields, created_at = excluded.created_at,
             updated_at = excluded.updated_at, extra = excluded.extra, gone = 0, not_found = 0",
    )?
    .execute((
        kind.as_str(),
        id,
        stored.rev,
        Value::Object(stored.fields.clone()).to_string(),
        &stored.created_at,
        &stored.updated_at,
        &stored.extra,
    ))?;
    Ok(())
}

/// Notes that the server has a record no more, since this position at the latest. Its last form there is kept for its
/// edits: of one that was made here and never came back, that is what the server has taken of it.
pub(crate) fn end(tx: &Transaction<'_>, kind: Kind, id: &str, rev: i64) -> Result<(), StoreError> {
    if get(tx, kind, id)?.is_none()
        && let Some(Known { rev: taken, fields, .. }) = known(tx, kind, id)?
    {
        let row = rows::load_row(tx, kind, id)?.unwrap_or_default();
        let (created_at, updated_at) = (row.created_at, row.updated_at);
        keep(
            tx,
            kind,
            id,
            &rows::StoredRecord { fields, rev: taken.or(Some(rev)), created_at, updated_at, extra: None },
        )?;
    }
    tx.prepare_cached("UPDATE _base SET gone = 1, rev = max(rev, ?3) WHERE kind = ?1 AND record_id = ?2")?
        .execute((kind.as_str(), id, rev))?;
    Ok(())
}

/// Notes that the server has answered that it does not have a record any more. Its edits are judged by that; the rows are
/// what the feed has told, and it has not told this.
pub(crate) fn not_found(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    tx.prepare_cached(
        "UPDATE _base SET not_found = 1 WHERE (kind, record_id) = (SELECT kind, record_id FROM edits WHERE id = ?1)",
    )?
    .execute([edit])?;
    Ok(())
}

/// What answers said of records is no longer known to be so: the server may have been put back since.
pub(crate) fn ask_anew(tx: &Transaction<'_>) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE _base SET not_found = 0 WHERE not_found")?.execute([])?;
    Ok(())
}

/// Makes a record's row what it must be: the server's form with the remaining edits laid over, in order. Without
/// edits the image has done its service.
pub(crate) fn project(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<(), StoreError> {
    let edits: bool = tx
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM edits WHERE kind = ?1 AND record_id = ?2)")?
        .query_row((kind.as_str(), id), |row| row.get(0))?;
    if !edits {
        match get(tx, kind, id)? {
            Some((_, true)) => rows::delete_row(tx, kind, id)?,
            Some((stored, false)) => rows::write_row(tx, kind, id, &stored)?,
            // A row that neither the server nor an edit knows is one that a create had made.
            None if rows::load_rev(tx, kind, id)?.is_none() => rows::delete_row(tx, kind, id)?,
            None => {}
        }
        return forget(tx, kind, id);
    }
    match form(tx, kind, id, i64::MAX)? {
        Some(stored) => rows::write_row(tx, kind, id, &stored),
        None => rows::delete_row(tx, kind, id),
    }
}

/// Lets go of the server's form of a record whose row shows it.
pub(crate) fn forget(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM _base WHERE kind = ?1 AND record_id = ?2")?.execute((kind.as_str(), id))?;
    Ok(())
}

/// A record as the server has it, with the edits before this one laid over; None: there would be none.
pub(crate) fn form(
    tx: &Connection,
    kind: Kind,
    id: &str,
    before: i64,
) -> Result<Option<rows::StoredRecord>, StoreError> {
    let edits: Vec<(Method, String)> = tx
        .prepare_cached("SELECT method, patch FROM edits WHERE kind = ?1 AND record_id = ?2 AND id < ?3 ORDER BY id")?
        .query_map((kind.as_str(), id, before), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    // A record that the server does not hold yet keeps the provisional times of its row.
    let provisional = rows::load_row(tx, kind, id)?;
    let mut row = get(tx, kind, id)?.map(|(stored, _)| stored);
    for (method, patch) in edits {
        match method {
            Method::Delete => row = None,
            method => {
                if row.is_none() && (method == Method::Create || kind.is_singleton()) {
                    let times = provisional.as_ref();
                    row = Some(rows::StoredRecord {
                        created_at: times.and_then(|stored| stored.created_at.clone()),
                        updated_at: times.and_then(|stored| stored.updated_at.clone()),
                        ..rows::StoredRecord::default()
                    });
                }
                if let Some(row) = &mut row {
                    row.merge(&rows::parse_object(&patch)?);
                }
            }
        }
    }
    Ok(row)
}

/// What the server is known to hold of a record: its image, with what it has answered since laid over.
pub(crate) fn known(tx: &Connection, kind: Kind, id: &str) -> Result<Option<Known>, StoreError> {
    let mut known = read(tx, kind, id)?.map(|(stored, end)| Known {
        rev: stored.rev,
        fields: stored.fields,
        gone: end.told || end.answered,
    });
    let seen = known.as_ref().and_then(|known| known.rev).unwrap_or(-1);
    let sent: Vec<(Method, String, Option<i64>)> = tx
        .prepare_cached(
            "SELECT e.method, e.patch, s.rev FROM edits e JOIN _acked s ON s.edit_id = e.id
             WHERE e.kind = ?1 AND e.record_id = ?2 AND coalesce(s.rev, ?3 + 1) > ?3 ORDER BY e.id",
        )?
        .query_map((kind.as_str(), id, seen), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    for (method, patch, rev) in sent {
        let known = known.get_or_insert_default();
        known.rev = known.rev.max(rev);
        known.gone |= method == Method::Delete;
        for (name, value) in rows::parse_object(&patch)? {
            known.fields.insert(name.clone(), crate::store::edits::judge::spelled(kind, &name, Some(&value)));
        }
    }
    Ok(known)
}

/// The server's form of a record that has edits, and whether it is gone there, as the feed has told it.
pub(crate) fn get(tx: &Connection, kind: Kind, id: &str) -> Result<Option<(rows::StoredRecord, bool)>, StoreError> {
    Ok(read(tx, kind, id)?.map(|(stored, end)| (stored, end.told)))
}

/// Who has said that a record is gone.
struct End {
    /// The feed, or a listing.
    told: bool,
    /// An answer to an edit.
    answered: bool,
}

fn read(tx: &Connection, kind: Kind, id: &str) -> Result<Option<(rows::StoredRecord, End)>, StoreError> {
    let found = tx
        .prepare_cached(
            "SELECT rev, fields, created_at, updated_at, extra, gone, not_found FROM _base
             WHERE kind = ?1 AND record_id = ?2",
        )?
        .query_row((kind.as_str(), id), |row| {
            let stored = rows::StoredRecord {
                rev: row.get(0)?,
                fields: serde_json::Map::new(),
                created_at: row.get(2)?,
                updated_at: row.get(3)?,
                extra: row.get(4)?,
            };
            Ok((stored, row.get::<_, String>(1)?, End { told: row.get(5)?, answered: row.get(6)? }))
        })
        .optional()?;
    let Some((mut stored, fields, end)) = found else { return Ok(None) };
    stored.fields = rows::parse_object(&fields)?;
    Ok(Some((stored, end)))
}
