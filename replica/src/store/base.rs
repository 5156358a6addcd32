//! Base images: the server's version of records that have edits, and the row that results from the edits laid over the base
//! image in their order. Must not know how versions or edits arrive.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde_json::Value;

use crate::model::Method;
use crate::store::merge::{BaseImage, normalized};
use crate::store::{StoreError, rows, synced_rows, unknown_revs};

/// Saves the server's newest version of a record.
pub(crate) fn save(tx: &Transaction<'_>, kind: Kind, id: &str, stored: &rows::StoredRecord) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO _base (kind, record_id, rev, fields, created_at, updated_at, updated_by, extra)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT DO UPDATE SET rev = excluded.rev, fields = excluded.fields, created_at = excluded.created_at,
             updated_at = excluded.updated_at, updated_by = excluded.updated_by, extra = excluded.extra, deleted = 0, reported_missing = 0",
    )?
    .execute((
        kind.as_str(),
        id,
        stored.rev,
        Value::Object(stored.fields.clone()).to_string(),
        &stored.created_at,
        &stored.updated_at,
        &stored.updated_by,
        &stored.extra,
    ))?;
    Ok(())
}

/// Marks a record as deleted on the server, at the position `rev` or before. The base image keeps the last version for
/// the record's edits. A record of an accepted create that the feed never showed gets the accepted values as its last
/// version.
pub(crate) fn mark_deleted(tx: &Transaction<'_>, kind: Kind, id: &str, rev: i64) -> Result<(), StoreError> {
    if load(tx, kind, id)?.is_none()
        && let Some(BaseImage { rev: acked_rev, fields, .. }) = with_acked(tx, kind, id)?
    {
        let row = rows::load_row(tx, kind, id)?.unwrap_or_default();
        save(tx, kind, id, &rows::StoredRecord { fields, rev: acked_rev.or(Some(rev)), extra: None, ..row })?;
    }
    tx.prepare_cached(
        "UPDATE _base SET deleted = 1, rev = max(coalesce(rev, ?3), ?3) WHERE kind = ?1 AND record_id = ?2",
    )?
    .execute((kind.as_str(), id, rev))?;
    Ok(())
}

/// Marks an edit's record as missing, as a response (404) reported. The record's edits are merged with a deleted
/// record. The rows stay, because the feed has not shown the delete.
pub(crate) fn mark_reported_missing(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    tx.prepare_cached(
        "UPDATE _base SET reported_missing = 1 WHERE (kind, record_id) = (SELECT kind, record_id FROM edits WHERE id = ?1)",
    )?
    .execute([edit])?;
    Ok(())
}

/// Forgets which records responses called missing: the server may have been restored since.
pub(crate) fn clear_reported_missing(tx: &Transaction<'_>) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE _base SET reported_missing = 0 WHERE reported_missing")?.execute([])?;
    Ok(())
}

/// Rewrites the row of a record: the base image with the remaining edits laid over it, in their order. Without edits,
/// the base image is deleted.
pub(crate) fn rebase(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<(), StoreError> {
    let edits: bool = tx
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM edits WHERE kind = ?1 AND record_id = ?2)")?
        .query_row((kind.as_str(), id), |row| row.get(0))?;
    if !edits {
        match load(tx, kind, id)? {
            Some((_, true)) => rows::delete_row(tx, kind, id)?,
            Some((stored, false)) => rows::write_row(tx, kind, id, &stored)?,
            // Neither the server nor an edit has the record: a create made the row.
            None if !unknown_revs::is_on_server(tx, kind, id)? => rows::delete_row(tx, kind, id)?,
            None => synced_rows::note(tx, kind, id)?,
        }
        return remove(tx, kind, id);
    }
    match overlay(tx, kind, id, i64::MAX)? {
        Some(stored) => rows::write_row(tx, kind, id, &stored),
        None => rows::delete_row(tx, kind, id),
    }
}

/// Deletes the base image of a record whose row shows it.
pub(crate) fn remove(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM _base WHERE kind = ?1 AND record_id = ?2")?.execute((kind.as_str(), id))?;
    Ok(())
}

/// The base image of a record with the edits before the edit `before` laid over it. None when the record would not
/// exist.
pub(crate) fn overlay(
    tx: &Connection,
    kind: Kind,
    id: &str,
    before: i64,
) -> Result<Option<rows::StoredRecord>, StoreError> {
    let edits: Vec<(Method, String)> = tx
        .prepare_cached("SELECT method, patch FROM edits WHERE kind = ?1 AND record_id = ?2 AND id < ?3 ORDER BY id")?
        .query_map((kind.as_str(), id, before), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    // A record that the server does not have yet keeps the provisional times of its row.
    let provisional = rows::load_row(tx, kind, id)?;
    let mut row = load(tx, kind, id)?.map(|(stored, _)| stored);
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

/// The server's version of a record: its base image, with the edits that the server has accepted since laid over it.
pub(crate) fn with_acked(tx: &Connection, kind: Kind, id: &str) -> Result<Option<BaseImage>, StoreError> {
    let mut known = read_image(tx, kind, id)?.map(|(stored, deleted)| BaseImage {
        rev: stored.rev,
        fields: stored.fields,
        deleted: deleted.by_feed || deleted.by_response,
    });
    let seen = known.as_ref().and_then(|known| known.rev);
    let acked: Vec<(Method, String, Option<i64>)> = tx
        .prepare_cached(
            "SELECT e.method, e.patch, s.rev FROM edits e JOIN _acked s ON s.edit_id = e.id
             WHERE e.kind = ?1 AND e.record_id = ?2 AND coalesce(s.rev > ?3, 1) ORDER BY e.id",
        )?
        .query_map((kind.as_str(), id, seen), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    for (method, patch, rev) in acked {
        let known = known.get_or_insert_default();
        known.rev = known.rev.max(rev);
        known.deleted |= method == Method::Delete;
        for (name, value) in rows::parse_object(&patch)? {
            known.fields.insert(name.clone(), normalized(kind, &name, Some(&value)));
        }
    }
    Ok(known)
}

/// The base image of a record, and true when the feed has shown the record's delete.
pub(crate) fn load(tx: &Connection, kind: Kind, id: &str) -> Result<Option<(rows::StoredRecord, bool)>, StoreError> {
    Ok(read_image(tx, kind, id)?.map(|(stored, deleted)| (stored, deleted.by_feed)))
}

/// The sources that call a record deleted.
struct Deleted {
    /// The feed, or a list.
    by_feed: bool,
    /// A response to an edit.
    by_response: bool,
}

fn read_image(tx: &Connection, kind: Kind, id: &str) -> Result<Option<(rows::StoredRecord, Deleted)>, StoreError> {
    let found = tx
        .prepare_cached(
            "SELECT rev, fields, created_at, updated_at, updated_by, extra, deleted, reported_missing FROM _base
             WHERE kind = ?1 AND record_id = ?2",
        )?
        .query_row((kind.as_str(), id), |row| {
            let stored = rows::StoredRecord {
                rev: row.get(0)?,
                fields: serde_json::Map::new(),
                created_at: row.get(2)?,
                updated_at: row.get(3)?,
                updated_by: row.get(4)?,
                extra: row.get(5)?,
            };
            Ok((stored, row.get::<_, String>(1)?, Deleted { by_feed: row.get(6)?, by_response: row.get(7)? }))
        })
        .optional()?;
    let Some((mut stored, fields, deleted)) = found else { return Ok(None) };
    stored.fields = rows::parse_object(&fields)?;
    Ok(Some((stored, deleted)))
}
