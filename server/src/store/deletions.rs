//! Pages of deleted ids, in the order of the deletes (contract 18). Must not know cursors.

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::records::{id, number};
use super::tx::Tx;

/// A deleted record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// The kind of the record.
    pub kind: Kind,
    /// The id, which stays used for ever.
    pub id: Uuid,
    /// The id of the event that deleted the record.
    pub rev: i64,
    /// The moment of the delete.
    pub deleted_at: Timestamp,
}

/// The deletions of one kind after a revision. The delete itself is an event, until retention makes it a tombstone.
const PAGE: &str = "
    SELECT r.id, r.rev, coalesce(e.at, t.at) FROM records r INDEXED BY records_by_delete
    LEFT JOIN events e ON e.event_rowid = ?1 + r.rev
    LEFT JOIN tombstones t ON t.event_rowid = ?1 + r.rev
    WHERE r.home = ?2 AND r.kind = ?3 AND r.deleted = 1 AND r.rev > ?4 ORDER BY r.rev LIMIT ?5";

/// The deletions after a revision, of the given kinds, in ascending order of their revisions. No kind given means all kinds.
pub fn page(
    tx: &Tx<'_>,
    home: HomeNumber,
    after: i64,
    kinds: &[Kind],
    limit: usize,
) -> Result<Vec<Deletion>, StoreError> {
    let mut statement = tx.conn.prepare_cached(PAGE)?;
    let mut found = Vec::new();
    for kind in Kind::COLLECTIONS.into_iter().filter(|kind| kinds.is_empty() || kinds.contains(kind)) {
        let mut rows = statement.query((home.event_rowid(0), home.0, number(kind), after, limit as i64))?;
        while let Some(row) = rows.next()? {
            let rev = row.get(1)?;
            let moment: Option<i64> = row.get(2)?;
            let moment = moment.ok_or_else(|| StoreError::Corrupt(format!("no moment of the delete at {rev}")))?;
            found.push(Deletion {
                kind,
                id: id(row.get_ref(0)?.as_str().unwrap_or_default())?,
                rev,
                deleted_at: Timestamp::from_millis(moment),
            });
        }
    }
    found.sort_unstable_by_key(|deletion| deletion.rev);
    found.truncate(limit);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn page_reads_only_its_part_of_the_index() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(include_str!("../../../migrations/server/V1__initial.sql")).unwrap();
        let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {PAGE}")).unwrap();
        let steps = statement.query_map((0, 1, 1, 0, 1), |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        assert_eq!(
            steps,
            [
                "SEARCH r USING COVERING INDEX records_by_delete (home=? AND kind=? AND rev>?)",
                "SEARCH e USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
                "SEARCH t USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
            ]
        );
    }
}
