//! Edits that the server has lost wait for a person again. Must not judge which these are.

use hearth_contract::schema::Kind;
use rusqlite::{OptionalExtension, Transaction};

use super::Lost;
use crate::model::Method;
use crate::store::edits::{push, sides};
use crate::store::mirror::image;
use crate::store::{StoreError, log, rows};

/// How sure it is that the server has lost an edit.
#[derive(Debug, Clone, Copy)]
pub(super) enum Why {
    /// It threw away the history that had it.
    Lost,
    /// It had accepted the edit and does not show it. A first read leaves out what came and went meanwhile (contract 9.2).
    NotThere,
}

impl Why {
    /// What is said of the edit.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Why::Lost => {
                "the server was put back to an older copy and lost this change; retry sends it again, discard lets it go"
            }
            Why::NotThere => {
                "the server had taken this change and does not hold it any more: it was overwritten or deleted there since, \
                 or lost when the server was put back; retry sends it again, discard lets it go"
            }
        }
    }

    /// What is logged of so many.
    fn told(self, count: usize) -> String {
        match self {
            Why::Lost => format!(
                "The server lost {count} of this replica's edits with the history it threw away; they are offered again."
            ),
            Why::NotThere => format!(
                "The server does not hold {count} of this replica's edits any more that it had taken; they are offered again."
            ),
        }
    }
}

/// Whether edits wait for a person because the server has lost them.
pub(crate) fn is_any_offered(tx: &Transaction<'_>) -> Result<bool, StoreError> {
    let mut statement =
        tx.prepare_cached("SELECT EXISTS (SELECT 1 FROM edits WHERE state = 'conflict' AND reason IN (?1, ?2))")?;
    Ok(statement.query_row([Why::Lost.reason(), Why::NotThere.reason()], |row| row.get(0))?)
}

/// Lost edits wait for a person again, under their old numbers; what they change stays visible here.
pub(super) fn give_back(tx: &Transaction<'_>, why: Why, sent: &[Lost], settled: &[Lost]) -> Result<(), StoreError> {
    for Lost { edit, .. } in sent {
        // A retry is a new request: the bytes of the old one may be guarded by the lost history's numbers.
        push::forget_request(tx, *edit)?;
        tx.execute("DELETE FROM _acked WHERE edit_id = ?1", [edit])?;
    }
    for Lost { edit, kind, record } in settled {
        keep_form(tx, *kind, record)?;
        tx.execute(
            "INSERT INTO edits (id, kind, record_id, method, patch, base, attempts, origin, created_at)
             SELECT id, kind, record_id, method, patch, base, attempts, origin, created_at FROM edit_history WHERE id = ?1",
            [edit],
        )?;
        tx.execute("DELETE FROM edit_history WHERE id = ?1", [edit])?;
    }
    for Lost { edit, kind, record } in sent.iter().chain(settled) {
        let method: Method = tx.query_row(
            "UPDATE edits SET state = 'conflict', reason = ?2, problem = NULL, next_attempt_at = NULL
             WHERE id = ?1 RETURNING method",
            (edit, why.reason()),
            |row| row.get(0),
        )?;
        if method == Method::Create {
            // The server does not hold the record at all any more.
            for table in ["_base", "_tombstones"] {
                tx.execute(
                    &format!("DELETE FROM {table} WHERE kind = ?1 AND record_id = ?2"),
                    (kind.as_str(), record),
                )?;
            }
            let text = format!("UPDATE {} SET rev = NULL WHERE id = ?1", kind.collection());
            tx.execute(&text, [record])?;
        }
    }
    for Lost { edit, kind, record } in sent.iter().chain(settled) {
        sides::spell(tx, *edit)?;
        image::project(tx, *kind, record)?;
    }
    let count = sent.len() + settled.len();
    if count > 0 {
        log(tx, "warning", &why.told(count))?;
    }
    Ok(())
}

/// Keeps the row of a record as the server's form before edits are laid over it.
pub(super) fn keep_form(tx: &Transaction<'_>, kind: Kind, record: &str) -> Result<(), StoreError> {
    let has: Option<i64> = tx
        .query_row("SELECT 1 FROM _base WHERE kind = ?1 AND record_id = ?2", (kind.as_str(), record), |row| row.get(0))
        .optional()?;
    match rows::load_row(tx, kind, record)? {
        Some(stored) if has.is_none() && stored.rev.is_some() => image::keep(tx, kind, record, &stored),
        _ => Ok(()),
    }
}
