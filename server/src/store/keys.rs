//! API keys: their digests, never their texts.

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use rusqlite::{Row, named_params};

use super::homes::Plan;
use super::{Fault, HomeNo, Tx};

/// A key as it is stored, with the team and home it reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its id.
    pub id: String,
    /// The team's id.
    pub team: String,
    /// The team's name.
    pub team_name: String,
    /// The team's plan.
    pub plan: Plan,
    /// The home it reaches.
    pub home: HomeNo,
    /// That home's id.
    pub home_id: String,
    /// Live or test.
    pub environment: Environment,
    /// What its owner calls it.
    pub name: String,
    /// SHA-256 of its text.
    pub hash: [u8; 32],
    /// Its first 12 and last 4 characters.
    pub hint: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// Networks it may be used from; empty is everywhere.
    pub allowlist: Vec<String>,
    /// The version that holds without a header.
    pub pinned: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// From when it is refused.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was flagged for repeated refusals.
    pub flagged_at: Option<Timestamp>,
}

impl Key {
    /// How it ended, if it has at a moment: `revoked` or `expired`.
    pub fn ended(&self, now: Timestamp) -> Option<&'static str> {
        match self.revoked_at {
            Some(_) => Some("revoked"),
            None => self.expires_at.filter(|end| *end <= now).map(|_| "expired"),
        }
    }
}

const SELECT: &str = "SELECT k.id, k.team, t.name, t.plan, h.number, h.id, k.environment, k.name, k.hash, k.hint,
    k.scopes, k.allowlist, k.pinned, k.created_at, k.last_used_at, k.expires_at, k.revoked_at, k.flagged_at
    FROM keys k JOIN teams t ON t.id = k.team JOIN homes h ON h.team = k.team AND h.environment = k.environment";

/// The key whose text has this digest.
pub fn by_hash(tx: &Tx<'_>, hash: &[u8; 32]) -> Result<Option<Key>, Fault> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE k.hash = ?1"))?;
    statement.query_and_then([hash], key)?.next().transpose()
}

/// The keys with this id or this name.
pub fn by_id_or_name(tx: &Tx<'_>, word: &str) -> Result<Vec<Key>, Fault> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE k.id = ?1 OR k.name = ?1 ORDER BY k.id"))?;
    statement.query_and_then([word], key)?.collect()
}

/// All keys, of one team or of all, oldest first.
pub fn list(tx: &Tx<'_>, team: Option<&str>) -> Result<Vec<Key>, Fault> {
    let mut statement =
        tx.conn.prepare_cached(&format!("{SELECT} WHERE ?1 IS NULL OR k.team = ?1 ORDER BY k.created_at, k.id"))?;
    statement.query_and_then([team], key)?.collect()
}

/// Keeps a new key.
pub fn insert(tx: &Tx<'_>, key: &Key) -> Result<(), Fault> {
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

/// Ends a key. One that was ended before keeps its moment.
pub fn revoke(tx: &Tx<'_>, id: &str, at: Timestamp) -> Result<(), Fault> {
    tx.conn.execute("UPDATE keys SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1", (id, at.millis()))?;
    Ok(())
}

/// Marks a key for repeated refusals. One that is marked keeps its moment.
pub fn flag(tx: &Tx<'_>, id: &str, at: Timestamp) -> Result<(), Fault> {
    tx.conn.execute("UPDATE keys SET flagged_at = coalesce(flagged_at, ?2) WHERE id = ?1", (id, at.millis()))?;
    Ok(())
}

/// Takes the mark from a key.
pub fn unflag(tx: &Tx<'_>, id: &str) -> Result<(), Fault> {
    tx.conn.execute("UPDATE keys SET flagged_at = NULL WHERE id = ?1", [id])?;
    Ok(())
}

/// Takes over what another database of the same keys knows of one later: its end and its mark. Gives whether it ended by
/// that.
pub fn carry_over(tx: &Tx<'_>, known: &Key) -> Result<bool, Fault> {
    let moment = |moment: Option<Timestamp>| moment.map(Timestamp::millis);
    tx.conn.execute("UPDATE keys SET flagged_at = ?2 WHERE id = ?1", (&known.id, moment(known.flagged_at)))?;
    let end = "UPDATE keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL AND ?2 IS NOT NULL";
    Ok(tx.conn.execute(end, (&known.id, moment(known.revoked_at)))? > 0)
}

/// Notes that a key was used.
pub fn touch(tx: &Tx<'_>, id: &str, at: Timestamp) -> Result<(), Fault> {
    tx.conn.prepare_cached("UPDATE keys SET last_used_at = ?2 WHERE id = ?1")?.execute((id, at.millis()))?;
    Ok(())
}

fn key(row: &Row<'_>) -> Result<Key, Fault> {
    let words = |column: usize| -> rusqlite::Result<Vec<String>> {
        Ok(row.get::<_, String>(column)?.split_whitespace().map(str::to_owned).collect())
    };
    let moment = |column: usize| row.get::<_, Option<i64>>(column).map(|m| m.map(Timestamp::from_millis));
    let (plan, environment): (String, String) = (row.get(3)?, row.get(6)?);
    Ok(Key {
        id: row.get(0)?,
        team: row.get(1)?,
        team_name: row.get(2)?,
        plan: Plan::parse(&plan).ok_or_else(|| Fault::Corrupt(format!("plan {plan}")))?,
        home: HomeNo(row.get(4)?),
        home_id: row.get(5)?,
        environment: Environment::parse(&environment)
            .ok_or_else(|| Fault::Corrupt(format!("environment {environment}")))?,
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
    })
}
