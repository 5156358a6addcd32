//! Signed-in browsers, stored as digests of their cookies. Must not know how a browser presents a cookie, nor how long a
//! session lasts.

use hearth_contract::formats::Timestamp;
use rusqlite::Row;

use super::error::StoreError;
use super::people::{Role, role};
use super::tx::Tx;

/// A signed-in browser with its person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// SHA-256 of the cookie. Names the session; not secret.
    pub hash: [u8; 32],
    /// The id of the person.
    pub person: String,
    /// The name of the person.
    pub name: String,
    /// What the person may do.
    pub role: Role,
    /// The id of the person's team.
    pub team: String,
    /// The name of the team.
    pub team_name: String,
    /// The moment of the sign-in.
    pub created_at: Timestamp,
    /// The moment of the last request, at most a minute old.
    pub last_seen_at: Timestamp,
}

const SELECT: &str = "SELECT s.hash, p.id, p.name, p.role, p.team, t.name, s.created_at, s.last_seen_at
    FROM sessions s JOIN people p ON p.id = s.person JOIN teams t ON t.id = p.team WHERE p.removed_at IS NULL";

/// The session with this SHA-256 of its cookie. The caller checks its age.
pub fn find(tx: &Tx<'_>, hash: &[u8; 32]) -> Result<Option<Session>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} AND s.hash = ?1"))?;
    statement.query_and_then([hash], read_session)?.next().transpose()
}

/// The sessions of a person since a moment, the latest use first.
pub fn list(tx: &Tx<'_>, person: &str, since: Timestamp) -> Result<Vec<Session>, StoreError> {
    let sql = format!("{SELECT} AND s.person = ?1 AND s.last_seen_at > ?2 ORDER BY s.last_seen_at DESC, s.hash");
    tx.conn.prepare_cached(&sql)?.query_and_then((person, since.millis()), read_session)?.collect()
}

/// Inserts a session of a person whose stored password is still `password`, and deletes those that were last used at `ended_before` or earlier, and the person's oldest
/// sessions beyond `sessions_max`. False: the password has changed, or the person was removed.
pub fn insert(
    tx: &Tx<'_>,
    hash: &[u8; 32],
    (person, password): (&str, &str),
    at: Timestamp,
    ended_before: Timestamp,
    sessions_max: i64,
) -> Result<bool, StoreError> {
    tx.conn.execute("DELETE FROM sessions WHERE last_seen_at <= ?1", [ended_before.millis()])?;
    let inserted = tx.conn.execute(
        "INSERT INTO sessions (hash, person, created_at, last_seen_at)
         SELECT ?1, id, ?3, ?3 FROM people WHERE id = ?2 AND password = ?4 AND removed_at IS NULL",
        (hash, person, at.millis(), password),
    )?;
    tx.conn.execute(
        "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE person = ?1 AND hash <> ?2
         ORDER BY last_seen_at DESC LIMIT -1 OFFSET ?3)",
        (person, hash, sessions_max - 1),
    )?;
    Ok(inserted > 0)
}

/// Stores the moment of the last request.
pub fn set_last_seen(tx: &Tx<'_>, hash: &[u8; 32], at: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE sessions SET last_seen_at = ?2 WHERE hash = ?1", (hash, at.millis()))?;
    Ok(())
}

/// Ends a session.
pub fn end(tx: &Tx<'_>, hash: &[u8; 32]) -> Result<(), StoreError> {
    tx.conn.execute("DELETE FROM sessions WHERE hash = ?1", [hash])?;
    Ok(())
}

/// Ends all sessions of a person. Gives their number.
pub fn end_all(tx: &Tx<'_>, person: &str) -> Result<usize, StoreError> {
    Ok(tx.conn.execute("DELETE FROM sessions WHERE person = ?1", [person])?)
}

fn read_session(row: &Row<'_>) -> Result<Session, StoreError> {
    Ok(Session {
        hash: row.get(0)?,
        person: row.get(1)?,
        name: row.get(2)?,
        role: role(row, 3)?,
        team: row.get(4)?,
        team_name: row.get(5)?,
        created_at: Timestamp::from_millis(row.get(6)?),
        last_seen_at: Timestamp::from_millis(row.get(7)?),
    })
}
