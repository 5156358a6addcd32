//! Homes that a replica refills, and homes that were refilled (contract 24). Must not know which records are sent.

use hearth_contract::formats::Timestamp;
use rusqlite::OptionalExtension;
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::records::id;
use super::tx::Tx;

/// How long a refill lasts at most, in milliseconds.
pub const LASTS_MAX_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// The refill of a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refill {
    /// The id of the lost home, whose records are sent.
    pub from: Uuid,
    /// The id of the key that refills.
    pub key: String,
    /// The moment at which the key began, or began again.
    pub began_at: Timestamp,
    /// The moment of the end. None: the refill has not been ended.
    pub ended_at: Option<Timestamp>,
}

impl Refill {
    /// The moment after which the refill lasts no longer.
    pub fn expires_at(&self) -> Timestamp {
        self.began_at.plus_millis(LASTS_MAX_MILLIS)
    }

    /// Whether the home is being refilled at a moment.
    pub fn lasts_at(&self, now: Timestamp) -> bool {
        self.ended_at.is_none() && now < self.expires_at()
    }
}

/// The refill of a home. None: the home was never refilled.
pub fn find(tx: &Tx<'_>, home: HomeNumber) -> Result<Option<Refill>, StoreError> {
    let mut statement =
        tx.conn.prepare_cached("SELECT from_home, key, began_at, ended_at FROM refills WHERE home = ?1")?;
    let found: Option<(String, String, i64, Option<i64>)> =
        statement.query_row([home.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).optional()?;
    let Some((from, key, began_at, ended_at)) = found else { return Ok(None) };
    let (began_at, ended_at) = (Timestamp::from_millis(began_at), ended_at.map(Timestamp::from_millis));
    Ok(Some(Refill { from: id(&from)?, key, began_at, ended_at }))
}

/// Stores the refill of a home.
pub fn save(tx: &Tx<'_>, home: HomeNumber, refill: &Refill) -> Result<(), StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO refills (home, from_home, key, began_at, ended_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET from_home = excluded.from_home, key = excluded.key, began_at = excluded.began_at,
             ended_at = excluded.ended_at",
    )?;
    let ended_at = refill.ended_at.map(Timestamp::millis);
    statement.execute((home.0, refill.from.to_string(), &refill.key, refill.began_at.millis(), ended_at))?;
    Ok(())
}

/// Whether a home has no record, never had one, and no import waits to make some.
pub fn is_empty(tx: &Tx<'_>, home: HomeNumber) -> Result<bool, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT NOT EXISTS (SELECT 1 FROM records WHERE home = ?1)
            AND NOT EXISTS (SELECT 1 FROM imports WHERE home = ?1 AND status IN ('queued', 'running'))",
    )?;
    Ok(statement.query_row([home.0], |row| row.get(0))?)
}
