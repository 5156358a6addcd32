//! Conflicts that end without anybody: what waits for a person because the server had something else is looked at again
//! when it has another form there. Must not let go what only a person may: what the server has refused or lost, and what
//! may have been in before.

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::Transaction;

use crate::model::{EditState, ReasonCode};
use crate::store::edits::judge::Judgement;
use crate::store::edits::reason::set_state;
use crate::store::edits::{decide, had, parcel, plan};
use crate::store::mirror::image;
use crate::store::{StoreError, log};

/// Looks at the edits of a record again, in their order up to the first that waits on. What the server has by now is settled;
/// where nothing stands against an edit any more it goes, as when a person tries it again. Says whether anything may go on.
pub(crate) fn look_again(tx: &Transaction<'_>, kind: Kind, record: &str, now: Timestamp) -> Result<bool, StoreError> {
    // At 0 it is not known what it is now.
    if image::known(tx, kind, record)?.and_then(|known| known.rev).is_none_or(|rev| rev == 0) {
        return Ok(false);
    }
    let edits: Vec<(i64, EditState, Option<ReasonCode>)> = tx
        .prepare_cached(
            "SELECT id, state, reason_code FROM edits WHERE kind = ?1 AND record_id = ?2 AND state <> 'sent' ORDER BY id",
        )?
        .query_map((kind.as_str(), record), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut goes_on = false;
    for (edit, state, code) in edits {
        let Some(found) = decide::load(tx, edit)?.filter(|_| state == EditState::Conflict) else { break };
        match decide::look(tx, &found)? {
            Judgement::Done => {
                let known = image::known(tx, kind, record)?;
                // Of another it may be the edit itself that made it so.
                if parcel::is_clash(code) {
                    had::note(tx, edit, kind, &found.patch, known.as_ref())?;
                }
                let rev = known.and_then(|known| known.rev).unwrap_or(0);
                parcel::end(tx, edit, kind, record, rev, parcel::Ends::IsThere, now)?;
                goes_on = true;
                continue;
            }
            // Only of a clash is it known that the server has never had the edit.
            Judgement::Go if parcel::is_clash(code) => {
                decide::wait_again(tx, &found)?;
                log(tx, "info", &format!("Edit {edit}: nothing stands against it any more; it goes to the server."))?;
                goes_on = true;
            }
            Judgement::Clash(clashes) if parcel::is_clash(code) => {
                let fields: Vec<&'static str> = clashes.iter().map(|clash| clash.field).collect();
                set_state(tx, edit, state, Some(parcel::clash(found.method, &fields)))?;
            }
            _ => {}
        }
        break;
    }
    if goes_on {
        image::project(tx, kind, record)?;
        plan::mark(tx)?;
    }
    Ok(goes_on)
}

/// The same of every record with an edit in conflict, after forms of them came otherwise than by the feed.
pub(crate) fn look_at_all(tx: &Transaction<'_>, now: Timestamp) -> Result<(), StoreError> {
    let records: Vec<(String, String)> = tx
        .prepare_cached("SELECT DISTINCT kind, record_id FROM edits WHERE state = 'conflict'")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (word, record) in records {
        if let Some(kind) = Kind::parse(&word) {
            look_again(tx, kind, &record, now)?;
        }
    }
    Ok(())
}
