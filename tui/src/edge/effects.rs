//! Carries out each effect on the [`Replica`] and gives the answer. One table lists all effects. Must not decide
//! anything, and must not know the thread.

use hearth_replica::{EditError, Replica, RowQuery, StoreError, Weeks};
use time::Date;

use super::context::EdgeContext;
use super::queries::{
    assignees, best_subject, captures_with_records, conflicts_with_names, edits_with_names, full_record,
    matching_titles, record_counts,
};
use super::undo::UndoHistory;
use super::writes::{WriteOutcome, error_sentence, record_of_settled_edit, run_decision, write_many, write_record};
use super::{export, files, import, session_file};
use crate::message::{Answer, Effect, RowPosition, Write};
use crate::state::import_file::UNDO_MAX;
use crate::state::list::MARKS_MAX;
use crate::state::search::HITS_MAX;
use crate::state::session::Session;
use crate::write_text;

/// The most lines of the sync log that the sync screen shows.
const LOG_MAX: usize = 200;

/// The most rows that are searched for the place of a record in a list.
const PLACE_ROWS_MAX: usize = 20_000;

/// Carries out an effect. None: the effect has no answer, or belongs to the main loop. `progress` receives the progress
/// of a change of many records, once for each record; the receiver may drop some.
pub(crate) fn run_effect(
    replica: &Replica,
    context: &EdgeContext,
    history: &mut UndoHistory,
    effect: Effect,
    progress: &mut dyn FnMut(Answer),
) -> Option<Answer> {
    Some(match effect {
        Effect::Page(ticket, query) => page(replica, ticket, &query),
        Effect::Totals(ticket, query, today) => totals(replica, ticket, &query, today),
        Effect::Overview(ticket, days) => Answer::Overview(ticket, with_text(replica, replica.overview(&days))),
        Effect::Figures(since) => Answer::Figures(with_text(replica, replica.figures(&since))),
        Effect::Record(ticket, kind, id) => {
            Answer::Record { ticket, kind, full: with_text(replica, full_record(replica, kind, &id)) }
        }
        Effect::Search(ticket, words) => {
            Answer::Hits { ticket, hits: with_text(replica, replica.search(&words, HITS_MAX)) }
        }
        Effect::Titles(ticket, kinds, words) => {
            Answer::Titles { ticket, titles: with_text(replica, matching_titles(replica, &kinds, &words)) }
        }
        Effect::About(ticket, words) => Answer::About(ticket, best_subject(replica, &words)),
        Effect::Assignees => Answer::Assignees(assignees(replica)),
        Effect::Status => Answer::Status(with_text(replica, replica.status())),
        Effect::Counts => Answer::Counts(record_counts(replica)),
        Effect::Edits => Answer::Edits(with_text(replica, edits_with_names(replica))),
        Effect::Conflicts => Answer::Conflicts(with_text(replica, conflicts_with_names(replica))),
        Effect::Captures => Answer::Captures(with_text(replica, captures_with_records(replica))),
        Effect::Log => Answer::Log(with_text(replica, replica.log(LOG_MAX))),
        Effect::RowPosition(ticket, query, id) => place(replica, ticket, query, id),
        Effect::All(query) => all_titles(replica, query),
        Effect::Export(form, query, today) => {
            Answer::Exported(export::write_file(replica, &context.exports, form, &query, today))
        }
        Effect::OpenFile { file, title, may_ask } => files::open(replica, file, title, may_ask),
        Effect::CompletePath(ticket, typed) => files::complete(ticket, &typed),
        Effect::ReadImport(ticket, file) => Answer::ImportRead(ticket, import::read(replica, &file).map(Box::new)),
        Effect::Write(write) => run_write(replica, context, history, write, progress),
        Effect::SaveSession(session) => {
            save_session(context, &session);
            return None;
        }
        // The thread reopens its replica itself.
        Effect::Reopen => return None,
        // Effects of the main loop.
        Effect::Copy(_) | Effect::Editor(_) | Effect::Suspend | Effect::Connect => return None,
        Effect::TakeTerminal | Effect::Redraw | Effect::Quit => return None,
    })
}

fn page(replica: &Replica, ticket: u64, query: &RowQuery) -> Answer {
    let page = with_text(replica, replica.rows(query));
    Answer::Page { ticket, kind: query.kind, offset: query.offset, page }
}

fn totals(replica: &Replica, ticket: u64, query: &RowQuery, today: Date) -> Answer {
    let totals = replica.totals(query, &Weeks::of(today));
    Answer::Totals { ticket, kind: query.kind, totals: with_text(replica, totals) }
}

fn place(replica: &Replica, ticket: u64, query: RowQuery, id: String) -> Answer {
    let kind = query.kind;
    let place = replica.rows(&RowQuery { limit: PLACE_ROWS_MAX, ..query }).map(|page| {
        let number = page.rows.iter().position(|row| row.id == id);
        number.map_or(
            if page.rows.len() < page.total { RowPosition::Beyond } else { RowPosition::Absent },
            RowPosition::At,
        )
    });
    Answer::RowPosition { ticket, kind, id, position: with_text(replica, place) }
}

fn all_titles(replica: &Replica, query: RowQuery) -> Answer {
    let all = replica.rows(&RowQuery { limit: MARKS_MAX, ..query.clone() });
    Answer::All(
        query,
        with_text(replica, all.map(|page| page.rows.into_iter().map(|row| (row.id, row.title)).collect())),
    )
}

fn save_session(context: &EdgeContext, session: &Session) {
    if let Err(error) = session_file::write_session(&context.session, session) {
        tracing::warn!(%error, "the session file could not be written");
    }
}

fn run_write(
    replica: &Replica,
    context: &EdgeContext,
    history: &mut UndoHistory,
    write: Write,
    progress: &mut dyn FnMut(Answer),
) -> Answer {
    match write {
        Write::Many { kind, records, change } => write_many(replica, context, history, kind, records, change, progress),
        Write::Import { .. } => {
            let result = import::write(replica, &write, progress).map_err(|error| error_sentence(context, &error));
            let is_undoable = matches!(&write, Write::Import { changes, .. } if *changes <= UNDO_MAX);
            if is_undoable && result.as_ref().is_ok_and(|imported| imported.applied) {
                history.add_last_change(replica, write_text::step_name(&write), None);
            }
            Answer::Imported(write, result)
        }
        write @ (Write::Undo | Write::Redo | Write::Decide(..) | Write::Pause(_) | Write::SyncNow) => {
            let mut progress = |done, of| progress(Answer::Progress(write_text::progress_word(&write), done, of));
            match run_decision(replica, history, &write, &mut progress) {
                Ok(sentence) => Answer::Decided(write, Ok(sentence)),
                Err(error) => match record_of_settled_edit(replica, &write) {
                    Some(Some(row)) => Answer::RecordChanged(write, Box::new(row)),
                    Some(None) => Answer::RecordDeleted(write),
                    None => Answer::Decided(write, Err(error_sentence(context, &error))),
                },
            }
        }
        write => match write_record(replica, &write) {
            Ok(WriteOutcome::Written(id)) => {
                history.add_last_change(replica, write_text::step_name(&write), write_text::remains_note(&write));
                Answer::Written(write, Ok(id))
            }
            Ok(WriteOutcome::Overtaken(row)) => Answer::RecordChanged(write, row),
            Err(EditError::NotFound) => Answer::RecordDeleted(write),
            Err(error) => Answer::Written(write, Err(error_sentence(context, &error))),
        },
    }
}

/// The result with the error as text for people. Damage is reported to the process that syncs.
fn with_text<T>(replica: &Replica, result: Result<T, StoreError>) -> Result<T, String> {
    result.map_err(|error| {
        replica.report_damage(&error);
        error.to_string()
    })
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;
    use hearth_contract::schema::Kind;
    use hearth_replica::Origin;

    use super::*;
    use crate::message::Decision;

    #[test]
    fn change_of_many_reports_progress() {
        let (_directory, replica, context) = scene();
        let room = |name: &str| (replica.create(Kind::Room, &fields(name)).unwrap(), name.to_owned());
        let records = ["Hall", "Attic"].map(room).to_vec();
        let mut history = UndoHistory::default();
        for (write, doing) in [
            (Write::Many { kind: Kind::Room, records, change: None }, "Deleting"),
            (Write::Undo, "Undoing"),
            (Write::Redo, "Doing again"),
        ] {
            let mut reports = Vec::new();
            let mut progress = |answer| match answer {
                Answer::Progress(doing, done, of) => reports.push((doing, done, of)),
                other => panic!("{other:?}"),
            };
            run_effect(&replica, &context, &mut history, Effect::Write(write), &mut progress);
            assert_eq!(reports, [(doing, 0, 2), (doing, 1, 2)]);
        }
    }

    /// An empty replica and the paths of its files.
    fn scene() -> (tempfile::TempDir, Replica, EdgeContext) {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let replica = Replica::open(&db, Origin::Tui).unwrap();
        let (session, exports) = (directory.path().join("session"), directory.path().to_owned());
        (directory, replica, EdgeContext { db, session, exports, flags: String::new() })
    }

    fn fields(name: &str) -> Fields {
        Fields::from_iter([("name".to_owned(), name.into())])
    }

    #[test]
    fn answer_carries_the_write() {
        let (_directory, replica, context) = scene();
        let (kind, title) = (Kind::Room, "Hall".to_owned());
        let hall = replica.create(kind, &fields("Hall")).unwrap();
        let update = |id: &str, seen: &str| {
            let (id, fields, seen, title) = (id.to_owned(), fields("Lobby"), fields(seen), title.clone());
            Write::Update { kind, id, fields, seen, title, again: None }
        };
        let many = vec![(hall.clone(), title.clone()), ("of nothing".to_owned(), title.clone())];
        let mut history = UndoHistory::default();
        for write in [
            Write::Create { kind, fields: fields("Attic") },
            update(&hall, "Another"),
            update(&hall, "Hall"),
            update("of nothing", "Hall"),
            Write::Many { kind, records: many, change: Some(fields("Cellar")) },
            Write::Delete { kind, id: hall.clone(), title: title.clone() },
            Write::Delete { kind, id: hall.clone(), title: title.clone() },
            Write::Undo,
            Write::Decide(99, Decision::Change(fields("Shed"))),
        ] {
            let answer = run_effect(&replica, &context, &mut history, Effect::Write(write.clone()), &mut |_| {});
            let of = match answer {
                Some(Answer::Written(of, _) | Answer::RecordChanged(of, _) | Answer::RecordDeleted(of)) => of,
                Some(Answer::Decided(of, _) | Answer::ManyWritten(of, _)) => of,
                other => panic!("{other:?}"),
            };
            assert_eq!(of, write);
        }
    }

    #[test]
    fn change_of_settled_edit_gives_its_record() {
        let (_directory, replica, context) = scene();
        let hall = replica.create(Kind::Room, &fields("Hall")).unwrap();
        let made = replica.last_write_ids().unwrap()[0];
        replica.update(Kind::Room, &hall, &fields("Lobby")).unwrap();
        let changed = replica.last_write_ids().unwrap()[0];
        let mut history = UndoHistory::default();
        let mut change = |edit| {
            let write = Write::Decide(edit, Decision::Change(fields("Shed")));
            run_effect(&replica, &context, &mut history, Effect::Write(write), &mut |_| {})
        };
        replica.discard(changed).unwrap();
        let Some(Answer::RecordChanged(_, row)) = change(changed) else { panic!("the record is not found") };
        assert_eq!(row.title, "Hall");
        replica.discard(made).unwrap();
        assert!(matches!(change(made), Some(Answer::RecordDeleted(_))));
        assert!(matches!(change(99), Some(Answer::Decided(_, Err(_)))));
    }

    #[test]
    fn undo_of_many_counts_changed_records() {
        let (_directory, replica, context) = scene();
        let hall = replica.create(Kind::Room, &fields("Hall")).unwrap();
        let records = [hall, "of nothing".to_owned()].map(|id| (id, "Hall".to_owned())).to_vec();
        let mut history = UndoHistory::default();
        let mut run = |write| run_effect(&replica, &context, &mut history, Effect::Write(write), &mut |_| {});
        run(Write::Many { kind: Kind::Room, records, change: Some(fields("Lobby")) });
        let Some(Answer::Decided(_, Ok(sentence))) = run(Write::Undo) else { panic!("nothing is undone") };
        assert_eq!(sentence, "Undone: 1 room");
    }
}
