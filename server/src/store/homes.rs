//! Teams, their homes, the head and horizons of each home, and the epochs of its history. Must not know the events.

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use rusqlite::{OptionalExtension, Row, named_params};
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::tx::Tx;

/// An account: owns a live home and a sandbox home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    /// UUID text.
    pub id: String,
    /// Unique on this server.
    pub name: String,
    /// Decides whether the team may use its live home.
    pub plan: Plan,
    /// The moment of creation.
    pub created_at: Timestamp,
}

/// What a team pays for (contract 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// The sandbox home only.
    Free,
    /// The live home too.
    Paid,
}

impl Plan {
    /// The word in the database and in the API: `free` or `paid`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Plan::Free => "free",
            Plan::Paid => "paid",
        }
    }

    /// The plan with this word; None for any other word.
    pub fn parse(word: &str) -> Option<Plan> {
        [Plan::Free, Plan::Paid].into_iter().find(|plan| plan.as_str() == word)
    }
}

/// One isolated data set: the row of `homes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The home in all tables.
    pub number: HomeNumber,
    /// The home in the API; also the id of its property record.
    pub id: Uuid,
    /// The last event id given out; 0 before the first event.
    pub head: i64,
    /// The lowest id that the next event may get: a restored home leaves a gap (contract 9.3).
    pub next_event_min: i64,
    /// The latest moment given out, below which `updated_at` never falls. None before the first event.
    pub last_updated_at: Option<Timestamp>,
    /// The epoch that wrote last. None before the first event.
    pub epoch: Option<i64>,
    /// The retention horizon: events up to this position are older than retention and compacted.
    pub retention_pos: i64,
    /// The compaction horizon: the highest event id that compaction removed from the feed; 0 when none was removed.
    pub compacted_pos: i64,
    /// The moment of the oldest event after the retention horizon. None: there is no event after the horizon.
    pub oldest_event_at: Option<Timestamp>,
    /// The moment at which a sandbox got its example data. None: not yet, or a live home.
    pub filled_at: Option<Timestamp>,
}

/// Creates a team with its two homes.
pub fn create_team(tx: &Tx<'_>, team: &Team, live: Uuid, sandbox: Uuid) -> Result<(), StoreError> {
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

/// All teams, the oldest first.
pub fn teams(tx: &Tx<'_>) -> Result<Vec<Team>, StoreError> {
    let mut statement =
        tx.conn.prepare_cached("SELECT id, name, plan, created_at FROM teams ORDER BY created_at, id")?;
    statement.query_and_then([], read_team)?.collect()
}

/// The team with this id, or else with this name.
pub fn find_team(tx: &Tx<'_>, id_or_name: &str) -> Result<Option<Team>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT id, name, plan, created_at FROM teams WHERE id = :t OR name = :t ORDER BY id = :t DESC LIMIT 1",
    )?;
    statement.query_and_then(named_params! { ":t": id_or_name }, read_team)?.next().transpose()
}

/// Changes the plan of a team, named by id.
pub fn set_plan(tx: &Tx<'_>, team: &str, plan: Plan) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE teams SET plan = ?2 WHERE id = ?1", (team, plan.as_str()))?;
    Ok(())
}

fn read_team(row: &Row<'_>) -> Result<Team, StoreError> {
    let plan: String = row.get(2)?;
    let plan = Plan::parse(&plan).ok_or_else(|| StoreError::Corrupt(format!("plan {plan}")))?;
    Ok(Team { id: row.get(0)?, name: row.get(1)?, plan, created_at: Timestamp::from_millis(row.get(3)?) })
}

/// The numbers of all homes, in ascending order.
pub fn numbers(tx: &Tx<'_>) -> Result<Vec<HomeNumber>, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT number FROM homes ORDER BY number")?;
    Ok(statement.query_map([], |row| row.get(0).map(HomeNumber))?.collect::<Result<_, _>>()?)
}

/// Changes a row and changes it back, so that the commit writes a page to the disk. SQLite writes no page for an update to
/// equal values.
pub fn try_write(tx: &Tx<'_>) -> Result<(), StoreError> {
    for step in [1, -1] {
        let mut statement = tx.conn.prepare_cached(
            "UPDATE homes SET next_event_min = next_event_min + ?1 WHERE number = (SELECT min(number) FROM homes)",
        )?;
        statement.execute([step])?;
    }
    Ok(())
}

/// Bytes that the records, events, stored responses, files, what was read in them, imports and export files of a home take.
pub fn used_bytes(tx: &Tx<'_>, number: HomeNumber) -> Result<i64, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT event_bytes + receipt_bytes + file_bytes + import_bytes + capture_bytes
                + (SELECT coalesce(sum(size_bytes), 0) FROM exports WHERE home = ?1 AND status = 'succeeded')
         FROM homes WHERE number = ?1",
    )?;
    Ok(statement.query_row([number.0], |row| row.get(0))?)
}

/// Whether there is a team. A look at one row.
pub fn has_team(tx: &Tx<'_>) -> Result<bool, StoreError> {
    Ok(tx.conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM teams)")?.query_row([], |row| row.get(0))?)
}

/// Homes with an event after their retention horizon from before a moment, at most `limit`, the oldest event first.
pub fn with_expired_events(tx: &Tx<'_>, before: Timestamp, limit: usize) -> Result<Vec<HomeNumber>, StoreError> {
    let mut statement = tx
        .conn
        .prepare_cached("SELECT number FROM homes WHERE oldest_event_at < ?1 ORDER BY oldest_event_at LIMIT ?2")?;
    let numbers = statement.query_map((before.millis(), limit as i64), |row| row.get(0).map(HomeNumber))?;
    Ok(numbers.collect::<Result<_, _>>()?)
}

/// The columns that [`read_home`] expects.
const HOME_COLUMNS: &str = "number, id, head, next_event_min, last_updated_at, epoch, retention_pos, compacted_pos,
    oldest_event_at, filled_at FROM homes";

/// The home of a team in an environment.
pub fn home_of_team(tx: &Tx<'_>, team: &str, environment: Environment) -> Result<Home, StoreError> {
    let mut statement =
        tx.conn.prepare_cached(&format!("SELECT {HOME_COLUMNS} WHERE team = :team AND environment = :environment"))?;
    let params = named_params! { ":team": team, ":environment": environment.as_str() };
    let found = statement.query_and_then(params, read_home)?.next().transpose()?;
    found.ok_or_else(|| StoreError::Corrupt(format!("team {team} has no {} home", environment.as_str())))
}

/// The name of the team that owns a home.
pub fn team_name(tx: &Tx<'_>, number: HomeNumber) -> Result<String, StoreError> {
    let sql = "SELECT t.name FROM homes h JOIN teams t ON t.id = h.team WHERE h.number = ?1";
    Ok(tx.conn.prepare_cached(sql)?.query_row([number.0], |row| row.get(0))?)
}

/// The present state of a home.
pub fn load(tx: &Tx<'_>, number: HomeNumber) -> Result<Home, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("SELECT {HOME_COLUMNS} WHERE number = ?1"))?;
    let found = statement.query_and_then([number.0], read_home)?.next().transpose()?;
    found.ok_or_else(|| StoreError::Corrupt(format!("no home {}", number.0)))
}

fn read_home(row: &Row<'_>) -> Result<Home, StoreError> {
    let moment = |column: usize| row.get::<_, Option<i64>>(column).map(|at| at.map(Timestamp::from_millis));
    let number = row.get(0)?;
    // A home under another id would give its profile away, or hide it.
    let id = row.get_ref(1)?.as_str().ok().and_then(|text| Uuid::try_parse(text).ok());
    Ok(Home {
        number: HomeNumber(number),
        id: id.ok_or_else(|| StoreError::Corrupt(format!("the id of home {number}")))?,
        head: row.get(2)?,
        next_event_min: row.get(3)?,
        last_updated_at: moment(4)?,
        epoch: row.get(5)?,
        retention_pos: row.get(6)?,
        compacted_pos: row.get(7)?,
        oldest_event_at: moment(8)?,
        filled_at: moment(9)?,
    })
}

/// Saves the state of a home, and notifies its subscribers after the commit.
pub fn save(tx: &Tx<'_>, home: &Home) -> Result<(), StoreError> {
    tx.is_head_unsaved.set(false);
    tx.conn
        .prepare_cached(
            "UPDATE homes SET head = ?2, last_updated_at = ?3, epoch = ?4, retention_pos = ?5, compacted_pos = ?6,
                 event_bytes = event_bytes + ?7 WHERE number = ?1",
        )?
        .execute((
            home.number.0,
            home.head,
            home.last_updated_at.map(Timestamp::millis),
            home.epoch,
            home.retention_pos,
            home.compacted_pos,
            tx.event_bytes.take(),
        ))?;
    tx.pending.borrow_mut().new_heads.push((home.number, home.head));
    Ok(())
}

/// Stores the moment of the oldest event after the retention horizon. Not a part of [`save`], because the moment rarely
/// changes and has an index.
pub fn set_oldest_event_at(tx: &Tx<'_>, number: HomeNumber, at: Option<Timestamp>) -> Result<(), StoreError> {
    let mut statement = tx.conn.prepare_cached("UPDATE homes SET oldest_event_at = ?2 WHERE number = ?1")?;
    statement.execute((number.0, at.map(Timestamp::millis)))?;
    Ok(())
}

/// Stores that a sandbox got its example data.
pub fn set_filled(tx: &Tx<'_>, number: HomeNumber, at: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE homes SET filled_at = ?2 WHERE number = ?1", (number.0, at.millis()))?;
    Ok(())
}

/// Records that a process writes from a position on.
pub fn begin_epoch(tx: &Tx<'_>, number: HomeNumber, first_pos: i64, epoch: i64) -> Result<(), StoreError> {
    let mut statement = tx.conn.prepare_cached("INSERT INTO epochs (home, first_pos, epoch) VALUES (?1, ?2, ?3)")?;
    statement.execute((number.0, first_pos, epoch))?;
    Ok(())
}

/// Marks that a home was restored to its present head, which discards a later history (contract 9.3). The next event id
/// comes `gap` positions later. `lost_head` is the highest position of the discarded history, as far as known; ids up to
/// `lost_head` are never given out again.
pub fn mark_restored(tx: &Tx<'_>, number: HomeNumber, epoch: i64, lost_head: i64, gap: i64) -> Result<(), StoreError> {
    let home = load(tx, number)?;
    // A backup of a home that was restored, and not written since, has a row at this position.
    let mut mark = tx.conn.prepare_cached(
        "INSERT INTO epochs (home, first_pos, epoch, restored) VALUES (?1, ?2, ?3, 1)
         ON CONFLICT (home, first_pos) DO UPDATE SET epoch = excluded.epoch",
    )?;
    mark.execute((number.0, home.head + 1, epoch))?;
    let mut update = tx.conn.prepare_cached("UPDATE homes SET epoch = ?2, next_event_min = ?3 WHERE number = ?1")?;
    let next = home.next_event_min.max(home.head + 1) + gap;
    update.execute((number.0, epoch, if next > lost_head { next } else { lost_head + 1 + gap }))?;
    Ok(())
}

/// A stretch of a home's history that one process wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    /// The random number of the process.
    pub number: i64,
    /// The first position that the process wrote.
    pub first_pos: i64,
    /// The position from which the history belongs to this epoch alone: `first_pos`, or the first position after a
    /// restore that precedes the epoch.
    pub origin: i64,
    /// The number of the epoch before `origin`. None: the home had no events.
    pub parent: Option<i64>,
}

/// The epochs that wrote the positions `from` to `to`, in order. Empty when no epoch began at or before `to`.
pub fn epochs_between(tx: &Tx<'_>, number: HomeNumber, from: i64, to: i64) -> Result<Vec<Epoch>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT epoch, first_pos, origin,
                (SELECT p.epoch FROM epochs p WHERE p.home = ?1 AND p.first_pos < origin ORDER BY p.first_pos DESC LIMIT 1)
         FROM (SELECT epoch, first_pos, coalesce(
                   (SELECT CASE m.restored WHEN 1 THEN m.first_pos END FROM epochs m
                    WHERE m.home = ?1 AND m.first_pos < e.first_pos ORDER BY m.first_pos DESC LIMIT 1), first_pos) AS origin
               FROM epochs e WHERE home = ?1 AND first_pos <= ?3
                 AND first_pos >= coalesce((SELECT max(first_pos) FROM epochs WHERE home = ?1 AND first_pos <= ?2), 0))
         ORDER BY first_pos",
    )?;
    let epoch = |row: &Row<'_>| {
        Ok(Epoch { number: row.get(0)?, first_pos: row.get(1)?, origin: row.get(2)?, parent: row.get(3)? })
    };
    Ok(statement.query_map((number.0, from, to), epoch)?.collect::<Result<_, _>>()?)
}

/// The last position of an epoch: the position before the next epoch. None: this database does not know the epoch, or the
/// epoch still writes.
pub fn end_of_epoch(tx: &Tx<'_>, number: HomeNumber, epoch: i64) -> Result<Option<i64>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT (SELECT min(n.first_pos) - 1 FROM epochs n WHERE n.home = e.home AND n.first_pos > e.first_pos)
         FROM epochs e WHERE e.home = ?1 AND e.epoch = ?2 ORDER BY e.first_pos DESC LIMIT 1",
    )?;
    Ok(statement.query_row((number.0, epoch), |row| row.get(0)).optional()?.flatten())
}
