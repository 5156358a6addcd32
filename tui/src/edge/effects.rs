//! Carries effects out on the replica, on threads of their own, so that no key ever waits for the disk: one reads, one adds
//! up, one writes, each with a connection, so that neither a sum over all rows nor a write that waits for another process
//! keeps a page or a search waiting. What a screen wants of [`Replica`] goes through here; must not decide
//! anything.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hearth_contract::formats::date_text;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECTS};
use hearth_replica::doctor::trouble;
use hearth_replica::{EditError, Origin, Replica, Row, RowQuery, Sort, StoreError, address};
use serde_json::Value;

use crate::edge::undoing::Steps;
use crate::edge::{export, seat};
use crate::message::{Answer, Decision, Effect, Message, Write};
use crate::state::detail::{CHANGES_MAX, Full, RELATED_MAX};
use crate::state::home::week_end;
use crate::state::list::MARKS_MAX;
use crate::state::search::HITS_MAX;
use crate::typed::fuzzy;
use crate::words::{self, Names};

/// More lines of the log than this nobody reads on a screen.
const LOG_MAX: usize = 200;
/// More names than this are not offered but typed on.
const TITLES_MAX: usize = 50;
/// More names than this are not looked through.
const NAMES_MAX: usize = 200_000;

/// More rows than this are not looked through for the place of one.
const PLACES_MAX: usize = 20_000;

/// More names than this are not looked up for one screen.
const POINTED_MAX: usize = 200;

/// So long a write goes on without a word, and so long between two words on how far it is.
const SILENCE: Duration = Duration::from_millis(250);

/// So long the end of Hearth is waited for without a word.
const UNSAID: Duration = Duration::from_millis(300);

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

/// The way to the threads.
#[derive(Debug)]
pub struct Requests {
    reads: Sender<Effect>,
    sums: Sender<Effect>,
    writes: Sender<Effect>,
    threads: [JoinHandle<()>; 3],
    /// Ends when the last thread has ended.
    ended: Receiver<()>,
}

impl Requests {
    /// Hands an effect to its thread. Err: that thread has ended.
    pub fn send(&self, effect: Effect) -> Result<(), std::sync::mpsc::SendError<Effect>> {
        match effect {
            Effect::Write(_) => self.writes.send(effect),
            Effect::Reopen => {
                self.writes.send(Effect::Reopen)?;
                self.sums.send(Effect::Reopen)?;
                self.reads.send(Effect::Reopen)
            }
            // What looks at every row.
            Effect::Totals(..) | Effect::Figures(_) | Effect::Export(..) => self.sums.send(effect),
            effect => self.reads.send(effect),
        }
    }

    /// Waits until everything that was asked for is done: the last change and the session are on disk. Where that takes longer
    /// than anybody looks at an empty line without wondering, it is said.
    pub fn finish(self, late: impl FnOnce()) {
        drop((self.reads, self.sums, self.writes));
        if self.ended.recv_timeout(UNSAID) == Err(RecvTimeoutError::Timeout) {
            late();
        }
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

/// Starts the threads, each with a replica of its own. What is sent to them is answered with messages; they end when the
/// sender is dropped.
pub fn start(
    [reader, adder, writer]: [Replica; 3],
    places: Places,
    answers: Sender<Message>,
) -> std::io::Result<Requests> {
    let (alive, ended) = channel();
    let begin = |name: &str, replica: Replica| {
        let (requests, receiver) = channel();
        let (places, answers, alive) = (places.clone(), answers.clone(), alive.clone());
        let work = move || {
            let _alive: Sender<()> = alive;
            work(replica, &places, &receiver, &answers);
        };
        let thread = thread::Builder::new().name(name.into()).spawn(work)?;
        Ok::<_, std::io::Error>((requests, thread))
    };
    let (reads, reader) = begin("reader", reader)?;
    let (sums, adder) = begin("adder", adder)?;
    let (writes, writer) = begin("writer", writer)?;
    Ok(Requests { reads, sums, writes, threads: [reader, adder, writer], ended })
}

fn work(mut replica: Replica, places: &Places, requests: &Receiver<Effect>, answers: &Sender<Message>) {
    let mut queue = VecDeque::new();
    let mut steps = Steps::default();
    loop {
        if queue.is_empty() {
            match requests.recv() {
                Ok(effect) => queue.push_back(effect),
                Err(_) => return,
            }
        }
        for effect in requests.try_iter() {
            enqueue(&mut queue, effect);
        }
        let Some(effect) = queue.pop_front() else { continue };
        if effect == Effect::Reopen {
            let opened = Replica::open(&places.db, Origin::Tui).map(|opened| replica = opened);
            let _ = answers.send(Message::Answer(Answer::Reopened(said(opened))));
            continue;
        }
        let mut said = Instant::now();
        let mut tell = |answer| {
            if said.elapsed() >= SILENCE {
                said = Instant::now();
                let _ = answers.send(Message::Answer(answer));
            }
        };
        // Nobody may listen any more; what is still asked for is done all the same.
        if let Some(answer) = fulfil(&replica, places, &mut steps, effect, &mut tell) {
            let _ = answers.send(Message::Answer(answer));
        }
    }
}

/// Adds a request. One of the same slot that still waits is dropped: nobody looks at its answer any more.
fn enqueue(queue: &mut VecDeque<Effect>, effect: Effect) {
    if let Some(slot) = effect.slot() {
        queue.retain(|waiting| waiting.slot() != Some(slot));
    }
    queue.push_back(effect);
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
            let totals = replica.totals(&query, &date_text(today), &date_text(week_end(today)));
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
            let all = replica.rows(&RowQuery { limit: PLACES_MAX, ..query });
            let number = said(all.map(|page| page.rows.iter().position(|row| row.id == id)));
            Answer::Place { ticket, kind, id, number }
        }
        Effect::All(query) => {
            let kind = query.kind;
            let all = replica.rows(&RowQuery { limit: MARKS_MAX, ..query });
            Answer::All(kind, said(all.map(|page| page.rows.into_iter().map(|row| (row.id, row.title)).collect())))
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
            let result = decide(replica, steps, &write, &mut tell).map_err(|error| sentence(places, &error));
            Answer::Decided(write, result)
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

fn said<T>(result: Result<T, StoreError>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn full(replica: &Replica, kind: Kind, id: &str) -> Result<Option<Full>, StoreError> {
    let Some(row) = replica.row(kind, id)? else { return Ok(None) };
    let related = replica.related(kind, &row.id, RELATED_MAX)?;
    let changes = replica.changes(kind, &row.id, CHANGES_MAX)?;
    let names = names(
        replica,
        changes.iter().flat_map(|change| {
            let values = change.patch.iter().chain(&change.base);
            values.map(|(name, value)| (kind, name.as_str(), value))
        }),
    );
    Ok(Some(Full { row, related, changes, names }))
}

/// The names of what values point at: fields of kinds with their values. What is not here has none.
fn names<'a>(replica: &Replica, values: impl Iterator<Item = (Kind, &'a str, &'a Value)>) -> Names {
    let mut names = Names::new();
    for (kind, name, value) in values {
        let targets: &[Kind] = match resource(kind).field(name).map(|field| field.format) {
            Some(Format::Reference(Kind::Room)) => &[Kind::Room],
            Some(Format::Reference(_) | Format::Subject) => &SUBJECTS,
            _ => continue,
        };
        let Some(id) = value.as_str().filter(|id| !names.contains_key(*id)) else { continue };
        if names.len() == POINTED_MAX {
            break;
        }
        let found = targets.iter().find_map(|target| replica.row(*target, id).ok().flatten());
        if let Some(row) = found {
            names.insert(id.to_owned(), row.title);
        }
    }
    names
}

/// The names of some kinds that match a few letters, best first.
fn titles(replica: &Replica, kinds: &[Kind], words: &str) -> Result<Vec<(Kind, String, String)>, StoreError> {
    let most = if words.trim().is_empty() { TITLES_MAX / kinds.len().max(1) } else { NAMES_MAX };
    let mut all = Vec::new();
    for kind in kinds {
        all.extend(replica.titles(*kind, "", most)?.into_iter().map(|(id, title)| (*kind, id, title)));
    }
    let best = fuzzy::best(words, all.iter().map(|(_, _, title)| title));
    Ok(best.into_iter().take(TITLES_MAX).map(|at| all[at].clone()).collect())
}

/// What a part of a name means most likely: a thing, a vehicle or a room. Of several that match alike, the shortest.
fn about(replica: &Replica, words: &str) -> Option<(Kind, String, String)> {
    let found = [Kind::Room, Kind::Vehicle, Kind::Inventory]
        .into_iter()
        .filter_map(|kind| titles(replica, &[kind], words).ok()?.into_iter().next());
    let rank = |title: &str| {
        let (title, words) = (title.to_lowercase(), words.to_lowercase());
        (!title.split_whitespace().any(|word| word.starts_with(&words)), title.len())
    };
    found.min_by_key(|(_, _, title)| rank(title))
}

/// How many records there are of each kind. A kind that cannot be counted is left out; its page will say why.
fn counts(replica: &Replica) -> Vec<(Kind, usize)> {
    let count = |kind: Kind| {
        let sort = Sort { column: "updated_at", descending: false };
        let page = replica.rows(&RowQuery::of(kind, sort, 0));
        page.ok().map(|page| (kind, page.total))
    };
    Kind::COLLECTIONS.into_iter().filter_map(count).collect()
}

/// What came of a write.
enum Came {
    /// It was carried out, on the record of this id.
    Written(String),
    /// It was not: the record is this by now.
    Overtaken(Box<Row>),
}

fn carry_out(replica: &Replica, write: &Write) -> Result<Came, EditError> {
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

fn decide(
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
        Write::Hurry => return Ok(replica.hurry().map(|()| "Trying the server.".to_owned())?),
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

fn sentence(places: &Places, error: &EditError) -> String {
    match error {
        EditError::Store(error) => address::next(&trouble(&places.db, error), &places.flags),
        EditError::NotFound => words::GONE.into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;

    use super::*;

    #[test]
    fn a_database_that_was_replaced_is_written_to_again_once_it_is_opened_anew() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let open = || Replica::open(&db, Origin::Tui).unwrap();
        let (session, exports) = (directory.path().join("session"), directory.path().to_owned());
        let (answers, heard) = channel();
        let requests =
            start([open(), open(), open()], Places { db: db.clone(), session, exports, flags: String::new() }, answers)
                .unwrap();
        for part in ["", "-wal", "-shm"] {
            let of = |name: &str| directory.path().join(format!("{name}{part}"));
            std::fs::rename(of("replica.db"), of("damaged.db")).unwrap();
        }
        drop(open());
        let fields = hearth_contract::check::Fields::from_iter([("name".to_owned(), "Hall".into())]);
        let write = || Effect::Write(Write::Create { kind: Kind::Room, fields: fields.clone() });
        requests.send(write()).unwrap();
        requests.send(Effect::Reopen).unwrap();
        requests.send(write()).unwrap();
        requests.finish(|| {});
        let written = heard.into_iter().filter_map(|message| match message {
            Message::Answer(Answer::Written(_, result)) => Some(result.is_ok()),
            _ => None,
        });
        assert_eq!(written.collect::<Vec<_>>(), [false, true]);
        assert_eq!(open().edits().unwrap().len(), 1);
    }

    #[test]
    fn a_change_that_is_still_being_written_at_the_end_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let open = || Replica::open(&db, Origin::Tui).unwrap();
        let (session, exports) = (directory.path().join("session"), directory.path().to_owned());
        let begin = || {
            start(
                [open(), open(), open()],
                Places { db: db.clone(), session: session.clone(), exports: exports.clone(), flags: String::new() },
                channel().0,
            )
            .unwrap()
        };
        let fields = hearth_contract::check::Fields::from_iter([("name".to_owned(), "Hall".into())]);
        let write = Effect::Write(Write::Create { kind: Kind::Room, fields });
        let requests = begin();
        // Somebody else writes, and is done once it has been said.
        let other = rusqlite::Connection::open(&db).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        requests.send(write).unwrap();
        let mut is_said = false;
        requests.finish(|| {
            is_said = true;
            other.execute_batch("ROLLBACK").unwrap();
        });
        assert!(is_said);
        assert_eq!(open().edits().unwrap().len(), 1, "it was waited for");
    }

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

    #[test]
    fn the_newest_request_of_a_slot_replaces_the_waiting_one_and_writes_stay() {
        let write = || {
            let (kind, id, title) = (Kind::Room, "1".to_owned(), String::new());
            Effect::Write(Write::Delete { kind, id, title })
        };
        let mut queue = VecDeque::new();
        for effect in [Effect::Search(1, "a".into()), write(), Effect::Status, Effect::Search(2, "ab".into()), write()]
        {
            enqueue(&mut queue, effect);
        }
        assert_eq!(Vec::from(queue), [write(), Effect::Status, Effect::Search(2, "ab".into()), write()]);
    }
}
