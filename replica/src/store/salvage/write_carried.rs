//! Writes what is carried over into a new replica. Must not lose an edit without naming the edit.

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Transaction, params_from_iter};

use super::carried::Carried;
use super::reader::{SalvagedTable, unless_damaged};
use super::report::RebuildReport;
use super::{inferred_edits, rows_as_images, user_objects};
use crate::store::edits::edit_ids;
use crate::store::schema::table_sql::column_names;
use crate::store::{StoreError, base, gate, health, reconcile, refill, rows, select};

/// Writes what is carried over into an empty replica.
pub(super) fn write(connection: &mut Connection, mut data: Carried) -> Result<RebuildReport, StoreError> {
    let mut report = RebuildReport { lost: std::mem::take(&mut data.lost), ..RebuildReport::default() };
    // A row takes as long again with triggers, and there can be many rows.
    gate::skip_own_triggers(connection)?;
    gate::sync_tx(connection, |tx| {
        for (name, table) in &data.tables {
            insert_rows(tx, name, table, &mut report)?;
        }
        edit_ids::continue_after(tx, data.newest_edit_id)?;
        let inferred = inferred_edits::queue_inferred_edits(tx, &data.traces)?;
        if inferred > 0 {
            let (changes, wait) = if inferred == 1 { ("change was", "waits") } else { ("changes were", "wait") };
            let sentence = format!("{inferred} {changes} inferred from what the records show, and {wait} for you.");
            report.lost.push(sentence);
        }
        tx.execute_batch(RESET_UNPROVEN)?;
        rows_as_images::save(tx, &data.rows, data.is_complete("edits"))?;
        report.parked = set_place(tx, &data)?;
        make_rows(tx)?;
        report.lost.extend(user_objects::recreate(tx, &data.user_objects)?);
        report.records = select::count(tx, "SELECT count(*) FROM _base", [])?;
        report.edits = select::count(tx, "SELECT count(*) FROM edits", [])?;
        Ok(())
    })?;
    Ok(report)
}

/// Corrects rows whose counterpart is lost, and forgets the revisions.
const RESET_UNPROVEN: &str = "
    -- A request is made anew when its bytes, precondition or refusal are lost: the same bytes would overwrite later
    -- changes of others. An edit whose acknowledgement is lost is sent again with its key. The other edits of a bulk request
    -- keep its bytes, which contain the precondition of each operation.
    UPDATE edits SET state = 'waiting'
        WHERE state = 'sent' AND id NOT IN (SELECT edit_id FROM _outbox WHERE acked_rev IS NOT NULL);
    UPDATE edits SET idempotency_key = NULL, state = CASE state WHEN 'sending' THEN 'waiting' ELSE state END
        WHERE state IN ('waiting', 'sending', 'blocked')
            AND (idempotency_key NOT IN (SELECT idempotency_key FROM _requests)
                OR id NOT IN (SELECT edit_id FROM _outbox));
    -- The plan finds again what blocks an edit.
    UPDATE _outbox SET blocked_by = NULL;
    -- What is known of a lost edit must not count for a later edit, and an edit that has a row of its own is not a part.
    UPDATE _outbox SET part_of = NULL, as_made = NULL WHERE part_of NOT IN (SELECT id FROM edits)
        OR edit_id <> part_of AND edit_id IN (SELECT id FROM edits);
    UPDATE _outbox SET completes = NULL, next_edit = NULL WHERE next_edit NOT IN (SELECT id FROM edits);
    -- The edit was being moved to the history when the file broke. Sent again with its key, the server tells the outcome.
    DELETE FROM edit_history WHERE id IN (SELECT id FROM edits UNION SELECT edit_id FROM _outbox WHERE part_of IS NOT NULL);
    UPDATE _outbox SET overwritten = 0 WHERE edit_id NOT IN (SELECT id FROM edit_history);
    UPDATE _outbox SET if_match = NULL, if_absent = 0, given_up = 0, maybe_applied = 0, acked_rev = NULL, awaits_record = 0
        WHERE edit_id NOT IN (SELECT id FROM edits);";

/// The columns of `_sync` that are carried over: the home, the place in the feed, what a person wants, and a refill.
const SYNC_COLUMNS: [&str; 15] = [
    "server",
    "home_id",
    "home_name",
    "environment",
    "blocked_by",
    "backfilled",
    "cursor",
    "position",
    "head",
    "retention_seconds",
    "paused",
    "refill_server",
    "refill_home_id",
    "refill_kind",
    "refill_after_id",
];

/// Stores the home and the place in the feed, and begins the reconcile that fetches all records again, as a rebuild of a sound
/// database does. The feed is read from its beginning when records were missing before, or when that cannot be read. Without a known
/// home every edit waits for a person. Returns the number of edits that wait.
fn set_place(tx: &Transaction<'_>, data: &Carried) -> Result<usize, StoreError> {
    if data.sync_text("phase") == Some("local") {
        return Ok(0);
    }
    if data.sync_text("home_id").is_none() {
        tx.execute("UPDATE _sync SET phase = 'new'", [])?;
        base::forget_revs(tx, 0, false)?;
        return Ok(tx.execute(
            "UPDATE edits SET state = 'rejected', reason_code = 'from_a_copy',
                 reason = 'The database was damaged and does not tell which home this edit is for. If it is for this home, \
                 retry sends it.'
             WHERE id NOT IN (SELECT next_edit FROM _outbox WHERE next_edit IS NOT NULL)",
            [],
        )?);
    }
    for (column, value) in data.sync.iter().filter(|(column, _)| SYNC_COLUMNS.contains(&column.as_str())) {
        // A value that the column refuses is damaged, and the column keeps its default.
        unless_damaged(tx.execute(&format!("UPDATE _sync SET {column} = ?1"), [value]).map_err(StoreError::from))?;
    }
    if !data.is_complete("_reconcile") {
        tx.execute("DELETE FROM _reconcile", [])?;
        tx.execute("UPDATE _sync SET backfilled = 0", [])?;
    }
    let from_beginning = "UPDATE _sync SET cursor = NULL, position = 0, head = NULL
         WHERE NOT backfilled AND NOT EXISTS (SELECT 1 FROM _reconcile)";
    tx.execute(from_beginning, [])?;
    reconcile::begin_anew(tx, data.has_all_images())?;
    refill::block(tx)?;
    Ok(0)
}

/// Makes the row of each record: its base image, with its edits laid over. A base image that makes no row is damaged, and is dropped.
fn make_rows(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let text = "SELECT kind, record_id FROM _base UNION SELECT kind, record_id FROM edits";
    let records = select::all(tx, text, [], |row| Ok((rows::kind(row, 0)?, row.get::<_, String>(1)?)))?;
    records.iter().try_for_each(|(kind, record)| match unless_damaged(base::rebase(tx, *kind, record))? {
        Some(()) => Ok(()),
        None => {
            base::forget_record(tx, *kind, record)?;
            base::rebase(tx, *kind, record)
        }
    })
}

/// Inserts the rows of one table into the columns that both databases have. An edit that cannot be inserted is named in the
/// report.
fn insert_rows(
    tx: &Transaction<'_>,
    name: &str,
    table: &SalvagedTable,
    report: &mut RebuildReport,
) -> Result<(), StoreError> {
    let known = column_names(tx, name)?;
    let common: Vec<usize> = (0..table.columns.len()).filter(|n| known.contains(&table.columns[*n])).collect();
    if common.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = common.iter().map(|n| table.columns[*n].as_str()).collect();
    let marks: Vec<String> = (1..=names.len()).map(|n| format!("?{n}")).collect();
    let text = format!("INSERT OR IGNORE INTO {name} ({}) VALUES ({})", names.join(", "), marks.join(", "));
    let mut statement = tx.prepare(&text)?;
    let is_edits = name == "edits";
    if is_edits {
        report.lost.extend(table.invalid_rows.iter().map(|row| lost_edit(table, row)));
    }
    for row in &table.rows {
        // A row that the table refuses, such as one with a NULL from damage, is as lost as a row that cannot be read.
        let is_kept = is_usable(name, table, row)
            && matches!(statement.execute(params_from_iter(common.iter().map(|n| &row[*n]))), Ok(1));
        if is_edits && !is_kept {
            report.lost.push(lost_edit(table, row));
        }
    }
    Ok(())
}

/// True when the texts of a row are valid for its table, and an edit has all its members.
fn is_usable(name: &str, table: &SalvagedTable, row: &[Sql]) -> bool {
    let is_valid = |(column, value): (&String, &Sql)| match value {
        Sql::Text(text) => health::is_valid_text(name, column, text),
        _ => true,
    };
    let members = ["kind", "record_id", "method", "patch", "base"];
    table.columns.iter().zip(row).all(is_valid)
        && (name != "edits" || members.iter().all(|member| table.text(row, member).is_some()))
}

/// The sentence for an edit that cannot be carried over, with the values that a person needs to repeat the edit.
fn lost_edit(table: &SalvagedTable, row: &[Sql]) -> String {
    let word = |name: &str| match table.value(row, name) {
        Some(Sql::Text(text)) => text.chars().take(200).collect(),
        Some(Sql::Integer(number)) => number.to_string(),
        _ => "?".to_owned(),
    };
    let [id, kind, record, method, patch] = ["id", "kind", "record_id", "method", "patch"].map(word);
    format!("Edit {id} could not be carried over: {method} of {kind} {record} with {patch}")
}
