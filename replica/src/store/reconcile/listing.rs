//! Compares the ids of a collection, as the server lists them, with the replica's records. Must not send requests.
//!
//! Each page is stored in a few bytes per record. When all pages are stored, one pass over the rows compares all ids.
//! When ids were looked up or written one by one, a reconcile spent most of its time on that.

use std::collections::BTreeSet;

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};
use serde_json::Value;
use uuid::Uuid;

use crate::model::{ListedId, Method};
use crate::store::StoreError;

/// Records that [`records_to_fetch`] gives at most.
const FETCH_MAX: usize = 100;

/// Bytes of a record in a page: its id and its revision.
const ENTRY_BYTES: usize = 16 + 8;

/// Forgets the listed ids.
pub(super) fn clear(tx: &Transaction<'_>) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM _listed")?.execute([])?;
    Ok(())
}

/// Forgets the listed ids of a collection.
pub(super) fn clear_kind(tx: &Transaction<'_>, kind: Kind) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM _listed WHERE kind = ?1")?.execute([kind.as_str()])?;
    Ok(())
}

/// Saves a page of ids.
pub(super) fn save_page(tx: &Transaction<'_>, kind: Kind, page: &[ListedId]) -> Result<(), StoreError> {
    let mut bytes = Vec::with_capacity(page.len() * ENTRY_BYTES);
    for ListedId { id, rev } in page {
        bytes.extend(id.as_bytes());
        bytes.extend(rev.to_le_bytes());
    }
    tx.prepare_cached("INSERT INTO _listed (kind, ids) VALUES (?1, ?2)")?.execute((kind.as_str(), bytes))?;
    Ok(())
}

/// The listed ids in ascending order, each with the revision of its newest entry. None when the collection was not listed: a
/// collection without records has one empty page.
pub(super) fn load(connection: &Connection, kind: Kind) -> Result<Option<Vec<(Uuid, i64)>>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT ids FROM _listed WHERE kind = ?1 ORDER BY page DESC")?;
    let mut pages = statement.query([kind.as_str()])?;
    let mut found: Option<Vec<(Uuid, i64)>> = None;
    while let Some(page) = pages.next()? {
        let bytes = page.get_ref(0)?.as_blob().unwrap_or_default();
        // The newest entries come first, and the stable sort leaves the newest entry of each id in front.
        found.get_or_insert_default().extend(bytes.rchunks_exact(ENTRY_BYTES).filter_map(|entry| {
            let (id, rev) = entry.split_first_chunk::<16>()?;
            let rev = i64::from_le_bytes(rev.try_into().ok()?);
            Some((Uuid::from_bytes(*id), rev))
        }));
    }
    if let Some(all) = &mut found {
        all.sort_by_key(|(id, _)| *id);
        all.dedup_by_key(|(id, _)| *id);
    }
    Ok(found)
}

/// The index of an id; None when the list does not show the id.
fn index_of(listed: &[(Uuid, i64)], id: Uuid) -> Option<usize> {
    listed.binary_search_by_key(&id, |(listed, _)| *listed).ok()
}

/// The ids of records that the server lists at a newer revision than the replica knows, at most [`FETCH_MAX`]. A
/// record that the feed has since shown as deleted is left out.
pub(crate) fn records_to_fetch(connection: &Connection, kind: Kind) -> Result<Vec<String>, StoreError> {
    let listed = load(connection, kind)?.unwrap_or_default();
    let mut known = vec![None; listed.len()];
    let mut statement = connection.prepare_cached("SELECT record_id, rev FROM _base WHERE kind = ?1")?;
    let mut rows = statement.query([kind.as_str()])?;
    while let Some(row) = rows.next()? {
        let Ok(id) = Uuid::try_parse(row.get_ref(0)?.as_str().unwrap_or_default()) else { continue };
        if let Some(index) = index_of(&listed, id) {
            known[index] = row.get::<_, Option<i64>>(1)?;
        }
    }
    let newer = listed.iter().zip(known).filter(|((_, listed), known)| Some(*listed) > *known);
    Ok(newer.map(|((id, _), _)| id.to_string()).take(FETCH_MAX).collect())
}

/// A record that the server no longer has.
pub(super) struct Vanished {
    pub id: String,
    /// The position of the delete, or a later position at which the record is gone.
    pub rev: i64,
    /// True when the record has edits.
    pub has_edits: bool,
    /// True when the last edit of the record deletes the record too.
    pub has_last_edit_delete: bool,
}

/// The ids of known records that a list does not show.
pub(super) fn unlisted(
    tx: &Transaction<'_>,
    kind: Kind,
    listed: &[(Uuid, i64)],
) -> Result<BTreeSet<String>, StoreError> {
    let mut unseen = BTreeSet::new();
    let mut statement = tx.prepare_cached(KNOWN)?;
    let mut rows = statement.query([kind.as_str()])?;
    while let Some(row) = rows.next()? {
        let id = row.get_ref(0)?.as_str().unwrap_or_default();
        if Uuid::try_parse(id).is_ok_and(|id| index_of(listed, id).is_none()) {
            unseen.insert(id.to_owned());
        }
    }
    Ok(unseen)
}

/// Those of some ids that have a known record, whose last known change is at the given position or before.
pub(super) fn gone(tx: &Transaction<'_>, kind: Kind, ids: &[(String, i64)]) -> Result<Vec<Vanished>, StoreError> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT count(*) > 0 AND coalesce(max(rev) <= ?3, 1),
             (SELECT method FROM edits WHERE kind = ?1 AND record_id = ?2 ORDER BY id DESC LIMIT 1)
         FROM ({KNOWN}) WHERE id = ?2"
    ))?;
    let mut gone = Vec::new();
    for (id, rev) in ids {
        let (is_gone, last): (bool, Option<Method>) =
            statement.query_row((kind.as_str(), id, rev), |row| row.try_into())?;
        if is_gone {
            let has_last_edit_delete = last == Some(Method::Delete);
            gone.push(Vanished { id: id.clone(), rev: *rev, has_edits: last.is_some(), has_last_edit_delete });
        }
    }
    Ok(gone)
}

/// The number of known records of each collection as JSON, without records that an edit deletes.
pub(super) fn count_known_by_kind(tx: &Transaction<'_>) -> Result<String, StoreError> {
    let mut all = Fields::new();
    for kind in Kind::COLLECTIONS {
        all.insert(kind.as_str().to_owned(), count_known(tx, kind)?.into());
    }
    Ok(Value::Object(all).to_string())
}

/// The number of known records of a collection, without records that an edit deletes.
pub(super) fn count_known(tx: &Transaction<'_>, kind: Kind) -> Result<i64, StoreError> {
    let text = format!(
        "SELECT count(DISTINCT id) FROM ({KNOWN}) WHERE id NOT IN (
             SELECT record_id FROM edits e WHERE kind = ?1 AND method = 'delete'
                 AND NOT EXISTS (SELECT 1 FROM edits l WHERE l.kind = ?1 AND l.record_id = e.record_id AND l.id > e.id))"
    );
    Ok(tx.prepare_cached(&text)?.query_row([kind.as_str()], |row| row.get(0))?)
}

/// SQL for the ids and revisions of a kind's known records; `?1` is the kind. An accepted create whose record the feed has not
/// shown counts.
const KNOWN: &str = "SELECT record_id AS id, rev FROM _base WHERE kind = ?1 AND NOT deleted
     UNION ALL SELECT e.record_id, s.acked_rev FROM edits e JOIN _outbox s ON s.edit_id = e.id
     WHERE e.kind = ?1 AND e.method = 'create' AND s.acked_rev IS NOT NULL";
