//! Writes salvaged data into a new replica. Must not lose an edit without naming the edit.

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Transaction, params_from_iter};

use super::local_data::LocalData;
use super::reader::{SalvagedTable, unless_damaged};
use super::report::RebuildReport;
use super::{inferred_edits, user_objects};
use crate::store::edits::edit_ids;
use crate::store::schema::table_sql::column_names;
use crate::store::{StoreError, base, gate, health, rows, select};

/// Writes salvaged data into an empty replica.
pub(super) fn write(connection: &mut Connection, data: LocalData) -> Result<RebuildReport, StoreError> {
    let mut report = RebuildReport { lost: data.lost, ..RebuildReport::default() };
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
        tx.execute("UPDATE _sync SET paused = ?1", [data.paused])?;
        report.parked = set_home(tx, data.home.as_deref(), data.is_local)?;
        make_rows(tx)?;
        report.lost.extend(user_objects::recreate(tx, &data.user_objects)?);
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
        WHERE edit_id NOT IN (SELECT id FROM edits);
    -- The server may have been restored since. Each version of the server counts as newer than an unknown revision.
    DELETE FROM _base WHERE deleted AND (fields = '{}' OR NOT EXISTS
        (SELECT 1 FROM edits e WHERE e.kind = _base.kind AND e.record_id = _base.record_id));
    UPDATE _base SET rev = NULL, deleted = 0;";

/// Deletes the base images of records without edits.
const DROP_IMAGES: &str = "DELETE FROM _base WHERE NOT EXISTS
    (SELECT 1 FROM edits e WHERE e.kind = _base.kind AND e.record_id = _base.record_id)";

/// Stores the home. Without a known home every edit waits for a person, and no other record is kept; returns the number of these
/// edits. `is_local`: the home never had a server.
fn set_home(tx: &Transaction<'_>, home: Option<&[Sql]>, is_local: bool) -> Result<usize, StoreError> {
    if is_local {
        return Ok(0);
    }
    tx.execute("UPDATE _sync SET phase = 'new'", [])?;
    let Some(home) = home else {
        tx.execute(DROP_IMAGES, [])?;
        return Ok(tx.execute(
            "UPDATE edits SET state = 'rejected', reason_code = 'from_a_copy',
                 reason = 'The database was damaged and does not tell which home this edit is for. If it is for this home, \
                 retry sends it.'
             WHERE id NOT IN (SELECT next_edit FROM _outbox WHERE next_edit IS NOT NULL)",
            [],
        )?);
    };
    let text = "UPDATE _sync SET server = ?1, home_id = ?2, home_name = ?3, environment = ?4";
    tx.execute(text, params_from_iter(home))?;
    Ok(0)
}

/// Makes the row of each record: base image and edits. A base image of which no row can be made is damaged, and is dropped. The
/// server shows each record again; until then the rows show what was salvaged.
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
