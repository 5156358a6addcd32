//! Links under which calendar programs read a home's days, stored as digests of their secret parts (contract 23). Must not know
//! how a link is presented, nor what a calendar looks like.

use std::collections::HashSet;

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Row, named_params};

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::tx::Tx;

/// Who made a calendar. The calendar lives as long as its maker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Maker {
    /// The id of a key or of a partner's grant.
    Key(String),
    /// The id of a person.
    Person(String),
}

/// A calendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar {
    /// UUID text.
    pub id: String,
    /// SHA-256 of the secret part of the link.
    pub hash: [u8; 32],
    /// The home whose days the calendar shows.
    pub home: HomeNumber,
    /// The name for people.
    pub name: String,
    /// The kinds that the calendar shows.
    pub kinds: Vec<Kind>,
    /// Who made the calendar.
    pub maker: Maker,
    /// The moment of creation.
    pub created_at: Timestamp,
    /// The moment of the last reading, at most a minute old. None: never read.
    pub last_used_at: Option<Timestamp>,
}

/// Which calendars a caller sees and may remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Those that a maker made.
    Of(&'a Maker),
    /// Those of a team (id), of its live home.
    Team(&'a str),
}

const SELECT: &str =
    "SELECT c.id, c.hash, c.home, c.name, c.kinds, c.key, c.person, c.created_at, c.last_used_at FROM calendars c";

/// The calendar with this SHA-256 of its secret part, if its maker may still read the home: the key is valid and its team has the
/// plan that the home needs, or the person was not removed. With the networks to which the key is bound (CIDR).
pub fn find(tx: &Tx<'_>, hash: &[u8; 32], now: Timestamp) -> Result<Option<(Calendar, Vec<String>)>, StoreError> {
    let sql = SELECT.replace(" FROM ", ", coalesce(k.allowlist, '') FROM ");
    let mut statement = tx.conn.prepare_cached(&format!(
        "{sql} JOIN homes h ON h.number = c.home JOIN teams t ON t.id = h.team
         LEFT JOIN keys k ON k.id = c.key LEFT JOIN people p ON p.id = c.person
         WHERE c.hash = ?1 AND (h.environment = 'test' OR t.plan = 'paid')
           AND (k.id IS NULL OR k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?2))
           AND (p.id IS NULL OR p.removed_at IS NULL)"
    ))?;
    let read = |row: &Row<'_>| -> Result<_, StoreError> {
        let networks: String = row.get(9)?;
        Ok((read_calendar(row)?, networks.split_whitespace().map(str::to_owned).collect()))
    };
    statement.query_and_then((hash, now.millis()), read)?.next().transpose()
}

/// The calendars of a scope, the oldest first. They have a limit for each home.
pub fn list(tx: &Tx<'_>, scope: Scope<'_>) -> Result<Vec<Calendar>, StoreError> {
    let (condition, id) = condition(scope);
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE {condition} ORDER BY c.created_at, c.id"))?;
    statement.query_and_then([id], read_calendar)?.collect()
}

/// Deletes a calendar of a scope. False: the scope has no such calendar.
pub fn remove(tx: &Tx<'_>, scope: Scope<'_>, id: &str) -> Result<bool, StoreError> {
    let (condition, owner) = condition(scope);
    let sql = format!("DELETE FROM calendars AS c WHERE {condition} AND c.id = ?2");
    Ok(tx.conn.execute(&sql, (owner, id))? > 0)
}

fn condition(scope: Scope<'_>) -> (&'static str, &str) {
    match scope {
        Scope::Of(Maker::Key(id)) => ("c.key = ?1", id),
        Scope::Of(Maker::Person(id)) => ("c.person = ?1", id),
        Scope::Team(id) => ("c.home IN (SELECT number FROM homes WHERE team = ?1 AND environment = 'live')", id),
    }
}

/// Inserts a new calendar.
pub fn insert(tx: &Tx<'_>, calendar: &Calendar) -> Result<(), StoreError> {
    let kinds: Vec<&str> = calendar.kinds.iter().map(|kind| kind.as_str()).collect();
    let (key, person) = match &calendar.maker {
        Maker::Key(id) => (Some(id), None),
        Maker::Person(id) => (None, Some(id)),
    };
    tx.conn.execute(
        "INSERT INTO calendars (id, hash, home, name, kinds, key, person, created_at)
         VALUES (:id, :hash, :home, :name, :kinds, :key, :person, :created_at)",
        named_params! {
            ":id": calendar.id,
            ":hash": calendar.hash,
            ":home": calendar.home.0,
            ":name": calendar.name,
            ":kinds": kinds.join(" "),
            ":key": key,
            ":person": person,
            ":created_at": calendar.created_at.millis(),
        },
    )?;
    Ok(())
}

/// The number of calendars of a home.
pub fn count(tx: &Tx<'_>, home: HomeNumber) -> Result<usize, StoreError> {
    let sql = "SELECT count(*) FROM calendars WHERE home = ?1";
    let count: i64 = tx.conn.prepare_cached(sql)?.query_row([home.0], |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Stores the moment of the last reading.
pub fn set_last_used(tx: &Tx<'_>, id: &str, at: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE calendars SET last_used_at = ?2 WHERE id = ?1", (id, at.millis()))?;
    Ok(())
}

/// Gives the calendars of a key to the key that replaces it, so that a rotation ends no calendar.
pub fn move_to_key(tx: &Tx<'_>, old: &str, new: &str) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE calendars SET key = ?2 WHERE key = ?1", (old, new))?;
    Ok(())
}

/// The ids of all calendars.
pub fn ids(tx: &Tx<'_>) -> Result<HashSet<String>, StoreError> {
    let mut statement = tx.conn.prepare("SELECT id FROM calendars")?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Deletes all calendars but these, when a backup is restored: the others were removed after the backup.
pub(super) fn remove_others(tx: &Tx<'_>, known: &HashSet<String>) -> Result<(), StoreError> {
    for id in ids(tx)?.difference(known) {
        tx.conn.execute("DELETE FROM calendars WHERE id = ?1", [id])?;
    }
    Ok(())
}

fn read_calendar(row: &Row<'_>) -> Result<Calendar, StoreError> {
    let kinds: String = row.get(4)?;
    let maker = match (row.get(5)?, row.get(6)?) {
        (Some(key), _) => Maker::Key(key),
        (None, Some(person)) => Maker::Person(person),
        (None, None) => return Err(StoreError::Corrupt("a calendar without a maker".to_owned())),
    };
    Ok(Calendar {
        id: row.get(0)?,
        hash: row.get(1)?,
        home: HomeNumber(row.get(2)?),
        name: row.get(3)?,
        // A kind that a later version wrote is not shown.
        kinds: kinds.split_whitespace().filter_map(Kind::parse).collect(),
        maker,
        created_at: Timestamp::from_millis(row.get(7)?),
        last_used_at: row.get::<_, Option<i64>>(8)?.map(Timestamp::from_millis),
    })
}
