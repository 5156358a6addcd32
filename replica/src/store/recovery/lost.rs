//! What a server that was put back to an older copy has lost: revs of the lost history mean nothing any more, and
//! edits that only it had are offered again. Must not send anything.
//!
//! [`missed`]: whether an edit's effect is there. [`offering`]: what becomes of those that are not.

mod missed;
mod offering;

use std::collections::HashSet;

use hearth_contract::event::Event;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Params, Transaction};

use self::missed::{Judged, Meant, brought, missed};
pub(crate) use self::offering::is_any_offered;
use self::offering::{Why, give_back, keep_form};
use crate::model::ReasonCode;
use crate::store::edits::{held, push, settle};
use crate::store::mirror::image;
use crate::store::{StoreError, mirror};

/// Makes unknown what is of the lost history: rev 0 is lower than any. Gives how many records that are. `whole`: the tables
/// hold that history up to their position, and nothing else.
pub(crate) fn forget(tx: &Transaction<'_>, fork: Option<i64>, whole: bool) -> Result<i64, StoreError> {
    if whole {
        // What is judged at the end by what the records show then was not lost with the history if they did not show it
        // before either: somebody had written over it.
        missed::note_overwritten(tx, if fork.is_none() { Meant::Confirmed } else { Meant::FoundInPlace })?;
    }
    let_go_of_guards(tx, fork)?;
    let fork = fork.unwrap_or(0);
    // Whether these are in, only what the server holds now can tell: perhaps they were accepted by the new history.
    tx.execute("UPDATE _acked SET rev = NULL WHERE rev > ?1", [fork])?;
    let mut unknown = 0;
    for kind in Kind::ALL {
        let text = format!("UPDATE {} SET rev = 0 WHERE rev > ?1", kind.collection());
        unknown += i64::try_from(tx.execute(&text, [fork])?).unwrap_or(i64::MAX);
    }
    // Of one without edits the row is gone already.
    let edited = "EXISTS (SELECT 1 FROM edits e WHERE e.kind = _base.kind AND e.record_id = _base.record_id)";
    tx.execute(&format!("UPDATE _base SET rev = 0, gone = gone AND NOT {edited} WHERE rev > ?1"), [fork])?;
    unknown += i64::try_from(tx.execute("DELETE FROM _tombstones WHERE rev > ?1", [fork])?).unwrap_or(i64::MAX);
    Ok(unknown)
}

/// All is about to be read again, and with it goes what tells the history of now from another: notes which confirmed edits were
/// written over in it, so that these are not taken for lost. Right only while the tables hold it whole.
pub(crate) fn note_overwritten(tx: &Transaction<'_>) -> Result<(), StoreError> {
    missed::note_overwritten(tx, Meant::Confirmed)
}

/// A request that insists on a revision of the lost history would undo what has that number now, so its bytes, with all
/// that they carry, do not go again. With a known fork it was sent after that, and whatever it did is lost. Without one it
/// may be in: it counts as refused in doubt, and is judged once the record has come in its form of now.
fn let_go_of_guards(tx: &Transaction<'_>, fork: Option<i64>) -> Result<(), StoreError> {
    let carried = "SELECT id FROM edits WHERE state <> 'sent' AND idempotency_key IN
         (SELECT idempotency_key FROM edits JOIN _outbox ON edit_id = id WHERE guard > ?1)";
    if fork.is_none() {
        let text = format!(
            "UPDATE _outbox SET refused = 1, missed = 2, guard = min(guard, 0) WHERE NOT refused AND edit_id IN ({carried})"
        );
        tx.execute(&text, [0])?;
        return Ok(());
    }
    let edits: Vec<i64> = tx.prepare(carried)?.query_map([fork], |row| row.get(0))?.collect::<Result<_, _>>()?;
    edits.into_iter().try_for_each(|edit| push::forget_request(tx, edit))
}

/// Offers again what the feed had confirmed after the fork.
pub(crate) fn offer(tx: &Transaction<'_>, fork: i64) -> Result<(), StoreError> {
    let after = "SELECT id, kind, record_id FROM edit_history
                 WHERE outcome IN ('confirmed', 'merged') AND rev > ?1 ORDER BY id";
    give_back(tx, Why::Lost, &[], &candidates(tx, after, [fork])?)
}

/// At the end of a recovery: offers again what the server had accepted at a place that nobody knows any more, and does not
/// hold. What it does hold is confirmed. `restored`: it may be of a lost history.
pub(crate) fn offer_accepted(tx: &Transaction<'_>, restored: bool, now: Timestamp) -> Result<(), StoreError> {
    let unknown: bool = tx.query_row("SELECT EXISTS (SELECT 1 FROM _acked WHERE rev IS NULL)", [], |row| row.get(0))?;
    if !unknown {
        return Ok(());
    }
    let Judged { missed, over } = missed(tx, Meant::Accepted)?;
    give_back(tx, if restored { Why::Lost } else { Why::NotThere }, &missed, &[])?;
    let unknown = "SELECT e.id, kind, record_id FROM edits e JOIN _acked s ON s.edit_id = e.id WHERE s.rev IS NULL";
    let held = candidates(tx, unknown, [])?;
    let edits: Vec<held::Held> = held.iter().map(|held| (held.edit, Some(0))).collect();
    settle::confirm(tx, &edits, now)?;
    for Lost { kind, record, .. } in &held {
        image::project(tx, *kind, record)?;
    }
    missed::forget(tx, &over)
}

/// The same of what was confirmed, at the end of a recovery from another history. Without a known fork that goes for
/// everything that ever was; with one, for what was found in place when a fork was not known, so that nobody knows where.
pub(crate) fn offer_confirmed(tx: &Transaction<'_>, fork: Option<i64>) -> Result<(), StoreError> {
    let Judged { missed, over } = missed(tx, if fork.is_none() { Meant::Confirmed } else { Meant::FoundInPlace })?;
    missed::forget(tx, &over)?;
    give_back(tx, Why::Lost, &[], &missed)?;
    tx.execute(
        "DELETE FROM _base WHERE gone AND NOT EXISTS
             (SELECT 1 FROM edits e WHERE e.kind = _base.kind AND e.record_id = _base.record_id)",
        [],
    )?;
    if fork.is_none() {
        // Whatever is left was judged now: it must not be judged by numbers of the lost history again.
        tx.execute("UPDATE edit_history SET rev = 0 WHERE rev > 0", [])?;
        // What had written over an edit may be lost itself, so that the edit shows again and can be lost with the next.
        missed::note_overwritten(tx, Meant::Confirmed)?;
    } else {
        missed::note_shown_again(tx)?;
    }
    Ok(())
}

/// At the end of a recovery from another history: a delete that was offered because its number is of the lost history, and
/// whose record is not there, was there all the same: by somebody else, or the number was higher than its own.
pub(crate) fn confirm_deletes(tx: &Transaction<'_>, now: Timestamp) -> Result<(), StoreError> {
    let text =
        "SELECT id, kind, record_id FROM edits e WHERE method = 'delete' AND state = 'conflict' AND reason_code = ?1
                AND NOT EXISTS (SELECT 1 FROM _base i
                    WHERE i.kind = e.kind AND i.record_id = e.record_id AND NOT gone)
                AND NOT EXISTS (SELECT 1 FROM edits o
                    WHERE o.kind = e.kind AND o.record_id = e.record_id AND o.id <> e.id)";
    let there = candidates(tx, text, [ReasonCode::LostByServer])?;
    let edits: Vec<held::Held> = there.iter().map(|delete| (delete.edit, Some(0))).collect();
    settle::confirm(tx, &edits, now)?;
    there.iter().try_for_each(|Lost { kind, record, .. }| image::project(tx, *kind, record))
}

/// A record that is gone with what the server has lost: its last form is kept until the end of the recovery, for the edits of
/// it that are offered again then.
pub(crate) fn keep_last_form(tx: &Transaction<'_>, kind: Kind, id: &str, as_of: i64) -> Result<(), StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM edit_history WHERE kind = ?1 AND record_id = ?2 AND method = 'update'
                    AND outcome IN ('confirmed', 'merged') AND rev IS NOT NULL)
                AND EXISTS (SELECT 1 FROM _reconcile WHERE cause = 'restored')";
    if tx.prepare_cached(text)?.query_row((kind.as_str(), id), |row| row.get(0))? {
        keep_form(tx, kind, id)?;
        image::end(tx, kind, id, as_of)?;
    }
    Ok(())
}

/// The feed goes on from a place that nobody here knows. What the server had accepted up to the end of the first stretch
/// after that is not told, unless it was seen to come with it or before (`known`), so at the end of the recovery the records
/// alone show whether it is in.
pub(crate) fn leap(tx: &Transaction<'_>, from: i64, to: i64, known: &HashSet<i64>) -> Result<(), StoreError> {
    let accepted = "SELECT s.edit_id, e.kind, e.record_id FROM _acked s JOIN edits e ON e.id = s.edit_id
         WHERE s.rev > ?1 AND s.rev <= ?2";
    for Lost { edit, .. } in candidates(tx, accepted, [from, to])? {
        if !known.contains(&edit) {
            tx.prepare_cached("UPDATE _acked SET rev = NULL WHERE edit_id = ?1")?.execute([edit])?;
        }
    }
    Ok(())
}

/// The edits that the feed has brought or passed already, though what is shown has not come so far: in a recovery that begins
/// anew before its end.
pub(crate) fn told_before(tx: &Transaction<'_>) -> Result<Vec<i64>, StoreError> {
    let text = "SELECT s.edit_id FROM _acked s JOIN edits e ON e.id = s.edit_id
                    LEFT JOIN _base i ON i.kind = e.kind AND i.record_id = e.record_id
                    LEFT JOIN _tombstones t ON t.kind = e.kind AND t.record_id = e.record_id
                WHERE t.rev >= s.rev OR (e.method <> 'delete' AND i.rev >= s.rev)";
    Ok(tx.prepare_cached(text)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// A first read leaves out what was made here and deleted again while it lasts (contract 9.2), so that a record whose delete
/// the server has accepted before this position, and which was not shown, is gone.
pub(crate) fn end_deletes(tx: &Transaction<'_>, position: i64) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO _tombstones (kind, record_id, rev)
         SELECT kind, record_id, max(s.rev) FROM _acked s JOIN edits e ON e.id = s.edit_id
             LEFT JOIN _base i USING (kind, record_id)
         WHERE e.method = 'delete' AND s.rev <= ?1 AND coalesce(i.gone, 1) GROUP BY kind, record_id
         ON CONFLICT DO UPDATE SET rev = max(rev, excluded.rev)",
    )?
    .execute([position])?;
    Ok(())
}

/// A server that was put back to before an accepted edit, yet not to before our cursor, has lost it without our cursor
/// showing that. The feed leaves nothing out after a cursor that is good (contract 9.3), so if a stretch of it passes
/// the edit's position without bringing the edit there, it is lost. Offers such edits again, but for those whose record was
/// deleted here since: nobody wants them any more. `whole`: the tables show all up to `before`; in a recovery they do not,
/// so that only what the stretch itself must bring is judged. `known`: edits that the stretch was seen to bring.
pub(crate) fn notice(
    tx: &Transaction<'_>,
    before: i64,
    position: i64,
    whole: bool,
    events: &[Event],
    known: &HashSet<i64>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let passed = "SELECT e.id, kind, record_id FROM _acked s JOIN edits e ON e.id = s.edit_id
         WHERE s.rev <= ?1 AND (?2 OR s.rev > ?3 AND e.method <> 'delete') ORDER BY e.id";
    let (mut sent, mut not_there) = (Vec::new(), Vec::new());
    for lost in
        candidates(tx, passed, (position, whole, before))?.into_iter().filter(|lost| !known.contains(&lost.edit))
    {
        // A delete names the position of its answer, not its own.
        let (rev, delete): (i64, bool) = tx.query_row(
            "SELECT s.rev, e.method = 'delete' FROM _acked s JOIN edits e ON e.id = s.edit_id WHERE e.id = ?1",
            [lost.edit],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let is_there = if delete {
            // What was never shown here, or is known to be gone, has no end to come.
            tx.query_row(
                "SELECT EXISTS (SELECT 1 FROM _tombstones WHERE kind = ?1 AND record_id = ?2)
                     OR NOT EXISTS (SELECT 1 FROM _base WHERE kind = ?1 AND record_id = ?2 AND NOT gone)",
                (lost.kind.as_str(), &lost.record),
                |row| row.get(0),
            )?
        } else if rev > before {
            let event = events.iter().find(|event| event.id == rev && event.resource_id.to_string() == lost.record);
            match event {
                Some(event) => brought(tx, &lost, event)?,
                None => false,
            }
        } else {
            if mirror::seen(tx, lost.kind, &lost.record)? < rev {
                not_there.push(lost);
            }
            continue;
        };
        if !is_there {
            sent.push(lost);
        }
    }
    let (mut lost, mut over) = (false, Vec::new());
    for (why, mut edits) in [(Why::Lost, sent), (Why::NotThere, not_there)] {
        let mut wanted = Vec::with_capacity(edits.len());
        for edit in edits.drain(..) {
            match is_deleted_since(tx, &edit)? {
                true => over.push((edit.edit, None)),
                false => wanted.push(edit),
            }
        }
        give_back(tx, why, &wanted, &[])?;
        lost |= !wanted.is_empty();
    }
    settle::confirm(tx, &over, now)?;
    Ok(lost || !over.is_empty())
}

/// Whether a delete of the same record was made here after an edit, and is on its way or accepted.
fn is_deleted_since(tx: &Transaction<'_>, Lost { edit, kind, record }: &Lost) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM edits WHERE kind = ?1 AND record_id = ?2 AND id > ?3 AND method = 'delete'
                    AND state NOT IN ('conflict', 'rejected'))";
    Ok(tx.prepare_cached(text)?.query_row((kind.as_str(), record, edit), |row| row.get(0))?)
}

/// A head below the position of an edit that was accepted before the server said so is the head of another history.
/// Offers such edits again.
pub(crate) fn compare_head(tx: &Transaction<'_>, head: i64, accepted: &[i64]) -> Result<(), StoreError> {
    let above =
        "SELECT e.id, kind, record_id FROM _acked s JOIN edits e ON e.id = s.edit_id WHERE s.rev > ?1 ORDER BY e.id";
    let mut sent = candidates(tx, above, [head])?;
    sent.retain(|lost| accepted.contains(&lost.edit));
    give_back(tx, Why::Lost, &sent, &[])
}

/// The edits that the server has accepted and the feed has not brought.
pub(crate) fn accepted(connection: &Connection) -> Result<Vec<i64>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT edit_id FROM _acked")?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

struct Lost {
    edit: i64,
    kind: Kind,
    record: String,
}

fn candidates(tx: &Transaction<'_>, text: &str, values: impl Params) -> Result<Vec<Lost>, StoreError> {
    let mut statement = tx.prepare_cached(text)?;
    let found = statement.query_map(values, |row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?)))?;
    let mut all = Vec::new();
    for one in found {
        let (edit, word, record) = one?;
        all.extend(Kind::parse(&word).map(|kind| Lost { edit, kind, record }));
    }
    Ok(all)
}
