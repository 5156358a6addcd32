//! Reads for the home screen: due tasks, ending warranties and documents, the value of the home, its activity. Days are
//! arguments. Must not write and must not ask the clock.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::Connection;

use super::days::Days;
use super::page::rows_where;
use super::totals::Weeks;
use super::view::{self, Row, title_or_kind};
use crate::store::schema::order;
use crate::store::schema::worth::worth_sql;
use crate::store::{StoreError, rows, select};

/// The most tasks of each section: overdue, today, this week, next week, urgent.
const DUE_MAX: usize = 100;
/// The most entries that have ended, and the most that will end.
const EXPIRING_MAX: usize = 200;
/// How many of a kind's last changed records are searched for a change by another person.
pub(crate) const LATEST_MAX: usize = 200;

/// What needs attention.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// The number of open tasks that are overdue.
    pub overdue: usize,
    /// The number of open tasks that are due today.
    pub today: usize,
    /// The number of open tasks that are due in the rest of this week.
    pub week: usize,
    /// The number of open tasks that are due in the next week.
    pub next_week: usize,
    /// The number of open urgent tasks without a day.
    pub urgent: usize,
    /// The number of all open tasks.
    pub open: usize,
    /// The tasks that are overdue, due today, due this week or due next week, soonest first; at most 100 of each section.
    pub due: Vec<Row>,
    /// The open urgent tasks without a day, by title; at most 100.
    pub urgent_tasks: Vec<Row>,
    /// Soonest first: the last 200 entries that ended since the first day (no warranties), and the first 200 that end until the
    /// last day.
    pub expiring: Vec<Expiring>,
    /// The number of captures whose drafts wait for a person.
    pub ready_captures: usize,
    /// True when more entries end until the last day than are listed.
    pub is_cut: bool,
    /// The days of the calendar on which an open task is due.
    pub due_days: Vec<String>,
    /// The days of the calendar on which a warranty ends.
    pub warranty_days: Vec<String>,
    /// The days of the calendar on which a document, an insurance or a registration ends.
    pub end_days: Vec<String>,
    /// The home's profile; None before its first write.
    pub profile: Option<Row>,
    /// The last change by another person.
    pub latest: Option<Latest>,
}

/// A record that another person has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latest {
    /// The position of the change.
    pub rev: i64,
    /// The kind of the record.
    pub kind: Kind,
    /// The record's title; the kind's word when the record has none.
    pub title: String,
}

/// A warranty, insurance, registration or document that ends on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiring {
    /// The day, `YYYY-MM-DD`.
    pub on: String,
    /// `warranty`, `insurance`, `registration`, or the category of a document.
    pub what: String,
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record.
    pub id: String,
    /// The record's title; the kind's word when the record has none.
    pub title: String,
}

/// The worth of the home and its activity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// The worth of the items in cents by name of the room, the greatest first; "" stands for no room.
    pub rooms: Vec<(String, i64)>,
    /// The worth of the items in cents by category, the greatest first; "" stands for no category.
    pub categories: Vec<(String, i64)>,
    /// The number of records that changed last on each local day (`YYYY-MM-DD`), oldest first. Days without a change are left out.
    pub activity: Vec<(String, usize)>,
}

/// Reads what needs attention.
pub(crate) fn load_overview(connection: &Connection, days: &Days) -> Result<Overview, StoreError> {
    // The sort key of an open task is `0`, its day, its title.
    let Weeks { today, this, next } = &days.weeks;
    let after = |day: &str| format!("0{}", day_end(day));
    let ends = ["0".to_owned(), format!("0{today}"), after(today), after(this), after(next)];
    let count = |column: &str, ends: [&str; 2]| -> Result<usize, StoreError> {
        let text = format!("SELECT count(*) FROM tasks WHERE {}", within(Kind::Task, column));
        select::count(connection, &text, ends)
    };
    let rows = |column: &str, ends: [&str; 2]| {
        rows_where(connection, Kind::Task, &within(Kind::Task, column), column, ends, DUE_MAX)
    };
    let open = count("due_on", ["0", "1"])?;
    let (mut due, mut counts) = (Vec::new(), [0; 4]);
    // Each section has its own limit, because many overdue tasks must not hide the tasks of today.
    for (number, pair) in counts.iter_mut().zip(ends.windows(2)) {
        let ends = [pair[0].as_str(), &pair[1]];
        *number = count("due_on", ends)?;
        due.extend(rows("due_on", ends)?);
    }
    let [overdue, today, week, next_week] = counts;
    let (from, before) = order::urgent_without_day();
    let urgent = count("priority", [&from, &before])?;
    let urgent_tasks = rows("priority", [&from, &before])?;
    let (expiring, is_cut) = expiring(connection, days)?;
    let mut end_days = days_with(connection, Kind::Document, "expires_on", "", days)?;
    end_days.extend(vehicle_days(connection, days)?);
    Ok(Overview {
        ready_captures: select::count(connection, "SELECT count(*) FROM captures WHERE state = 'ready'", [])?,
        overdue,
        today,
        week,
        next_week,
        urgent,
        open,
        due,
        urgent_tasks,
        expiring,
        is_cut,
        due_days: days_with(connection, Kind::Task, "due_on", "0", days)?,
        warranty_days: days_with(connection, Kind::Inventory, "warranty_expires_on", "", days)?,
        end_days,
        profile: view::row(connection, Kind::Property, "")?,
        latest: latest(connection)?,
    })
}

/// The record that another person changed last. The newest records are read one by one by index, at most [`LATEST_MAX`] of each
/// kind: after a script has written a hundred thousand rows here, these are not all read.
fn latest(connection: &Connection) -> Result<Option<Latest>, StoreError> {
    let mut newest: Option<Latest> = None;
    for kind in Kind::COLLECTIONS {
        let (key, table) = (order::sort_key(kind, "updated_at"), kind.collection());
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
                newest = Some(Latest { rev, kind, title: title_or_kind(kind, title) });
            }
            break;
        }
    }
    Ok(newest)
}

/// The end of a day: a text after every text that begins with the day.
fn day_end(day: &str) -> String {
    format!("{day}\u{10ffff}")
}

/// SQL condition: a sort key is at least the first parameter and less than the second. The index of the order finds the rows.
fn within(kind: Kind, column: &str) -> String {
    let key = order::sort_key(kind, column);
    format!("{key} >= ?1 AND {key} < ?2")
}

/// The days between `days.from` and `days.until` that occur in an order of days. `prefix` is the text before the day in the sort
/// key. The index is read from day to day, so the cost depends on the number of days, not of rows.
fn days_with(
    connection: &Connection,
    kind: Kind,
    column: &str,
    prefix: &str,
    days: &Days,
) -> Result<Vec<String>, StoreError> {
    let key = order::sort_key(kind, column);
    let text = format!("SELECT min({key}) FROM {} WHERE {}", kind.collection(), within(kind, column));
    let mut statement = connection.prepare_cached(&text)?;
    let end = format!("{prefix}{}", day_end(&days.until));
    let mut from = format!("{prefix}{}", days.from);
    let mut found = Vec::new();
    while let Some(at) = statement.query_row([&from, &end], |row| row.get::<_, Option<String>>(0))? {
        let Some(day) = at.get(prefix.len()..prefix.len() + days.from.len()) else { break };
        let next = format!("{prefix}{}", day_end(day));
        if next <= from {
            break;
        }
        found.push(day.to_owned());
        from = next;
    }
    Ok(found)
}

/// The days on which an insurance or registration ends. A home has few vehicles, so all rows are read.
fn vehicle_days(connection: &Connection, days: &Days) -> Result<Vec<String>, StoreError> {
    let text = "SELECT insurance_expires_on FROM vehicles WHERE insurance_expires_on BETWEEN ?1 AND ?2
         UNION SELECT registration_expires_on FROM vehicles WHERE registration_expires_on BETWEEN ?1 AND ?2";
    select::column(connection, text, [&days.from, &days.until])
}

/// The entries that have ended and those that will end, each with its own limit, and whether more will end than are listed.
/// Ended warranties are left out, because there are many and they need no action.
fn expiring(connection: &Connection, days: &Days) -> Result<(Vec<Expiring>, bool), StoreError> {
    let (today, after) = (days.weeks.today.as_str(), day_end(&days.until));
    let from = days.from.as_str();
    let mut all = endings(connection, false, (from, today), "DESC")?;
    all.truncate(EXPIRING_MAX);
    all.reverse();
    let mut ahead = endings(connection, true, (today.max(from), &after), "ASC")?;
    let is_cut = ahead.len() > EXPIRING_MAX;
    ahead.truncate(EXPIRING_MAX);
    all.extend(ahead);
    Ok((all, is_cut))
}

/// The entries that end from a day on and before another day; one more than is listed.
fn endings(
    connection: &Connection,
    warranties: bool,
    (from, before): (&str, &str),
    direction: &str,
) -> Result<Vec<Expiring>, StoreError> {
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
    select::all(connection, &text, (from, before, select::limit(EXPIRING_MAX + 1)), |row| {
        let kind = rows::kind(row, 2)?;
        let title = title_or_kind(kind, row.get::<_, Option<String>>(4)?.unwrap_or_default());
        Ok(Expiring { on: row.get(0)?, what: row.get(1)?, kind, id: row.get(3)?, title })
    })
}

/// Reads the worth of the home, and the activity since the local day `since` (`YYYY-MM-DD`).
pub(crate) fn figures(connection: &Connection, since: &str) -> Result<Figures, StoreError> {
    let [rooms, categories] = worth(connection)?;
    Ok(Figures { rooms, categories, activity: activity(connection, since)? })
}

/// The worth of the items by room and by category, the greatest first.
fn worth(connection: &Connection) -> Result<[Vec<(String, i64)>; 2], StoreError> {
    let worth = worth_sql(Kind::Inventory, "").unwrap_or_default();
    // One sum by room and category together, from an index that covers all columns.
    let text = format!(
        "SELECT r.name, w.category, w.cents FROM
             (SELECT room_id, category, CAST(sum({worth}) AS INTEGER) AS cents FROM inventory GROUP BY room_id, category) w
         LEFT JOIN rooms r ON r.id = w.room_id"
    );
    let parts: Vec<([Option<String>; 2], Option<i64>)> =
        select::all(connection, &text, [], |row| Ok(([row.get(0)?, row.get(1)?], row.get(2)?)))?;
    let mut sums = [BTreeMap::<String, i64>::new(), BTreeMap::new()];
    for (names, cents) in parts {
        for (sums, name) in sums.iter_mut().zip(names) {
            *sums.entry(name.unwrap_or_default()).or_default() += cents.unwrap_or_default();
        }
    }
    Ok(sums.map(|sums| {
        let mut list: Vec<(String, i64)> = sums.into_iter().filter(|(_, cents)| *cents > 0).collect();
        list.sort_by_key(|(_, cents)| Reverse(*cents));
        list
    }))
}

/// The number of records that changed last on each local day.
fn activity(connection: &Connection, since: &str) -> Result<Vec<(String, usize)>, StoreError> {
    // Counts by minute first, because the days of every time zone begin at a minute: converting each row to its local day would
    // take longer than the rest of the query.
    let tables = Kind::COLLECTIONS.map(|kind| {
        let key = order::sort_key(kind, "updated_at");
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
    select::all(connection, &text, [since], |row| Ok((row.get(0)?, select::count_of(row, 1)?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::tests::Local;

    /// The days of a screen on Saturday, 21 November.
    fn days() -> Days {
        let today = hearth_contract::formats::parse_date("2026-11-21").unwrap();
        Days { until: "2026-12-31".to_owned(), ..Days::around(today) }
    }

    #[test]
    fn activity_counts_by_local_day() {
        let home = Local::new();
        let at = |clock: &str| format!("strftime('%Y-%m-%dT%H:%M:%fZ', '2026-11-21 {clock}', 'utc')");
        let statements = format!(
            "BEGIN; UPDATE _gate SET open = 1, change_count = change_count + 1;
             INSERT INTO rooms (name, updated_at, rev) VALUES ('Hall', {}, 1), ('Attic', {}, 2);
             UPDATE _gate SET open = 0, change_count = change_count + 1; COMMIT",
            at("00:00"),
            at("23:59")
        );
        Connection::open(home.db_path()).unwrap().execute_batch(&statements).unwrap();
        assert_eq!(home.replica.figures("2026-11-21").unwrap().activity, [("2026-11-21".to_owned(), 2_usize)]);
        assert!(home.replica.figures("2026-11-22").unwrap().activity.is_empty());
    }

    #[test]
    fn overview_limits_each_section_separately() {
        let home = Local::new();
        for number in 0..DUE_MAX + 3 {
            home.make(Kind::Task, json!({ "title": format!("Late {number}"), "due_on": "2026-11-01" }));
        }
        home.make(Kind::Task, json!({ "title": "Über today", "due_on": "2026-11-21" }));
        home.make(Kind::Task, json!({ "title": "Sunday", "due_on": "2026-11-22" }));
        home.make(Kind::Task, json!({ "title": "Élan at the end", "due_on": "2026-11-29" }));
        home.make(Kind::Task, json!({ "title": "Next month", "due_on": "2026-12-24", "priority": "urgent" }));
        home.make(Kind::Task, json!({ "title": "Done", "due_on": "2026-12-23", "status": "done" }));
        for number in 0..2 * EXPIRING_MAX + 3 {
            let item = json!({ "name": format!("Lamp {number}"), "warranty_expires_on": "2026-11-02" });
            home.make(Kind::Inventory, item);
        }
        home.make(Kind::Inventory, json!({ "name": "Oven", "warranty_expires_on": "2026-12-06" }));
        home.make(Kind::Vehicle, json!({ "name": "Car", "insurance_expires_on": "2026-11-19" }));
        home.make(Kind::Document, json!({ "title": "Élan's passport", "expires_on": "2026-12-31" }));
        let overview = home.replica.overview(&days()).unwrap();
        assert_eq!((overview.overdue, overview.today, overview.week), (DUE_MAX + 3, 1, 1));
        assert_eq!((overview.next_week, overview.open), (1, DUE_MAX + 7));
        let titles: Vec<&str> = overview.due.iter().skip(DUE_MAX).map(|row| row.title.as_str()).collect();
        assert_eq!(titles, ["Über today", "Sunday", "Élan at the end"]);
        let ends: Vec<&str> = overview.expiring.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(ends, ["Car", "Oven", "Élan's passport"]);
        assert!(!overview.is_cut);
        assert_eq!(overview.due_days, ["2026-11-01", "2026-11-21", "2026-11-22", "2026-11-29", "2026-12-24"]);
        assert_eq!(overview.warranty_days, ["2026-11-02", "2026-12-06"]);
        assert_eq!(overview.end_days, ["2026-12-31", "2026-11-19"]);
    }

    #[test]
    fn urgent_task_without_day_is_listed() {
        let home = Local::new();
        for (title, priority, day, status) in [
            ("Call the plumber", "urgent", None, "open"),
            ("Burst pipe", "urgent", None, "in_progress"),
            ("Has a day", "urgent", Some("2027-03-01"), "open"),
            ("Can wait", "high", None, "open"),
            ("Was urgent", "urgent", None, "done"),
        ] {
            let task = json!({ "title": title, "priority": priority, "due_on": day, "status": status });
            home.make(Kind::Task, task);
        }
        let overview = home.replica.overview(&days()).unwrap();
        let titles: Vec<&str> = overview.urgent_tasks.iter().map(|row| row.title.as_str()).collect();
        assert_eq!((overview.urgent, titles), (2, vec!["Burst pipe", "Call the plumber"]));
    }
}
