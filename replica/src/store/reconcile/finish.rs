//! The end of a reconcile: the rows are at the position of the tail. Must not read records from the server.

use hearth_contract::formats::Timestamp;
use rusqlite::Connection;

use crate::model::LogLevel;
use crate::store::edits::{missed_events, next_tasks, recheck, settle};
use crate::store::reconcile::{listing, lost, sentences};
use crate::store::{StoreError, base, gate, log};

/// Ends the reconcile: compares the accepted and confirmed edits, and moves the position to the tail.
pub(crate) fn finish(connection: &mut Connection, now: Timestamp) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        let (cause, gone, only_changes): (String, i64, bool) =
            tx.query_row("SELECT cause, deleted_count, only_changes FROM _reconcile", [], |row| row.try_into())?;
        let restored = cause == "restored";
        lost::offer_accepted(tx, restored, now)?;
        if restored {
            lost::offer_confirmed(tx, now)?;
        }
        settle::unmark_overwritten(tx)?;
        let position: i64 = tx.query_row(
            "UPDATE _sync SET position = coalesce((SELECT tail_position FROM _reconcile), 0), backfilled = 1 RETURNING position",
            [],
            |row| row.get(0),
        )?;
        tx.execute("DELETE FROM _reconcile", [])?;
        listing::clear(tx)?;
        // The sweep of listed deletions drops each last version at once.
        if !only_changes {
            base::drop_last_versions(tx)?;
        }
        settle::settle(tx, position, now)?;
        next_tasks::end::settle_shown(tx, true, now)?;
        missed_events::clear_disproved_marks(tx)?;
        recheck::recheck_all(tx, now)?;
        let offers = lost::is_any_offered(tx)?;
        log(tx, LogLevel::Info, &sentences::reconcile_done(gone, restored, offers, only_changes))
    })
}
