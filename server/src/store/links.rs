//! Who refers to whom. An index over the images, kept by whoever writes them.

use hearth_contract::schema::Kind;
use uuid::Uuid;

use super::records::{id, kind, number, text};
use super::{Fault, HomeNo, Tx};

/// Notes that a record refers to a target.
pub fn add(tx: &Tx<'_>, home: HomeNo, target: Uuid, source: (Kind, Uuid)) -> Result<(), Fault> {
    let mut statement =
        tx.conn.prepare_cached("INSERT OR IGNORE INTO links (home, target, kind, record) VALUES (?1, ?2, ?3, ?4)")?;
    statement.execute((home.0, text(&target), number(source.0), text(&source.1)))?;
    Ok(())
}

/// Notes that a record no longer refers to a target.
pub fn remove(tx: &Tx<'_>, home: HomeNo, target: Uuid, source: (Kind, Uuid)) -> Result<(), Fault> {
    let mut statement =
        tx.conn.prepare_cached("DELETE FROM links WHERE home = ?1 AND target = ?2 AND kind = ?3 AND record = ?4")?;
    statement.execute((home.0, text(&target), number(source.0), text(&source.1)))?;
    Ok(())
}

/// The records that refer to a target, by kind then id.
pub fn sources(tx: &Tx<'_>, home: HomeNo, target: Uuid) -> Result<Vec<(Kind, Uuid)>, Fault> {
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
