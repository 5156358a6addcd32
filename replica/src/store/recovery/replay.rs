//! Reading the feed again from its beginning over rows that exist, after a rebuild: what the replay does not show is
//! gone. Must not touch what only exists here.

use hearth_contract::event::EventType;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::Transaction;

use crate::model::Method;
use crate::recovery::Cause;
use crate::store::edits::settle;
use crate::store::mirror::image;
use crate::store::recovery::{told, walk};
use crate::store::{StoreError, log, rows};

/// Notes that the replay has shown a record, or its end.
pub(crate) fn note(tx: &Transaction<'_>, kind: Kind, id: &str, event_type: EventType) -> Result<(), StoreError> {
    let text = match event_type {
        EventType::Deleted => "DELETE FROM _seen WHERE kind = ?1 AND record_id = ?2",
        _ => "INSERT INTO _seen (kind, record_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    };
    tx.prepare_cached(text)?.execute((kind.as_str(), id))?;
    Ok(())
}

/// At the present, after which this cursor goes on: what the server was known to have and the replay did not show is gone
/// there. Instead it gives why all is to be compared first: an edit that the server had confirmed is of a history which it
/// does not have, or so much would go that a person is to be asked.
pub(crate) fn finish(
    tx: &Transaction<'_>,
    head: i64,
    cursor: Option<&str>,
    now: Timestamp,
) -> Result<Option<Cause>, StoreError> {
    let (replaying, before): (bool, Option<String>) =
        tx.query_row("SELECT replaying, cursor FROM _sync", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if !replaying {
        return Ok(None);
    }
    if let (Some(resume), true) = (cursor.map(str::to_owned).or(before), is_another_history(tx, head)?) {
        return Ok(Some(Cause::Restored { resume, fork: None }));
    }
    let mut all = Vec::new();
    for kind in Kind::COLLECTIONS {
        let missing = missing(tx, kind)?;
        let gone = missing.iter().filter(|one| one.is_lost()).count();
        if super::is_too_many(i64::try_from(gone).unwrap_or(i64::MAX), walk::known_of(tx, kind)?) {
            return Ok(Some(Cause::Asked { accepted: false }));
        }
        all.extend(missing);
    }
    let gone = all.iter().filter(|one| one.is_lost()).count();
    for Missing { kind, id, last } in all {
        tx.execute("INSERT INTO _tombstones VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING", (kind.as_str(), &id, head))?;
        if last.is_some() {
            image::end(tx, kind, &id, head)?;
            settle::record_is_gone(tx, kind, &id, head, now)?;
        } else {
            rows::delete_row(tx, kind, &id)?;
        }
    }
    tx.execute_batch("DELETE FROM _seen; UPDATE _sync SET replaying = 0")?;
    log(tx, "info", &told::read_again(i64::try_from(gone).unwrap_or(i64::MAX)))?;
    Ok(None)
}

/// A record that the server was known to have.
struct Missing {
    kind: Kind,
    id: String,
    /// What the last edit of it does; None: it has none.
    last: Option<Method>,
}

impl Missing {
    /// What was deleted here as well, nobody loses by its end.
    fn is_lost(&self) -> bool {
        self.last != Some(Method::Delete)
    }
}

fn missing(tx: &Transaction<'_>, kind: Kind) -> Result<Vec<Missing>, StoreError> {
    let mut statement = tx.prepare(&format!(
        "SELECT id, (SELECT method FROM edits e WHERE e.kind = ?1 AND e.record_id = known.id ORDER BY e.id DESC LIMIT 1)
         FROM (
             SELECT id FROM {} WHERE rev IS NOT NULL
             UNION SELECT record_id FROM _base WHERE kind = ?1 AND NOT gone) AS known
         WHERE id NOT IN (SELECT record_id FROM _seen WHERE kind = ?1)",
        kind.collection()
    ))?;
    let found = statement.query_map([kind.as_str()], |row| Ok(Missing { kind, id: row.get(0)?, last: row.get(1)? }))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Whether the server does not have the history in which it confirmed an edit: the edit is beyond its end, or its record
/// stands before it. No server that was not put back shows that, and no cursor is left that it could refuse.
fn is_another_history(tx: &Transaction<'_>, head: i64) -> Result<bool, StoreError> {
    let confirmed = "FROM edit_history h WHERE h.outcome IN ('confirmed', 'merged')";
    let beyond = format!("SELECT EXISTS (SELECT 1 {confirmed} AND h.rev > ?1)");
    if tx.query_row(&beyond, [head], |row| row.get(0))? {
        return Ok(true);
    }
    for kind in Kind::ALL {
        let before = format!(
            "SELECT EXISTS (SELECT 1 {confirmed} AND h.kind = ?1 AND h.rev > (
                 SELECT rev FROM (SELECT coalesce(i.rev, r.rev) AS rev FROM {} r
                     LEFT JOIN _base i ON i.kind = ?1 AND i.record_id = r.id WHERE r.id = h.record_id) WHERE rev > 0))",
            kind.collection()
        );
        if tx.query_row(&before, [kind.as_str()], |row| row.get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}
