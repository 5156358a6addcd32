//! Base images (`_base`): the server's version of every record, deleted or not, and the row that results from the record's
//! edits laid over it in their order. Must not know how versions or edits arrive.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, Presence};
use rusqlite::{Connection, Row, Transaction};
use serde::Serializer as _;
use serde_json::Value;

use crate::model::Method;
use crate::store::merge::{ServerVersion, normalized};
use crate::store::{StoreError, rows, select};

/// A base image as the table holds it.
pub(crate) struct StoredImage {
    /// The server's version. Of a deleted record: its last version, without fields when no edit needs them.
    pub stored: rows::StoredRecord,
    /// True when an event or a list has shown the delete. `stored.rev` is then the position of the delete, or a later one.
    pub deleted: bool,
    /// True when a response called the record missing, and the feed has not shown the delete.
    reported_missing: bool,
}

impl StoredImage {
    /// The server's version. None for a deleted record.
    pub(crate) fn present(self) -> Option<rows::StoredRecord> {
        (!self.deleted).then_some(self.stored)
    }

    /// The version that edits are laid over. None for a deleted record of which no values are kept.
    pub(crate) fn version(self) -> Option<rows::StoredRecord> {
        Some(self.stored).filter(|stored| !self.deleted || !stored.fields.is_empty())
    }
}

/// The server's version of a record. None when the server has no record.
pub(crate) fn present(connection: &Connection, kind: Kind, id: &str) -> Result<Option<rows::StoredRecord>, StoreError> {
    Ok(load(connection, kind, id)?.and_then(StoredImage::present))
}

/// Saves the server's version of a record, whatever is known: any version replaces one of an unknown revision.
pub(crate) fn save(tx: &Connection, kind: Kind, id: &str, stored: &rows::StoredRecord) -> Result<(), StoreError> {
    let forget = "UPDATE _base SET rev = NULL WHERE kind = ?1 AND record_id = ?2";
    tx.prepare_cached(forget)?.execute((kind.as_str(), id))?;
    save_if_newer(tx, kind, id, stored).map(drop)
}

/// Saves the server's version of a record, unless the same version, a newer one or a later delete is known. False when
/// nothing was saved.
pub(crate) fn save_if_newer(
    tx: &Connection,
    kind: Kind,
    id: &str,
    stored: &rows::StoredRecord,
) -> Result<bool, StoreError> {
    let text = "INSERT INTO _base (kind, record_id, rev, fields, created_at, updated_at, updated_by, extra)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT DO UPDATE SET rev = excluded.rev, fields = excluded.fields, created_at = excluded.created_at,
             updated_at = excluded.updated_at, updated_by = excluded.updated_by, extra = excluded.extra, deleted = 0,
             reported_missing = 0
         WHERE _base.rev IS NULL OR _base.rev < excluded.rev";
    let saved = tx.prepare_cached(text)?.execute((
        kind.as_str(),
        id,
        stored.rev,
        fields_text(&stored.fields),
        &stored.created_at,
        &stored.updated_at,
        &stored.updated_by,
        &stored.extra,
    ))?;
    Ok(saved > 0)
}

/// The fields as JSON, without those that are null.
fn fields_text(fields: &Fields) -> String {
    let mut text = Vec::with_capacity(256);
    let given = fields.iter().filter(|(_, value)| !value.is_null());
    // The values have text keys and no numbers that JSON lacks, so writing cannot fail.
    let _ = serde_json::Serializer::new(&mut text).collect_map(given);
    String::from_utf8(text).unwrap_or_default()
}

/// Marks a record as deleted on the server, at the position `rev` or before. The base image keeps the last version for the
/// record's edits. A record of an accepted create that the feed never showed gets the accepted values as its last version.
pub(crate) fn mark_deleted(tx: &Transaction<'_>, kind: Kind, id: &str, rev: i64) -> Result<(), StoreError> {
    if load(tx, kind, id)?.and_then(StoredImage::version).is_none()
        && let Some(ServerVersion { fields, .. }) = lay_accepted_over(tx, kind, id, None)?
    {
        let row = rows::load_row(tx, kind, id)?.unwrap_or_default();
        save(tx, kind, id, &rows::StoredRecord { fields, rev: None, extra: None, ..row })?;
    }
    tx.prepare_cached(
        "INSERT INTO _base (kind, record_id, rev, fields, deleted) VALUES (?1, ?2, ?3, '{}', 1)
         ON CONFLICT DO UPDATE SET deleted = 1, rev = max(coalesce(rev, excluded.rev), excluded.rev)",
    )?
    .execute((kind.as_str(), id, rev))?;
    Ok(())
}

/// Drops the last version of a deleted record that no edit needs. The id and the position of the delete stay: the server uses
/// no id twice (contract 6.1), and no older version may bring the record back.
pub(crate) fn drop_last_version(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<(), StoreError> {
    let text = format!("{DROP_LAST_VERSION} AND kind = ?1 AND record_id = ?2");
    tx.prepare_cached(&text)?.execute((kind.as_str(), id))?;
    Ok(())
}

const DROP_LAST_VERSION: &str = "UPDATE _base SET fields = '{}', created_at = NULL, updated_at = NULL, updated_by = NULL, \
     extra = NULL, reported_missing = 0 WHERE deleted";

/// Drops the last versions of all deleted records without edits.
pub(crate) fn drop_last_versions(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let text = format!(
        "{DROP_LAST_VERSION} AND fields <> '{{}}'
         AND NOT EXISTS (SELECT 1 FROM edits e WHERE e.kind = _base.kind AND e.record_id = _base.record_id)"
    );
    tx.execute(&text, [])?;
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
    // A response only calls the record of an edit missing.
    let edited = "SELECT kind, record_id FROM edits";
    tx.prepare_cached(&format!(
        "UPDATE _base SET reported_missing = 0 WHERE (kind, record_id) IN ({edited}) AND reported_missing"
    ))?
    .execute([])?;
    Ok(())
}

/// Forgets all revisions after a position: they are of a history that the server has discarded, or of the time before a
/// rebuild. The server has such a record at an unknown revision, and any version of the server is newer. `keeps_deletes`: the
/// history stays the same, so a deleted record that edits wait for stays deleted, and the edits keep their reason. Deletes
/// that no edit waits for are forgotten in both cases.
pub(crate) fn forget_revs(tx: &Transaction<'_>, position: i64, keeps_deletes: bool) -> Result<(), StoreError> {
    for kind in Kind::ALL {
        let table = kind.collection();
        tx.execute(&format!("UPDATE {table} SET rev = NULL WHERE rev > ?1"), [position])?;
    }
    // A deleted record without values has no row that could be compared.
    tx.execute("DELETE FROM _base WHERE deleted AND fields = '{}' AND rev > ?1", [position])?;
    let forget = "UPDATE _base SET rev = NULL, deleted = 0 WHERE rev > ?1 AND NOT (deleted AND ?2)";
    tx.execute(forget, (position, keeps_deletes))?;
    Ok(())
}

/// Forgets a record that the server does not have. Its row stays.
pub(crate) fn forget_record(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<(), StoreError> {
    tx.execute(&format!("UPDATE {} SET rev = NULL WHERE id = ?1", kind.collection()), [id])?;
    tx.prepare_cached("DELETE FROM _base WHERE kind = ?1 AND record_id = ?2")?.execute((kind.as_str(), id))?;
    Ok(())
}

/// The newest known revision of a record, or of its delete. None for a record that was never seen, and for an unknown revision.
pub(crate) fn newest_rev(tx: &Connection, kind: Kind, id: &str) -> Result<Option<i64>, StoreError> {
    select::first(tx, "SELECT rev FROM _base WHERE kind = ?1 AND record_id = ?2", (kind.as_str(), id))
}

/// The SQL condition that the server has the record. `id`: SQL for its id.
pub(crate) fn on_server(kind: Kind, id: &str) -> String {
    format!("EXISTS (SELECT 1 FROM _base b WHERE b.kind = '{kind}' AND b.record_id = {id} AND NOT b.deleted)")
}

/// True when the server is known to have deleted a record with this id. `kind`: SQL for the kind. `id`: SQL for the id.
pub(crate) fn deleted_there(kind: &str, id: &str) -> String {
    format!("EXISTS (SELECT 1 FROM _base b WHERE b.kind = {kind} AND b.record_id = {id} AND b.deleted)")
}

/// True when a record has or had this id, here or on the server.
pub(crate) fn is_used(tx: &Connection, id: &str) -> Result<bool, StoreError> {
    for kind in Kind::ALL {
        if rows::load_row(tx, kind, id)?.is_some() || load(tx, kind, id)?.is_some() {
            return Ok(true);
        }
    }
    Ok(tx.prepare_cached("SELECT 1 FROM edits WHERE record_id = ?1")?.exists([id])?)
}

/// Rewrites the row of a record: the base image with the remaining edits laid over it, in their order.
pub(crate) fn rebase(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<(), StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM edits WHERE kind = ?1 AND record_id = ?2)";
    let edits: bool = select::value(tx, text, (kind.as_str(), id))?;
    let shown = match edits {
        true => overlay(tx, kind, id, i64::MAX)?,
        false => present(tx, kind, id)?,
    };
    if !edits {
        drop_last_version(tx, kind, id)?;
    }
    match shown {
        Some(stored) => rows::write_row(tx, kind, id, &stored),
        None => rows::delete_row(tx, kind, id),
    }
}

/// The base image of a record with the edits before the edit `before` laid over it. None when the record would not
/// exist.
pub(crate) fn overlay(
    tx: &Connection,
    kind: Kind,
    id: &str,
    before: i64,
) -> Result<Option<rows::StoredRecord>, StoreError> {
    let text = "SELECT method, patch, created_at FROM edits WHERE kind = ?1 AND record_id = ?2 AND id < ?3 ORDER BY id";
    let edits: Vec<(Method, Fields, String)> = select::all(tx, text, (kind.as_str(), id, before), |row| {
        Ok((row.get(0)?, rows::object(row, 1)?, row.get(2)?))
    })?;
    let mut row = load(tx, kind, id)?.and_then(StoredImage::version);
    for (method, patch, made_at) in edits {
        match method {
            Method::Delete => row = None,
            method => {
                if row.is_none() && (method == Method::Create || kind.is_singleton()) {
                    // Until the server has the record, its times are those of the edit, as its trigger wrote them.
                    let (created_at, updated_at) = (Some(made_at.clone()), Some(made_at));
                    row = Some(rows::StoredRecord { created_at, updated_at, ..rows::StoredRecord::default() });
                }
                if let Some(row) = &mut row {
                    row.fields.extend(patch);
                }
            }
        }
    }
    Ok(row)
}

/// The server's version of a record: its base image, with the edits that the server has accepted since laid over it.
pub(crate) fn with_acked(tx: &Connection, kind: Kind, id: &str) -> Result<Option<ServerVersion>, StoreError> {
    let known = load(tx, kind, id)?.map(|image| ServerVersion {
        rev: image.stored.rev,
        fields: image.stored.fields,
        deleted: image.deleted || image.reported_missing,
    });
    lay_accepted_over(tx, kind, id, known)
}

/// Lays the accepted edits of a record over a version: those that are newer than the version.
fn lay_accepted_over(
    tx: &Connection,
    kind: Kind,
    id: &str,
    mut known: Option<ServerVersion>,
) -> Result<Option<ServerVersion>, StoreError> {
    let seen = known.as_ref().and_then(|known| known.rev);
    let text = "SELECT e.method, e.patch, s.acked_rev FROM edits e JOIN _outbox s ON s.edit_id = e.id
         WHERE e.kind = ?1 AND e.record_id = ?2 AND e.state = 'sent' AND coalesce(s.acked_rev > ?3, 1) ORDER BY e.id";
    let acked: Vec<(Method, Fields, Option<i64>)> =
        select::all(tx, text, (kind.as_str(), id, seen), |row| Ok((row.get(0)?, rows::object(row, 1)?, row.get(2)?)))?;
    for (method, patch, rev) in acked {
        let known = known.get_or_insert_default();
        known.rev = known.rev.max(rev);
        known.deleted |= method == Method::Delete;
        for (name, value) in patch {
            known.fields.insert(name.clone(), normalized(kind, &name, Some(&value)));
        }
    }
    Ok(known)
}

/// The base image of a record; None when the server never had the record, as far as is known.
pub(crate) fn load(tx: &Connection, kind: Kind, id: &str) -> Result<Option<StoredImage>, StoreError> {
    let text = "SELECT * FROM _base WHERE kind = ?1 AND record_id = ?2";
    Ok(select::all(tx, text, (kind.as_str(), id), |row| read_image(kind, row))?.pop())
}

/// The versions of all records of a kind that the server has, each with its id.
pub(crate) fn all_on_server(tx: &Connection, kind: Kind) -> Result<Vec<(String, rows::StoredRecord)>, StoreError> {
    let text = "SELECT * FROM _base WHERE kind = ?1 AND NOT deleted";
    select::all(tx, text, [kind.as_str()], |row| Ok((row.get("record_id")?, read_image(kind, row)?.stored)))
}

fn read_image(kind: Kind, row: &Row<'_>) -> Result<StoredImage, StoreError> {
    let deleted = row.get("deleted")?;
    let fields = parse_fields(kind, row.get_ref("fields")?.as_str().unwrap_or("{}"), deleted)?;
    let stored = rows::with_server_columns(row, fields)?;
    Ok(StoredImage { stored, deleted, reported_missing: row.get("reported_missing")? })
}

/// Every field of the kind, from the fields as `_base` holds them. Empty for a deleted record of which no values are kept.
fn parse_fields(kind: Kind, text: &str, deleted: bool) -> Result<Fields, StoreError> {
    let mut given = rows::parse_object(text)?;
    if deleted && given.is_empty() {
        return Ok(given);
    }
    let missing = |presence| match presence {
        Presence::Default(preset) => preset.value(),
        _ => Value::Null,
    };
    let fields = resource(kind).fields.iter();
    Ok(fields
        .map(|field| {
            let value = given.shift_remove(field.name).unwrap_or_else(|| missing(field.presence));
            (field.name.to_owned(), value)
        })
        .collect())
}
