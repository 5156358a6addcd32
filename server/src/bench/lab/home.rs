//! One home of the lab, with a method for each command. Must not know the command line.

use std::path::PathBuf;

use fastrand::Rng;
use hearth_contract::command::Command;
use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use hearth_contract::problem::{Problem, ProblemType};
use uuid::Uuid;

use super::activity;
use super::commands::{are_created, clear_deleted_references, describe_outcome, to_command, visible_records};
use super::generator::{self, HomeGenerator};
use crate::clock::Clock;
use crate::home::apply::HomeWriter;
use crate::home::retention;
use crate::home::rewind::{self, Rewound};
use crate::operate::Error;
use crate::random::{fresh_id, random_bytes};
use crate::store::homes::{self, Home};
use crate::store::{Db, HomeNumber, OpenError, StoreError, Tx, directory, receipts};

/// The author of the records of the lab.
const AUTHOR: &str = "Hearth lab";
/// Records created in one transaction. Writes of a running server wait for a transaction, so each must be short.
const RECORDS_PER_STEP: usize = 500;
/// Receipts deleted in one transaction.
const RECEIPTS_PER_STEP: usize = 1000;

/// Selects a home.
#[derive(Debug, Clone)]
pub struct HomeChoice {
    /// Id or name of the team. None: the only team of the database.
    pub team: Option<String>,
    /// Live home or sandbox.
    pub environment: Environment,
    /// Permission to change a live home.
    pub allow_live: bool,
}

/// One home of the lab.
pub struct LabHome {
    db: Db,
    clock: Clock,
    data: PathBuf,
    number: HomeNumber,
    /// The write-run of all writes (contract 9.3). A rewind starts a new run, as a restart of the server does.
    run: i64,
    /// The id of the home.
    pub home: Uuid,
    /// The name of the team.
    pub team: String,
    /// Live home or sandbox.
    pub environment: Environment,
}

/// The result of [`LabHome::change`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeResult {
    /// The change as text: `set status of task 0198… (Buy dog food)`. A change without an event ends in `(as it was)`.
    pub description: String,
    /// Whether the home refused the change. Concurrent writers can cause a refusal.
    pub refused: bool,
    /// Position of the home after the change.
    pub position: i64,
}

/// The result of [`LabHome::seed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedResult {
    /// Records created by this call.
    pub created: usize,
    /// Records of this seed that an earlier, interrupted call created.
    pub existing: usize,
    /// Position of the home after the call.
    pub head: i64,
}

/// The result of [`LabHome::trim`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrimResult {
    /// The highest event that the feed no longer has. A cursor before this event gets 410. 0: the feed is complete.
    pub trimmed_to: i64,
    /// Position of the home.
    pub head: i64,
}

/// The target of [`LabHome::rewind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindTarget {
    /// A position.
    Position(i64),
    /// This number of events before the head.
    EventsBack(u64),
}

impl LabHome {
    /// Finds a home in the database. `data`: the data directory, which a rewind locks.
    pub async fn find(db: Db, clock: Clock, data: PathBuf, choice: HomeChoice) -> Result<LabHome, Error> {
        let HomeChoice { team, environment, allow_live } = choice;
        if environment == Environment::Live && !allow_live {
            let message = "lab does not change a live home without --live; leave --env out to use the sandbox";
            return Err(Error::Refused(message.to_owned()));
        }
        let found = db
            .read(move |tx| {
                let team = match &team {
                    Some(word) => homes::find_team(tx, word)?
                        .ok_or_else(|| format!("there is no team `{word}`; see `hearth-server team list`")),
                    None => only_team(tx)?,
                };
                Ok(match team {
                    Ok(team) => Ok((homes::home_of_team(tx, &team.id, environment)?, team.name)),
                    Err(refusal) => Err(refusal),
                })
            })
            .await?;
        let (home, team) = found.map_err(Error::Refused)?;
        let run = db.epoch();
        Ok(LabHome { db, clock, data, number: home.number, run, home: home.id, team, environment })
    }

    /// The position of the home.
    pub async fn head(&self) -> Result<i64, Error> {
        Ok(self.load().await?.head)
    }

    async fn load(&self) -> Result<Home, StoreError> {
        let number = self.number;
        self.db.read(move |tx| homes::load(tx, number)).await
    }

    /// Applies the change number `turn` of the simulated family as an ordinary write. Equal seed and turn on equal homes
    /// give equal changes. None: no visible record fits the change.
    pub async fn change(&self, seed: u64, turn: u64) -> Result<Option<ChangeResult>, Error> {
        let (number, run, now) = (self.number, self.run, self.clock.now());
        let change = self.db.write(move |tx| {
            let mut rng = rng_of_turn(seed, turn);
            let source = &mut |kind, place| visible_records(tx, number, kind, place);
            let Some(change) = activity::next_change(&mut rng, now.date(), source)? else { return Ok(None) };
            let (command, description) = to_command(&change);
            let mut writing = HomeWriter::begin(tx, number, run, now, AUTHOR.to_owned(), None)?;
            let before = writing.as_of();
            let result = writing.apply(command, &mut || seeded_id(&mut rng, now))?;
            let position = writing.as_of();
            writing.finish()?;
            let (description, refused) = match result {
                Ok(outcome) if position == before => {
                    (format!("{} (as it was)", describe_outcome(&description, &outcome)), false)
                }
                Ok(outcome) => (describe_outcome(&description, &outcome), false),
                Err(problem) => (format!("{description}: {}", problem.message), true),
            };
            Ok(Some(ChangeResult { description, refused, position }))
        });
        Ok(change.await?)
    }

    /// Creates generated records. Equal seed and date give equal records. Records of an earlier call stay unchanged;
    /// references to deleted records are cleared. `should_stop` receives the number of created records before each step.
    pub async fn seed(
        &self,
        seed: u64,
        records: usize,
        should_stop: impl Fn(usize) -> bool,
    ) -> Result<SeedResult, Error> {
        let mut generator = HomeGenerator::new(seed, records, self.clock.now().date());
        let (mut created, mut existing) = (0, 0);
        while created + existing < records && !should_stop(created) {
            let commands: Vec<Command> = generator.by_ref().take(RECORDS_PER_STEP).collect();
            let count = commands.len();
            match self.create_records(commands).await?.map_err(|problem| seed_refusal(seed, &problem))? {
                true => created += count,
                false => existing += count,
            }
        }
        Ok(SeedResult { created, existing, head: self.head().await? })
    }

    /// Creates all records in one transaction, or none. Ok(false): an earlier call created all of them.
    async fn create_records(&self, commands: Vec<Command>) -> Result<Result<bool, Problem>, StoreError> {
        let (number, run, now) = (self.number, self.run, self.clock.now());
        let write = self.db.write(move |tx| {
            if are_created(tx, number, &commands)? {
                return Ok(Ok(false));
            }
            let mut writing = HomeWriter::begin(tx, number, run, now, AUTHOR.to_owned(), None)?;
            for mut command in commands {
                clear_deleted_references(tx, number, &mut command)?;
                if let Err(problem) = writing.apply(command, &mut || fresh_id(now))? {
                    tx.roll_back();
                    return Ok(Err(problem));
                }
            }
            writing.finish().map(|()| Ok(true))
        });
        write.await
    }

    /// Removes events now, as if all events older than `keep_ms` milliseconds were beyond the retention.
    pub async fn trim(&self, keep_ms: i64) -> Result<TrimResult, Error> {
        let number = self.number;
        let now = self.load().await?.last_updated_at.map_or(self.clock.now(), |latest| latest.max(self.clock.now()));
        // One millisecond more: an event of this millisecond is removed when `keep_ms` is 0.
        let before = now.plus_millis(1 - keep_ms);
        while self.db.write(move |tx| retention::compact_step(tx, number, before)).await? {}
        let home = self.load().await?;
        Ok(TrimResult { trimmed_to: home.compacted_pos, head: home.head })
    }

    /// Deletes the stored responses to writes with an idempotency key. Returns the number of deleted responses.
    pub async fn forget_keys(&self) -> Result<usize, Error> {
        let (number, mut deleted) = (self.number, 0);
        loop {
            let step = self.db.write(move |tx| receipts::delete_of_home(tx, number, RECEIPTS_PER_STEP)).await?;
            deleted += step;
            if step < RECEIPTS_PER_STEP {
                return Ok(deleted);
            }
        }
    }

    /// Returns only this home to an earlier position. Without `marked`, no mark remains in the history, as when old
    /// database files are copied back. With `marked`, the history has the mark of a `restore`. Refused while a server or
    /// another command uses the database.
    pub async fn rewind(&mut self, target: RewindTarget, marked: bool) -> Result<Rewound, Error> {
        let unusable = |error: OpenError| Error::Refused(format!("the data directory: {error}"));
        let Some(_lock) = directory::lock_for_serving(&self.data).map_err(unusable)? else {
            let data = self.data.display();
            let message = format!("{data} is served by another process; stop that process, then rewind");
            return Err(Error::Refused(message));
        };
        // A process that continues with its old run would make lost and new events look like one history.
        let Some(_alone) = self.db.try_exclusive().map_err(|error| unusable(error.into()))? else {
            let data = self.data.display();
            return Err(Error::Refused(format!("another command works on {data}; wait for its end, then rewind")));
        };
        let (number, run) = (self.number, i64::from_be_bytes(random_bytes()));
        let rewound = self.db.write(move |tx| {
            let position = match target {
                RewindTarget::Position(position) => position,
                RewindTarget::EventsBack(events) => match rewind::events_back(tx, number, events)? {
                    Ok(position) => position,
                    Err(refusal) => return Ok(Err(refusal)),
                },
            };
            rewind::rewind(tx, number, position, marked.then_some(run))
        });
        let rewound = rewound.await?.map_err(Error::Refused)?;
        self.run = run;
        Ok(rewound)
    }
}

fn only_team(tx: &Tx<'_>) -> Result<Result<homes::Team, String>, StoreError> {
    let mut teams = homes::teams(tx)?;
    Ok(match (teams.pop(), teams.len()) {
        (Some(team), 0) => Ok(team),
        (None, _) => Err("there is no team; create a team with `hearth-server team create NAME`".to_owned()),
        (_, more) => {
            Err(format!("there are {} teams; select a team with --team, see `hearth-server team list`", more + 1))
        }
    })
}

/// Random numbers for one turn of a seed. Turns do not depend on each other.
fn rng_of_turn(seed: u64, turn: u64) -> Rng {
    let mut first = Rng::with_seed(seed);
    Rng::with_seed(first.u64(..) ^ turn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn seeded_id(rng: &mut Rng, now: Timestamp) -> Uuid {
    generator::seeded_id(rng, u64::try_from(now.millis()).unwrap_or(0))
}

fn seed_refusal(seed: u64, problem: &Problem) -> Error {
    Error::Refused(match problem.kind {
        ProblemType::AlreadyExists => {
            format!("this home already has records of seed {seed}; choose another --seed, or another home")
        }
        _ => format!("the home refused a record: {}", problem.message),
    })
}
