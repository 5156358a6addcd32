//! A machine with a replica: the real engine on a real database, a person's screen beside it, and a stranger who edits
//! and looks with plain SQL. Must not know the server.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use hearth_contract::formats::Timestamp;
use hearth_replica::sync::{Done, Ear, Engine, Heard, Moment, SyncLock, Until, Verdict};
use hearth_replica::{ConflictPolicy, Origin, Replica, StoreError};
use rusqlite::Connection;

use super::dice::Dice;
use super::faults::{Interruptions, Who};
use super::invariants::Book;
use super::server::DAWN;

/// What became of a piece of an engine's work.
pub enum Worked {
    /// It is done; this is to be done outside.
    Done(Done),
    /// The process was killed at this point.
    Crashed(&'static str),
    /// The engine gave up, in these words, and its process ended.
    Failed(String),
}

/// A stream that a machine has open, or opens.
pub struct Listening {
    /// Tells it from those before it.
    pub number: u64,
    /// What understands its bytes.
    pub ear: Ear,
    /// Whether the server has accepted it.
    pub open: bool,
    /// Some of its bytes were lost for good, so nothing after them comes through.
    pub broken: bool,
    /// What the server said to the wish for it was said before the server was put back.
    pub outdated: bool,
}

/// A machine.
pub struct Machine {
    /// Which one.
    pub number: usize,
    /// Its database.
    pub db: PathBuf,
    /// What syncs; None while no process does.
    pub engine: Option<Engine>,
    /// Counts its processes, so that what was meant for an earlier one is not heard by a later one.
    pub life: u64,
    /// The stream of this process.
    pub stream: Option<Listening>,
    /// Questions that wait for their answers.
    pub asked: Vec<u64>,
    /// The key of each request, by path and body, that may have had its effect without an answer, and how often it was sent.
    pub unanswered: HashMap<(String, String), (String, u32)>,
    /// What was sent under each key: verb, path, body and the revision insisted on.
    pub sent_under: HashMap<String, (String, String, Option<String>, Option<String>)>,
    /// The request of each question of this process.
    pub sent_as: HashMap<u64, ((String, String), String)>,
    /// Questions whose answers say whether its cursor is still good.
    pub polls: HashSet<u64>,
    /// Until when it has no network.
    pub offline_until: i64,
    /// Until when a stranger answers whatever it asks.
    pub portal_until: i64,
    /// Until when no stream has a way through to it.
    pub barred_until: i64,
    /// Until when it does not hear what comes of its writes.
    pub unanswered_until: i64,
    /// How wrong its wall clock is.
    pub wrong_by: i64,
    /// Milliseconds that its steady clock missed while the machine slept.
    pub slept: i64,
    /// How its engine ended, if it said so.
    pub verdict: Option<Verdict>,
    /// A person's screen.
    pub screen: Replica,
    /// A stranger's connection, with nothing but SQL: scripts edit by it, and the invariants look by it.
    pub stranger: Connection,
    /// Whether the server was put back and this machine had no way to hear of it yet.
    pub unaware: bool,
    /// The head when it was last told the feed from its beginning: up to there that reading never expires.
    pub reads_up_to: i64,
    /// What is known of its edits.
    pub book: Book,
    policy: ConflictPolicy,
    lock: Option<SyncLock>,
    born: i64,
    dice: Dice,
    interruptions: Interruptions,
}

impl Machine {
    /// A machine on a database that [`make`] made; nothing syncs it yet.
    pub fn new(number: usize, db: PathBuf, mut dice: Dice, interruptions: Interruptions) -> Result<Machine, String> {
        let failed = |error: StoreError| error.to_string();
        let stranger = Connection::open(&db).map_err(|error| error.to_string())?;
        stranger.set_prepared_statement_cache_capacity(64);
        let policy = dice.of(&[ConflictPolicy::Ask, ConflictPolicy::Ask, ConflictPolicy::Mine, ConflictPolicy::Theirs]);
        Ok(Machine {
            number,
            screen: Replica::open(&db, Origin::Tui).map_err(failed)?,
            stranger,
            unaware: false,
            reads_up_to: i64::MAX,
            db,
            engine: None,
            life: 0,
            stream: None,
            asked: Vec::new(),
            unanswered: HashMap::new(),
            polls: HashSet::new(),
            sent_as: HashMap::new(),
            sent_under: HashMap::new(),
            offline_until: 0,
            portal_until: 0,
            barred_until: 0,
            unanswered_until: 0,
            wrong_by: 0,
            slept: 0,
            verdict: None,
            book: Book::of(policy == ConflictPolicy::Ask),
            policy,
            lock: None,
            born: 0,
            dice,
            interruptions,
        })
    }

    /// Whether nothing comes through to it that was under way.
    pub fn is_cut_off(&self, now: i64) -> bool {
        self.offline_until.max(self.portal_until) > now
    }

    /// Whether a process syncs it.
    pub fn is_up(&self) -> bool {
        self.engine.is_some()
    }

    /// Starts a process that syncs it.
    pub fn start(&mut self, now: i64) -> Result<Worked, String> {
        self.life += 1;
        self.verdict = None;
        let lock = SyncLock::try_take(&self.db).map_err(|error| error.to_string())?;
        self.lock = Some(lock.ok_or("the lock is held although no process syncs")?);
        // The zero of a steady clock means nothing, so each process has another.
        self.born = now - self.dice.between(0, 1_000_000);
        let mut dice = self.dice.fork(self.life);
        let chance = Box::new(move || u128::from(dice.bits()) << 64 | u128::from(dice.bits()));
        let engine = Engine::open(&self.db, "http://hearth.test", Until::Stopped, self.policy, chance);
        self.engine = Some(engine.map_err(|error| format!("the replica cannot be opened: {error}"))?);
        Ok(self.work(now, |engine, now| engine.start(1, now)))
    }

    /// Passes on what is heard.
    pub fn hear(&mut self, now: i64, heard: Heard) -> Worked {
        self.work(now, |engine, now| engine.hear(now, heard))
    }

    /// Ends the process in an orderly way.
    pub fn stop(&mut self, now: i64) {
        if let Worked::Done(_) = self.work(now, |engine, now| engine.leave(now).map(|()| Done::default())) {
            self.kill();
        }
    }

    /// Ends the process without warning.
    pub fn kill(&mut self) {
        self.engine = None;
        self.stream = None;
        self.asked.clear();
        self.sent_as.clear();
        self.polls.clear();
        self.lock = None;
    }

    /// Whether a second process would get the right to sync.
    pub fn would_share(&self) -> bool {
        SyncLock::try_take(&self.db).is_ok_and(|lock| lock.is_some())
    }

    /// Whether it reads the feed for the first time, has read some of it, and has not come to where it began. Once the
    /// server was put back under it, it recovers instead, along a cursor that may expire.
    pub fn is_filling(&self) -> bool {
        let text = "SELECT NOT backfilled AND NOT replaying AND position > 0 AND position < ?1
                        AND NOT EXISTS (SELECT 1 FROM _reconcile)
                    FROM _sync";
        let up_to = [self.reads_up_to];
        self.stranger
            .prepare_cached(text)
            .and_then(|mut found| found.query_row(up_to, |row| row.get(0)))
            .unwrap_or(false)
    }

    /// At which step a recovery is; Err: none is.
    pub fn recovery_step(&self) -> rusqlite::Result<String> {
        let text = "SELECT cause || ', ' || step FROM _reconcile";
        self.stranger.prepare_cached(text)?.query_row([], |row| row.get(0))
    }

    /// What a recovery asks a person.
    pub fn question(&self) -> rusqlite::Result<Option<String>> {
        self.stranger.prepare_cached("SELECT max(question) FROM _reconcile")?.query_row([], |row| row.get(0))
    }

    /// When the process wants to be woken, in the world's time.
    pub fn wake_at(&self) -> Option<i64> {
        Some(self.engine.as_ref()?.wake_at()? + self.born + self.slept)
    }

    fn work(&mut self, now: i64, step: impl FnOnce(&mut Engine, Moment) -> Result<Done, StoreError>) -> Worked {
        let moment = Moment { steady: now - self.born - self.slept, wall: self.wall(now) };
        let Some(engine) = &mut self.engine else { return Worked::Done(Done::default()) };
        let (done, crashed) = self.interruptions.run(Who::Machine(self.number), || step(engine, moment));
        match (done, crashed) {
            (_, Some(point)) => {
                self.kill();
                Worked::Crashed(point)
            }
            (Ok(done), None) => Worked::Done(done),
            (Err(error), None) => {
                self.kill();
                Worked::Failed(error.to_string())
            }
        }
    }

    fn wall(&self, now: i64) -> Timestamp {
        DAWN.plus_millis(now + self.wrong_by)
    }
}

/// Makes the file of a replica that nothing was ever synced with.
pub fn make(db: &Path) -> Result<(), String> {
    drop(Replica::open(db, Origin::Tui).map_err(|error| error.to_string())?);
    Ok(())
}
