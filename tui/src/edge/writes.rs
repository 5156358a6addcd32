//! How a write is carried out on the replica, and noted so that it can be undone. The only writes of the terminal UI.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::doctor::diagnose;
use hearth_replica::{EditError, Replica, Row, address};

use super::effects::Places;
use super::undoing::Steps;
use crate::message::{Answer, Decision, Write};
use crate::words;

/// An edit that was settled while a form for it was open is among so many that were settled last.
const SETTLED_MAX: usize = 10_000;

/// What came of a write of one record.
pub(super) enum Came {
    /// It was carried out, on the record of this id.
    Written(String),
    /// It was not: the record is this by now.
    Overtaken(Box<Row>),
}

pub(super) fn carry_out(replica: &Replica, write: &Write) -> Result<Came, EditError> {
    let id = match write {
        Write::Create { kind, fields } => replica.create(*kind, fields)?,
        Write::Update { kind, id, fields, seen, .. } => {
            if !replica.update_seen(*kind, id, fields, seen)? {
                return replica.row(*kind, id)?.map(|row| Came::Overtaken(Box::new(row))).ok_or(EditError::NotFound);
            }
            id.clone()
        }
        Write::Delete { kind, id, .. } => {
            replica.delete(*kind, id)?;
            id.clone()
        }
        // These have answers of their own.
        Write::Many { .. } | Write::Undo | Write::Redo | Write::Decide(..) | Write::Pause(_) | Write::Hurry => {
            String::new()
        }
    };
    Ok(Came::Written(id))
}

/// Carries one change out on each of many records, or deletes them, as one step.
pub(super) fn many(
    replica: &Replica,
    places: &Places,
    steps: &mut Steps,
    kind: Kind,
    records: Vec<(String, String)>,
    change: Option<Fields>,
    tell: &mut dyn FnMut(Answer),
) -> Answer {
    let write = Write::Many { kind, records: Vec::new(), change: change.clone() };
    let changes = records.iter().enumerate().map(|(done, (id, _))| {
        tell(Answer::UnderWay(words::doing(&write), done, records.len()));
        match &change {
            Some(fields) => replica.update(kind, id, fields),
            None => replica.delete(kind, id),
        }
    });
    let results = steps.note_all(replica, |done| words::counted(kind, done), changes);
    let results = results.into_iter().map(|result| result.map_err(|error| sentence(places, &error)));
    let each = records.iter().map(|(_, title)| title.clone()).zip(results).collect();
    Answer::ManyWritten(Write::Many { kind, records, change }, each)
}

pub(super) fn decide(
    replica: &Replica,
    steps: &mut Steps,
    write: &Write,
    tell: &mut dyn FnMut(usize, usize),
) -> Result<String, EditError> {
    let decided = match write {
        Write::Undo => return steps.undo(replica, tell),
        Write::Redo => return steps.redo(replica, tell),
        Write::Pause(true) => {
            return Ok(replica.pause().map(|_| "Syncing rests until you let it go on.".to_owned())?);
        }
        Write::Hurry => return Ok(replica.retry_sync_now().map(|()| "Trying the server.".to_owned())?),
        Write::Pause(false) => return Ok(replica.resume().map(|_| "Syncing goes on.".to_owned())?),
        Write::Decide(edit, decision) => {
            let waited = replica.edits()?;
            let decided = match decision {
                Decision::Retry => replica.retry(*edit)?,
                Decision::Discard => replica.discard(*edit)?,
                Decision::Undo => replica.undo(Some(*edit))?,
                Decision::Change(fields) => replica.change(*edit, fields)?,
                Decision::Resolve(resolution) => replica.resolve(*edit, resolution)?,
            };
            let title = waited.iter().find(|one| one.id == *edit).map_or("", |one| one.title.as_str());
            steps.note_decision(replica, *edit, &waited, words::decision(decision, title));
            decided
        }
        _ => return Ok(String::new()),
    };
    Ok(decided.said)
}

/// The record of an edit that should have got other values and is settled by now, so that these may go to the record itself;
/// `Some(None)`: there is no such record any more. None: it was another write, or the edit waits.
pub(super) fn settled(replica: &Replica, write: &Write) -> Option<Option<Row>> {
    let Write::Decide(edit, Decision::Change(_)) = write else { return None };
    if replica.edits().ok()?.iter().any(|one| one.id == *edit) {
        return None;
    }
    let was = replica.history(SETTLED_MAX).ok()?.into_iter().find(|one| one.id == *edit)?;
    replica.row(was.kind, &was.record_id).ok()
}

pub(super) fn sentence(places: &Places, error: &EditError) -> String {
    match error {
        EditError::Store(error) => address::diagnosis_text(&diagnose(&places.db, error), &places.flags),
        EditError::NotFound => words::GONE.into(),
        other => other.to_string(),
    }
}
