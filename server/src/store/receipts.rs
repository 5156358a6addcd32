//! Receipts: the stored responses to writes with an idempotency key (contract 6.4). Must not know what the writes did.

use std::collections::BTreeMap;

use hearth_contract::formats::Timestamp;
use rusqlite::OptionalExtension;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::tx::Tx;

/// A stored response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// SHA-256 of the request: method, path, body and If-Match.
    pub fingerprint: [u8; 32],
    /// The moment of the response.
    pub at: Timestamp,
    /// The HTTP status.
    pub status: u16,
    /// The headers of this response, as a JSON object: version, etag, location.
    pub headers: String,
    /// The body, byte for byte.
    pub body: String,
}

/// The receipt of an idempotency key, if the response was at or after a moment.
pub fn find(tx: &Tx<'_>, home: HomeNumber, key: &str, since: Timestamp) -> Result<Option<Receipt>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT fingerprint, at, status, headers, body FROM receipts WHERE home = ?1 AND key = ?2 AND at >= ?3",
    )?;
    let found = statement.query_row((home.0, key, since.millis()), |row| {
        Ok(Receipt {
            fingerprint: row.get(0)?,
            at: Timestamp::from_millis(row.get(1)?),
            status: row.get(2)?,
            headers: row.get(3)?,
            body: row.get(4)?,
        })
    });
    Ok(found.optional()?)
}

/// Stores a receipt, in place of an expired receipt of the same key.
pub fn save(tx: &Tx<'_>, home: HomeNumber, key: &str, receipt: &Receipt) -> Result<(), StoreError> {
    tx.commit_early_if(hearth_simulated::PlantedFault::ReceiptInOwnTransaction)?;
    let mut delete =
        tx.conn.prepare_cached("DELETE FROM receipts WHERE home = ?1 AND key = ?2 RETURNING octet_length(body)")?;
    let replaced: Option<i64> = delete.query_row((home.0, key), |row| row.get(0)).optional()?;
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO receipts (home, key, fingerprint, at, status, headers, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let Receipt { fingerprint, at, status, headers, body } = receipt;
    statement.execute((home.0, key, fingerprint, at.millis(), status, headers, body))?;
    add_bytes(tx, home, body.len() as i64 - replaced.unwrap_or(0))
}

/// Bytes of the stored response bodies of a home.
pub fn bytes(tx: &Tx<'_>, home: HomeNumber) -> Result<i64, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT receipt_bytes FROM homes WHERE number = ?1")?;
    Ok(statement.query_row([home.0], |row| row.get(0))?)
}

fn add_bytes(tx: &Tx<'_>, home: HomeNumber, bytes: i64) -> Result<(), StoreError> {
    let mut statement =
        tx.conn.prepare_cached("UPDATE homes SET receipt_bytes = receipt_bytes + ?2 WHERE number = ?1")?;
    statement.execute((home.0, bytes))?;
    Ok(())
}

/// Deletes receipts of responses before a moment, at most `limit`. Gives the number deleted.
pub fn delete_expired(tx: &Tx<'_>, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
    delete_where(tx, "at < ?1 ORDER BY at", before.millis(), limit)
}

/// Deletes receipts of one home, at most `limit`. Gives the number deleted.
pub fn delete_of_home(tx: &Tx<'_>, home: HomeNumber, limit: usize) -> Result<usize, StoreError> {
    delete_where(tx, "home = ?1", home.0, limit)
}

/// Deletes receipts that meet a condition on `?1`, at most `limit`. Gives the number deleted.
fn delete_where(tx: &Tx<'_>, condition: &str, value: i64, limit: usize) -> Result<usize, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!(
        "DELETE FROM receipts WHERE rowid IN (SELECT rowid FROM receipts WHERE {condition} LIMIT ?2)
         RETURNING home, octet_length(body)"
    ))?;
    let deleted =
        statement.query_map((value, limit as i64), |row| Ok((HomeNumber(row.get(0)?), row.get::<_, i64>(1)?)))?;
    let (mut count, mut freed) = (0, BTreeMap::new());
    for row in deleted {
        let (home, bytes) = row?;
        count += 1;
        *freed.entry(home).or_insert(0) += bytes;
    }
    freed.into_iter().try_for_each(|(home, bytes): (HomeNumber, i64)| add_bytes(tx, home, -bytes))?;
    Ok(count)
}
