//! The world of the property test: an engine on a real database, the server in memory, and a network in which requests
//! wait until an operation delivers or loses them. Must not know the invariants.

mod operations;

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::Connection;

use super::super::*;
use super::server::Server;
use crate::store::salvage;
use crate::sync::wire::HttpRequest;

/// Rounds in which everything must come to rest.
const ROUNDS_MAX: usize = 600;

/// Rounds of one [`World::catch_up`]. A greeting and a reconcile need about 20.
const CATCH_UP_ROUNDS_MAX: usize = 100;

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

/// A request on its way. `response`: the answer that is on its way back.
struct Sent {
    ticket: u64,
    request: HttpRequest,
    response: Option<HttpResponse>,
}

pub(super) struct World {
    directory: tempfile::TempDir,
    engine: Engine,
    replica: Replica,
    pub(super) script: Connection,
    pub(super) server: Server,
    steady: i64,
    sends: VecDeque<Sent>,
    stream: Stream,
    marks: u32,
    /// True after a person has decided about an edit.
    pub(super) has_decided: bool,
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
        world.create_by_another(Kind::Room);
        world.create_by_another(Kind::Inventory);
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
                Command::Send { ticket, request } => self.sends.push_back(Sent { ticket, request, response: None }),
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

    fn create_by_another(&mut self, kind: Kind) {
        let (mark, id) = (self.mark(), format!("0190a3b0-0000-7000-8000-{:012}", self.marks));
        let fields = json!({ "name": mark }).as_object().cloned();
        self.server.change((kind, id), fields, None);
    }

    fn deliver(&mut self, fate: Fate) {
        let Some(Sent { ticket, request, response: served }) = self.sends.pop_front() else { return };
        let lost = || Err("the connection broke".to_owned());
        let response = match fate {
            Fate::Answered => Ok(served.unwrap_or_else(|| self.server.handle(&request, true))),
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

    /// Ends the process, rebuilds the database, and starts another process. `damaged`: breaks the table of rooms before.
    fn rebuild(&mut self, damaged: bool) {
        let db = self.directory.path().join("replica.db");
        if damaged {
            self.break_rooms(&db);
            self.delete_kept_copies();
        }
        salvage::rebuild(&db, self.moment().wall).unwrap();
        self.restart();
    }

    /// Overwrites the first page of the table of rooms.
    fn break_rooms(&self, db: &Path) {
        self.script.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        let page = "SELECT rootpage FROM sqlite_schema WHERE name = 'rooms'";
        let page: u32 = self.script.query_row(page, [], |row| row.get(0)).unwrap();
        let file = File::options().write(true).open(db).unwrap();
        file.write_all_at(&[0xa5; 4096], u64::from(page - 1) * 4096).unwrap();
    }

    /// No more than a few copies are kept, and then a damaged database is not rebuilt.
    fn delete_kept_copies(&self) {
        let files = std::fs::read_dir(self.directory.path()).unwrap().map(|entry| entry.unwrap().path());
        files
            .filter(|path| path.to_string_lossy().contains(".damaged-"))
            .for_each(|path| std::fs::remove_file(path).unwrap());
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

    /// Delivers everything until the replica is at the head. Decides nothing.
    fn catch_up(&mut self) {
        for _ in 0..CATCH_UP_ROUNDS_MAX {
            if !self.sends.is_empty() {
                self.deliver(Fate::Answered);
            } else if self.is_current() {
                return;
            } else if matches!(self.stream, Stream::Requested(_)) || self.stream_has_more() {
                self.feed(usize::MAX);
            } else {
                self.tick();
            }
        }
    }

    /// Delivers everything and decides about every conflict until nothing is left to do. `check` sees what a
    /// person is asked, before the first answer.
    pub(super) fn settle(&mut self, check: impl Fn(&World) -> Result<(), String>) -> Result<(), String> {
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
                if !super::invariants::state_of(&self.script).is_reconciling {
                    // A person may answer the question about a later edit first.
                    if !self.has_decided {
                        check(self)?;
                    }
                    self.decide(round < ROUNDS_MAX / 4);
                }
                self.tick();
                // A stream of a real server sends comments.
                self.report(DriverEvent::StreamActive);
                self.feed(usize::MAX);
            }
        }
        let edits = self.replica.edits().unwrap();
        Err(format!("the sync does not come to rest: {:?}, {edits:?}", super::invariants::state_of(&self.script)))
    }

    fn stream_has_more(&self) -> bool {
        matches!(self.stream, Stream::Open(position) if position < self.server.head())
    }

    fn is_current(&self) -> bool {
        let state = super::invariants::state_of(&self.script);
        state.position == self.server.head() && state.phase == "live" && !state.is_reconciling
    }

    fn is_at_rest(&self) -> bool {
        self.is_current() && self.sends.is_empty() && self.replica.edits().unwrap().is_empty()
    }
}
