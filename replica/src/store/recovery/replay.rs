//! Reading the feed again from its beginning over rows that exist, after a rebuild: what the replay does not show is
//! gone. Must not touch what only exists here.

use hearth_contract::event::Happening;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::Transaction;

use crate::store::edits::settle;
use crate::store::mirror::image;
use crate::store::recovery::told;
use crate::store::{StoreError, log, rows};

/// Notes that the replay has shown a record, or its end.
pub(crate) fn note(tx: &Transaction<'_>, kind: Kind, id: &str, happening: Happening) -> Result<(), StoreError> {
    let text = match happening {
        Happening::Deleted => "DELETE FROM _shown WHERE kind = ?1 AND record_id = ?2",
        _ => "INSERT INTO _shown (kind, record_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    };
    tx.prepare_cached(text)?.execute((kind.word(), id))?;
    Ok(())
}

/// At the present: what the server was known to have and the replay did not show is gone there.
pub(crate) fn finish(tx: &Transaction<'_>, head: i64, now: Timestamp) -> Result<(), StoreError> {
    let replaying: bool = tx.query_row("SELECT replay FROM _sync", [], |row| row.get(0))?;
    if !replaying {
        return Ok(());
    }
    let mut gone = 0;
    for kind in Kind::COLLECTIONS {
        let missing: Vec<(String, Option<String>)> = tx
            .prepare(&format!(
                "SELECT id, (SELECT method FROM edits e WHERE e.kind = ?1 AND e.record_id = known.id ORDER BY e.id DESC LIMIT 1)
                 FROM (
                     SELECT id FROM {} WHERE rev IS NOT NULL
                     UNION SELECT record_id FROM _images WHERE kind = ?1 AND NOT gone) AS known
                 WHERE id NOT IN (SELECT record_id FROM _shown WHERE kind = ?1)",
                kind.collection()
            ))?
            .query_map([kind.word()], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (id, last) in missing {
            // What was deleted here as well, nobody loses by it.
            gone += i64::from(last.as_deref() != Some("delete"));
            tx.execute("INSERT INTO _tombs VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING", (kind.word(), &id, head))?;
            if last.is_some() {
                image::end(tx, kind, &id, head)?;
                settle::record_is_gone(tx, kind, &id, head, now)?;
            } else {
                rows::remove(tx, kind, &id)?;
            }
        }
    }
    tx.execute_batch("DELETE FROM _shown; UPDATE _sync SET replay = 0")?;
    log(tx, "info", &told::read_again(gone))
}
