//! The test bench for developers who sync against this service: it makes a home grow, change, forget and go back, the
//! way homes do in bad weeks. Works on the database beside a running server, as every operator's command does. Must
//! not know the command line.
//!
//! - [`Bench`]: one home to try things on; a method for each tool.
//! - [`family`]: what a family changes, out of what it sees. Pure.
//! - [`growth`]: believable records of any number. Pure.
//! - [`goods`]: the words both are made of.
//! - [`script`]: a timed list of tools.

pub mod family;
pub mod goods;
pub mod growth;
pub mod script;

use std::io;
use std::path::PathBuf;

use fastrand::Rng;
use hearth_contract::check::{Intent, check, references};
use hearth_contract::command::{Command, Preconditions};
use hearth_contract::formats::{Timestamp, parse_id};
use hearth_contract::key::Environment;
use hearth_contract::problem::{Problem, ProblemType};
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use serde_json::Value;
use uuid::Uuid;

use self::family::{Change, Seen, What};
use self::growth::Growth;
use crate::chance::{fresh_id, random};
use crate::clock::Clock;
use crate::home::apply::{HomeWriter, WriteOutcome};
use crate::home::rewind::{self, Rewound};
use crate::home::{retention, rules};
use crate::operate::Error;
use crate::store::homes::{self, Home};
use crate::store::records::{self, Bounds, Direction, Sort};
use crate::store::{Db, HomeNo, StoreError, Tx, open, receipts};

/// Records that a family member sees at once.
const IN_SIGHT: usize = 40;
/// Records made in one transaction: the server's own writes wait for no longer than that.
const MADE_AT_ONCE: usize = 500;
/// Receipts forgotten in one transaction.
const FORGOTTEN_AT_ONCE: usize = 1000;

/// Which home is meant.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Id or name of its team; None: the only team there is.
    pub team: Option<String>,
    /// Which of the team's homes.
    pub environment: Environment,
    /// That a live home may be touched.
    pub live: bool,
}

/// One home to try things on.
pub struct Bench {
    db: Db,
    clock: Clock,
    data: PathBuf,
    number: HomeNo,
    /// Marks what is written from here on; another after each step back, as after a restart.
    run: i64,
    /// The home's id.
    pub home: Uuid,
    /// The name of its team.
    pub team: String,
    /// Which of the team's homes it is.
    pub environment: Environment,
}

/// What came of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// In words: `updated task 0198… (Buy dog food)`. One that changed nothing, and so is no event, ends in `(as it was)`.
    pub told: String,
    /// Whether the home refused it, as it may when others change it too.
    pub refused: bool,
    /// The home's position after it.
    pub position: i64,
}

/// What making records came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grown {
    /// Records that were made.
    pub made: usize,
    /// Records of this seed that an earlier call had made before it was stopped.
    pub found: usize,
    /// The home's position.
    pub head: i64,
}

/// What thinning came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trimmed {
    /// The highest event that the feed no longer has. A cursor before it is answered with 410.
    pub thinned: i64,
    /// The home's position.
    pub head: i64,
}

impl Bench {
    /// Finds the home in a data directory's database.
    pub async fn find(db: Db, clock: Clock, data: PathBuf, wish: Wish) -> Result<Bench, Error> {
        let Wish { team, environment, live } = wish;
        if environment == Environment::Live && !live {
            let message = "a live home is not touched unless --live says so; without --env it is the team's sandbox";
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
        Ok(Bench { db, clock, data, number: home.number, run, home: home.id, team, environment })
    }

    /// The home's position.
    pub async fn head(&self) -> Result<i64, Error> {
        Ok(self.home().await?.head)
    }

    async fn home(&self) -> Result<Home, StoreError> {
        let number = self.number;
        self.db.read(move |tx| homes::load(tx, number)).await
    }

    /// The `turn`th change of a family's day: an ordinary write. The same turn of the same seed in a home that is the
    /// same is the same change. None: nothing in sight could be changed so.
    pub async fn change(&self, seed: u64, turn: u64) -> Result<Option<Changed>, Error> {
        let (number, run, now) = (self.number, self.run, self.clock.now());
        let change = self.db.write(move |tx| {
            let mut dice = dice(seed, turn);
            let change = family::change(&mut dice, now.date(), &mut |kind, place| in_sight(tx, number, kind, place))?;
            let Some(change) = change else { return Ok(None) };
            let (command, told) = command(&change);
            let mut writing = HomeWriter::begin(tx, number, run, now, None)?;
            let before = writing.as_of();
            let verdict = writing.apply(command, &mut || seeded_id(&mut dice, now))?;
            let position = writing.as_of();
            writing.finish()?;
            Ok(Some(match verdict {
                Ok(outcome) if position == before => {
                    Changed { told: format!("{} (as it was)", told_of(&told, &outcome)), refused: false, position }
                }
                Ok(outcome) => Changed { told: told_of(&told, &outcome), refused: false, position },
                Err(problem) => Changed { told: format!("{told}: {}", problem.message), refused: true, position },
            }))
        });
        Ok(change.await?)
    }

    /// Makes so many believable records, the same for the same seed and day; what an earlier call made of them is left
    /// as it is, and what refers to something of it that was deleted since refers to nothing. `is_enough` hears how many
    /// were made, and stops it.
    pub async fn grow(&self, seed: u64, records: usize, is_enough: impl Fn(usize) -> bool) -> Result<Grown, Error> {
        let (number, run) = (self.number, self.run);
        let mut growth = Growth::new(seed, records, self.clock.now().date());
        let (mut made, mut found) = (0, 0);
        while made + found < records && !is_enough(made) {
            let commands: Vec<Command> = growth.by_ref().take(MADE_AT_ONCE).collect();
            let (count, now) = (commands.len(), self.clock.now());
            let written = self.db.write(move |tx| {
                // What is made together was made whole or not at all.
                if are_made(tx, number, &commands)? {
                    return Ok(Ok(false));
                }
                let mut writing = HomeWriter::begin(tx, number, run, now, None)?;
                for mut command in commands {
                    forget_what_is_gone(tx, number, &mut command)?;
                    if let Err(problem) = writing.apply(command, &mut || fresh_id(now))? {
                        tx.roll_back();
                        return Ok(Err(problem));
                    }
                }
                writing.finish().map(|()| Ok(true))
            });
            match written.await?.map_err(|problem| refused_growth(seed, &problem))? {
                true => made += count,
                false => found += count,
            }
        }
        Ok(Grown { made, found, head: self.head().await? })
    }

    /// Thins the log out now, as if everything older than `kept_ms` were older than retention.
    pub async fn trim(&self, kept_ms: i64) -> Result<Trimmed, Error> {
        let number = self.number;
        let now = self.clock.now();
        let now = self.home().await?.last_updated_at.map_or(now, |last| now.max(last));
        // What happened in this very millisecond is older than nothing, and goes as well when nothing is kept.
        let before = now.plus_millis(1 - kept_ms);
        while self.db.write(move |tx| retention::compact_step(tx, number, before)).await? {}
        let home = self.home().await?;
        Ok(Trimmed { thinned: home.compacted_pos, head: home.head })
    }

    /// Forgets what was answered to writes with an idempotency key; gives how many answers.
    pub async fn forget_keys(&self) -> Result<usize, Error> {
        let (number, mut forgotten) = (self.number, 0);
        loop {
            let step = self.db.write(move |tx| receipts::delete_of_home(tx, number, FORGOTTEN_AT_ONCE)).await?;
            forgotten += step;
            if step < FORGOTTEN_AT_ONCE {
                return Ok(forgotten);
            }
        }
    }

    /// Puts the home back to an earlier position, and only it. Nothing marks the break, as when an old copy of the
    /// files is put in place; with `marked` it is marked, as by `restore`. No server may run, as for `restore`.
    pub async fn rewind(&mut self, to: Back, marked: bool) -> Result<Rewound, Error> {
        let unusable = |error: io::Error| Error::Refused(format!("the data directory: {error}"));
        let Some(_held) = open::lock_for_serving(&self.data).map_err(unusable)? else {
            let message = format!("{} is served by another process; stop it before rewinding", self.data.display());
            return Err(Error::Refused(message));
        };
        // Who goes on with the run that it had before would make the lost history look like the one that follows.
        let Some(_alone) = self.db.try_exclusive().map_err(unusable)? else {
            let message =
                format!("another command works on {}; wait until it has ended, then rewind", self.data.display());
            return Err(Error::Refused(message));
        };
        let (number, run) = (self.number, i64::from_be_bytes(random()));
        let rewound = self.db.write(move |tx| {
            let position = match to {
                Back::To(position) => position,
                Back::By(events) => match rewind::events_back(tx, number, events)? {
                    Ok(position) => position,
                    Err(refusal) => return Ok(Err(refusal)),
                },
            };
            rewind::rewind(tx, number, position, marked.then_some(run))
        });
        let rewound = rewound.await?.map_err(Error::Refused)?;
        // The history that follows is another one, as after a restart.
        self.run = run;
        Ok(rewound)
    }
}

/// How far back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Back {
    /// To a position.
    To(i64),
    /// By so many events.
    By(u64),
}

fn only_team(tx: &Tx<'_>) -> Result<Result<homes::Team, String>, StoreError> {
    let mut teams = homes::teams(tx)?;
    Ok(match (teams.pop(), teams.len()) {
        (Some(team), 0) => Ok(team),
        (None, _) => Err("there is no team yet; make one with `hearth-server team create NAME`".to_owned()),
        (_, more) => Err(format!("there are {} teams; say which with --team, see `hearth-server team list`", more + 1)),
    })
}

/// Chance for one turn of a seed: each turn has its own, so that none depends on how often the others asked.
fn dice(seed: u64, turn: u64) -> Rng {
    let mut first = Rng::with_seed(seed);
    Rng::with_seed(first.u64(..) ^ turn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn seeded_id(dice: &mut Rng, now: Timestamp) -> Uuid {
    growth::id(dice, u64::try_from(now.millis()).unwrap_or(0))
}

/// Some records of a kind about a place between the one that changed longest ago (0) and the one that changed last (1).
fn in_sight(tx: &Tx<'_>, number: HomeNo, kind: Kind, place: f64) -> Result<Vec<Seen>, StoreError> {
    let page = |direction, after, limit| {
        let bounds = Bounds { after, ..Bounds::default() };
        records::page(tx, number, kind, (Sort::Updated, direction), bounds, limit)
    };
    let first = page(Direction::Ascending, None, 1)?.first().map_or(0, |(rev, _)| *rev);
    let last = page(Direction::Descending, None, 1)?.first().map_or(0, |(rev, _)| *rev);
    let after = first - 1 + ((last - first) as f64 * place) as i64;
    let found = page(Direction::Ascending, Some(after), IN_SIGHT)?;
    let record = |(_, json): &(i64, String)| Record::from_json(kind, json);
    Ok(found.iter().filter_map(record).map(|Record { id, fields, .. }| Seen { id: id.to_string(), fields }).collect())
}

/// A change as a command, and in words without its outcome.
fn command(change: &Change) -> (Command, String) {
    let kind = change.kind;
    let id = |id: &String| parse_id(id).unwrap_or_default();
    match &change.what {
        What::Create(fields) => {
            let body = check(kind, Intent::Create, &Value::Object(fields.clone()));
            (Command::Create { kind, body }, format!("created {kind}"))
        }
        What::Update(of, fields) => {
            let body = check(kind, Intent::Patch, &Value::Object(fields.clone()));
            let named: Vec<&str> = fields.keys().map(String::as_str).collect();
            let id = (!kind.is_singleton()).then(|| id(of));
            (
                Command::Update { kind, id, body, guard: Preconditions::default() },
                format!("set {} of {kind}", named.join(", ")),
            )
        }
        What::Delete(of) => {
            (Command::Delete { kind, id: id(of), guard: Preconditions::default() }, format!("deleted {kind}"))
        }
    }
}

fn told_of(told: &str, outcome: &WriteOutcome) -> String {
    let title = |json: &str| {
        let value: Value = serde_json::from_str(json).unwrap_or_default();
        let title = value.get("title").or_else(|| value.get("name")).and_then(Value::as_str);
        let id = value["id"].as_str().unwrap_or_default().to_owned();
        title.map_or(id.clone(), |title| format!("{id} ({title})"))
    };
    match outcome {
        WriteOutcome::Created(_, image) | WriteOutcome::Current(Some(image)) => {
            format!("{told} {}", title(&image.json))
        }
        WriteOutcome::Deleted(id) => format!("{told} {id}"),
        WriteOutcome::Current(None) => told.to_owned(),
    }
}

/// Whether all of these were made in this home at some time.
fn are_made(tx: &Tx<'_>, number: HomeNo, commands: &[Command]) -> Result<bool, StoreError> {
    for command in commands {
        let Command::Create { body, .. } = command else { return Ok(false) };
        let Some(id) = body.id else { return Ok(false) };
        if records::entry(tx, number, id)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes a record general whose room or subject was deleted, as it would be had it been there when that was.
fn forget_what_is_gone(tx: &Tx<'_>, number: HomeNo, command: &mut Command) -> Result<(), StoreError> {
    let Command::Create { kind, body } = command else { return Ok(()) };
    for (_, _, target) in references(*kind, &body.fields) {
        if records::entry(tx, number, target)?.is_some_and(|entry| entry.deleted) {
            rules::clear_reference(*kind, &mut body.fields, target);
        }
    }
    Ok(())
}

fn made_already(seed: u64) -> String {
    format!("this home had records of seed {seed} already; choose another --seed, or another home")
}

fn refused_growth(seed: u64, problem: &Problem) -> Error {
    Error::Refused(match problem.kind {
        ProblemType::AlreadyExists => made_already(seed),
        _ => format!("the home refused a record: {}", problem.message),
    })
}
