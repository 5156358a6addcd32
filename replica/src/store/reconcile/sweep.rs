//! Deletes the records of a collection that the server no longer has, behind the mass-delete guard. Must not list ids.

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};

use crate::model::{LogLevel, ReconcileStep, SweepOutcome};
use crate::store::edits::acked;
use crate::store::edits::reason::Reason;
use crate::store::reconcile::progress::advance;
use crate::store::reconcile::{listing, sentences};
use crate::store::{StoreError, base, gate, log, mirror};

/// The mass-delete guard: a person must agree before more than this many records of a collection are deleted, when they
/// are also more than [`MASS_DELETE_SHARE`] of the collection.
const MASS_DELETE_MIN: i64 = 50;

/// One in five.
const MASS_DELETE_SHARE: i64 = 5;

/// The mass-delete guard for a list of deletions, which proves each of them: a person must agree before more than this many
/// records of a collection are deleted, when they are also more than half of the collection.
const MASS_LISTED_MIN: i64 = 500;

/// One in two.
const MASS_LISTED_SHARE: i64 = 2;

/// Deletes the records that the server's list did not show, or that its list of deletions has shown. Asks a person first when
/// too many would go. Without a list, every record would seem to be deleted, so nothing is done.
pub(crate) fn sweep(
    connection: &mut Connection,
    kind: Kind,
    as_of: i64,
    then: &ReconcileStep,
    now: Timestamp,
) -> Result<SweepOutcome, StoreError> {
    gate::sync_tx(connection, |tx| {
        let (only_changes, accepted, restored, before): (bool, bool, bool, Option<i64>) = tx.query_row(
            "SELECT only_changes, accepted, cause = 'restored',
                 CASE WHEN counts_at_start IS NOT NULL THEN coalesce(counts_at_start ->> ?1, 0) END FROM _reconcile",
            [kind.as_str()],
            |row| row.try_into(),
        )?;
        let Some(listed) = listing::load(tx, kind)? else { return Ok(SweepOutcome::NotListed) };
        let ids: Vec<(String, i64)> = match only_changes {
            true => listed.into_iter().map(|(id, rev)| (id.to_string(), rev)).collect(),
            // Changes after the position of the first page arrive by the feed.
            false => listing::unlisted(tx, kind, &listed)?.into_iter().map(|id| (id, as_of)).collect(),
        };
        let vanished = listing::gone(tx, kind, &ids)?;
        // Records that were deleted here as well are no loss.
        let deleted: Vec<&str> =
            vanished.iter().filter(|record| !record.has_last_edit_delete).map(|record| record.id.as_str()).collect();
        let gone = i64::try_from(deleted.len()).unwrap_or(i64::MAX);
        // A server that is restored a second time can also lose records that were read since the start.
        let of = match before {
            Some(before) if gone <= before => before,
            _ if gone == 0 => 0,
            _ => listing::count_known(tx, kind)?,
        };
        let before = before.unwrap_or(of);
        let accepted = accepted || hearth_simulated::planted(hearth_simulated::PlantedFault::MassDeleteUnguarded);
        if !accepted && is_mass(only_changes, gone, before) {
            return Ok(SweepOutcome::TooMany { gone, of });
        }
        if gone > 0 {
            log(tx, LogLevel::Info, &sentences::deleted_in_collection(tx, kind, &deleted, of, restored)?)?;
        }
        if only_changes {
            // As the feed does with the events of these deletes, also of records that were never known here.
            for (id, rev) in &ids {
                let has_edits = !acked::edits_of_record(tx, kind, id)?.is_empty();
                mirror::delete(tx, kind, id, *rev, has_edits, now)?;
            }
        } else {
            delete_unlisted(tx, kind, &vanished, restored, now)?;
        }
        tx.execute("UPDATE _reconcile SET deleted_count = deleted_count + ?1", [gone])?;
        listing::clear_kind(tx, kind)?;
        advance(tx, then)?;
        Ok(SweepOutcome::Done)
    })
}

/// True when so many deletions of `of` records need a person's agreement. `is_proven`: a list of deletions proves each.
const fn is_mass(is_proven: bool, gone: i64, of: i64) -> bool {
    let (min, share) =
        if is_proven { (MASS_LISTED_MIN, MASS_LISTED_SHARE) } else { (MASS_DELETE_MIN, MASS_DELETE_SHARE) };
    gone > min && gone > of / share
}

/// Deletes records that the whole list did not show. The last versions stay until the end of the reconcile: edits that a restored
/// server lost may be offered again then.
fn delete_unlisted(
    tx: &Transaction<'_>,
    kind: Kind,
    vanished: &[listing::Vanished],
    restored: bool,
    now: Timestamp,
) -> Result<(), StoreError> {
    for listing::Vanished { id, rev, has_edits, .. } in vanished {
        // A record of unknown revision was probably lost with the discarded history. If somebody has deleted it instead, the
        // server refuses its id later.
        let is_lost = restored && base::newest_rev(tx, kind, id)?.is_none();
        let reason = if is_lost { Reason::RecordLost } else { Reason::DeletedThere };
        mirror::delete_but_version(tx, kind, id, *rev, *has_edits, &reason, now)?;
    }
    Ok(())
}
