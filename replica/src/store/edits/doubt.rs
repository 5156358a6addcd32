//! What may be in without anybody having said so: requests whose answer never came while events were missed. Must not
//! know how what was missed is made up for.

use rusqlite::Connection;

use crate::store::StoreError;
use crate::store::edits::push;

/// The guard of an edit that was refused because its record is there, though it insisted that there is none: no revision
/// here until the feed brings one.
pub(super) const ABSENT: i64 = -1;

/// Contact begins anew: what was refused because its record had moved on, but whose record has not come in another form,
/// is judged anew when the feed has come to the present. Perhaps the server was put back since, and nothing will come. Of a
/// record at 0 something will: a recovery brings its form of now, or its end.
pub(crate) fn expect_nothing(tx: &Connection) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE _outbox SET guard = NULL
         WHERE refused AND guard <> 0 AND edit_id IN (SELECT id FROM edits WHERE state = 'waiting')",
        [],
    )?;
    Ok(())
}

/// Events are missed from here on, perhaps that of a request whose answer never came. A refusal tells only of the last time
/// that it was sent.
pub(crate) fn doubt(tx: &Connection) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE _outbox SET missed = 1 WHERE missed = 0 AND NOT refused")?.execute([])?;
    let refused =
        format!("UPDATE _outbox SET missed = 2 WHERE missed = 0 AND refused AND edit_id IN ({})", push::SENT_BEFORE);
    tx.prepare_cached(&refused)?.execute([])?;
    Ok(())
}

/// After what was missed is made up for, or a first read has come to the present: a record at the revision that a request
/// insists on shows that it is not in. One that insists on none, because there was no profile yet, must not go again now
/// that there is one.
pub(crate) fn doubt_less(tx: &Connection) -> Result<(), StoreError> {
    let rev = "(SELECT i.rev FROM _base i JOIN edits e ON e.kind = i.kind AND e.record_id = i.record_id
                WHERE e.id = edit_id)";
    tx.execute(&format!("UPDATE _outbox SET missed = 0 WHERE missed AND guard = {rev}"), [])?;
    let blind = "SELECT id FROM edits WHERE method = 'update' AND state IN ('waiting', 'sending', 'blocked')";
    let text = format!(
        "UPDATE _outbox SET refused = 1, missed = 2
         WHERE missed AND NOT refused AND guard IS NULL AND edit_id IN ({blind}) AND {rev} IS NOT NULL"
    );
    tx.execute(&text, [])?;
    Ok(())
}
