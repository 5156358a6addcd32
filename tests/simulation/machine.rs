//! A machine with a replica: the real sync engine on a real database, the terminal UI of a person, and the connection of
//! a script with plain SQL. Must not know the server.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use hearth_contract::formats::Timestamp;
use hearth_replica::sync::{DriverEvent, EndReason, Engine, Moment, StepOutput, SyncLock, Until};
use hearth_replica::{ConflictPolicy, Origin, Replica, StoreError};
use rusqlite::{Connection, ErrorCode};

use super::interruptions::{Interruptions, Process};
use super::ledger::Ledger;
use super::rng::SimRng;
use super::server_template::WORLD_START;
use super::sse_decoder::SseDecoder;

/// The result of one call of the engine.
pub enum EngineResult {
    /// The call is complete, with commands for the world to carry out.
    Done(StepOutput),
    /// The process crashed at this interruption point.
    Crashed(&'static str),
    /// A write of the engine failed with a full disk, and its process ended.
    DiskFull(String),
    /// The engine returned another error, and its process ended.
    Failed(String),
}

/// A stream on the side of the machine.
pub struct ClientStream {
    /// The number of the stream, unique in the world.
    pub number: u64,
    /// Decodes the bytes of the stream.
    pub decoder: SseDecoder,
    /// True after the server has accepted the stream.
    pub is_open: bool,
    /// True after bytes were lost. Later bytes do not arrive either.
    pub is_broken: bool,
    /// True when the server had answered the request for the stream before the server was restored.
    pub is_outdated: bool,
}

/// The path and the body of a write. Retries of the write have the same path and body.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WriteContent {
    /// The path of the request.
    pub path: String,
    /// The body of the request; never empty.
    pub body: String,
}

/// A write whose effect is unknown, because no attempt has a final response.
#[derive(Debug)]
pub struct UnansweredWrite {
    /// The idempotency key of all attempts.
    pub key: String,
    /// The number of attempts that may have had the effect.
    pub attempts: u32,
}

/// The first request that was sent with an idempotency key. Every later request with the key must be equal.
#[derive(Debug, PartialEq, Eq)]
pub struct SentRequest {
    /// The HTTP method.
    pub method: String,
    /// The path of the request.
    pub path: String,
    /// The body; None for a request without body.
    pub body: Option<String>,
    /// The header `If-Match`.
    pub if_match: Option<String>,
}

/// A machine.
pub struct Machine {
    /// The index of the machine in the world.
    pub number: usize,
    /// The file of the replica's database.
    pub db: PathBuf,
    /// The sync engine; None while no process syncs.
    pub engine: Option<Engine>,
    /// The number of the current process, or of the last one. Messages for other processes are discarded.
    pub process: u64,
    /// The stream of the current process.
    pub stream: Option<ClientStream>,
    /// Tickets of requests that wait for a response.
    pub pending_tickets: Vec<u64>,
    /// Writes whose effect is unknown.
    pub unanswered_writes: HashMap<WriteContent, UnansweredWrite>,
    /// The first request of each idempotency key.
    pub first_requests: HashMap<String, SentRequest>,
    /// The write of each ticket of the current process.
    pub ticket_writes: HashMap<u64, WriteContent>,
    /// Tickets of polls with a cursor. Their responses tell the machine whether the server was restored.
    pub poll_tickets: HashSet<u64>,
    /// When the network of the machine returns, in milliseconds of the world.
    pub offline_until: i64,
    /// When the machine leaves a network whose sign-in page answers every request.
    pub foreign_network_until: i64,
    /// When streams can reach the machine again.
    pub streams_blocked_until: i64,
    /// When responses to writes can reach the machine again.
    pub write_responses_lost_until: i64,
    /// The error of the wall clock in milliseconds.
    pub clock_error: i64,
    /// Milliseconds that the steady clock did not count because the machine was suspended.
    pub suspended: i64,
    /// Why the engine ended, when the engine ended without an error.
    pub end_reason: Option<EndReason>,
    /// The replica as the terminal UI of a person opens it.
    pub screen: Replica,
    /// A connection with plain SQL: scripts edit with it, and the invariants read with it.
    pub script_connection: Connection,
    /// True when the server was restored and the machine cannot know that yet.
    pub is_unaware: bool,
    /// The head when the machine last began to read the feed from its start. A backfill up to this head never expires.
    backfill_head: i64,
    /// What earlier checks have learnt about the replica.
    pub ledger: Ledger,
    policy: ConflictPolicy,
    lock: Option<SyncLock>,
    /// When the current process started, minus a random offset. Steady clocks count from this moment.
    steady_zero: i64,
    rng: SimRng,
    interruptions: Interruptions,
}

impl Machine {
    /// A machine on a copy of the database of [`create_template`]. No process syncs yet.
    pub fn new(number: usize, db: PathBuf, mut rng: SimRng, interruptions: Interruptions) -> Result<Machine, String> {
        let failed = |error: StoreError| error.to_string();
        let script_connection = Connection::open(&db).map_err(|error| error.to_string())?;
        script_connection.set_prepared_statement_cache_capacity(64);
        let policy =
            rng.pick(&[ConflictPolicy::Ask, ConflictPolicy::Ask, ConflictPolicy::Mine, ConflictPolicy::Theirs]);
        Ok(Machine {
            number,
            screen: Replica::open(&db, Origin::Tui).map_err(failed)?,
            script_connection,
            is_unaware: false,
            backfill_head: i64::MAX,
            db,
            engine: None,
            process: 0,
            stream: None,
            pending_tickets: Vec::new(),
            unanswered_writes: HashMap::new(),
            poll_tickets: HashSet::new(),
            ticket_writes: HashMap::new(),
            first_requests: HashMap::new(),
            offline_until: 0,
            foreign_network_until: 0,
            streams_blocked_until: 0,
            write_responses_lost_until: 0,
            clock_error: 0,
            suspended: 0,
            end_reason: None,
            ledger: Ledger::new(policy == ConflictPolicy::Ask),
            policy,
            lock: None,
            steady_zero: 0,
            rng,
            interruptions,
        })
    }

    /// True while no message of the server can reach the machine.
    pub fn is_cut_off(&self, now: i64) -> bool {
        self.offline_until.max(self.foreign_network_until) > now
    }

    /// True while a process syncs the machine.
    pub fn is_up(&self) -> bool {
        self.engine.is_some()
    }

    /// Starts a process that syncs.
    pub fn start(&mut self, now: i64) -> Result<EngineResult, String> {
        self.process += 1;
        self.end_reason = None;
        let lock = SyncLock::try_take(&self.db).map_err(|error| error.to_string())?;
        self.lock = Some(lock.ok_or("the lock is held although no process syncs")?);
        // The zero of a steady clock means nothing. Each process therefore has another zero.
        self.steady_zero = now - self.rng.between(0, 1_000_000);
        let mut rng = self.rng.fork(self.process);
        let chance = Box::new(move || u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64()));
        let engine = Engine::open(&self.db, "http://hearth.test", Until::Stopped, self.policy, chance);
        self.engine = Some(engine.map_err(|error| format!("the replica cannot be opened: {error}"))?);
        Ok(self.call_engine(now, |engine, now| engine.start(1, now)))
    }

    /// Passes an event to the engine.
    pub fn handle(&mut self, now: i64, event: DriverEvent) -> EngineResult {
        self.call_engine(now, |engine, now| engine.handle(now, event))
    }

    /// Stops the process in an orderly way.
    pub fn stop(&mut self, now: i64) {
        let result = self.call_engine(now, |engine, now| engine.close(now).map(|()| StepOutput::default()));
        if let EngineResult::Done(_) = result {
            self.kill();
        }
    }

    /// Ends the process without warning.
    pub fn kill(&mut self) {
        self.engine = None;
        self.stream = None;
        self.pending_tickets.clear();
        self.ticket_writes.clear();
        self.poll_tickets.clear();
        self.lock = None;
    }

    /// True when a second process can take the sync lock.
    pub fn second_process_can_lock(&self) -> bool {
        SyncLock::try_take(&self.db).is_ok_and(|lock| lock.is_some())
    }

    /// Notes the head at the start of a backfill. A request that arrives late begins no other backfill: the machine has rows by
    /// then, and goes on from its own cursor.
    pub fn note_backfill(&mut self, head: i64) {
        let text = "SELECT position > 0 FROM _sync";
        let has_begun = self.script_connection.query_row(text, [], |row| row.get(0)).unwrap_or(true);
        if !has_begun {
            self.backfill_head = head;
        }
    }

    /// True while a backfill is between its first rows and the head at its start. After a restore, a reconcile runs in
    /// place of the backfill, and its cursor can expire.
    pub fn is_backfilling(&self) -> bool {
        let text = "SELECT NOT backfilled AND position > 0 AND position < ?1
                        AND NOT EXISTS (SELECT 1 FROM _reconcile)
                    FROM _sync";
        let head = [self.backfill_head];
        self.script_connection
            .prepare_cached(text)
            .and_then(|mut statement| statement.query_row(head, |row| row.get(0)))
            .unwrap_or(false)
    }

    /// The cause and the step of the current reconcile. Err: no reconcile runs.
    pub fn reconcile_step(&self) -> rusqlite::Result<String> {
        let text = "SELECT cause || ', ' || step FROM _reconcile";
        self.script_connection.prepare_cached(text)?.query_row([], |row| row.get(0))
    }

    /// What the current reconcile asks a person; None without a question.
    pub fn reconcile_question(&self) -> rusqlite::Result<Option<String>> {
        let text = "SELECT max(question) FROM _reconcile";
        self.script_connection.prepare_cached(text)?.query_row([], |row| row.get(0))
    }

    /// When the engine wants its timer event, in milliseconds of the world. None without engine or timer.
    pub fn wake_at(&self) -> Option<i64> {
        Some(self.engine.as_ref()?.wake_at()? + self.steady_zero + self.suspended)
    }

    fn call_engine(
        &mut self,
        now: i64,
        step: impl FnOnce(&mut Engine, Moment) -> Result<StepOutput, StoreError>,
    ) -> EngineResult {
        let moment = Moment { steady: now - self.steady_zero - self.suspended, wall: self.wall_clock(now) };
        let Some(engine) = &mut self.engine else { return EngineResult::Done(StepOutput::default()) };
        let (done, crashed) = self.interruptions.run(Process::Machine(self.number), || step(engine, moment));
        match (done, crashed) {
            (_, Some(point)) => {
                self.kill();
                EngineResult::Crashed(point)
            }
            (Ok(done), None) => EngineResult::Done(done),
            (Err(error), None) => {
                self.kill();
                match is_disk_full(&error) {
                    true => EngineResult::DiskFull(error.to_string()),
                    false => EngineResult::Failed(error.to_string()),
                }
            }
        }
    }

    /// What the wall clock of the machine shows.
    pub fn wall_clock(&self, now: i64) -> Timestamp {
        WORLD_START.plus_millis(now + self.clock_error)
    }
}

fn is_disk_full(error: &StoreError) -> bool {
    let StoreError::Sqlite(error) = error else { return false };
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

/// Creates the database of a replica that has never synced. Every machine starts with a copy of this file.
pub fn create_template(db: &Path) -> Result<(), String> {
    drop(Replica::open(db, Origin::Tui).map_err(|error| error.to_string())?);
    Ok(())
}
