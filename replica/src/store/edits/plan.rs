//! Plans which edits may be sent now, and marks the edits that wait for a person's decision. Must not know how edits
//! are sent.
//!
//! [`candidate`] reads the edits in their order. [`pass`] decides about each.

mod candidate;
mod pass;

use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};

use self::pass::{Marks, examine};
use crate::model::{EditState, ReadyEdits};
use crate::store::edits::reason::{Reason, set_state};
use crate::store::{StoreError, gate};

/// The result of a pass over `edits`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The edits that may be sent now, in their order: at most `limit` entries, and at most `limit` more of each kind
    /// apart.
    pub ready: Vec<ReadyEdits>,
    /// True when an unsettled edit needs no person.
    pub has_open_edits: bool,
}

/// Plans which edits may be sent, and marks or unmarks edits that depend on an edit that needs a person. `apart`:
/// kinds that the key may not write now. Their edits are counted separately, because other edits must not wait behind
/// them.
pub(crate) fn plan(connection: &mut Connection, limit: usize, apart: &[Kind]) -> Result<Plan, StoreError> {
    let (ready, marks) = examine(connection, limit, apart)?;
    if marks.is_empty() {
        return Ok(Plan { ready, has_open_edits: has_open_edits(connection)? });
    }
    gate::sync_tx(connection, |tx| {
        // Another connection may have added edits since the first pass, so the pass is repeated in the transaction.
        let (ready, marks) = examine(tx, limit, apart)?;
        write_marks(tx, marks)?;
        Ok(Plan { ready, has_open_edits: has_open_edits(tx)? })
    })
}

/// Marks and unmarks the edits that depend on an edit that needs a person. Called after edits have begun or ceased to need a person.
pub(crate) fn mark(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let (_, marks) = examine(tx, usize::MAX, &[])?;
    write_marks(tx, marks)
}

fn write_marks(tx: &Transaction<'_>, marks: Marks) -> Result<(), StoreError> {
    for (id, cause) in marks {
        match cause {
            Some(cause) => {
                set_state(tx, id, EditState::Blocked, Some(Reason::DependsOn(cause)))?;
                let mark = "INSERT INTO _outbox (edit_id, blocked_by) VALUES (?1, ?2)
                            ON CONFLICT DO UPDATE SET blocked_by = excluded.blocked_by";
                tx.prepare_cached(mark)?.execute((id, cause))?;
            }
            None => {
                set_state(tx, id, EditState::Waiting, None)?;
                tx.prepare_cached("UPDATE _outbox SET blocked_by = NULL WHERE edit_id = ?1")?.execute([id])?;
            }
        }
    }
    Ok(())
}

fn has_open_edits(connection: &Connection) -> Result<bool, StoreError> {
    Ok(connection.prepare_cached("SELECT 1 FROM edits WHERE state IN ('waiting', 'sending', 'sent')")?.exists([])?)
}
