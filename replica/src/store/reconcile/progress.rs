//! How far a reconcile is (`_reconcile`). Must not change records.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};

use crate::model::{LogLevel, Reconcile, ReconcileScope, ReconcileStep};
use crate::store::{StoreError, gate, log};

/// The running reconcile.
pub(crate) fn load(connection: &Connection) -> Result<Option<Reconcile>, StoreError> {
    let text = "SELECT since, step, kind, cursor, as_of, tail_position, accepted, question, only_changes,
                    (SELECT position FROM _sync) FROM _reconcile";
    let mut statement = connection.prepare_cached(text)?;
    let mut found = statement.query([])?;
    let Some(row) = found.next()? else { return Ok(None) };
    let scope = match (row.get(8)?, row.get(0)?) {
        (true, Some(since)) => ReconcileScope::Changed { since, since_rev: row.get(9)? },
        (true, None) => return Err(StoreError::InvalidContent("a reconcile of changes without a moment".to_owned())),
        (false, since) => ReconcileScope::Everything { since },
    };
    let (word, kind, cursor): (String, Option<String>, _) = (row.get(1)?, row.get(2)?, row.get(3)?);
    let step = match (word.as_str(), kind.as_deref().and_then(Kind::parse), row.get(4)?) {
        ("property", ..) => ReconcileStep::Property,
        ("changes", Some(kind), _) => ReconcileStep::Changes { kind, cursor },
        ("ids", Some(kind), as_of) => ReconcileStep::Ids { kind, cursor, as_of },
        ("deletions", ..) => ReconcileStep::Deletions { cursor },
        ("records", Some(kind), Some(as_of)) => ReconcileStep::Records { kind, as_of },
        ("sweep", Some(kind), Some(as_of)) => ReconcileStep::Sweep { kind, as_of },
        ("done", ..) => ReconcileStep::Done,
        _ => return Err(StoreError::InvalidContent(format!("a reconcile at the step {word}"))),
    };
    let (tail_position, accepted, question) = (row.get(5)?, row.get(6)?, row.get(7)?);
    Ok(Some(Reconcile { scope, tail_position, step, accepted, question }))
}

/// Writes the next step.
pub(crate) fn set_step(connection: &mut Connection, step: &ReconcileStep) -> Result<(), StoreError> {
    gate::sync_tx_without_fsync(connection, |tx| advance(tx, step))
}

/// Compares everything from now on, beginning with a step.
pub(crate) fn compare_everything(connection: &mut Connection, step: &ReconcileStep) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        tx.execute("UPDATE _reconcile SET only_changes = 0", [])?;
        advance(tx, step)?;
        log(tx, LogLevel::Info, "The server does not list what was deleted; comparing all records with its lists.")
    })
}

/// [`set_step`], within a transaction.
pub(super) fn advance(tx: &Transaction<'_>, step: &ReconcileStep) -> Result<(), StoreError> {
    let (kind, cursor, as_of) = match step {
        ReconcileStep::Property | ReconcileStep::Done => (None, None, None),
        ReconcileStep::Changes { kind, cursor } => (Some(kind), cursor.as_ref(), None),
        ReconcileStep::Ids { kind, cursor, as_of } => (Some(kind), cursor.as_ref(), *as_of),
        ReconcileStep::Deletions { cursor } => (None, cursor.as_ref(), None),
        ReconcileStep::Records { kind, as_of } | ReconcileStep::Sweep { kind, as_of } => {
            (Some(kind), None, Some(*as_of))
        }
    };
    tx.prepare_cached("UPDATE _reconcile SET step = ?1, kind = ?2, cursor = ?3, as_of = ?4")?.execute((
        step.as_str(),
        kind.map(|kind| kind.as_str()),
        cursor,
        as_of,
    ))?;
    Ok(())
}

/// Asks a person a question before the reconcile goes on.
pub(crate) fn ask_person(connection: &mut Connection, question: &str) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        tx.execute("UPDATE _reconcile SET question = ?1", [question])?;
        log(tx, LogLevel::Warning, question)
    })
}

/// Notes the request of a person for a reconcile while one is running.
pub(crate) fn note_request(connection: &mut Connection, accepted: bool) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        tx.execute("UPDATE _sync SET reconcile_requested = 0, deletions_accepted = 0", [])?;
        if accepted {
            tx.execute("UPDATE _reconcile SET accepted = 1, question = NULL", [])?;
            tx.execute("UPDATE _sync SET phase = 'reconciling' WHERE phase = 'blocked'", [])?;
            log(tx, LogLevel::Info, "A person has agreed to the deletions.")?;
        }
        Ok(())
    })
}
