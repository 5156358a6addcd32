//! Receipts: the stored responses to writes with an idempotency key (contract 6.4). Must not know what the writes did.
//!
//! A response shows records, and the events of its write hold the same texts. A receipt therefore stores the ids of those
//! events in place of the texts, and gets a copy when such an event leaves the log.

use std::collections::BTreeMap;

use hearth_contract::formats::Timestamp;
use rusqlite::OptionalExtension;

use super::error::StoreError;
use super::home_number::{HomeNumber, event_id};
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

/// Put before and after the id of an event in a stored body. JSON texts do not contain this character.
const MARK: char = '\u{1}';

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
    let Some(receipt) = found.optional()? else { return Ok(None) };
    Ok(Some(Receipt { body: with_events(tx, home, &receipt.body)?, ..receipt }))
}

/// The body of a response, from its stored form.
fn with_events(tx: &Tx<'_>, home: HomeNumber, stored: &str) -> Result<String, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT body FROM events WHERE event_rowid = ?1")?;
    let mut body = String::with_capacity(stored.len());
    // Every second part is the id of an event.
    for (index, part) in stored.split(MARK).enumerate() {
        if index % 2 == 0 {
            body.push_str(part);
            continue;
        }
        let rowid = part.parse().map(|event| home.event_rowid(event)).unwrap_or_default();
        let text: Option<String> = statement.query_row([rowid], |row| row.get(0)).optional()?.flatten();
        body.push_str(&text.ok_or_else(|| StoreError::Corrupt(format!("a receipt without its event {part}")))?);
    }
    Ok(body)
}

/// The stored form of the body of a response to a write: without the texts of the events that this job has appended.
fn without_events(tx: &Tx<'_>, home: HomeNumber, body: &str) -> Result<String, StoreError> {
    let mut stored = body.to_owned();
    let Some(first) = tx.first_appended.get() else { return Ok(stored) };
    let mut statement = tx.conn.prepare_cached(
        "SELECT event_rowid, body FROM events WHERE event_rowid >= ?1 AND event_rowid < ?2 AND body IS NOT NULL",
    )?;
    let mut rows = statement.query((first, home.rowid_end()))?;
    while let Some(row) = rows.next()? {
        let (event, text) = (event_id(row.get(0)?), row.get_ref(1)?.as_str().unwrap_or_default());
        // A response in an older API version may show another text.
        if let Some(at) = stored.find(text) {
            stored.replace_range(at..at + text.len(), &mark(event));
        }
    }
    Ok(stored)
}

fn mark(event: i64) -> String {
    format!("{MARK}{event}{MARK}")
}

/// Copies the body of an event that leaves the log into the receipt of its write, if there is one.
pub(super) fn copy_event(tx: &Tx<'_>, home: HomeNumber, key: &str, event: i64, text: &str) -> Result<(), StoreError> {
    let mut select = tx.conn.prepare_cached("SELECT body FROM receipts WHERE home = ?1 AND key = ?2")?;
    let stored: Option<String> = select.query_row((home.0, key), |row| row.get(0)).optional()?;
    let Some(stored) = stored.filter(|stored| stored.contains(&mark(event))) else { return Ok(()) };
    let copied = stored.replace(&mark(event), text);
    let mut update = tx.conn.prepare_cached("UPDATE receipts SET body = ?3 WHERE home = ?1 AND key = ?2")?;
    update.execute((home.0, key, &copied))?;
    add_bytes(tx, home, copied.len() as i64 - stored.len() as i64)
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
    let body = without_events(tx, home, body)?;
    statement.execute((home.0, key, fingerprint, at.millis(), status, headers, &body))?;
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

#[cfg(test)]
mod tests {
    use hearth_contract::event::{EventType, StoredEvent};
    use hearth_contract::schema::Kind;
    use uuid::Uuid;

    use super::*;
    use crate::store::notifier::Notifier;
    use crate::store::{Db, events};

    const HOME: HomeNumber = HomeNumber(1);
    const KEY: &str = "k";

    fn stored(tx: &Tx<'_>) -> String {
        tx.conn.query_row("SELECT body FROM receipts", [], |row| row.get(0)).unwrap()
    }

    #[tokio::test]
    async fn receipt_gets_copies_of_removed_events() {
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open_unthreaded(dir.path(), Notifier::default(), 1).unwrap();
        let at = Timestamp::from_millis(0);
        let body = r#"[{"name":"Hall"},null,{"name":"Attic"},{"name":"Older"}]"#;
        let job = move |tx: &Tx<'_>| {
            tx.conn.execute_batch(
                "INSERT INTO teams VALUES ('t', 'T', 'free', 0);
                 INSERT INTO homes (number, id, team, environment) VALUES (1, 'h', 't', 'live')",
            )?;
            for (id, text) in [(1, r#"{"name":"Hall"}"#), (2, r#"{"name":"Attic"}"#)] {
                let event = StoredEvent {
                    id,
                    event_type: EventType::Created,
                    kind: Kind::Room,
                    record: Uuid::from_u128(1),
                    payload: Some(text.to_owned()),
                    created_at: at,
                    idempotency_key: Some(KEY.to_owned()),
                };
                events::append(tx, HOME, &event, "phone")?;
            }
            let receipt =
                Receipt { fingerprint: [0; 32], at, status: 207, headers: String::new(), body: body.to_owned() };
            save(tx, HOME, KEY, &receipt)?;
            assert_eq!(stored(tx), "[\u{1}1\u{1},null,\u{1}2\u{1},{\"name\":\"Older\"}]");
            for removed in [1, 2] {
                assert_eq!(find(tx, HOME, KEY, at)?.unwrap().body, body);
                events::remove(tx, HOME, removed)?;
            }
            assert_eq!((stored(tx), bytes(tx, HOME)?), (body.to_owned(), body.len() as i64));
            tx.is_head_unsaved.set(false);
            Ok(())
        };
        db.write(job).await.unwrap();
    }
}
