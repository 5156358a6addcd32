//! Teams, their homes, and where each home's log stands.

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use rusqlite::{OptionalExtension, Row, named_params};
use uuid::Uuid;

use super::{Fault, HomeNo, Tx};

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    /// Its id.
    pub id: String,
    /// Its name, unique on this server.
    pub name: String,
    /// What it pays for.
    pub plan: Plan,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What a team pays for (contract 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Sandbox only.
    Free,
    /// The live home too.
    Paid,
}

impl Plan {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Plan::Free => "free",
            Plan::Paid => "paid",
        }
    }

    /// The plan a word names.
    pub fn parse(word: &str) -> Option<Plan> {
        [Plan::Free, Plan::Paid].into_iter().find(|plan| plan.as_str() == word)
    }
}

/// One isolated data set, and where its log stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// How tables name it.
    pub number: HomeNo,
    /// How clients name it; also the id of its profile record.
    pub id: Uuid,
    /// The last event id given out.
    pub head: i64,
    /// No event id below this is given out any more: a restored home leaves a gap.
    pub floor: i64,
    /// The latest moment given out.
    pub clock: Timestamp,
    /// The process that wrote last.
    pub run: i64,
    /// Events up to here are older than retention and were thinned out.
    pub aged: i64,
    /// The highest event id that thinning took out of the feed.
    pub thinned: i64,
}

/// Makes a team with its two homes.
pub fn create_team(tx: &Tx<'_>, team: &Team, live: Uuid, sandbox: Uuid) -> Result<(), Fault> {
    tx.conn.execute(
        "INSERT INTO teams (id, name, plan, created_at) VALUES (:id, :name, :plan, :at)",
        named_params! { ":id": team.id, ":name": team.name, ":plan": team.plan.as_str(), ":at": team.created_at.millis() },
    )?;
    for (id, environment) in [(live, Environment::Live), (sandbox, Environment::Test)] {
        tx.conn.execute(
            "INSERT INTO homes (id, team, environment) VALUES (:id, :team, :environment)",
            named_params! { ":id": id.to_string(), ":team": team.id, ":environment": environment.as_str() },
        )?;
    }
    Ok(())
}

/// All teams, oldest first.
pub fn teams(tx: &Tx<'_>) -> Result<Vec<Team>, Fault> {
    let mut statement =
        tx.conn.prepare_cached("SELECT id, name, plan, created_at FROM teams ORDER BY created_at, id")?;
    statement.query_and_then([], team)?.collect()
}

/// The team of this id or of this name.
pub fn find_team(tx: &Tx<'_>, id_or_name: &str) -> Result<Option<Team>, Fault> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT id, name, plan, created_at FROM teams WHERE id = :t OR name = :t ORDER BY id = :t DESC LIMIT 1",
    )?;
    statement.query_and_then(named_params! { ":t": id_or_name }, team)?.next().transpose()
}

/// Changes what a team pays for.
pub fn set_plan(tx: &Tx<'_>, team: &str, plan: Plan) -> Result<(), Fault> {
    tx.conn.execute("UPDATE teams SET plan = ?2 WHERE id = ?1", (team, plan.as_str()))?;
    Ok(())
}

fn team(row: &Row<'_>) -> Result<Team, Fault> {
    let plan: String = row.get(2)?;
    let plan = Plan::parse(&plan).ok_or_else(|| Fault::Corrupt(format!("plan {plan}")))?;
    Ok(Team { id: row.get(0)?, name: row.get(1)?, plan, created_at: Timestamp::from_millis(row.get(3)?) })
}

/// The numbers of all homes.
pub fn numbers(tx: &Tx<'_>) -> Result<Vec<HomeNo>, Fault> {
    let mut statement = tx.conn.prepare_cached("SELECT number FROM homes ORDER BY number")?;
    Ok(statement.query_map([], |row| row.get(0).map(HomeNo))?.collect::<Result<_, _>>()?)
}

/// A team's home in an environment.
pub fn of_team(tx: &Tx<'_>, team: &str, environment: Environment) -> Result<Home, Fault> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT number, id, head, floor, clock, run, aged, thinned FROM homes WHERE team = :team AND environment = :environment",
    )?;
    let found =
        statement.query_row(named_params! { ":team": team, ":environment": environment.as_str() }, home).optional()?;
    found.ok_or_else(|| Fault::Corrupt(format!("team {team} has no {} home", environment.as_str())))
}

/// Where a home stands now.
pub fn load(tx: &Tx<'_>, number: HomeNo) -> Result<Home, Fault> {
    let mut statement = tx
        .conn
        .prepare_cached("SELECT number, id, head, floor, clock, run, aged, thinned FROM homes WHERE number = ?1")?;
    let found = statement.query_row([number.0], home).optional()?;
    let mut home = found.ok_or_else(|| Fault::Corrupt(format!("no home {}", number.0)))?;
    if hearth_simulated::planted(hearth_simulated::Fault::EventIdsReused) {
        let mut last = tx.conn.prepare_cached("SELECT max(seat) FROM events WHERE seat >= ?1 AND seat < ?2")?;
        let seats = (number.seat(0), HomeNo(number.0 + 1).seat(0));
        home.head = last.query_row(seats, |row| row.get::<_, Option<i64>>(0))?.map_or(0, super::event_of_seat);
    }
    Ok(home)
}

fn home(row: &Row<'_>) -> rusqlite::Result<Home> {
    Ok(Home {
        number: HomeNo(row.get(0)?),
        id: Uuid::parse_str(row.get_ref(1)?.as_str()?).unwrap_or_default(),
        head: row.get(2)?,
        floor: row.get(3)?,
        clock: Timestamp::from_millis(row.get(4)?),
        run: row.get(5)?,
        aged: row.get(6)?,
        thinned: row.get(7)?,
    })
}

/// Keeps where a home stands, and rings its bell after the commit.
pub fn save(tx: &Tx<'_>, home: &Home) -> Result<(), Fault> {
    tx.ahead.set(false);
    tx.conn
        .prepare_cached("UPDATE homes SET head = ?2, clock = ?3, run = ?4, aged = ?5, thinned = ?6 WHERE number = ?1")?
        .execute((home.number.0, home.head, home.clock.millis(), home.run, home.aged, home.thinned))?;
    tx.rung.borrow_mut().push((home.number, home.head));
    Ok(())
}

/// Notes that a process writes from a position on.
pub fn begin_run(tx: &Tx<'_>, number: HomeNo, first: i64, run: i64) -> Result<(), Fault> {
    let mut statement = tx.conn.prepare_cached("INSERT INTO runs (home, first, run) VALUES (?1, ?2, ?3)")?;
    statement.execute((number.0, first, run))?;
    Ok(())
}

/// Marks that a home was put back to where it stands: another history after its head is thrown away, and its next event
/// comes `gap` positions later (contract 9.3); yet later, if that history is known to have reached `lost` and so used
/// that position already.
pub fn mark_restored(tx: &Tx<'_>, number: HomeNo, run: i64, lost: i64, gap: i64) -> Result<(), Fault> {
    let home = load(tx, number)?;
    // A copy of a home that was restored itself and not written since has a mark at this place already.
    let mut mark = tx.conn.prepare_cached(
        "INSERT INTO runs (home, first, run, restored) VALUES (?1, ?2, ?3, 1)
         ON CONFLICT (home, first) DO UPDATE SET run = excluded.run",
    )?;
    mark.execute((number.0, home.head + 1, run))?;
    let mut keep = tx.conn.prepare_cached("UPDATE homes SET run = ?2, floor = ?3 WHERE number = ?1")?;
    let next = home.floor.max(home.head + 1) + gap;
    keep.execute((number.0, run, if next > lost { next } else { lost + 1 + gap }))?;
    Ok(())
}

/// The positions that one process wrote; the default is what is before all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Run {
    /// Its random number.
    pub number: i64,
    /// Its first position.
    pub first: i64,
    /// The position from which its history is its own: its first, or where the home was put back to before it.
    pub origin: i64,
    /// The run that wrote what is before; 0: none did.
    pub parent: i64,
}

/// The runs that wrote positions `from` to `to`, in order. The first one began at or before `from`.
pub fn runs(tx: &Tx<'_>, number: HomeNo, from: i64, to: i64) -> Result<Vec<Run>, Fault> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT run, first, origin,
                coalesce((SELECT p.run FROM runs p WHERE p.home = ?1 AND p.first < origin ORDER BY p.first DESC LIMIT 1), 0)
         FROM (SELECT run, first, coalesce(
                   (SELECT CASE m.restored WHEN 1 THEN m.first END FROM runs m
                    WHERE m.home = ?1 AND m.first < r.first ORDER BY m.first DESC LIMIT 1), first) AS origin
               FROM runs r WHERE home = ?1 AND first <= ?3
                 AND first >= coalesce((SELECT max(first) FROM runs WHERE home = ?1 AND first <= ?2), 0))
         ORDER BY first",
    )?;
    let run =
        |row: &Row<'_>| Ok(Run { number: row.get(0)?, first: row.get(1)?, origin: row.get(2)?, parent: row.get(3)? });
    let found: Vec<Run> = statement.query_map((number.0, from, to), run)?.collect::<Result<_, _>>()?;
    match found.first() {
        Some(run) if run.first <= from => Ok(found),
        _ => Ok([Run::default()].into_iter().chain(found).collect()),
    }
}

/// The position up to which a run's history and this database's are the same: just before the next run began. None:
/// the run is unknown here, or still writes.
pub fn end_of_run(tx: &Tx<'_>, number: HomeNo, run: i64) -> Result<Option<i64>, Fault> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT (SELECT min(n.first) - 1 FROM runs n WHERE n.home = r.home AND n.first > r.first)
         FROM runs r WHERE r.home = ?1 AND r.run = ?2 ORDER BY r.first DESC LIMIT 1",
    )?;
    Ok(statement.query_row((number.0, run), |row| row.get(0)).optional()?.flatten())
}
