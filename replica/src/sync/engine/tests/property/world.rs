//! The world of the property test: an engine on a real database, the server in memory, and a network in which requests
//! wait until an operation delivers or loses them. Must not know the invariants.

use std::collections::VecDeque;

use rusqlite::Connection;

use super::super::*;
use super::Operation;
use super::server::{Key, Server};
use crate::sync::wire::HttpRequest;
use crate::{EditError, Resolution};

/// Rounds in which everything must come to rest.
const ROUNDS_MAX: usize = 600;

/// How a request fares on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    LostBefore,
    LostAfter,
    Unavailable,
}

/// The stream: requested with a cursor, or open at a position.
#[derive(Debug)]
enum Stream {
    Closed,
    Requested(String),
    Open(i64),
}

pub(super) struct World {
    directory: tempfile::TempDir,
    engine: Engine,
    replica: Replica,
    pub(super) script: Connection,
    pub(super) server: Server,
    steady: i64,
    sends: VecDeque<(u64, HttpRequest)>,
    stream: Stream,
    marks: u32,
    /// True after a person has decided about an edit.
    pub(super) has_decided: bool,
}

fn open_engine(db: &std::path::Path, seed: u128) -> Engine {
    let mut drawn = seed;
    let chance = Box::new(move || {
        drawn += 1;
        drawn
    });
    Engine::open(db, "http://hearth.test", Until::Stopped, ConflictPolicy::Ask, chance).unwrap()
}

impl World {
    /// A replica that follows a server with a room and an item.
    pub(super) fn new() -> World {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let engine = open_engine(&db, 0);
        let replica = Replica::open(&db, Origin::Tui).unwrap();
        let script = Connection::open(&db).unwrap();
        let (server, sends) = (Server::default(), VecDeque::new());
        let stream = Stream::Closed;
        let mut world = World {
            directory,
            engine,
            replica,
            script,
            server,
            steady: 0,
            sends,
            stream,
            marks: 0,
            has_decided: false,
        };
        world.strange_create(Kind::Room);
        world.strange_create(Kind::Inventory);
        let begun = world.engine.start(1, world.moment()).unwrap();
        world.take(begun);
        world
    }

    fn moment(&self) -> Moment {
        Moment { steady: self.steady, wall: now().wall.plus_millis(self.steady) }
    }

    fn take(&mut self, output: StepOutput) {
        for command in output.commands {
            match command {
                Command::Send { ticket, request } => self.sends.push_back((ticket, request)),
                Command::OpenStream(request) => {
                    self.stream = Stream::Requested(request.path.split_once("cursor=").unwrap().1.to_owned());
                }
                Command::CloseStream => self.stream = Stream::Closed,
                Command::End(reason) => panic!("the sync ends: {reason:?}"),
            }
        }
    }

    fn report(&mut self, event: DriverEvent) {
        let output = self.engine.handle(self.moment(), event).unwrap();
        self.take(output);
    }

    fn mark(&mut self) -> String {
        self.marks += 1;
        format!("mark {}", self.marks)
    }

    fn strange_create(&mut self, kind: Kind) {
        let (mark, id) = (self.mark(), format!("0190a3b0-0000-7000-8000-{:012}", self.marks));
        let fields = json!({ "name": mark }).as_object().cloned();
        self.server.change((kind, id), fields, None);
    }

    /// The row that an index chooses, as its kind and id.
    fn row(&self, index: usize) -> Option<Key> {
        let text = "SELECT 'room', id FROM rooms UNION ALL SELECT 'inventory', id FROM inventory ORDER BY 1, 2";
        let rows = super::column_pairs(&self.script, text);
        let (kind, id) = rows.get(index % rows.len().max(1))?;
        Some((Kind::parse(kind)?, id.clone()))
    }

    /// Does an operation. Nothing happens when there is no object for the operation.
    pub(super) fn perform(&mut self, operation: &Operation) {
        match *operation {
            Operation::Create { item } => {
                let table = if item { "inventory" } else { "rooms" };
                let mark = self.mark();
                self.run_sql(&format!("INSERT INTO {table} (name) VALUES ('{mark}')"));
            }
            Operation::Patch { row, second } => self.patch(row, second),
            Operation::Refer { item } => self.run_sql(&format!(
                "UPDATE inventory SET room_id = (SELECT id FROM rooms ORDER BY id DESC LIMIT 1)
                 WHERE id = (SELECT id FROM inventory ORDER BY id LIMIT 1 OFFSET {})",
                item % 3
            )),
            Operation::Delete { row } => {
                let Some((kind, id)) = self.row(row) else { return };
                self.run_sql(&format!("DELETE FROM {} WHERE id = '{id}'", kind.collection()));
            }
            Operation::Undo => {
                let done = self.replica.undo(None);
                self.decided(done.map(drop));
            }
            Operation::Decide { mine } => self.decide(mine),
            Operation::Stranger { row, how } => self.strange(row, how),
            Operation::RefuseNext => self.server.refuses_next = true,
            Operation::Deliver { fate } => self.deliver(fate),
            Operation::Feed { events } => self.feed(events),
            Operation::CutStream => self.cut(),
            Operation::Tick => self.tick(),
            Operation::Restart => self.restart(),
            Operation::Trim => {
                self.server.trim();
                self.cut();
            }
            Operation::ForgetKeys => self.server.forget_keys(),
            Operation::Restore { back } => {
                self.server.restore((self.server.head() - back).max(1));
                self.drop_connections();
            }
        }
    }

    fn run_sql(&mut self, text: &str) {
        // A rule can refuse the statement, for example for a row that is already gone.
        let _ = self.script.execute(text, []);
        self.report(DriverEvent::DatabaseChanged);
    }

    fn patch(&mut self, row: usize, second: bool) {
        let Some((kind, id)) = self.row(row) else { return };
        let field = match (kind, second) {
            (Kind::Room, false) => "name",
            (Kind::Room, true) => "floor",
            (_, false) => "name",
            (_, true) => "notes",
        };
        let mark = self.mark();
        self.run_sql(&format!("UPDATE {} SET {field} = '{mark}' WHERE id = '{id}'", kind.collection()));
    }

    fn strange(&mut self, row: usize, how: u8) {
        let records = self.server.records();
        let Some((record, fields)) = records.iter().nth(row % records.len().max(1)) else { return };
        let (record, mut fields) = (record.clone(), fields.clone());
        let field = match (record.0, how) {
            (_, 0) => {
                self.server.delete(record, None);
                return;
            }
            (kind, 1) => return self.strange_create(kind),
            (Kind::Room, 2) => "name",
            (Kind::Room, _) => "floor",
            (_, 2) => "name",
            _ => "notes",
        };
        fields.insert(field.to_owned(), self.mark().into());
        self.server.change(record, Some(fields), None);
    }

    /// Decides about the first edit that needs a person. False: there is none.
    fn decide(&mut self, mine: bool) {
        let edits = self.replica.edits().unwrap();
        let needs_decision = |state| matches!(state, EditState::Conflict | EditState::Rejected);
        let Some(edit) = edits.iter().find(|edit| needs_decision(edit.state)) else { return };
        let done = match (edit.state, mine) {
            (EditState::Conflict, true) => self.replica.resolve(edit.id, &Resolution::mine()),
            (EditState::Conflict, false) => self.replica.resolve(edit.id, &Resolution::theirs()),
            (_, true) => self.replica.retry(edit.id),
            (_, false) => self.replica.discard(edit.id),
        };
        let done = done.or_else(|_| self.replica.discard(edit.id));
        self.decided(done.map(drop));
    }

    fn decided(&mut self, done: Result<(), EditError>) {
        if done.is_ok() {
            (self.has_decided, self.server.allows_new_keys) = (true, true);
        }
        self.report(DriverEvent::DatabaseChanged);
    }

    fn deliver(&mut self, fate: Fate) {
        let Some((ticket, request)) = self.sends.pop_front() else { return };
        let lost = || Err("the connection broke".to_owned());
        let response = match fate {
            Fate::Answered => Ok(self.server.handle(&request, true)),
            Fate::LostBefore => lost(),
            Fate::LostAfter => {
                self.server.handle(&request, false);
                lost()
            }
            Fate::Unavailable => Ok(HttpResponse { status: 502, ..HttpResponse::default() }),
        };
        self.report(DriverEvent::Response { ticket, response });
    }

    /// Lets the stream open, or bring at most this many events.
    fn feed(&mut self, most: usize) {
        match &self.stream {
            Stream::Closed => {}
            Stream::Requested(cursor) => match self.server.position_of(cursor) {
                Ok(position) => {
                    self.stream = Stream::Open(position);
                    self.report(DriverEvent::StreamOpened);
                }
                Err(refused) => {
                    self.stream = Stream::Closed;
                    self.report(DriverEvent::StreamRefused(refused));
                }
            },
            Stream::Open(position) => {
                let events = self.server.events_after(*position, most);
                let last = events.last().map_or(*position, |event| event.id);
                self.stream = Stream::Open(last);
                let head = self.server.head();
                let end = if last == head { present(head) } else { BatchEnd::More };
                let cursor = Some(self.server.cursor(last));
                self.report(DriverEvent::StreamBatch(FeedBatch { events, cursor, end }));
            }
        }
    }

    fn cut(&mut self) {
        if !matches!(std::mem::replace(&mut self.stream, Stream::Closed), Stream::Closed) {
            self.report(DriverEvent::StreamEnded { reason: "the connection broke".into() });
        }
    }

    fn drop_connections(&mut self) {
        for _ in 0..self.sends.len() {
            self.deliver(Fate::LostBefore);
        }
        self.cut();
    }

    fn tick(&mut self) {
        if let Some(at) = self.engine.wake_at() {
            self.steady = self.steady.max(at);
            self.report(DriverEvent::Timer);
        }
    }

    /// Ends the process and starts another on the same database.
    fn restart(&mut self) {
        let db = self.directory.path().join("replica.db");
        self.sends.clear();
        self.stream = Stream::Closed;
        self.engine = open_engine(&db, u128::from(self.marks + 1) << 64 | self.steady as u128);
        self.mark();
        let begun = self.engine.start(1, self.moment()).unwrap();
        self.take(begun);
    }

    /// Delivers everything and decides about every conflict until nothing is left to do.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        self.server.refuses_next = false;
        for round in 0..ROUNDS_MAX {
            if self.is_at_rest() {
                return Ok(());
            }
            if !self.sends.is_empty() {
                self.deliver(Fate::Answered);
            } else if matches!(self.stream, Stream::Requested(_)) || self.stream_has_more() {
                self.feed(usize::MAX);
            } else {
                self.decide(round < ROUNDS_MAX / 4);
                self.tick();
                // A stream of a real server sends comments.
                self.report(DriverEvent::StreamActive);
                self.feed(usize::MAX);
            }
        }
        let edits = self.replica.edits().unwrap();
        Err(format!("the sync does not come to rest: {:?}, {edits:?}", super::state_of(&self.script)))
    }

    fn stream_has_more(&self) -> bool {
        matches!(self.stream, Stream::Open(position) if position < self.server.head())
    }

    fn is_at_rest(&self) -> bool {
        let state = super::state_of(&self.script);
        let is_current = state.position == self.server.head() && state.phase == "live" && !state.is_reconciling;
        is_current && self.sends.is_empty() && self.replica.edits().unwrap().is_empty()
    }
}
