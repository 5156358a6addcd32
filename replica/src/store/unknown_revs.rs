//! Records that the server has at an unknown revision (`_unknown_revs`): the revision was of a history that the server has
//! discarded, or of the time before a rebuild. Their rev is NULL, as the rev of a record that the server never had. Must not
//! know why revisions are forgotten, or how the server's versions arrive.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};

use super::{StoreError, synced_rows};

/// Forgets all revisions after a position, and all tombstones after the position. Returns the number of records whose
/// revision is now unknown.
pub(crate) fn forget_revs(tx: &Transaction<'_>, position: i64) -> Result<i64, StoreError> {
    let note = "INSERT OR IGNORE INTO _unknown_revs (kind, record_id)";
    let mut forgotten = 0;
    for kind in Kind::ALL {
        let table = kind.collection();
        tx.execute(&format!("{note} SELECT '{kind}', id FROM {table} WHERE rev > ?1"), [position])?;
        forgotten += tx.execute(&format!("UPDATE {table} SET rev = NULL WHERE rev > ?1"), [position])?;
    }
    tx.execute(&format!("{note} SELECT kind, record_id FROM _base WHERE rev > ?1"), [position])?;
    tx.execute("UPDATE _base SET rev = NULL WHERE rev > ?1", [position])?;
    synced_rows::forget_revs(tx, position)?;
    forgotten += tx.execute("DELETE FROM _tombstones WHERE rev > ?1", [position])?;
    Ok(i64::try_from(forgotten).unwrap_or(i64::MAX))
}

/// Notes that the server does not have a record. Its row stays.
pub(crate) fn note_not_on_server(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<(), StoreError> {
    tx.execute(&format!("UPDATE {} SET rev = NULL WHERE id = ?1", kind.collection()), [id])?;
    tx.execute("DELETE FROM _unknown_revs WHERE kind = ?1 AND record_id = ?2", (kind.as_str(), id))?;
    synced_rows::note(tx, kind, id)
}

/// Deletes the entries of records whose revision is known again.
pub(crate) fn clear_known(tx: &Transaction<'_>) -> Result<(), StoreError> {
    for kind in Kind::ALL {
        let unknown = still_unknown(kind);
        tx.execute(
            &format!("DELETE FROM _unknown_revs WHERE kind = ?1 AND record_id NOT IN ({unknown})"),
            [kind.as_str()],
        )?;
    }
    Ok(())
}

/// True when a record has a row, and the server has the record.
pub(crate) fn is_on_server(connection: &Connection, kind: Kind, id: &str) -> Result<bool, StoreError> {
    let table = kind.collection();
    let text = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE id = ?1 AND {})", on_server(kind, table));
    Ok(connection.prepare_cached(&text)?.query_row([id], |row| row.get(0))?)
}

/// The SQL condition that the server has the record of a row. `row`: the name of the row or of its table.
pub(super) fn on_server(kind: Kind, row: &str) -> String {
    format!(
        "({row}.rev IS NOT NULL \
         OR EXISTS (SELECT 1 FROM _unknown_revs u WHERE u.kind = '{kind}' AND u.record_id = {row}.id))"
    )
}

/// SQL for the ids of a kind's records whose revision is still unknown. Deleted records are left out.
pub(super) fn still_unknown(kind: Kind) -> String {
    format!(
        "SELECT u.record_id AS id FROM _unknown_revs u
             LEFT JOIN _base i ON i.kind = u.kind AND i.record_id = u.record_id
             LEFT JOIN {} t ON t.id = u.record_id
         WHERE u.kind = '{kind}'
             AND CASE WHEN i.kind IS NULL THEN t.id IS NOT NULL AND t.rev IS NULL ELSE i.rev IS NULL AND NOT i.deleted END",
        kind.collection()
    )
}
