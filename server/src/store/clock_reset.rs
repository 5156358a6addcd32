//! The rows of a home with moments that are ahead of the machine's clock. Must not know why a clock was ahead.

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::records::{id, kind};
use super::tx::Tx;

/// The current records that last changed after a moment, in the order of their changes.
pub fn records_after(tx: &Tx<'_>, home: HomeNumber, now: Timestamp) -> Result<Vec<(Kind, Uuid)>, StoreError> {
    let mut statement = tx.conn.prepare(
        "SELECT r.kind, r.id FROM records r JOIN events e ON e.event_rowid = ?2 + r.rev
         WHERE r.home = ?1 AND r.deleted = 0 AND e.at > ?3 ORDER BY r.rev",
    )?;
    let mut rows = statement.query((home.0, home.event_rowid(0), now.millis()))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((kind(row.get(0)?)?, id(row.get_ref(1)?.as_str().unwrap_or_default())?));
    }
    Ok(found)
}

/// Sets the moments of deletes, receipts, exports and of the home back, as far as they are after a moment.
pub fn set_back(tx: &Tx<'_>, home: HomeNumber, now: Timestamp) -> Result<(), StoreError> {
    let (from, end, now) = (home.event_rowid(0), home.rowid_end(), now.millis());
    tx.conn.execute(
        "UPDATE tombstones SET at = ?3 WHERE event_rowid > ?1 AND event_rowid < ?2 AND at > ?3",
        (from, end, now),
    )?;
    tx.conn.execute("UPDATE receipts SET at = ?2 WHERE home = ?1 AND at > ?2", (home.0, now))?;
    tx.conn.execute(
        "UPDATE exports SET created_at = ?2, finished_at = min(finished_at, ?2),
                expires_at = expires_at - (created_at - ?2)
         WHERE home = ?1 AND created_at > ?2",
        (home.0, now),
    )?;
    tx.conn.execute(
        "UPDATE imports SET created_at = ?2, finished_at = min(finished_at, ?2) WHERE home = ?1 AND created_at > ?2",
        (home.0, now),
    )?;
    tx.conn.execute(
        "UPDATE captures SET created_at = ?2, finished_at = min(finished_at, ?2),
                expires_at = expires_at - (created_at - ?2)
         WHERE home = ?1 AND created_at > ?2",
        (home.0, now),
    )?;
    tx.conn.execute("UPDATE homes SET last_updated_at = ?2 WHERE number = ?1", (home.0, now))?;
    Ok(())
}
