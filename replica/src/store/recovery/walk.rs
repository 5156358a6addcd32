//! The walk over the ids of a collection: what it has shown, and what follows of that when it is laid beside what is here.
//! Must not ask for anything.
//!
//! Pages are kept as they came, each a few bytes for a record, and compared when all are there, in one pass over the rows:
//! to look up or to write down each id by itself took most of a recovery's time.

use std::collections::BTreeSet;

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};
use serde_json::Value;
use uuid::Uuid;

use crate::model::Method;
use crate::recovery::Listed;
use crate::store::StoreError;

/// Records that must be fetched are looked up so many at a time.
const MISSING_MAX: usize = 100;
/// Bytes of a record in a page: its id and its revision.
const ENTRY: usize = 16 + 8;

/// The revision of a record whose newest form was fetched since: whatever is here will do.
const FETCHED: i64 = 0;

/// Forgets a walk.
pub(super) fn forget(tx: &Transaction<'_>) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM _walk_pages")?.execute([])?;
    Ok(())
}

/// Keeps what a page has shown.
pub(super) fn keep(tx: &Transaction<'_>, kind: Kind, page: &[Listed]) -> Result<(), StoreError> {
    let mut bytes = Vec::with_capacity(page.len() * ENTRY);
    for Listed { id, rev } in page {
        bytes.extend(id.as_bytes());
        bytes.extend(rev.to_le_bytes());
    }
    tx.prepare_cached("INSERT INTO _walk_pages (kind, ids) VALUES (?1, ?2)")?.execute((kind.as_str(), bytes))?;
    Ok(())
}

/// Whether a collection was walked at all: of one without records there is an empty page.
pub(super) fn is_there(tx: &Transaction<'_>, kind: Kind) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM _walk_pages WHERE kind = ?1)";
    Ok(tx.prepare_cached(text)?.query_row([kind.as_str()], |row| row.get(0))?)
}

/// Notes that a listed record was fetched.
pub(super) fn fetched(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<(), StoreError> {
    let id = Uuid::try_parse(id).map_err(|_| StoreError::Unexpected(format!("a listed record with the id {id}")))?;
    keep(tx, kind, &[Listed { id, rev: FETCHED }])
}

/// What a walk has shown, in the order of the ids; of a record that it has shown again, the last.
struct Walked(Vec<Listed>);

impl Walked {
    fn read(connection: &Connection, kind: Kind) -> Result<Walked, StoreError> {
        let mut statement =
            connection.prepare_cached("SELECT ids FROM _walk_pages WHERE kind = ?1 ORDER BY place DESC")?;
        let mut pages = statement.query([kind.as_str()])?;
        let mut all = Vec::new();
        while let Some(page) = pages.next()? {
            let bytes = page.get_ref(0)?.as_blob().unwrap_or_default();
            // The newest first, so that a stable sort leaves the newest of each id in front.
            all.extend(bytes.rchunks_exact(ENTRY).filter_map(|entry| {
                let (id, rev) = entry.split_first_chunk::<16>()?;
                Some(Listed { id: Uuid::from_bytes(*id), rev: i64::from_le_bytes(rev.try_into().ok()?) })
            }));
        }
        all.sort_by_key(|listed| listed.id);
        all.dedup_by_key(|listed| listed.id);
        Ok(Walked(all))
    }

    /// Where a record stands; None: the walk did not show it.
    fn place(&self, id: Uuid) -> Option<usize> {
        self.0.binary_search_by_key(&id, |listed| listed.id).ok()
    }
}

/// Records that the walk has shown in a newer form than the one that is here, and whose end the feed has not told since; some
/// of them.
pub(crate) fn missing(connection: &Connection, kind: Kind) -> Result<Vec<String>, StoreError> {
    let walked = Walked::read(connection, kind)?;
    let mut here = vec![-1; walked.0.len()];
    let table = kind.collection();
    for text in [
        format!("SELECT id, rev FROM {table} WHERE ?1 IS NOT NULL"),
        "SELECT record_id, rev FROM _base WHERE kind = ?1".to_owned(),
        "SELECT record_id, rev FROM _tombstones WHERE kind = ?1".to_owned(),
    ] {
        let mut statement = connection.prepare_cached(&text)?;
        let mut rows = statement.query([kind.as_str()])?;
        while let Some(row) = rows.next()? {
            let Ok(id) = Uuid::try_parse(row.get_ref(0)?.as_str().unwrap_or_default()) else { continue };
            if let (Some(place), Some(rev)) = (walked.place(id), row.get::<_, Option<i64>>(1)?) {
                here[place] = rev.max(here[place]);
            }
        }
    }
    let newer = walked.0.iter().zip(here).filter(|(listed, here)| listed.rev > *here);
    Ok(newer.map(|(listed, _)| listed.id.to_string()).take(MISSING_MAX).collect())
}

/// A record that is gone from the server.
pub(super) struct Vanished {
    pub id: String,
    /// Whether it has edits.
    pub waits: bool,
    /// Whether the last of these deletes it too.
    pub deleted_here: bool,
}

/// Records that the server was known to hold at a position and that the walk did not show.
pub(super) fn vanished(tx: &Transaction<'_>, kind: Kind, as_of: i64) -> Result<Vec<Vanished>, StoreError> {
    let walked = Walked::read(tx, kind)?;
    let table = kind.collection();
    let mut unseen = BTreeSet::new();
    // Of most rows no more is read than this, which is in an index.
    for text in [
        format!("SELECT id FROM {table} WHERE ?1 IS NOT NULL"),
        "SELECT record_id FROM _base WHERE kind = ?1 AND NOT gone".to_owned(),
        format!("SELECT e.record_id {SENT_CREATES}"),
    ] {
        let mut statement = tx.prepare_cached(&text)?;
        let mut rows = statement.query([kind.as_str()])?;
        while let Some(row) = rows.next()? {
            let id = row.get_ref(0)?.as_str().unwrap_or_default();
            if Uuid::try_parse(id).is_ok_and(|id| walked.place(id).is_none()) {
                unseen.insert(id.to_owned());
            }
        }
    }
    let mut statement = tx.prepare_cached(&format!(
        "SELECT max(rev), (SELECT method FROM edits WHERE kind = ?1 AND record_id = ?2 ORDER BY id DESC LIMIT 1)
         FROM ({}) WHERE id = ?2",
        known(kind)
    ))?;
    let mut gone = Vec::new();
    for id in unseen {
        let (rev, last): (Option<i64>, Option<Method>) =
            statement.query_row((kind.as_str(), &id), |row| Ok((row.get(0)?, row.get(1)?)))?;
        // What changed after the walk began, the tail tells.
        if rev.is_some_and(|rev| rev <= as_of) {
            gone.push(Vanished { id, waits: last.is_some(), deleted_here: last == Some(Method::Delete) });
        }
    }
    Ok(gone)
}

/// How many records of each collection the server was known to hold, without those that are deleted here, as JSON.
pub(super) fn known_of_each(tx: &Transaction<'_>) -> Result<String, StoreError> {
    let mut all = Fields::new();
    for kind in Kind::COLLECTIONS {
        all.insert(kind.as_str().to_owned(), known_of(tx, kind)?.into());
    }
    Ok(Value::Object(all).to_string())
}

/// The same of one collection.
pub(super) fn known_of(tx: &Transaction<'_>, kind: Kind) -> Result<i64, StoreError> {
    let text = format!(
        "SELECT count(DISTINCT id) FROM ({}) WHERE id NOT IN (
             SELECT record_id FROM edits e WHERE kind = ?1 AND method = 'delete'
                 AND NOT EXISTS (SELECT 1 FROM edits l WHERE l.kind = ?1 AND l.record_id = e.record_id AND l.id > e.id))",
        known(kind)
    );
    Ok(tx.prepare_cached(&text)?.query_row([kind.as_str()], |row| row.get(0))?)
}

/// What the server was known to hold of a kind, as SQL: ids and revisions; `?1` is the kind. The row of a record that is
/// gone stays in sight while its edits wait for a person.
fn known(kind: Kind) -> String {
    format!(
        "SELECT id, rev FROM {} WHERE rev IS NOT NULL
             AND id NOT IN (SELECT record_id FROM _base WHERE kind = ?1 AND gone)
         UNION ALL SELECT record_id, rev FROM _base WHERE kind = ?1 AND NOT gone
         UNION ALL SELECT e.record_id, s.rev {SENT_CREATES}",
        kind.collection()
    )
}

/// Creates that the server has taken, whose records have not come back.
const SENT_CREATES: &str = "FROM _acked s JOIN edits e ON e.id = s.edit_id
     WHERE e.kind = ?1 AND e.method = 'create' AND s.rev IS NOT NULL";
