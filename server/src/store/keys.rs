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
    /// Whether an owner approved a device, which got this key (contract 20).
    pub is_device: bool,
    /// The client id of a partner: the key is a grant, and its access tokens are presented in its place (contract 20).
    /// None: an ordinary key.
    pub client: Option<String>,
}

/// What lists of keys are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyUse {
    /// Ordinary keys, with those of devices.
    Ordinary,
    /// Grants of partners.
    Grant,
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
    k.environment = 'test' AND h.filled_at IS NULL, k.client, k.is_device";
const FROM: &str = "FROM keys k JOIN teams t ON t.id = k.team
    JOIN homes h ON h.team = k.team AND h.environment = k.environment";
/// Moments of partner records are nanoseconds.
const NANOS_PER_MILLI: i64 = 1_000_000;

/// The key with this SHA-256 of its secret text.
pub fn find_by_hash(tx: &Tx<'_>, hash: &[u8; 32]) -> Result<Option<Key>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} {FROM} WHERE k.hash = ?1"))?;
    statement.query_and_then([hash], read_key)?.next().transpose()
}

/// The key or grant with this id.
pub fn find_by_id(tx: &Tx<'_>, id: &str) -> Result<Option<Key>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} {FROM} WHERE k.id = ?1"))?;
    statement.query_and_then([id], read_key)?.next().transpose()
}

/// The grant of the access token with this SHA-256, with hash, hint, scopes and end of the token.
pub fn find_by_access_token(tx: &Tx<'_>, hash: &[u8; 32]) -> Result<Option<Key>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!(
        "{SELECT}, r.lookup, r.hint, r.scopes, r.expires_at {FROM}
         JOIN partner_records r ON r.subject = k.id AND r.client = k.client WHERE r.kind = 'access' AND r.lookup = ?1"
    ))?;
    let read = |row: &Row<'_>| -> Result<Key, StoreError> {
        let key = read_key(row)?;
        let scopes: Vec<String> = row.get::<_, String>(23)?.split_whitespace().map(str::to_owned).collect();
        let end = Timestamp::from_millis(row.get::<_, i64>(24)? / NANOS_PER_MILLI);
        Ok(Key {
            hash: row.get(21)?,
            hint: row.get(22)?,
            // The owner may have taken scopes from the grant after the token was made.
            scopes: scopes.into_iter().filter(|scope| key.scopes.contains(scope)).collect(),
            expires_at: Some(key.expires_at.map_or(end, |grant| grant.min(end))),
            ..key
        })
    };
    statement.query_and_then([hash], read)?.next().transpose()
}

/// The keys with this id or this name, by id. Several keys may have one name. A grant is named by its id alone.
pub fn find_by_id_or_name(tx: &Tx<'_>, word: &str) -> Result<Vec<Key>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!(
        "{SELECT} {FROM} WHERE k.id = ?1 OR k.client IS NULL AND k.name = ?1 ORDER BY k.id"
    ))?;
    statement.query_and_then([word], read_key)?.collect()
}

/// The keys and the grants of all teams, the oldest first.
pub fn list_all(tx: &Tx<'_>) -> Result<Vec<Key>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} {FROM} ORDER BY k.created_at, k.id"))?;
    statement.query_and_then([], read_key)?.collect()
}

/// The keys and the grants of a team, the oldest first: everybody who calls the API.
pub fn list(tx: &Tx<'_>, team: &str) -> Result<Vec<Key>, StoreError> {
    let sql = format!("{SELECT} {FROM} WHERE k.team = ?1 ORDER BY k.created_at, k.id");
    tx.conn.prepare_cached(&sql)?.query_and_then([team], read_key)?.collect()
}

/// A page of the keys, or grants, of a team: those that are not revoked, then the revoked ones; in each part the newest first.
/// `after`: the last key of the page before.
pub fn page(
    tx: &Tx<'_>,
    team: &str,
    key_use: KeyUse,
    after: Option<&Key>,
    count: usize,
) -> Result<Vec<Key>, StoreError> {
    // The ids rise with the moment of creation. Every id is less than `~`.
    let sql = format!(
        "{SELECT} {FROM} WHERE k.team = ?1 AND (k.client IS NULL) = ?2 AND (k.revoked_at IS NULL) = ?3
             AND k.id < coalesce(?4, '~') ORDER BY k.id DESC LIMIT ?5"
    );
    let mut statement = tx.conn.prepare_cached(&sql)?;
    let mut found = Vec::new();
    for is_revoked in [false, true] {
        let part = after.filter(|key| key.revoked_at.is_some() == is_revoked);
        if part.is_none() && after.is_some_and(|key| key.revoked_at.is_some()) {
            continue;
        }
        let values =
            (team, key_use == KeyUse::Ordinary, !is_revoked, part.map(|key| &*key.id), (count - found.len()) as i64);
        for key in statement.query_and_then(values, read_key)? {
            found.push(key?);
        }
    }
    Ok(found)
}

/// Keys, and grants, of one team that a page counts, at most: the time of a page does not grow with the keys of years.
pub const CALLERS_MAX: usize = 1000;

/// The newest keys and the newest grants of a team, at most [`CALLERS_MAX`] of each, and whether some are left out.
pub fn callers(tx: &Tx<'_>, team: &str) -> Result<(Vec<Key>, bool), StoreError> {
    let (mut found, mut is_cut) = (Vec::new(), false);
    for key_use in [KeyUse::Ordinary, KeyUse::Grant] {
        let mut part = page(tx, team, key_use, None, CALLERS_MAX + 1)?;
        is_cut |= part.len() > CALLERS_MAX;
        part.truncate(CALLERS_MAX);
        found.append(&mut part);
    }
    Ok((found, is_cut))
}

/// Inserts a new key.
pub fn insert(tx: &Tx<'_>, key: &Key) -> Result<(), StoreError> {
    tx.conn.execute(
        "INSERT INTO keys (id, team, environment, name, hash, hint, scopes, allowlist, pinned, created_at, expires_at,
             client, is_device)
         VALUES (:id, :team, :environment, :name, :hash, :hint, :scopes, :allowlist, :pinned, :created_at, :expires_at,
             :client, :is_device)",
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
            ":client": key.client,
            ":is_device": key.is_device,
        },
    )?;
    Ok(())
}

/// Turns the grant of a device into an ordinary key with this secret. The key does not expire.
pub fn make_ordinary(tx: &Tx<'_>, id: &str, hash: &[u8; 32], hint: &str) -> Result<(), StoreError> {
    let sql = "UPDATE keys SET client = NULL, is_device = 1, hash = ?2, hint = ?3, expires_at = NULL WHERE id = ?1";
    tx.conn.execute(sql, (id, hash, hint))?;
    Ok(())
}

/// Deletes grants that hold nothing any more and were last used before a moment, `limit` at most. Returns their number.
pub fn delete_empty_grants(tx: &Tx<'_>, before: Timestamp, limit: u32) -> Result<usize, StoreError> {
    let deleted = tx.conn.execute(
        "DELETE FROM keys WHERE id IN (SELECT k.id FROM keys k WHERE k.client IS NOT NULL
             AND coalesce(k.last_used_at, k.created_at) < ?1
             AND NOT EXISTS (SELECT 1 FROM partner_records r WHERE r.subject = k.id) LIMIT ?2)",
        (before.millis(), limit),
    )?;
    Ok(deleted)
}

/// Revokes a key. A revoked key keeps its first moment of revocation.
pub fn revoke(tx: &Tx<'_>, id: &str, at: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE keys SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1", (id, at.millis()))?;
    Ok(())
}

/// Revokes all grants of a client.
pub fn revoke_grants_of(tx: &Tx<'_>, client: &str, at: Timestamp) -> Result<(), StoreError> {
    let sql = "UPDATE keys SET revoked_at = coalesce(revoked_at, ?2) WHERE client = ?1";
    tx.conn.execute(sql, (client, at.millis()))?;
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
        client: row.get(19)?,
        is_device: row.get(20)?,
    })
}
