//! Decisions about edits, one or several in one transaction: each comes out on its own, and what depends on them is marked once,
//! after the last, because that takes a look at every edit. Must not know what is decided.

use rusqlite::{Connection, Transaction};

use super::decide::{Decided, Pending, refused, said};
use super::{EditError, plan};
use crate::model::Origin;
use crate::store::gate;

/// What comes of a decision, as far as it shows before it is marked what depends on what.
pub(super) enum Came {
    /// It is carried out.
    Out(Decided),
    /// The edit goes to the server again, which is said so, unless it waits for a person all the same.
    Goes(Pending, String),
    /// Nothing is to be decided of an edit that waits for one which needs a person, unless that was decided just before.
    Held(Pending),
}

impl From<Decided> for Came {
    fn from(decided: Decided) -> Came {
        Came::Out(decided)
    }
}

/// What came of each of several decisions. One that is refused changes nothing and stops no other.
pub(crate) type Decisions = Vec<Result<Decided, EditError>>;

/// Decides about each in its turn. Err: the database failed, and nothing is decided.
pub(super) fn decide<T: Copy>(
    connection: &mut Connection,
    origin: Origin,
    all: &[T],
    mut work: impl FnMut(&Transaction<'_>, T) -> Result<Came, EditError>,
) -> Result<Decisions, EditError> {
    gate::edit_tx(connection, origin, |tx| {
        let mut came = Vec::with_capacity(all.len());
        for one in all {
            came.push(apart(tx, |tx| work(tx, *one))?);
        }
        if came.iter().any(|came| matches!(came, Ok(Came::Out(_) | Came::Goes(..)))) {
            gate::with_guards_off(tx, plan::mark)?;
        }
        came.into_iter().map(|came| came_out(tx, came)).collect()
    })
}

/// What came of the only decision there was.
pub(super) fn only(decided: Result<Decisions, EditError>) -> Result<Decided, EditError> {
    decided?.pop().unwrap_or_else(|| Err(refused("nothing was to be decided")))
}

/// Does something wholly or not at all within a transaction. Err: the database failed.
fn apart<T>(
    tx: &Transaction<'_>,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, EditError>,
) -> Result<Result<T, EditError>, EditError> {
    tx.execute_batch("SAVEPOINT decision")?;
    let done = work(tx);
    tx.execute_batch(match &done {
        Err(EditError::Store(_)) => return done.map(Ok),
        Err(_) => "ROLLBACK TO decision; RELEASE decision",
        Ok(_) => "RELEASE decision",
    })?;
    Ok(done)
}

/// What is said of a decision, now that it is marked what depends on what. Err: the database failed.
fn came_out(tx: &Transaction<'_>, came: Result<Came, EditError>) -> Result<Result<Decided, EditError>, EditError> {
    let text = "SELECT EXISTS (SELECT 1 FROM edits WHERE id = ?1 AND state = 'blocked')";
    let is_held = |found: &Pending| -> Result<bool, EditError> {
        Ok(tx.prepare_cached(text)?.query_row([found.id], |row| row.get(0))?)
    };
    Ok(match came {
        Err(refused) => Err(refused),
        Ok(Came::Out(decided)) => Ok(decided),
        Ok(Came::Goes(found, _)) if is_held(&found)? => Ok(said(held(&found.name))),
        Ok(Came::Goes(_, sentence)) => Ok(said(sentence)),
        Ok(Came::Held(found)) if is_held(&found)? => Err(refused(held(&found.name))),
        Ok(Came::Held(found)) => Ok(said(on_its_way(&found.name))),
    })
}

fn held(name: &str) -> String {
    format!("{name} waits for another change that needs you first: see its reason")
}

pub(super) fn on_its_way(name: &str) -> String {
    format!("{name}: the change is on its way already")
}
