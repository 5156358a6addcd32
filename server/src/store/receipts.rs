//! Receipts: what was answered to a write that carried an idempotency key.

use hearth_contract::formats::Timestamp;
use rusqlite::OptionalExtension;

use super::{Fault, HomeNo, Tx};

/// A stored answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// What the request was, as a digest.
    pub fingerprint: [u8; 32],
    /// When it was answered.
    pub at: Timestamp,
    /// The answer's status.
    pub status: u16,
    /// The answer's own headers as a JSON object.
    pub headers: String,
    /// The answer's body, byte for byte.
    pub body: String,
}

/// The receipt of a key that was answered at or after a moment.
pub fn find(tx: &Tx<'_>, home: HomeNo, key: &str, since: Timestamp) -> Result<Option<Receipt>, Fault> {
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

/// Keeps a receipt; one that had expired gives way.
pub fn keep(tx: &Tx<'_>, home: HomeNo, key: &str, receipt: &Receipt) -> Result<(), Fault> {
    tx.tear(hearth_simulated::Fault::ReceiptInOwnTransaction)?;
    let mut statement = tx.conn.prepare_cached(
        "INSERT OR REPLACE INTO receipts (home, key, fingerprint, at, status, headers, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let Receipt { fingerprint, at, status, headers, body } = receipt;
    statement.execute((home.0, key, fingerprint, at.millis(), status, headers, body))?;
    Ok(())
}

/// Forgets receipts answered before a moment, at most `limit`; says how many.
pub fn forget(tx: &Tx<'_>, before: Timestamp, limit: usize) -> Result<usize, Fault> {
    let mut statement = tx.conn.prepare_cached(
        "DELETE FROM receipts WHERE rowid IN (SELECT rowid FROM receipts WHERE at < ?1 ORDER BY at LIMIT ?2)",
    )?;
    Ok(statement.execute((before.millis(), limit as i64))?)
}

/// Forgets receipts of one home, at most `limit`; says how many.
pub fn forget_home(tx: &Tx<'_>, home: HomeNo, limit: usize) -> Result<usize, Fault> {
    let mut statement = tx
        .conn
        .prepare_cached("DELETE FROM receipts WHERE rowid IN (SELECT rowid FROM receipts WHERE home = ?1 LIMIT ?2)")?;
    Ok(statement.execute((home.0, limit as i64))?)
}
