//! Teams with their homes and sandboxes. Must not know the command line.

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use hearth_contract::schema::{AUTHOR_MAX, Kind};

use super::error::Error;
use crate::clock::Clock;
use crate::home::sandbox;
use crate::random::fresh_id;
use crate::store::homes::{self, Plan, Team};
use crate::store::{Db, StoreError, Tx, records};

/// Name of the team that the first `serve` creates.
const FIRST_TEAM: &str = "My home";

/// The rule that [`is_valid_name`] checks, as a sentence.
pub const NAME_RULE: &str = "a name must be one line of at most 100 characters and not blank";

/// Whether a team or a key may have this name. Records show the name of the key that changed them last.
pub fn is_valid_name(name: &str) -> bool {
    let is_short = name.chars().count() <= AUTHOR_MAX;
    is_short && !name.trim().is_empty() && !name.chars().any(char::is_control)
}

/// Creates the first team in an empty database and returns the team. None: there is a team already.
pub async fn ensure_first_team(db: &Db, clock: &Clock) -> Result<Option<Team>, Error> {
    let now = clock.now();
    // A read first, because a write would wait for other processes that write.
    if db.read(homes::has_team).await? {
        return Ok(None);
    }
    let created = db
        .write(
            move |tx| {
                if homes::has_team(tx)? { Ok(None) } else { create(tx, FIRST_TEAM, Plan::Paid, now).map(Some) }
            },
        )
        .await?;
    Ok(created)
}

/// Creates a team with an empty live home and a sandbox, which is filled at its first use. Refused for a name that is not valid or not new.
pub async fn create_team(db: &Db, clock: &Clock, name: String, plan: Plan) -> Result<Team, Error> {
    if !is_valid_name(&name) {
        return Err(Error::Refused(NAME_RULE.to_owned()));
    }
    let now = clock.now();
    let created = db
        .write(move |tx| match homes::find_team(tx, &name)? {
            Some(_) => Ok(Err(name)),
            None => create(tx, &name, plan, now).map(Ok),
        })
        .await?;
    created.map_err(|name| Error::Refused(format!("there is a team `{name}` already; choose another name")))
}

fn create(tx: &Tx<'_>, name: &str, plan: Plan, now: Timestamp) -> Result<Team, StoreError> {
    let id = || fresh_id(now);
    let team = Team { id: id().to_string(), name: name.to_owned(), plan, created_at: now };
    homes::create_team(tx, &team, id(), id())?;
    Ok(team)
}

/// All teams, oldest first.
pub async fn teams(db: &Db) -> Result<Vec<Team>, Error> {
    Ok(db.read(homes::teams).await?)
}

/// Sets the plan of a team (id or name). A running server applies the plan within a second.
pub async fn set_plan(db: &Db, team: String, plan: Plan) -> Result<Team, Error> {
    let found = db
        .write(move |tx| {
            let Some(found) = homes::find_team(tx, &team)? else { return Ok(Err(team)) };
            homes::set_plan(tx, &found.id, plan)?;
            Ok(Ok(Team { plan, ..found }))
        })
        .await?;
    found.map_err(|team| Error::no_team(&team))
}

/// What a sandbox holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxCount {
    /// The number of records of each kind.
    pub records: Vec<(Kind, i64)>,
    /// The moment at which the sandbox got its example data. None: not yet.
    pub filled_at: Option<Timestamp>,
}

/// Counts the records of the sandbox of a team (id).
pub async fn count_sandbox(db: &Db, team: &str) -> Result<SandboxCount, Error> {
    let team = team.to_owned();
    let found = db.read(move |tx| {
        let home = homes::home_of_team(tx, &team, Environment::Test)?;
        let counted = records::count_by_kind(tx, home.number)?;
        let count = |kind| counted.iter().find(|(known, _)| *known == kind).map_or(0, |(_, count)| *count);
        let records = Kind::ALL.into_iter().map(|kind| (kind, count(kind))).collect();
        Ok(SandboxCount { records, filled_at: home.filled_at })
    });
    Ok(found.await?)
}

/// Deletes all records of a team's sandbox and creates the fixtures again, in one transaction (contract 11). Returns the
/// team and the number of created records.
pub async fn reset_sandbox(db: &Db, clock: &Clock, team: String) -> Result<(Team, usize), Error> {
    let (now, run) = (clock.now(), db.epoch());
    let found = db
        .write(move |tx| {
            let Some(team) = homes::find_team(tx, &team)? else { return Ok(Err(team)) };
            let number = homes::home_of_team(tx, &team.id, Environment::Test)?.number;
            let created = sandbox::reset(tx, number, run, now, &mut || fresh_id(now))?;
            Ok(Ok((team, created)))
        })
        .await?;
    found.map_err(|team| Error::no_team(&team))
}
