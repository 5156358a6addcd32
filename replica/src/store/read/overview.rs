//! What the home screen shows: what is due, what runs out, what the home is worth, how lively it is. Days are arguments,
//! because a database does not know the day on the wall. Must not write.

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::Connection;

use crate::store::StoreError;
use crate::store::read::page::page;
use crate::store::read::view::{Row, RowQuery, Sort, or_kind};
use crate::store::schema::order;

/// More tasks than this nobody does in a week.
const DUE_MAX: usize = 200;
/// More days than this do not fit a screen.
const EXPIRING_MAX: usize = 400;
/// Among so many of a kind that were changed last, somebody else's change is looked for; one further down is no news.
pub(crate) const LATEST_MAX: usize = 200;

/// The days that an overview is about, as dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Days {
    /// The day on the wall.
    pub today: String,
    /// The last day that counts as this week.
    pub week: String,
    /// The first day of what runs out.
    pub from: String,
    /// The last day of what runs out.
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
    /// The tasks of the first three, soonest first; the first 200.
    pub due: Vec<Row>,
    /// What runs out between two days, soonest first; the first 400.
    pub expiring: Vec<Expiring>,
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
    // The key of an open task is a 0 and its day.
    let before = |day: &str| -> Result<usize, StoreError> {
        let text = format!("SELECT count(*) FROM tasks WHERE {key} < ?1");
        let count: i64 = connection.prepare_cached(&text)?.query_row([format!("0{day}")], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or_default())
    };
    let (overdue, today, week) =
        (before(&days.today)?, before(&format!("{}~", days.today))?, before(&format!("{}~", days.week))?);
    let open = before("~~~")?;
    let soonest = RowQuery::of(Kind::Task, Sort { column: "due_on", descending: false }, week.min(DUE_MAX));
    Ok(Overview {
        overdue,
        today: today - overdue,
        week: week - today,
        open,
        due: page(connection, &soonest)?.rows,
        expiring: expiring(connection, days)?,
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

fn expiring(connection: &Connection, days: &Days) -> Result<Vec<Expiring>, StoreError> {
    // By the keys of the orders, so that the index of each finds the few that run out among the many that do not.
    let within = |kind: Kind, column: &str| {
        let key = order::key(kind, column);
        format!("{key} >= ?1 AND {key} < ?2 || '~'")
    };
    let text = format!(
        "SELECT warranty_expires_on, 'warranty', 'inventory', id, name FROM inventory WHERE {}
         UNION ALL SELECT expires_on, coalesce(category, 'document'), 'document', id, title FROM documents WHERE {}
         UNION ALL SELECT insurance_expires_on, 'insurance', 'vehicle', id, name FROM vehicles
                   WHERE insurance_expires_on BETWEEN ?1 AND ?2
         UNION ALL SELECT registration_expires_on, 'registration', 'vehicle', id, name FROM vehicles
                   WHERE registration_expires_on BETWEEN ?1 AND ?2
         ORDER BY 1, 5 LIMIT ?3",
        within(Kind::Inventory, "warranty_expires_on"),
        within(Kind::Document, "expires_on"),
    );
    let limit = i64::try_from(EXPIRING_MAX).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(&text)?;
    let found = statement.query_map((&days.from, &days.until, limit), |row| {
        let kind = Kind::from_word(&row.get::<_, String>(2)?).unwrap_or(Kind::Document);
        Ok(Expiring { on: row.get(0)?, what: row.get(1)?, kind, id: row.get(3)?, title: row.get(4)? })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Reads the figures; `since` is the first day of the activity.
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
    let tables = Kind::COLLECTIONS.map(|kind| {
        let key = order::key(kind, "updated_at");
        format!("SELECT substr({key}, 1, 10) AS day FROM {} WHERE {key} >= ?1 AND {key} < '~'", kind.collection())
    });
    let text = format!("SELECT day, count(*) FROM ({}) GROUP BY day ORDER BY day", tables.join(" UNION ALL "));
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
