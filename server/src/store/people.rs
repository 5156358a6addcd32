//! People who sign in to the console, and the one-time links that make them. Must not know how a password is verified, nor
//! how a link is sent.

use hearth_contract::formats::Timestamp;
use rusqlite::{Row, named_params};

use super::error::StoreError;
use super::tx::Tx;

/// What a person may do in the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Reads the live home, ticks its tasks, adds and edits its items.
    Member,
    /// Manages keys, people and everything else of the team.
    Owner,
}

impl Role {
    /// The word in the database, in forms and in commands: `owner` or `member`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Member => "member",
            Role::Owner => "owner",
        }
    }

    /// The role with this word.
    pub fn parse(word: &str) -> Option<Role> {
        [Role::Member, Role::Owner].into_iter().find(|role| role.as_str() == word)
    }
}

/// A person of a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// UUID text. Not secret.
    pub id: String,
    /// The id of the team.
    pub team: String,
    /// The name that the person types to sign in.
    pub name: String,
    /// What the person may do.
    pub role: Role,
    /// The password as an argon2id PHC string.
    pub password: String,
    /// The moment at which the person set the first password.
    pub created_at: Timestamp,
    /// The moment of removal. None: the person may sign in.
    pub removed_at: Option<Timestamp>,
}

/// A one-time link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// SHA-256 of the secret part.
    pub hash: [u8; 32],
    /// The id of the team.
    pub team: String,
    /// The role of a new person.
    pub role: Role,
    /// The name that the person gets. None: the person chooses.
    pub name: Option<String>,
    /// The moment of creation.
    pub created_at: Timestamp,
    /// The moment from which the link is refused.
    pub expires_at: Timestamp,
    /// The moment of the use. None: not used.
    pub used_at: Option<Timestamp>,
}

const SELECT: &str = "SELECT id, team, name, role, password, created_at, removed_at FROM people";

/// The person with this folded name who was not removed.
pub fn find_by_name(tx: &Tx<'_>, folded: &str) -> Result<Option<Person>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE folded = ?1 AND removed_at IS NULL"))?;
    statement.query_and_then([folded], read_person)?.next().transpose()
}

/// The people of a team, the oldest first, without removed people.
pub fn list(tx: &Tx<'_>, team: &str) -> Result<Vec<Person>, StoreError> {
    let sql = format!("{SELECT} WHERE team = ?1 AND removed_at IS NULL ORDER BY created_at, id");
    tx.conn.prepare_cached(&sql)?.query_and_then([team], read_person)?.collect()
}

/// All people of all teams, with removed people.
pub fn all(tx: &Tx<'_>) -> Result<Vec<Person>, StoreError> {
    tx.conn.prepare_cached(SELECT)?.query_and_then([], read_person)?.collect()
}

/// Inserts a new person. `folded`: the name in the form in which names are compared.
pub fn insert(tx: &Tx<'_>, person: &Person, folded: &str) -> Result<(), StoreError> {
    tx.conn.execute(
        "INSERT INTO people (id, team, name, folded, role, password, created_at)
         VALUES (:id, :team, :name, :folded, :role, :password, :created_at)",
        named_params! {
            ":id": person.id,
            ":team": person.team,
            ":name": person.name,
            ":folded": folded,
            ":role": person.role.as_str(),
            ":password": person.password,
            ":created_at": person.created_at.millis(),
        },
    )?;
    Ok(())
}

/// Replaces the password of a person.
pub fn set_password(tx: &Tx<'_>, id: &str, password: &str) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE people SET password = ?2 WHERE id = ?1", (id, password))?;
    Ok(())
}

/// Replaces the password `before` of a person by `after`. False: the password has changed, or the person was removed.
pub fn replace_password(tx: &Tx<'_>, id: &str, before: &str, after: &str) -> Result<bool, StoreError> {
    let sql = "UPDATE people SET password = ?3 WHERE id = ?1 AND password = ?2 AND removed_at IS NULL";
    Ok(tx.conn.execute(sql, (id, before, after))? > 0)
}

/// Changes the role of a person.
pub fn set_role(tx: &Tx<'_>, id: &str, role: Role) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE people SET role = ?2 WHERE id = ?1", (id, role.as_str()))?;
    Ok(())
}

/// Marks a person as removed. The first moment counts.
pub fn remove(tx: &Tx<'_>, id: &str, at: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE people SET removed_at = coalesce(removed_at, ?2) WHERE id = ?1", (id, at.millis()))?;
    Ok(())
}

/// Copies role, password and removal of a person from a later database, when a backup is restored.
pub fn copy_later(tx: &Tx<'_>, later: &Person) -> Result<(), StoreError> {
    tx.conn.execute(
        "UPDATE people SET role = ?2, password = ?3, removed_at = coalesce(?4, removed_at) WHERE id = ?1",
        (&later.id, later.role.as_str(), &later.password, later.removed_at.map(Timestamp::millis)),
    )?;
    Ok(())
}

/// Inserts a new link, and deletes the links that have expired.
pub fn insert_link(tx: &Tx<'_>, link: &Link) -> Result<(), StoreError> {
    tx.conn.execute("DELETE FROM console_links WHERE expires_at <= ?1", [link.created_at.millis()])?;
    tx.conn.execute(
        "INSERT INTO console_links (hash, team, role, name, created_at, expires_at)
         VALUES (:hash, :team, :role, :name, :created_at, :expires_at)",
        named_params! {
            ":hash": link.hash,
            ":team": link.team,
            ":role": link.role.as_str(),
            ":name": link.name,
            ":created_at": link.created_at.millis(),
            ":expires_at": link.expires_at.millis(),
        },
    )?;
    Ok(())
}

/// The number of links of a team that can still be used.
pub fn count_open_links(tx: &Tx<'_>, team: &str, now: Timestamp) -> Result<i64, StoreError> {
    let sql = "SELECT count(*) FROM console_links WHERE team = ?1 AND used_at IS NULL AND expires_at > ?2";
    Ok(tx.conn.prepare_cached(sql)?.query_row((team, now.millis()), |row| row.get(0))?)
}

/// The link with this SHA-256 of its secret part.
pub fn find_link(tx: &Tx<'_>, hash: &[u8; 32]) -> Result<Option<Link>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT hash, team, role, name, created_at, expires_at, used_at FROM console_links WHERE hash = ?1",
    )?;
    let mut rows = statement.query_and_then([hash], |row| {
        Ok(Link {
            hash: row.get(0)?,
            team: row.get(1)?,
            role: role(row, 2)?,
            name: row.get(3)?,
            created_at: Timestamp::from_millis(row.get(4)?),
            expires_at: Timestamp::from_millis(row.get(5)?),
            used_at: row.get::<_, Option<i64>>(6)?.map(Timestamp::from_millis),
        })
    })?;
    rows.next().transpose()
}

/// Marks a link as used.
pub fn use_link(tx: &Tx<'_>, hash: &[u8; 32], at: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE console_links SET used_at = ?2 WHERE hash = ?1", (hash, at.millis()))?;
    Ok(())
}

/// Ends the unused links of a team. A person who loses a role may hold some of them.
pub fn end_links(tx: &Tx<'_>, team: &str) -> Result<(), StoreError> {
    tx.conn.execute("DELETE FROM console_links WHERE team = ?1 AND used_at IS NULL", [team])?;
    Ok(())
}

/// Ends all sessions and links, when a backup is restored: some of them ended after the backup.
pub fn clear_access(tx: &Tx<'_>) -> Result<(), StoreError> {
    tx.conn.execute_batch("DELETE FROM sessions; DELETE FROM console_links;")?;
    Ok(())
}

/// The role in a column.
pub(super) fn role(row: &Row<'_>, column: usize) -> Result<Role, StoreError> {
    let word: String = row.get(column)?;
    Role::parse(&word).ok_or_else(|| StoreError::Corrupt(format!("role {word}")))
}

fn read_person(row: &Row<'_>) -> Result<Person, StoreError> {
    Ok(Person {
        id: row.get(0)?,
        team: row.get(1)?,
        name: row.get(2)?,
        role: role(row, 3)?,
        password: row.get(4)?,
        created_at: Timestamp::from_millis(row.get(5)?),
        removed_at: row.get::<_, Option<i64>>(6)?.map(Timestamp::from_millis),
    })
}
