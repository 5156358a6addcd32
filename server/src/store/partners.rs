//! The records of partner authorization (contract 20): clients, codes and tokens by the SHA-256 of their secret, and the
//! barriers of recent revocations. Must not know OAuth, nor how a body is sealed.

use rusqlite::{OptionalExtension, Row, named_params};

use super::error::StoreError;
use super::tx::Tx;

/// The kind of a record. The two of a device are one row: by its device code, and by the code that a person types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// A registered client, by its id.
    Client,
    /// An authorization code.
    Code,
    /// A device that waits for a person.
    Device,
    /// A pushed authorization request.
    Pushed,
    /// An access token.
    Access,
    /// A refresh token.
    Refresh,
}

impl RecordKind {
    const fn as_str(self) -> &'static str {
        match self {
            RecordKind::Client => "client",
            RecordKind::Code => "code",
            RecordKind::Device => "device",
            RecordKind::Pushed => "pushed",
            RecordKind::Access => "access",
            RecordKind::Refresh => "refresh",
        }
    }
}

/// A record. The moment is nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The id of the client that the record belongs to.
    pub client: String,
    /// The id of the grant (a row of `keys`).
    pub subject: Option<String>,
    /// What all tokens from one code share.
    pub family: Option<String>,
    /// From this moment on the record may be deleted. None: never.
    pub expires_at: Option<i64>,
    /// SHA-256 of the code that a person types.
    pub user_code: Option<[u8; 32]>,
    /// The device code, sealed under the user code.
    pub device_code: Option<Vec<u8>>,
    /// The scopes of an access token.
    pub scopes: Option<String>,
    /// First and last characters of an access token.
    pub hint: Option<String>,
    /// The sealed JSON.
    pub body: Vec<u8>,
}

/// What a barrier refuses: writes for one client, or for one family of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarrierScope {
    /// Grants of a client up to the moment of the barrier.
    Client,
    /// Everything of a family.
    Family,
}

impl BarrierScope {
    const fn as_str(self) -> &'static str {
        match self {
            BarrierScope::Client => "client",
            BarrierScope::Family => "family",
        }
    }
}

const COLUMNS: &str = "client, subject, family, expires_at, user_code, device_code, scopes, hint, body";

/// Inserts or replaces a record.
pub fn put(tx: &Tx<'_>, kind: RecordKind, lookup: &[u8; 32], record: &Record) -> Result<(), StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO partner_records (kind, lookup, client, subject, family, expires_at, user_code, device_code, scopes,
             hint, body)
         VALUES (:kind, :lookup, :client, :subject, :family, :expires_at, :user_code, :device_code, :scopes, :hint, :body)
         ON CONFLICT (kind, lookup) DO UPDATE SET client = excluded.client, subject = excluded.subject,
             family = excluded.family, expires_at = excluded.expires_at, user_code = excluded.user_code,
             device_code = excluded.device_code, scopes = excluded.scopes, hint = excluded.hint, body = excluded.body",
    )?;
    statement.execute(named_params! {
        ":kind": kind.as_str(),
        ":lookup": lookup,
        ":client": record.client,
        ":subject": record.subject,
        ":family": record.family,
        ":expires_at": record.expires_at,
        ":user_code": record.user_code,
        ":device_code": record.device_code,
        ":scopes": record.scopes,
        ":hint": record.hint,
        ":body": record.body,
    })?;
    Ok(())
}

/// The record of a kind with this SHA-256 of its secret.
pub fn get(tx: &Tx<'_>, kind: RecordKind, lookup: &[u8; 32]) -> Result<Option<Record>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM partner_records WHERE kind = ?1 AND lookup = ?2");
    Ok(tx.conn.prepare_cached(&sql)?.query_row((kind.as_str(), lookup), read_record).optional()?)
}

/// The device with this SHA-256 of its user code, with the SHA-256 of its device code.
pub fn device_by_user_code(tx: &Tx<'_>, user_code: &[u8; 32]) -> Result<Option<([u8; 32], Record)>, StoreError> {
    let sql = format!("SELECT {COLUMNS}, lookup FROM partner_records WHERE user_code = ?1");
    let read = |row: &Row<'_>| Ok((row.get(9)?, read_record(row)?));
    Ok(tx.conn.prepare_cached(&sql)?.query_row([user_code], read).optional()?)
}

/// Deletes a record. True: the record was there.
pub fn delete(tx: &Tx<'_>, kind: RecordKind, lookup: &[u8; 32]) -> Result<bool, StoreError> {
    let sql = "DELETE FROM partner_records WHERE kind = ?1 AND lookup = ?2";
    Ok(tx.conn.prepare_cached(sql)?.execute((kind.as_str(), lookup))? > 0)
}

/// Deletes a client and all that the client holds. True: the client was there.
pub fn delete_client(tx: &Tx<'_>, client: &str, lookup: &[u8; 32]) -> Result<bool, StoreError> {
    let was_there = delete(tx, RecordKind::Client, lookup)?;
    tx.conn.execute("DELETE FROM partner_records WHERE client = ?1", [client])?;
    Ok(was_there)
}

/// Deletes the tokens of a family. Returns their number and the grants that they belonged to.
pub fn delete_family(tx: &Tx<'_>, family: &str) -> Result<(usize, Vec<String>), StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT DISTINCT subject FROM partner_records
         WHERE family = ?1 AND kind IN ('access', 'refresh') AND subject IS NOT NULL",
    )?;
    let subjects = statement.query_map([family], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let sql = "DELETE FROM partner_records WHERE family = ?1 AND kind IN ('access', 'refresh')";
    Ok((tx.conn.execute(sql, [family])?, subjects))
}

/// Deletes all records of a grant.
pub fn delete_subject(tx: &Tx<'_>, subject: &str) -> Result<(), StoreError> {
    tx.conn.execute("DELETE FROM partner_records WHERE subject = ?1", [subject])?;
    Ok(())
}

/// Stores the name of the machine that a device code belongs to.
pub fn set_device_name(tx: &Tx<'_>, lookup: &[u8; 32], name: &str) -> Result<(), StoreError> {
    let sql = "UPDATE partner_records SET device_name = ?2 WHERE kind = 'device' AND lookup = ?1";
    tx.conn.execute(sql, (lookup, name))?;
    Ok(())
}

/// The name of the machine that waits with a user code. None: the code is unknown, or its device gave no name.
pub fn device_name(tx: &Tx<'_>, user_code: &[u8; 32]) -> Result<Option<String>, StoreError> {
    let sql = "SELECT device_name FROM partner_records WHERE user_code = ?1";
    Ok(tx.conn.query_row(sql, [user_code], |row| row.get(0)).optional()?.flatten())
}

/// The number of registered clients that nobody has used.
pub fn count_unused_clients(tx: &Tx<'_>) -> Result<u32, StoreError> {
    let sql = "SELECT count(*) FROM partner_records WHERE kind = 'client' AND expires_at IS NOT NULL";
    Ok(tx.conn.query_row(sql, [], |row| row.get(0))?)
}

/// The number of records of a kind that have not expired, `most` at most.
pub fn count_unexpired(tx: &Tx<'_>, kind: RecordKind, now: i64, most: u32) -> Result<u32, StoreError> {
    let sql = "SELECT count(*) FROM (SELECT 1 FROM partner_records WHERE kind = ?1 AND expires_at > ?2 LIMIT ?3)";
    Ok(tx.conn.prepare_cached(sql)?.query_row((kind.as_str(), now, most), |row| row.get(0))?)
}

/// Deletes the refresh tokens of a family beyond the newest ones. The present token is the newest; an older one was used.
pub fn delete_old_refresh_tokens(tx: &Tx<'_>, family: &str, kept: u32) -> Result<(), StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "DELETE FROM partner_records WHERE kind = 'refresh' AND lookup IN
             (SELECT lookup FROM partner_records WHERE family = ?1 AND kind = 'refresh'
              ORDER BY expires_at DESC LIMIT -1 OFFSET ?2)",
    )?;
    statement.execute((family, kept))?;
    Ok(())
}

/// Keeps a client for ever, because an owner has agreed to it.
pub fn keep_client(tx: &Tx<'_>, lookup: &[u8; 32]) -> Result<(), StoreError> {
    let sql = "UPDATE partner_records SET expires_at = NULL WHERE kind = 'client' AND lookup = ?1";
    tx.conn.execute(sql, [lookup])?;
    Ok(())
}

/// The JSON of all registered clients.
pub fn clients(tx: &Tx<'_>) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT body FROM partner_records WHERE kind = 'client'")?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Deletes expired records and barriers, `limit` of each at most. Returns their number.
pub fn sweep(tx: &Tx<'_>, now: i64, limit: u32) -> Result<usize, StoreError> {
    let records = tx.conn.execute(
        "DELETE FROM partner_records WHERE (kind, lookup) IN
             (SELECT kind, lookup FROM partner_records WHERE expires_at <= ?1 LIMIT ?2)",
        (now, limit),
    )?;
    let barriers = tx.conn.execute(
        "DELETE FROM partner_barriers WHERE (scope, id) IN
             (SELECT scope, id FROM partner_barriers WHERE until <= ?1 LIMIT ?2)",
        (now, limit),
    )?;
    Ok(records + barriers)
}

/// Records a revocation. A barrier that exists grows, and never shrinks.
pub fn record_barrier(
    tx: &Tx<'_>,
    scope: BarrierScope,
    id: &str,
    recorded_at: i64,
    until: i64,
) -> Result<(), StoreError> {
    tx.conn.execute(
        "INSERT INTO partner_barriers (scope, id, recorded_at, until) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (scope, id) DO UPDATE SET recorded_at = max(recorded_at, excluded.recorded_at),
             until = max(until, excluded.until)",
        (scope.as_str(), id, recorded_at, until),
    )?;
    Ok(())
}

/// The moment of the barrier of a client or family. None: there is no barrier.
pub fn barrier(tx: &Tx<'_>, scope: BarrierScope, id: &str) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT recorded_at FROM partner_barriers WHERE scope = ?1 AND id = ?2";
    Ok(tx.conn.prepare_cached(sql)?.query_row((scope.as_str(), id), |row| row.get(0)).optional()?)
}

fn read_record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        client: row.get(0)?,
        subject: row.get(1)?,
        family: row.get(2)?,
        expires_at: row.get(3)?,
        user_code: row.get(4)?,
        device_code: row.get(5)?,
        scopes: row.get(6)?,
        hint: row.get(7)?,
        body: row.get(8)?,
    })
}
