//! What each effect is on the replica: the one table from what a screen wants to [`Replica`] and back to an answer. Must not
//! decide anything, nor know on which thread it runs.

use std::path::PathBuf;

use hearth_contract::formats::format_date;
use hearth_replica::{EditError, Replica, RowQuery, StoreError};

use super::looks::{about, counts, full, names, titles};
use super::undoing::Steps;
use super::writes::{Came, carry_out, decide, many, sentence, settled};
use super::{export, seat};
use crate::message::{Answer, Effect, Place, Write};
use crate::state::home::week_end;
use crate::state::list::MARKS_MAX;
use crate::state::search::HITS_MAX;
use crate::words;

/// More lines of the log than this nobody reads on a screen.
const LOG_MAX: usize = 200;

/// More rows than this are not looked through for the place of one.
const PLACES_MAX: usize = 20_000;

/// What the edge needs beside the replica.
#[derive(Debug, Clone)]
pub struct Places {
    /// The database.
    pub db: PathBuf,
    /// Where the session is kept.
    pub session: PathBuf,
    /// Where exports are written.
    pub exports: PathBuf,
    /// The flags that mean this home in a command.
    pub flags: String,
}

/// Fulfils an effect. While it is at it, it tells how far it is: of each record of many, so that whoever listens chooses.
pub(crate) fn fulfil(
    replica: &Replica,
    places: &Places,
    steps: &mut Steps,
    effect: Effect,
    tell: &mut dyn FnMut(Answer),
) -> Option<Answer> {
    Some(match effect {
        Effect::Page(ticket, query) => {
            let page = said(replica.rows(&query));
            Answer::Page { ticket, kind: query.kind, offset: query.offset, page }
        }
        Effect::Totals(ticket, query, today) => {
            let totals = replica.totals(&query, &format_date(today), &format_date(week_end(today)));
            Answer::Totals { ticket, kind: query.kind, totals: said(totals) }
        }
        Effect::Overview(ticket, days) => Answer::Overview(ticket, said(replica.overview(&days))),
        Effect::Figures(since) => Answer::Figures(said(replica.figures(&since))),
        Effect::Record(ticket, kind, id) => Answer::Record { ticket, kind, full: said(full(replica, kind, &id)) },
        Effect::Search(ticket, words) => Answer::Hits { ticket, hits: said(replica.search(&words, HITS_MAX)) },
        Effect::Titles(ticket, kinds, words) => {
            Answer::Titles { ticket, titles: said(titles(replica, &kinds, &words)) }
        }
        Effect::About(ticket, words) => Answer::About(ticket, about(replica, &words)),
        Effect::Status => Answer::Status(said(replica.status())),
        Effect::Counts => Answer::Counts(counts(replica)),
        Effect::Edits => Answer::Edits(said(replica.edits().map(|edits| {
            let names = names(
                replica,
                edits.iter().flat_map(|edit| {
                    let values = edit.patch.iter().chain(&edit.base);
                    values.map(|(name, value)| (edit.kind, name.as_str(), value))
                }),
            );
            (edits, names)
        }))),
        Effect::Place(ticket, query, id) => {
            let kind = query.kind;
            let place = replica.rows(&RowQuery { limit: PLACES_MAX, ..query }).map(|page| {
                let number = page.rows.iter().position(|row| row.id == id);
                number.map_or(if page.rows.len() < page.total { Place::Beyond } else { Place::Nowhere }, Place::At)
            });
            Answer::Place { ticket, kind, id, place: said(place) }
        }
        Effect::All(query) => {
            let all = replica.rows(&RowQuery { limit: MARKS_MAX, ..query.clone() });
            Answer::All(query, said(all.map(|page| page.rows.into_iter().map(|row| (row.id, row.title)).collect())))
        }
        Effect::Export(form, query, today) => {
            Answer::Exported(export::write(replica, &places.exports, form, &query, today))
        }
        Effect::Keep(session) => {
            if let Err(error) = seat::write(&places.session, &session) {
                tracing::warn!(%error, "the session was not kept");
            }
            return None;
        }
        Effect::Write(Write::Many { kind, records, change }) => {
            many(replica, places, steps, kind, records, change, tell)
        }
        Effect::Log => Answer::Log(said(replica.log(LOG_MAX))),
        Effect::Conflicts => Answer::Conflicts(said(replica.conflicts().map(|conflicts| {
            let names = names(
                replica,
                conflicts
                    .iter()
                    .flat_map(|it| [&it.base, &it.mine, &it.theirs].map(|value| (it.kind, it.field.as_str(), value))),
            );
            (conflicts, names)
        }))),
        Effect::Write(write @ (Write::Undo | Write::Redo | Write::Decide(..) | Write::Pause(_) | Write::Hurry)) => {
            let mut tell = |done, of| tell(Answer::UnderWay(words::doing(&write), done, of));
            match decide(replica, steps, &write, &mut tell) {
                Ok(said) => Answer::Decided(write, Ok(said)),
                Err(error) => match settled(replica, &write) {
                    Some(Some(row)) => Answer::Overtaken(write, Box::new(row)),
                    Some(None) => Answer::Gone(write),
                    None => Answer::Decided(write, Err(sentence(places, &error))),
                },
            }
        }
        Effect::Write(write) => match carry_out(replica, &write) {
            Ok(Came::Written(id)) => {
                steps.note(replica, words::step(&write), words::stays(&write));
                Answer::Written(write, Ok(id))
            }
            Ok(Came::Overtaken(row)) => Answer::Overtaken(write, row),
            Err(EditError::NotFound) => Answer::Gone(write),
            Err(error) => Answer::Written(write, Err(sentence(places, &error))),
        },
        // These are the main loop's, and the thread's.
        Effect::Reopen => return None,
        Effect::Copy(_) | Effect::Editor(_) | Effect::Suspend => return None,
        Effect::Takeover | Effect::Redraw | Effect::Quit => return None,
    })
}

pub(super) fn said<T>(result: Result<T, StoreError>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;
    use hearth_contract::schema::Kind;
    use hearth_replica::Origin;

    use super::*;
    use crate::message::Decision;

    #[test]
    fn a_change_of_many_and_its_undoing_tell_how_far_they_are() {
        let (_directory, replica, places) = scene();
        let room = |name: &str| (replica.create(Kind::Room, &fields(name)).unwrap(), name.to_owned());
        let records = ["Hall", "Attic"].map(room).to_vec();
        let mut steps = Steps::default();
        for (write, doing) in [
            (Write::Many { kind: Kind::Room, records, change: None }, "Deleting"),
            (Write::Undo, "Undoing"),
            (Write::Redo, "Doing again"),
        ] {
            let mut told = Vec::new();
            let mut tell = |answer| match answer {
                Answer::UnderWay(doing, done, of) => told.push((doing, done, of)),
                other => panic!("{other:?}"),
            };
            fulfil(&replica, &places, &mut steps, Effect::Write(write), &mut tell);
            assert_eq!(told, [(doing, 0, 2), (doing, 1, 2)]);
        }
    }

    /// An empty replica, and where it and what is kept beside it are.
    fn scene() -> (tempfile::TempDir, Replica, Places) {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let replica = Replica::open(&db, Origin::Tui).unwrap();
        let (session, exports) = (directory.path().join("session"), directory.path().to_owned());
        (directory, replica, Places { db, session, exports, flags: String::new() })
    }

    fn fields(name: &str) -> Fields {
        Fields::from_iter([("name".to_owned(), name.into())])
    }

    #[test]
    fn every_answer_to_a_write_carries_it_as_it_was_asked_for() {
        let (_directory, replica, places) = scene();
        let (kind, title) = (Kind::Room, "Hall".to_owned());
        let hall = replica.create(kind, &fields("Hall")).unwrap();
        let update = |id: &str, seen: &str| {
            let (id, fields, seen, title) = (id.to_owned(), fields("Lobby"), fields(seen), title.clone());
            Write::Update { kind, id, fields, seen, title, again: None }
        };
        let many = vec![(hall.clone(), title.clone()), ("of nothing".to_owned(), title.clone())];
        let mut steps = Steps::default();
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
            let answer = fulfil(&replica, &places, &mut steps, Effect::Write(write.clone()), &mut |_| {});
            let of = match answer {
                Some(Answer::Written(of, _) | Answer::Overtaken(of, _) | Answer::Gone(of)) => of,
                Some(Answer::Decided(of, _) | Answer::ManyWritten(of, _)) => of,
                other => panic!("{other:?}"),
            };
            assert_eq!(of, write);
        }
    }

    #[test]
    fn what_is_meant_for_an_edit_that_is_settled_is_offered_to_its_record() {
        let (_directory, replica, places) = scene();
        let hall = replica.create(Kind::Room, &fields("Hall")).unwrap();
        let made = replica.last_write_ids().unwrap()[0];
        replica.update(Kind::Room, &hall, &fields("Lobby")).unwrap();
        let changed = replica.last_write_ids().unwrap()[0];
        let mut steps = Steps::default();
        let mut change = |edit| {
            let write = Write::Decide(edit, Decision::Change(fields("Shed")));
            fulfil(&replica, &places, &mut steps, Effect::Write(write), &mut |_| {})
        };
        replica.discard(changed).unwrap();
        let Some(Answer::Overtaken(_, row)) = change(changed) else { panic!("the record is not found") };
        assert_eq!(row.title, "Hall");
        replica.discard(made).unwrap();
        assert!(matches!(change(made), Some(Answer::Gone(_))));
        assert!(matches!(change(99), Some(Answer::Decided(_, Err(_)))));
    }

    #[test]
    fn undoing_a_change_of_many_claims_no_more_than_was_changed() {
        let (_directory, replica, places) = scene();
        let hall = replica.create(Kind::Room, &fields("Hall")).unwrap();
        let records = [hall, "of nothing".to_owned()].map(|id| (id, "Hall".to_owned())).to_vec();
        let mut steps = Steps::default();
        let mut fulfil = |write| fulfil(&replica, &places, &mut steps, Effect::Write(write), &mut |_| {});
        fulfil(Write::Many { kind: Kind::Room, records, change: Some(fields("Lobby")) });
        let Some(Answer::Decided(_, Ok(said))) = fulfil(Write::Undo) else { panic!("nothing is undone") };
        assert_eq!(said, "Undone: 1 room");
    }
}
