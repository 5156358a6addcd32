//! How many requests each key made on each day. Must not know when requests are counted.

use std::ops::AddAssign;

use super::error::StoreError;
use super::tx::Tx;

/// Numbers of requests of one key, by the rate-limit window that counted them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Reads.
    pub reads: i64,
    /// Writes.
    pub writes: i64,
    /// Bulk calls.
    pub bulk: i64,
    /// Requests that were refused with 429. No window counted them.
    pub refused: i64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.reads += more.reads;
        self.writes += more.writes;
        self.bulk += more.bulk;
        self.refused += more.refused;
    }
}

/// The requests of a key on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The id of the key.
    pub key: String,
    /// Days since 1970-01-01, in UTC.
    pub day: i64,
    /// The numbers of requests.
    pub counts: Counts,
}

/// Adds to the stored numbers of a key and a day. Does nothing when the key was deleted, as grants of partners are.
pub fn add(tx: &Tx<'_>, usage: &Usage) -> Result<(), StoreError> {
    let Counts { reads, writes, bulk, refused } = usage.counts;
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO key_usage (key, day, reads, writes, bulk, refused) SELECT id, ?2, ?3, ?4, ?5, ?6 FROM keys WHERE id = ?1
         ON CONFLICT (key, day) DO UPDATE SET reads = reads + excluded.reads, writes = writes + excluded.writes,
             bulk = bulk + excluded.bulk, refused = refused + excluded.refused",
    )?;
    statement.execute((&usage.key, usage.day, reads, writes, bulk, refused))?;
    Ok(())
}

/// Deletes the numbers of all days before a day.
pub fn delete_before(tx: &Tx<'_>, day: i64) -> Result<(), StoreError> {
    tx.conn.prepare_cached("DELETE FROM key_usage WHERE day < ?1")?.execute([day])?;
    Ok(())
}

/// The numbers of a key (id) from a day on.
pub fn of_key(tx: &Tx<'_>, key: &str, since: i64) -> Result<Vec<Usage>, StoreError> {
    let mut statement = tx
        .conn
        .prepare_cached("SELECT key, day, reads, writes, bulk, refused FROM key_usage WHERE key = ?1 AND day >= ?2")?;
    let rows = statement.query_map((key, since), |row| {
        let counts = Counts { reads: row.get(2)?, writes: row.get(3)?, bulk: row.get(4)?, refused: row.get(5)? };
        Ok(Usage { key: row.get(0)?, day: row.get(1)?, counts })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
