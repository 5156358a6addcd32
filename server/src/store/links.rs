//! References between records, by target: an index over the current records. Must not know which fields refer.

use hearth_contract::schema::Kind;
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::records::{id, kind, number, text};
use super::tx::Tx;

/// Adds a link from a source record to a target. An existing link is no error.
pub fn add(tx: &Tx<'_>, home: HomeNumber, target: Uuid, source: (Kind, Uuid)) -> Result<(), StoreError> {
    let mut statement =
        tx.conn.prepare_cached("INSERT OR IGNORE INTO links (home, target, kind, record) VALUES (?1, ?2, ?3, ?4)")?;
    statement.execute((home.0, text(&target), number(source.0), text(&source.1)))?;
    Ok(())
}

/// Removes the link from a source record to a target.
pub fn remove(tx: &Tx<'_>, home: HomeNumber, target: Uuid, source: (Kind, Uuid)) -> Result<(), StoreError> {
    let mut statement =
        tx.conn.prepare_cached("DELETE FROM links WHERE home = ?1 AND target = ?2 AND kind = ?3 AND record = ?4")?;
    statement.execute((home.0, text(&target), number(source.0), text(&source.1)))?;
    Ok(())
}

/// The records that refer to a target, by kind, then by id.
pub fn sources(tx: &Tx<'_>, home: HomeNumber, target: Uuid) -> Result<Vec<(Kind, Uuid)>, StoreError> {
    let mut statement = tx
        .conn
        .prepare_cached("SELECT kind, record FROM links WHERE home = ?1 AND target = ?2 ORDER BY kind, record")?;
    let mut rows = statement.query((home.0, text(&target)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((kind(row.get(0)?)?, id(row.get_ref(1)?.as_str().unwrap_or_default())?));
    }
    Ok(found)
}
