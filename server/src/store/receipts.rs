//! Receipts: the stored responses to writes with an idempotency key (contract 6.4). Must not know what the writes did.

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
    let mut statement = tx.conn.prepare_cached(
        "INSERT OR REPLACE INTO receipts (home, key, fingerprint, at, status, headers, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let Receipt { fingerprint, at, status, headers, body } = receipt;
    statement.execute((home.0, key, fingerprint, at.millis(), status, headers, body))?;
    Ok(())
}

/// Deletes receipts of responses before a moment, at most `limit`. Gives the number deleted.
pub fn delete_expired(tx: &Tx<'_>, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "DELETE FROM receipts WHERE rowid IN (SELECT rowid FROM receipts WHERE at < ?1 ORDER BY at LIMIT ?2)",
    )?;
    Ok(statement.execute((before.millis(), limit as i64))?)
}

/// Deletes receipts of one home, at most `limit`. Gives the number deleted.
pub fn delete_of_home(tx: &Tx<'_>, home: HomeNumber, limit: usize) -> Result<usize, StoreError> {
    let mut statement = tx
        .conn
        .prepare_cached("DELETE FROM receipts WHERE rowid IN (SELECT rowid FROM receipts WHERE home = ?1 LIMIT ?2)")?;
    Ok(statement.execute((home.0, limit as i64))?)
}
