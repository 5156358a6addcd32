//! Facts of the server that ran last. Must not know who asks for them.

use hearth_contract::formats::Timestamp;
use rusqlite::OptionalExtension;

use super::error::StoreError;
use super::tx::Tx;

/// The base URL of the server that ran last. None: no server has run.
pub fn base_url(tx: &Tx<'_>) -> Result<Option<String>, StoreError> {
    Ok(tx.conn.query_row("SELECT base_url FROM service", [], |row| row.get(0)).optional()?)
}

/// Stores the base URL of the server that runs.
pub fn set_base_url(tx: &Tx<'_>, base_url: &str) -> Result<(), StoreError> {
    tx.conn.execute(
        "INSERT INTO service (number, base_url) VALUES (1, ?1) ON CONFLICT (number) DO UPDATE SET base_url = excluded.base_url",
        [base_url],
    )?;
    Ok(())
}

/// The moment of the last backup. None: none is known.
pub fn last_backup_at(tx: &Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    let found: Option<Option<i64>> =
        tx.conn.query_row("SELECT last_backup_at FROM service", [], |row| row.get(0)).optional()?;
    Ok(found.flatten().map(Timestamp::from_millis))
}

/// Stores the moment of a backup. Does nothing when no server has run.
pub fn set_last_backup_at(tx: &Tx<'_>, at: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE service SET last_backup_at = ?1", [at.millis()])?;
    Ok(())
}
