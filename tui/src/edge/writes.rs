//! Carries writes out on the replica and adds each to the undo history. All writes of the terminal UI go through this
//! file. Must not know screens.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::doctor::diagnose;
use hearth_replica::{EditError, Replica, Row, address};

use super::context::EdgeContext;
use super::files;
use super::undo::UndoHistory;
use crate::message::{Answer, Decision, Write};
use crate::{words, write_text};

/// How many of the latest settled edits are searched for the edit of an open form.
const SETTLED_MAX: usize = 10_000;

/// The outcome of a write of one record.
pub(super) enum WriteOutcome {
    /// Done, on the record with this id.
    Written(String),
    /// Not done: the record no longer has the values that the person saw. The row holds the current values.
    Overtaken(Box<Row>),
}

pub(super) fn write_record(replica: &Replica, write: &Write) -> Result<WriteOutcome, EditError> {
    let id = match write {
        Write::Create { kind, fields } => replica.create(*kind, fields)?,
        Write::Update { kind, id, fields, seen, .. } => {
            if !replica.update_seen(*kind, id, fields, seen)? {
                let row = replica.row(*kind, id)?;
                return row.map(|row| WriteOutcome::Overtaken(Box::new(row))).ok_or(EditError::NotFound);
            }
            id.clone()
        }
        Write::Delete { kind, id, .. } => {
            replica.delete(*kind, id)?;
            id.clone()
        }
        Write::Attach { path, kind, id, .. } => files::attach(replica, path, *kind, id)?,
        Write::Accept { capture, wish, .. } => replica.accept_capture(capture, wish)?.1,
        Write::RetryCapture { capture, .. } => replica.retry_capture(capture)?,
        Write::DiscardCapture { capture, .. } => {
            replica.discard_capture(capture)?;
            String::new()
        }
        // `write_many`, `import` and `run_decision` carry these out.
        Write::Many { .. }
        | Write::Import { .. }
        | Write::Undo
        | Write::Redo
        | Write::Decide(..)
        | Write::Pause(_)
        | Write::SyncNow => String::new(),
    };
    Ok(WriteOutcome::Written(id))
}

/// Changes or deletes each of many records, as one undo step. `records`: ids and titles.
pub(super) fn write_many(
    replica: &Replica,
    context: &EdgeContext,
    history: &mut UndoHistory,
    kind: Kind,
    records: Vec<(String, String)>,
    change: Option<Fields>,
    progress: &mut dyn FnMut(Answer),
) -> Answer {
    let write = Write::Many { kind, records: Vec::new(), change: change.clone() };
    let changes = records.iter().enumerate().map(|(done, (id, _))| {
        progress(Answer::Progress(write_text::progress_word(&write), done, records.len()));
        match &change {
            Some(fields) => replica.update(kind, id, fields),
            None => replica.delete(kind, id),
        }
    });
    let results = history.run_changes(replica, |done| words::counted(kind, done), changes);
    let results = results.into_iter().map(|result| result.map_err(|error| error_sentence(context, &error)));
    let each = records.iter().map(|(_, title)| title.clone()).zip(results).collect();
    Answer::ManyWritten(Write::Many { kind, records, change }, each)
}

/// Carries out undo, redo, pause, hurry, or a decision about an edit. Returns the sentence for the person.
pub(super) fn run_decision(
    replica: &Replica,
    history: &mut UndoHistory,
    write: &Write,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<String, EditError> {
    match write {
        Write::Undo => history.undo(replica, progress),
        Write::Redo => history.redo(replica, progress),
        Write::Pause(true) => Ok(replica.pause().map(|_| "Syncing is paused until you resume it.".to_owned())?),
        Write::Pause(false) => Ok(replica.resume().map(|_| "Syncing resumed.".to_owned())?),
        Write::SyncNow => Ok(replica.retry_sync_now().map(|()| "Trying the server.".to_owned())?),
        Write::Decide(edit, decision) => decide_edit(replica, history, *edit, decision),
        _ => Ok(String::new()),
    }
}

fn decide_edit(
    replica: &Replica,
    history: &mut UndoHistory,
    edit: i64,
    decision: &Decision,
) -> Result<String, EditError> {
    let before = replica.edits()?;
    let decided = match decision {
        Decision::Retry => replica.retry(edit)?,
        Decision::Discard => replica.discard(edit)?,
        Decision::Undo => replica.undo(Some(edit))?,
        Decision::Change(fields) => replica.change(edit, fields)?,
        Decision::Resolve(resolution) => replica.resolve(edit, resolution)?,
    };
    let title = before.iter().find(|pending| pending.id == edit).map_or("", |pending| pending.title.as_str());
    history.add_decision(replica, edit, &before, write_text::decision_name(decision, title));
    Ok(decided.sentence)
}

/// The record of an edit that was settled while a person typed new values for the edit. The new values may then go to
/// the record. None: another kind of write, or the edit still waits. `Some(None)`: the record no longer exists.
pub(super) fn record_of_settled_edit(replica: &Replica, write: &Write) -> Option<Option<Row>> {
    let Write::Decide(edit, Decision::Change(_)) = write else { return None };
    if replica.edits().ok()?.iter().any(|pending| pending.id == *edit) {
        return None;
    }
    let settled = replica.history(SETTLED_MAX).ok()?.into_iter().find(|settled| settled.id == *edit)?;
    replica.row(settled.kind, &settled.record_id).ok()
}

/// The sentence for an error, with the next command where one helps.
pub(super) fn error_sentence(context: &EdgeContext, error: &EditError) -> String {
    match error {
        EditError::Store(error) => address::diagnosis_text(&diagnose(&context.db, error), &context.flags),
        EditError::NotFound => words::GONE.into(),
        other => other.to_string(),
    }
}
