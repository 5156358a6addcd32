//! API keys, stored as digests of their secret texts. Must not know how a request presents a key.

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use rusqlite::{Row, named_params};
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::homes::Plan;
use super::records::id;
use super::tx::Tx;

/// A stored key, with the team and the home that the key reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// UUID text, shown to operators. Not secret.
    pub id: String,
    /// The id of the team.
    pub team: String,
    /// The name of the team.
    pub team_name: String,
    /// The plan of the team.
    pub plan: Plan,
    /// The home of the team in the environment of the key.
    pub home: HomeNumber,
    /// The id of the home.
    pub home_id: Uuid,
    /// Whether the key reaches the live home or the sandbox home.
    pub environment: Environment,
    /// Whether the key reaches a sandbox that has no example data yet: the first use fills the sandbox (contract 11).
    pub is_home_unfilled: bool,
    /// The name that the owner chose; not unique.
    pub name: String,
    /// SHA-256 of the secret text.
    pub hash: [u8; 32],
    /// The first 12 and the last 4 characters of the secret text.
    pub hint: String,
    /// Scopes as in contract 11: `inventory:read`, and so on.
    pub scopes: Vec<String>,
    /// Networks (CIDR) from which the key is accepted; empty: every address.
    pub allowlist: Vec<String>,
    /// The API version of requests without a version header: `YYYY-MM-DD`.
    pub pinned: String,
    /// The moment of creation.
    pub created_at: Timestamp,
    /// The moment of the last use, at most a minute old. None: never used.
    pub last_used_at: Option<Timestamp>,
    /// The moment from which the key is refused. None: the key does not expire.
    pub expires_at: Option<Timestamp>,
    /// The moment of revocation. None: not revoked.
    pub revoked_at: Option<Timestamp>,
    /// The moment at which the key was flagged for repeated refusals. None: not flagged.
    pub flagged_at: Option<Timestamp>,
}

impl Key {
    /// Why the key is refused at a moment: `revoked` or `expired`. None: the key is valid.
    pub fn end_reason(&self, now: Timestamp) -> Option<&'static str> {
        match self.revoked_at {
            Some(_) => Some("revoked"),
            None => self.expires_at.filter(|end| *end <= now).map(|_| "expired"),
        }
    }
}

const SELECT: &str = "SELECT k.id, k.team, t.name, t.plan, h.number, h.id, k.environment, k.name, k.hash, k.hint,
    k.scopes, k.allowlist, k.pinned, k.created_at, k.last_used_at, k.expires_at, k.revoked_at, k.flagged_at,
    k.environment = 'test' AND h.filled_at IS NULL
    FROM keys k JOIN teams t ON t.id = k.team JOIN homes h ON h.team = k.team AND h.environment = k.environment";

/// The key with this SHA-256 of its secret text.
pub fn find_by_hash(tx: &Tx<'_>, hash: &[u8; 32]) -> Result<Option<Key>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE k.hash = ?1"))?;
    statement.query_and_then([hash], read_key)?.next().transpose()
}

/// The keys with this id or this name, by id. Several keys may have one name.
pub fn find_by_id_or_name(tx: &Tx<'_>, word: &str) -> Result<Vec<Key>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE k.id = ?1 OR k.name = ?1 ORDER BY k.id"))?;
    statement.query_and_then([word], read_key)?.collect()
}

/// The keys of one team, or of all teams for None, the oldest first.
pub fn list(tx: &Tx<'_>, team: Option<&str>) -> Result<Vec<Key>, StoreError> {
    let mut statement =
        tx.conn.prepare_cached(&format!("{SELECT} WHERE ?1 IS NULL OR k.team = ?1 ORDER BY k.created_at, k.id"))?;
    statement.query_and_then([team], read_key)?.collect()
}

/// Inserts a new key.
pub fn insert(tx: &Tx<'_>, key: &Key) -> Result<(), StoreError> {
    tx.conn.execute(
        "INSERT INTO keys (id, team, environment, name, hash, hint, scopes, allowlist, pinned, created_at, expires_at)
         VALUES (:id, :team, :environment, :name, :hash, :hint, :scopes, :allowlist, :pinned, :created_at, :expires_at)",
        named_params! {
            ":id": key.id,
            ":team": key.team,
            ":environment": key.environment.as_str(),
            ":name": key.name,
            ":hash": key.hash,
            ":hint": key.hint,
            ":scopes": key.scopes.join(" "),
            ":allowlist": key.allowlist.join(" "),
            ":pinned": key.pinned,
            ":created_at": key.created_at.millis(),
            ":expires_at": key.expires_at.map(Timestamp::millis),
        },
    )?;
    Ok(())
}

/// Revokes a key. A revoked key keeps its first moment of revocation.
pub fn revoke(tx: &Tx<'_>, id: &str, at: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE keys SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1", (id, at.millis()))?;
    Ok(())
}

/// Changes the moment from which a key is refused.
pub fn set_expiry(tx: &Tx<'_>, id: &str, at: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE keys SET expires_at = ?2 WHERE id = ?1", (id, at.millis()))?;
    Ok(())
}

/// Flags a key for repeated refusals. A flagged key keeps its first moment.
pub fn flag(tx: &Tx<'_>, id: &str, at: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE keys SET flagged_at = coalesce(flagged_at, ?2) WHERE id = ?1", (id, at.millis()))?;
    Ok(())
}

/// Removes the flag of a key.
pub fn unflag(tx: &Tx<'_>, id: &str) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE keys SET flagged_at = NULL WHERE id = ?1", [id])?;
    Ok(())
}

/// Copies revocation and flag of a key from a later database, when a backup is restored. True: the key was valid in the
/// backup and is revoked now.
pub fn copy_revocation(tx: &Tx<'_>, later: &Key) -> Result<bool, StoreError> {
    let moment = |moment: Option<Timestamp>| moment.map(Timestamp::millis);
    tx.conn.execute("UPDATE keys SET flagged_at = ?2 WHERE id = ?1", (&later.id, moment(later.flagged_at)))?;
    let revoke = "UPDATE keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL AND ?2 IS NOT NULL";
    Ok(tx.conn.execute(revoke, (&later.id, moment(later.revoked_at)))? > 0)
}

/// Stores the moment of the last use.
pub fn set_last_used(tx: &Tx<'_>, id: &str, at: Timestamp) -> Result<(), StoreError> {
    tx.conn.prepare_cached("UPDATE keys SET last_used_at = ?2 WHERE id = ?1")?.execute((id, at.millis()))?;
    Ok(())
}

fn read_key(row: &Row<'_>) -> Result<Key, StoreError> {
    let words = |column: usize| -> rusqlite::Result<Vec<String>> {
        Ok(row.get::<_, String>(column)?.split_whitespace().map(str::to_owned).collect())
    };
    let moment = |column: usize| row.get::<_, Option<i64>>(column).map(|m| m.map(Timestamp::from_millis));
    let (plan, environment): (String, String) = (row.get(3)?, row.get(6)?);
    Ok(Key {
        id: row.get(0)?,
        team: row.get(1)?,
        team_name: row.get(2)?,
        plan: Plan::parse(&plan).ok_or_else(|| StoreError::Corrupt(format!("plan {plan}")))?,
        home: HomeNumber(row.get(4)?),
        home_id: id(row.get_ref(5)?.as_str().unwrap_or_default())?,
        environment: Environment::parse(&environment)
            .ok_or_else(|| StoreError::Corrupt(format!("environment {environment}")))?,
        name: row.get(7)?,
        hash: row.get(8)?,
        hint: row.get(9)?,
        scopes: words(10)?,
        allowlist: words(11)?,
        pinned: row.get(12)?,
        created_at: Timestamp::from_millis(row.get(13)?),
        last_used_at: moment(14)?,
        expires_at: moment(15)?,
        revoked_at: moment(16)?,
        flagged_at: moment(17)?,
        is_home_unfilled: row.get(18)?,
    })
}
