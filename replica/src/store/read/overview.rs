//! What the home screen shows: what is due, what runs out, what the home is worth, how lively it is. Days are arguments,
//! because a database does not know the day on the wall. Must not write.

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::Connection;

use crate::store::StoreError;
use crate::store::read::page::between;
use crate::store::read::view::{Row, or_kind};
use crate::store::schema::order;

/// More tasks than this nobody reads through: of those that are overdue, of today's and of the week's each.
const DUE_MAX: usize = 100;
/// More than this nobody reads through: of what ran out and of what will each.
const EXPIRING_MAX: usize = 200;
/// Among so many of a kind that were changed last, somebody else's change is looked for; one further down is no news.
pub(crate) const LATEST_MAX: usize = 200;

/// The days that an overview is about, as dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Days {
    /// The day on the wall.
    pub today: String,
    /// The last day that counts as this week.
    pub week: String,
    /// The first day of what runs out, and of the calendar.
    pub from: String,
    /// The last day of what runs out, and of the calendar.
    pub until: String,
}

/// What needs attention.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// Open tasks whose day has passed.
    pub overdue: usize,
    /// Open tasks of today.
    pub today: usize,
    /// Open tasks of the rest of the week.
    pub week: usize,
    /// All tasks that are not done.
    pub open: usize,
    /// The tasks of the first three, soonest first; the first 100 of each.
    pub due: Vec<Row>,
    /// What ran out since the first day, the last 200 but for warranties, and what runs out until the last, the first 200;
    /// soonest first.
    pub expiring: Vec<Expiring>,
    /// Whether more runs out until the last day than is listed.
    pub is_cut: bool,
    /// The days from the first to the last on which an open task is due.
    pub due_days: Vec<String>,
    /// The same for warranties.
    pub warranty_days: Vec<String>,
    /// The same for whatever else runs out.
    pub end_days: Vec<String>,
    /// The home's profile.
    pub profile: Option<Row>,
    /// What somebody else has changed last.
    pub latest: Option<Latest>,
}

/// A record that somebody else has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latest {
    /// Position of the change.
    pub rev: i64,
    /// The kind of the record.
    pub kind: Kind,
    /// What it is called.
    pub title: String,
}

/// Something that runs out on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiring {
    /// The day, as a date.
    pub on: String,
    /// `warranty`, `insurance`, `registration`, or the category of a document.
    pub what: String,
    /// The kind of the record.
    pub kind: Kind,
    /// Which record.
    pub id: String,
    /// What it is called.
    pub title: String,
}

/// What the home is worth and how lively it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Worth of the items in cents by room, the greatest first; "" is no room.
    pub rooms: Vec<(String, i64)>,
    /// Worth of the items in cents by category, the greatest first; "" is none.
    pub categories: Vec<(String, i64)>,
    /// How many records changed last on each day: date and number, the oldest first, only days with some.
    pub activity: Vec<(String, usize)>,
}

/// Reads what needs attention.
pub(crate) fn read(connection: &Connection, days: &Days) -> Result<Overview, StoreError> {
    let key = order::key(Kind::Task, "due_on");
    // The key of an open task is a 0, its day and its title, whatever that begins with.
    let (tomorrow, after) = (next_day(connection, &days.today)?, next_day(connection, &days.week)?);
    let ends = ["0".to_owned(), format!("0{}", days.today), format!("0{tomorrow}"), format!("0{after}")];
    let count = |before: &str| -> Result<usize, StoreError> {
        let text = format!("SELECT count(*) FROM tasks WHERE {key} < ?1");
        let count: i64 = connection.prepare_cached(&text)?.query_row([before], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or_default())
    };
    let (overdue, today, week) = (count(&ends[1])?, count(&ends[2])?, count(&ends[3])?);
    let open = count("1")?;
    let mut due = Vec::new();
    // Each apart: what was left undone for years must not hide what is due today.
    for pair in ends.windows(2) {
        due.extend(between(connection, Kind::Task, "due_on", (&pair[0], &pair[1]), DUE_MAX)?);
    }
    let (expiring, is_cut) = expiring(connection, days)?;
    let mut end_days = days_with(connection, Kind::Document, "expires_on", "", days)?;
    end_days.extend(vehicle_days(connection, days)?);
    Ok(Overview {
        overdue,
        today: today.saturating_sub(overdue),
        week: week.saturating_sub(today),
        open,
        due,
        expiring,
        is_cut,
        due_days: days_with(connection, Kind::Task, "due_on", "0", days)?,
        warranty_days: days_with(connection, Kind::Inventory, "warranty_expires_on", "", days)?,
        end_days,
        profile: crate::store::read::view::row(connection, Kind::Property, "")?,
        latest: latest(connection)?,
    })
}

/// The record that was changed last, unless by an edit from here. The newest are read one by one from their index, and no more
/// than a few of them: where somebody has just written a hundred thousand rows here, those are not walked through.
fn latest(connection: &Connection) -> Result<Option<Latest>, StoreError> {
    let mut newest: Option<Latest> = None;
    for kind in Kind::COLLECTIONS {
        let (key, table) = (order::key(kind, "updated_at"), kind.collection());
        let text = format!(
            "SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM edits e WHERE e.record_id = t.id)
                 AND NOT EXISTS (SELECT 1 FROM edit_history h WHERE h.record_id = t.id AND h.rev = t.rev) THEN rev END, {}
             FROM {table} t WHERE {key} < '~' ORDER BY {key} DESC LIMIT {LATEST_MAX}",
            resource(kind).title
        );
        let mut statement = connection.prepare_cached(&text)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let Some(rev) = row.get(0)? else { continue };
            if newest.as_ref().is_none_or(|newest| newest.rev < rev) {
                let title = row.get::<_, Option<String>>(1)?.unwrap_or_default();
                newest = Some(Latest { rev, kind, title: or_kind(kind, title) });
            }
            break;
        }
    }
    Ok(newest)
}

/// The day after a day.
fn next_day(connection: &Connection, day: &str) -> Result<String, StoreError> {
    let next: Option<String> =
        connection.prepare_cached("SELECT date(?1, '+1 day')")?.query_row([day], |row| row.get(0))?;
    // Of what is no day, all that begins with it.
    Ok(next.unwrap_or_else(|| format!("{day}~")))
}

/// The days on which something of an order of days stands, whose keys begin with `mark`. Its index is jumped through from day
/// to day, so that it costs what there are days, however much stands on each.
fn days_with(
    connection: &Connection,
    kind: Kind,
    column: &str,
    mark: &str,
    days: &Days,
) -> Result<Vec<String>, StoreError> {
    let key = order::key(kind, column);
    let text = format!("SELECT min({key}) FROM {} WHERE {key} >= ?1 AND {key} < ?2", kind.collection());
    let mut statement = connection.prepare_cached(&text)?;
    let end = format!("{mark}{}", next_day(connection, &days.until)?);
    let mut from = format!("{mark}{}", days.from);
    let mut found = Vec::new();
    while let Some(at) = statement.query_row([&from, &end], |row| row.get::<_, Option<String>>(0))? {
        let Some(day) = at.get(mark.len()..mark.len() + days.from.len()) else { break };
        let next = format!("{mark}{}", next_day(connection, day)?);
        if next <= from {
            break;
        }
        found.push(day.to_owned());
        from = next;
    }
    Ok(found)
}

/// A home has few vehicles, so they are looked through.
fn vehicle_days(connection: &Connection, days: &Days) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT insurance_expires_on FROM vehicles WHERE insurance_expires_on BETWEEN ?1 AND ?2
         UNION SELECT registration_expires_on FROM vehicles WHERE registration_expires_on BETWEEN ?1 AND ?2",
    )?;
    let found = statement.query_map([&days.from, &days.until], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// What ran out and what runs out, each bounded apart, and whether there is more of the second. A warranty that has ended is
/// no news, and there are many.
fn expiring(connection: &Connection, days: &Days) -> Result<(Vec<Expiring>, bool), StoreError> {
    let (today, after) = (days.today.as_str(), next_day(connection, &days.until)?);
    let from = days.from.as_str();
    let mut all = ending(connection, false, (from, today), "DESC")?;
    all.truncate(EXPIRING_MAX);
    all.reverse();
    let mut ahead = ending(connection, true, (today.max(from), &after), "ASC")?;
    let is_cut = ahead.len() > EXPIRING_MAX;
    ahead.truncate(EXPIRING_MAX);
    all.extend(ahead);
    Ok((all, is_cut))
}

/// What ends from a day on and before another, one more than is listed.
fn ending(
    connection: &Connection,
    warranties: bool,
    (from, before): (&str, &str),
    direction: &str,
) -> Result<Vec<Expiring>, StoreError> {
    // By the keys of the orders, so that the index of each finds the few that run out among the many that do not.
    let within = |kind: Kind, column: &str| {
        let key = order::key(kind, column);
        format!("{key} >= ?1 AND {key} < ?2")
    };
    let warranties = match warranties {
        true => format!(
            "UNION ALL SELECT warranty_expires_on, 'warranty', 'inventory', id, name FROM inventory WHERE {}",
            within(Kind::Inventory, "warranty_expires_on")
        ),
        false => String::new(),
    };
    let text = format!(
        "SELECT expires_on, coalesce(category, 'document'), 'document', id, title FROM documents WHERE {}
         {warranties}
         UNION ALL SELECT insurance_expires_on, 'insurance', 'vehicle', id, name FROM vehicles
                   WHERE insurance_expires_on >= ?1 AND insurance_expires_on < ?2
         UNION ALL SELECT registration_expires_on, 'registration', 'vehicle', id, name FROM vehicles
                   WHERE registration_expires_on >= ?1 AND registration_expires_on < ?2
         ORDER BY 1 {direction}, 5 {direction} LIMIT ?3",
        within(Kind::Document, "expires_on"),
    );
    let limit = i64::try_from(EXPIRING_MAX + 1).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(&text)?;
    let found = statement.query_map((from, before, limit), |row| {
        let kind = Kind::parse(&row.get::<_, String>(2)?).unwrap_or(Kind::Document);
        Ok(Expiring { on: row.get(0)?, what: row.get(1)?, kind, id: row.get(3)?, title: row.get(4)? })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Reads the figures; `since` is the first day of the activity. Its days are those of the clock on the wall, as a filter has
/// them.
pub(crate) fn figures(connection: &Connection, since: &str) -> Result<Figures, StoreError> {
    let worth = "sum(CAST(round(coalesce(current_value, purchase_price) * 100) AS INTEGER))";
    // Summed by room and category at once, from an index that holds all of it.
    let mut statement = connection.prepare_cached(&format!(
        "SELECT r.name, w.category, w.cents FROM
             (SELECT room_id, category, {worth} AS cents FROM inventory GROUP BY room_id, category) w
         LEFT JOIN rooms r ON r.id = w.room_id"
    ))?;
    let found = statement.query_map([], |row| {
        let text = |n| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(n)?.unwrap_or_default());
        Ok((text(0)?, text(1)?, row.get::<_, Option<i64>>(2)?.unwrap_or_default()))
    })?;
    let mut figures = Figures::default();
    for part in found {
        let (room, category, cents) = part?;
        add(&mut figures.rooms, room, cents);
        add(&mut figures.categories, category, cents);
    }
    for list in [&mut figures.rooms, &mut figures.categories] {
        list.retain(|(_, cents)| *cents > 0);
        list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    }
    // By minutes first, at which any zone's days begin: to ask of each row which day it was takes longer than all the rest.
    let tables = Kind::COLLECTIONS.map(|kind| {
        let key = order::key(kind, "updated_at");
        format!(
            "SELECT substr({key}, 1, 16) AS minute, count(*) AS number FROM {}
             WHERE {key} >= strftime('%Y-%m-%dT%H:%M:%fZ', ?1, 'utc') AND {key} < '~' GROUP BY minute",
            kind.collection()
        )
    });
    let text = format!(
        "SELECT date(minute, 'localtime') AS day, sum(number) FROM ({}) GROUP BY day HAVING day IS NOT NULL ORDER BY day",
        tables.join(" UNION ALL ")
    );
    let mut statement = connection.prepare_cached(&text)?;
    let found = statement.query_map([since], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?;
    for day in found {
        let (day, count) = day?;
        figures.activity.push((day, usize::try_from(count).unwrap_or_default()));
    }
    Ok(figures)
}

fn add(list: &mut Vec<(String, i64)>, name: String, cents: i64) {
    match list.iter_mut().find(|(known, _)| *known == name) {
        Some((_, sum)) => *sum += cents,
        None => list.push((name, cents)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use hearth_contract::check::Fields;
    use serde_json::{Value, json};

    use super::*;
    use crate::{Origin, Replica};

    fn home() -> (tempfile::TempDir, PathBuf, Replica) {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let replica = Replica::open(&db, Origin::Cli).unwrap();
        (directory, db, replica)
    }

    fn make(replica: &Replica, kind: Kind, fields: Value) {
        let fields: Fields = fields.as_object().cloned().unwrap();
        replica.create(kind, &fields).unwrap();
    }

    #[test]
    fn a_change_counts_on_the_day_it_was_on_the_clock_on_the_wall() {
        let (_directory, db, replica) = home();
        let at = |clock: &str| format!("strftime('%Y-%m-%dT%H:%M:%fZ', '2026-11-21 {clock}', 'utc')");
        let statements = format!(
            "BEGIN; UPDATE _gate SET open = 1, turn = turn + 1;
             INSERT INTO rooms (name, updated_at, rev) VALUES ('Hall', {}, 1), ('Attic', {}, 2);
             UPDATE _gate SET open = 0, turn = turn + 1; COMMIT",
            at("00:00"),
            at("23:59")
        );
        Connection::open(&db).unwrap().execute_batch(&statements).unwrap();
        assert_eq!(replica.figures("2026-11-21").unwrap().activity, [("2026-11-21".to_owned(), 2_usize)]);
        assert!(replica.figures("2026-11-22").unwrap().activity.is_empty());
    }

    #[test]
    fn much_of_one_section_hides_nothing_of_the_others_nor_of_the_calendar() {
        let (_directory, _db, replica) = home();
        for number in 0..DUE_MAX + 3 {
            make(&replica, Kind::Task, json!({ "title": format!("Late {number}"), "due_on": "2026-11-01" }));
        }
        make(&replica, Kind::Task, json!({ "title": "Über today", "due_on": "2026-11-21" }));
        make(&replica, Kind::Task, json!({ "title": "Élan at the end", "due_on": "2026-11-28" }));
        make(&replica, Kind::Task, json!({ "title": "Next month", "due_on": "2026-12-24" }));
        make(&replica, Kind::Task, json!({ "title": "Done", "due_on": "2026-12-23", "status": "done" }));
        for number in 0..2 * EXPIRING_MAX + 3 {
            let item = json!({ "name": format!("Lamp {number}"), "warranty_expires_on": "2026-11-02" });
            make(&replica, Kind::Inventory, item);
        }
        make(&replica, Kind::Inventory, json!({ "name": "Oven", "warranty_expires_on": "2026-12-06" }));
        make(&replica, Kind::Vehicle, json!({ "name": "Car", "insurance_expires_on": "2026-11-19" }));
        make(&replica, Kind::Document, json!({ "title": "Élan's passport", "expires_on": "2026-12-31" }));
        let day = |day: &str| day.to_owned();
        let days = Days {
            today: day("2026-11-21"),
            week: day("2026-11-28"),
            from: day("2026-09-22"),
            until: day("2026-12-31"),
        };
        let overview = replica.overview(&days).unwrap();
        assert_eq!((overview.overdue, overview.today, overview.week, overview.open), (DUE_MAX + 3, 1, 1, DUE_MAX + 6));
        let titles: Vec<&str> = overview.due.iter().skip(DUE_MAX).map(|row| row.title.as_str()).collect();
        assert_eq!(titles, ["Über today", "Élan at the end"]);
        let ends: Vec<&str> = overview.expiring.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(ends, ["Car", "Oven", "Élan's passport"]);
        assert!(!overview.is_cut);
        assert_eq!(overview.due_days, ["2026-11-01", "2026-11-21", "2026-11-28", "2026-12-24"]);
        assert_eq!(overview.warranty_days, ["2026-11-02", "2026-12-06"]);
        assert_eq!(overview.end_days, ["2026-12-31", "2026-11-19"]);
    }
}
