//! What the server has committed, as anybody could know it: read out of its log after each step and kept for good. Must
//! not know replicas.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

use hearth_contract::schema::Kind;
use hearth_replica::sync::HttpRequest;
use rusqlite::Connection;
use serde_json::{Map, Value};

/// A record's wire form, or a row.
pub type Fields = Map<String, Value>;

/// Which record.
pub type Name = (Kind, String);

/// A record at a position: its rev, and its fields unless it was deleted.
pub type Version = (i64, Option<Rc<Fields>>);

/// One history of the home: from its beginning to now, or to where it was thrown away.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The last position.
    pub head: i64,
    /// The last position that it shares with the one before it.
    fork: i64,
    /// The versions of every record that ever was.
    pub versions: BTreeMap<Name, Vec<Version>>,
    /// The keys of the writes that made events, with the records they changed.
    pub keys: HashMap<(String, String), i64>,
    /// The last event of each key, and when its first happened.
    effects: HashMap<String, (i64, i64)>,
    /// How often a marked value came to be in a record.
    pub marks: HashMap<(Name, String), u32>,
    /// The `updated_at` of the last event.
    last_at: i64,
}

impl History {
    /// A record as it was at a position.
    pub fn at(&self, name: &Name, position: i64) -> Option<&Version> {
        self.versions.get(name)?.iter().rev().find(|(rev, _)| *rev <= position)
    }

    /// All records as they were at a position.
    pub fn records_at(&self, position: i64) -> BTreeMap<&Name, (i64, &Rc<Fields>)> {
        let there = |versions: &'_ [Version]| versions.iter().rposition(|(rev, _)| *rev <= position);
        let all = self.versions.iter().filter_map(|(name, versions)| {
            let (rev, fields) = &versions[there(versions)?];
            Some((name, (*rev, fields.as_ref()?)))
        });
        all.collect()
    }

    /// Whether a record had a marked value and did not end with it.
    pub fn had_written_over(&self, name: &Name, mark: &str) -> bool {
        let shows = |fields: &Option<Rc<Fields>>| fields.iter().any(|fields| marks(fields).any(|known| known == mark));
        self.versions.get(name).is_some_and(|versions| {
            versions.iter().any(|(_, fields)| shows(fields))
                && !versions.last().is_some_and(|(_, fields)| shows(fields))
        })
    }

    fn cut(&mut self, head: i64) {
        (self.head, self.fork, self.last_at) = (head, head, 0);
        for versions in self.versions.values_mut() {
            versions.retain(|(rev, _)| *rev <= head);
        }
        self.versions.retain(|_, versions| !versions.is_empty());
        self.keys.retain(|_, rev| *rev <= head);
        let firsts = std::mem::take(&mut self.effects);
        for ((key, _), rev) in &self.keys {
            let since = firsts.get(key).map_or(0, |(_, since)| *since);
            let effect = self.effects.entry(key.clone()).or_insert((*rev, since));
            effect.0 = effect.0.max(*rev);
        }
        // Counted anew from what is left.
        self.marks.clear();
        let mut marks = HashMap::new();
        for (name, versions) in &self.versions {
            let mut before: Option<&Fields> = None;
            for (_, fields) in versions {
                for mark in fields.iter().flat_map(|fields| new_marks(before, fields)) {
                    *marks.entry((name.clone(), mark)).or_insert(0) += 1;
                }
                before = fields.as_deref();
            }
        }
        self.marks = marks;
    }
}

/// For so long the server remembers a key.
const DAY_MILLIS: i64 = 24 * 3_600_000;

/// Where the server stood at a moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Since {
    history: usize,
    head: i64,
}

/// What every value that a simulated writer gives begins with: it says whose it is, so each can be found again.
pub const MARK: &str = "mark-";

/// The marked values of a record.
pub fn marks(fields: &Fields) -> impl Iterator<Item = &str> {
    fields.values().filter_map(Value::as_str).filter(|text| text.starts_with(MARK))
}

fn new_marks(before: Option<&Fields>, after: &Fields) -> Vec<String> {
    let known = |mark: &str| before.is_some_and(|before| marks(before).any(|known| known == mark));
    marks(after).filter(|mark| !known(mark)).map(str::to_owned).collect()
}

/// Everything that the server ever committed.
#[derive(Debug, Default)]
pub struct Model {
    /// Its histories; the last is the present one.
    pub histories: Vec<History>,
    /// Records about whose edits a person has decided: what was there before may be wanted again.
    pub decided: HashSet<Name>,
    /// The revisions on which writers insisted, by the keys of their writes and the records.
    pub guards: HashMap<(String, String), i64>,
    eye: Option<Connection>,
    /// `data_version` at the last look.
    seen: Option<i64>,
}

impl Model {
    /// The history that goes on.
    pub fn present(&self) -> &History {
        self.histories.last().expect("there is a first history")
    }

    /// The histories that a put-back threw away.
    pub fn lost(&self) -> &[History] {
        self.histories.split_last().map_or(&[], |(_, lost)| lost)
    }

    /// Any history in which something is so, the present one asked first.
    pub fn any(&self, is_so: impl FnMut(&&History) -> bool) -> Option<&History> {
        self.histories.iter().rev().find(is_so)
    }

    /// Where the server stands now.
    pub fn moment(&self) -> Since {
        Since { history: self.histories.len().saturating_sub(1), head: self.present().head }
    }

    /// Whether the server was without a record at some moment since, in the history of then or in one that came after.
    pub fn was_without(&self, name: &Name, since: Since) -> bool {
        self.histories.iter().enumerate().skip(since.history).any(|(number, history)| {
            let from = if number == since.history { since.head } else { history.fork };
            let is_gone = |version: Option<&Version>| version.is_none_or(|(_, fields)| fields.is_none());
            let later = history.versions.get(name).into_iter().flatten().filter(|(rev, _)| *rev > from);
            is_gone(history.at(name, from)) || later.into_iter().any(|version| is_gone(Some(version)))
        })
    }

    /// The highest position that was ever committed.
    pub fn highest(&self) -> i64 {
        self.histories.iter().map(|history| history.head).max().unwrap_or(0)
    }

    /// The server's files were put back, or opened for the first time: its history goes on from this head.
    pub fn put_back(&mut self, data: &Path, home: i64) -> Result<(), String> {
        self.close();
        let eye = open(data)?;
        let head: i64 = eye
            .query_row("SELECT head FROM homes WHERE number = ?1", [home], |row| row.get(0))
            .map_err(|error| error.to_string())?;
        let mut history = self.histories.last().cloned().unwrap_or_default();
        history.cut(head);
        self.histories.push(history);
        self.eye = Some(eye);
        Ok(())
    }

    /// Lets go of the files.
    pub fn close(&mut self) {
        (self.eye, self.seen) = (None, None);
    }

    /// Takes in what the server has committed since. Err: what it must never commit.
    pub fn look(&mut self, data: &Path, home: i64) -> Result<(), String> {
        let (eye, seen) = match self.eye.take() {
            Some(eye) => (eye, self.seen),
            None => (open(data)?, None),
        };
        let failed = |error: rusqlite::Error| format!("the log cannot be read: {error}");
        let version = eye.prepare_cached("PRAGMA data_version").and_then(|mut s| s.query_row([], |row| row.get(0)));
        let found = match version {
            Ok(version) if Some(version) == seen => None,
            Ok(version) => {
                self.seen = Some(version);
                Some(read(&eye, home, self.present().head))
            }
            Err(error) => Some(Err(error)),
        };
        self.eye = Some(eye);
        let Some((found, head)) = found.transpose().map_err(failed)? else { return Ok(()) };
        let history = self.histories.last_mut().expect("there is a first history");
        for event in found {
            if event.id == history.head {
                is_the_same(history, &event)?;
                continue;
            }
            let again = self.decided.contains(&event.name);
            take_in(history, event, again, &self.guards)?;
        }
        if history.head != head {
            return Err(format!("the home's head is {head}, but its last event is {}", history.head));
        }
        Ok(())
    }

    /// Remembers the revisions on which a request insists: it must have its effect on no others.
    pub fn expect(&mut self, ask: &HttpRequest) {
        let header = |name: &str| ask.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
        let Some(key) = header("idempotency-key") else { return };
        let mut insists = |record: &str, rev: i64| {
            self.guards.insert((key.to_owned(), record.to_owned()), rev);
        };
        if let Some(rev) = header("if-match").and_then(|text| text.trim_matches('"').parse().ok()) {
            insists(ask.path.rsplit('/').next().unwrap_or_default(), rev);
        }
        let body: Value = ask.body.as_deref().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
        for operation in body["operations"].as_array().into_iter().flatten() {
            if let (Some(record), Some(rev)) = (operation["id"].as_str(), operation["if_match"].as_i64()) {
                insists(record, rev);
            }
        }
    }
}

struct Seen {
    id: i64,
    name: Name,
    event_type: i64,
    at: i64,
    key: Option<String>,
    body: Option<String>,
}

fn open(data: &Path) -> Result<Connection, String> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    Connection::open_with_flags(data.join("hearth.db"), flags).map_err(|error| error.to_string())
}

/// The events from a position on, and the head.
fn read(eye: &Connection, home: i64, from: i64) -> rusqlite::Result<(Vec<Seen>, i64)> {
    let head: i64 =
        eye.prepare_cached("SELECT head FROM homes WHERE number = ?1")?.query_row([home], |row| row.get(0))?;
    let seat = home << 40;
    let mut statement = eye.prepare_cached(
        "SELECT event_rowid, kind, record, event_type, at, key, body FROM events
         WHERE event_rowid >= ?1 AND event_rowid < ?2 ORDER BY event_rowid",
    )?;
    let kinds = ["", "inventory", "vehicle", "document", "task", "room", "property"];
    let found = statement.query_map((seat + from, (home + 1) << 40), |row| {
        let word = usize::try_from(row.get::<_, i64>(1)?).ok().and_then(|number| kinds.get(number));
        let kind = word.and_then(|word| Kind::parse(word));
        Ok(Seen {
            id: row.get::<_, i64>(0)? - seat,
            name: (kind.expect("a known kind"), row.get(2)?),
            event_type: row.get(3)?,
            at: row.get(4)?,
            key: row.get(5)?,
            body: row.get(6)?,
        })
    })?;
    Ok((found.collect::<Result<_, _>>()?, head))
}

/// A position that was given to an event is never given to another, whatever has been thinned out since.
fn is_the_same(history: &History, event: &Seen) -> Result<(), String> {
    let known = history.versions.get(&event.name).and_then(|versions| versions.last());
    match known {
        Some((rev, fields)) if *rev == event.id && fields.is_some() == event.body.is_some() => Ok(()),
        _ => Err(format!("position {} is used again, for {} {}", event.id, event.name.0, event.name.1)),
    }
}

fn take_in(
    history: &mut History,
    event: Seen,
    again: bool,
    guards: &HashMap<(String, String), i64>,
) -> Result<(), String> {
    let Seen { id, name, event_type, at, key, body } = event;
    let what = format!("event {id} of {} {}", name.0, name.1);
    if id <= history.head {
        return Err(format!("{what} comes after position {}", history.head));
    }
    if at < history.last_at {
        return Err(format!("{what} happened before the one in front of it"));
    }
    (history.head, history.last_at) = (id, at);
    let fields = match body.as_deref().map(serde_json::from_str::<Fields>).transpose() {
        Ok(fields) => fields.map(Rc::new),
        Err(error) => return Err(format!("{what} has a body that is no record: {error}")),
    };
    let versions = history.versions.entry(name.clone()).or_default();
    let before = versions.last().and_then(|(_, fields)| fields.clone());
    match (event_type, versions.is_empty(), before.is_some(), fields.is_some()) {
        (0, true, _, true) | (1, _, true, true) | (2, _, true, false) => {}
        _ => return Err(format!("{what} does not follow from what was before ({event_type})")),
    }
    if let Some(fields) = &fields {
        if fields.get("rev").and_then(Value::as_i64) != Some(id) {
            return Err(format!("{what} has another rev"));
        }
        for mark in new_marks(before.as_deref(), fields) {
            let times = history.marks.entry((name.clone(), mark.clone())).or_insert(0);
            *times += 1;
            if *times > 1 && !again {
                return Err(format!("{what}: {mark} has its effect {times} times"));
            }
        }
    }
    if let Some(key) = key {
        let record = if name.0.is_singleton() { name.0.as_str() } else { &name.1 };
        let guard = guards.get(&(key.clone(), record.to_owned()));
        let made_of = versions.last().map(|(rev, _)| *rev);
        if guard.is_some() && guard.copied() != made_of {
            return Err(format!("{what} was to be made of {guard:?} alone, but is made of {made_of:?}"));
        }
        // The events of one write stand together. After a day the key may begin anew.
        match history.effects.get_mut(&key) {
            Some((last, since)) if *last != id - 1 => {
                if at - *since < DAY_MILLIS {
                    return Err(format!("{what} is another effect of key {key}, which had one at {last}"));
                }
                (*last, *since) = (id, at);
            }
            Some((last, _)) => *last = id,
            None => drop(history.effects.insert(key.clone(), (id, at))),
        }
        history.keys.insert((key, name.1), id);
    }
    versions.push((id, fields));
    Ok(())
}
