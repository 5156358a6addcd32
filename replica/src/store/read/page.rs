//! Pages of lists. A page is read from an index of the list's order: from a row that is near by, or from the nearer end, so a
//! deep page costs what the first one costs. Must not write.

use std::collections::BTreeMap;

use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension};

use crate::store::read::filter;
use crate::store::read::view::{Near, Row, RowPage, RowQuery, columns, match_words, name_references, or_kind, read};
use crate::store::schema::order;
use crate::store::{StoreError, rows};

/// Further than so many rows from a known one, counting from an end is no slower.
const NEAR_MAX: usize = 2_000;

/// More rows than this are many. Tests have fewer.
const MANY: usize = if cfg!(test) { 50 } else { 2_000 };

/// Sums over a list, and its groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// What the listed rows are worth or cost together, in cents; None where the kind has no such field.
    pub cents: Option<i64>,
    /// The groups of the list's order, in that order; none where the order does not group.
    pub groups: Vec<Group>,
}

/// Rows that stand together in an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What its rows have in common: a choice, an id; for due days `overdue`, `today`, `week`, `later`, `none`, `done`. Empty
    /// for rows that have no value.
    pub key: String,
    /// What people call it, where the key is an id.
    pub title: String,
    /// How many rows.
    pub count: usize,
    /// What they are worth or cost together, in cents.
    pub cents: i64,
}

/// That a row `t` has the words of the first value: the ids of all that have them are gathered, and the rows of those read.
fn found(kind: Kind) -> String {
    format!(
        "t.id IN (SELECT r.record_id FROM _search_rows r WHERE r.kind = '{kind}'
                  AND r.id IN (SELECT rowid FROM search WHERE search MATCH ?1))"
    )
}

/// The same, asked of one row after the other: where many have the words, the first page is soon full.
fn asked(kind: Kind) -> String {
    format!(
        "(SELECT r.id FROM _search_rows r WHERE r.kind = '{kind}' AND r.record_id = t.id)
         IN (SELECT rowid FROM search WHERE search MATCH ?1)"
    )
}

/// Which rows a query is about, as SQL over the row `t`; its values are appended. None: no row can match.
pub(crate) fn only(query: &RowQuery, values: &mut Vec<Sql>) -> Option<String> {
    let mut all = vec!["1".to_owned()];
    if !query.words.trim().is_empty() {
        values.push(match_words(&query.words)?.into());
        let number = values.len();
        debug_assert_eq!(number, 1, "what reads each row counts on it");
        all.push(found(query.kind));
    }
    all.extend(query.conditions.iter().map(|condition| filter::sql(query.kind, condition, values)));
    Some(all.join(" AND "))
}

/// From where the rows of a query come, for what looks at each of them once: with words from the search, which is far less
/// work than to ask of every row whether it was found.
fn each(query: &RowQuery, only: &str) -> String {
    let table = query.kind.collection();
    if query.words.trim().is_empty() {
        return format!("{table} t WHERE {only}");
    }
    let mut conditions = Vec::new();
    // The words are the first value, and the conditions count on from there.
    let mut values = vec![Sql::Null];
    conditions.extend(query.conditions.iter().map(|condition| filter::sql(query.kind, condition, &mut values)));
    let found = format!(
        "search s CROSS JOIN _search_rows r ON r.id = s.rowid AND r.kind = '{}' CROSS JOIN {table} t ON t.id = r.record_id",
        query.kind
    );
    let all: Vec<String> = std::iter::once("s.search MATCH ?1".to_owned()).chain(conditions).collect();
    format!("{found} WHERE {}", all.join(" AND "))
}

/// One page.
pub(crate) fn page(connection: &Connection, query: &RowQuery) -> Result<RowPage, StoreError> {
    let mut values = Vec::new();
    let Some(only) = only(query, &mut values) else { return Ok(RowPage { rows: Vec::new(), total: 0 }) };
    let each = each(query, &only);
    let mut list = List { connection, kind: query.kind, only, each, values };
    let rooms = if is_by_room(query) { list.rooms()? } else { Vec::new() };
    let total = if is_by_room(query) { rooms.iter().map(|(_, count)| count).sum() } else { list.count(query)? };
    if query.limit == 0 {
        return Ok(RowPage { rows: Vec::new(), total });
    }
    if total > MANY {
        list.only = list.only.replacen(&found(query.kind), &asked(query.kind), 1);
    }
    let mut rows = if is_by_room(query) { list.by_room(query, rooms)? } else { list.in_order(query, total)? };
    for row in &mut rows {
        name_references(connection, row)?;
    }
    Ok(RowPage { rows, total })
}

/// The first rows of an order whose keys are from one on and before another: their index leads to them, however many stand
/// before them.
pub(crate) fn between(
    connection: &Connection,
    kind: Kind,
    column: &str,
    (from, before): (&str, &str),
    limit: usize,
) -> Result<Vec<Row>, StoreError> {
    let key = order::key(kind, column);
    let only = format!("{key} >= ?1 AND {key} < ?2");
    let values = vec![Sql::Text(from.to_owned()), Sql::Text(before.to_owned())];
    let list = List { connection, kind, only, each: String::new(), values };
    let mut rows = list.rows(&list.only, &format!("{key}, t.rowid"), list.values.clone(), 0, limit)?;
    for row in &mut rows {
        name_references(connection, row)?;
    }
    Ok(rows)
}

fn is_by_room(query: &RowQuery) -> bool {
    (query.kind, query.sort.column) == (Kind::Inventory, "room_id")
}

/// The listed rows of a query.
struct List<'c> {
    connection: &'c Connection,
    kind: Kind,
    /// What is so of each row `t`.
    only: String,
    /// From where all of them come.
    each: String,
    values: Vec<Sql>,
}

impl List<'_> {
    fn count(&self, query: &RowQuery) -> Result<usize, StoreError> {
        let text = match (query.conditions.is_empty(), self.values.is_empty()) {
            // Without a condition SQLite counts pages of an index, not rows.
            (true, true) => format!("SELECT count(*) FROM {}", self.kind.collection()),
            // Every row that was found is a row of its table.
            (true, false) => format!(
                "SELECT count(*) FROM search s CROSS JOIN _search_rows r ON r.id = s.rowid AND r.kind = '{}'
                 WHERE s.search MATCH ?1",
                self.kind
            ),
            _ => format!("SELECT count(*) FROM {}", self.each),
        };
        let count: i64 =
            self.connection.prepare_cached(&text)?.query_row(rows::bound(&self.values).as_slice(), |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    fn in_order(&self, query: &RowQuery, total: usize) -> Result<Vec<Row>, StoreError> {
        let key = order::key(self.kind, query.sort.column);
        let backward = order::is_backward(self.kind, query.sort);
        // A list may have become shorter than where one stood in it.
        let from = query.offset.min(total);
        let limit = query.limit.min(total - from);
        let near = query.near.as_ref().filter(|near| near.number.abs_diff(from) <= NEAR_MAX);
        if let Some(Near { id, number }) = near
            && let Some(at) = self.place(&key, id)?
        {
            if from >= *number {
                return self.read(&key, backward, Some((&at, true)), from - number, limit);
            }
            let before = (number - from).min(limit);
            let mut found = self.read(&key, !backward, Some((&at, false)), number - from - before, before)?;
            found.reverse();
            found.extend(self.read(&key, backward, Some((&at, true)), 0, limit - before)?);
            return Ok(found);
        }
        if from <= total / 2 {
            return self.read(&key, backward, None, from, limit);
        }
        let mut found = self.read(&key, !backward, None, total - from - limit, limit)?;
        found.reverse();
        Ok(found)
    }

    /// Where a row stands in an order.
    fn place(&self, key: &str, id: &str) -> Result<Option<(String, i64)>, StoreError> {
        let text = format!("SELECT {key}, rowid FROM {} WHERE id = ?1", self.kind.collection());
        Ok(self.connection.prepare_cached(&text)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    fn read(
        &self,
        key: &str,
        backward: bool,
        start: Option<(&(String, i64), bool)>,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let mut values = self.values.clone();
        let mut only = self.only.clone();
        let (sign, direction) = if backward { ("<", "DESC") } else { (">", "ASC") };
        if let Some(((at, rowid), inclusive)) = start {
            values.extend([Sql::Text(at.clone()), Sql::Integer(*rowid)]);
            let (k, r) = (values.len() - 1, values.len());
            let equal = if inclusive { "=" } else { "" };
            only = format!("{only} AND {key} {sign}= ?{k} AND ({key} {sign} ?{k} OR t.rowid {sign}{equal} ?{r})");
        }
        self.rows(&only, &format!("{key} {direction}, t.rowid {direction}"), values, skip, limit)
    }

    fn rows(
        &self,
        only: &str,
        order: &str,
        mut values: Vec<Sql>,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        values.extend([skip, limit].map(|number| Sql::Integer(i64::try_from(number).unwrap_or(i64::MAX))));
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {} FROM {} t WHERE {only} ORDER BY {order} LIMIT ?{} OFFSET ?{}",
            columns(self.kind),
            self.kind.collection(),
            values.len(),
            values.len() - 1
        ))?;
        let found = statement.query_map(rows::bound(&values).as_slice(), |row| read(self.kind, row))?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The rooms of the listed items with their number of items, by name; items in no room last.
    fn rooms(&self) -> Result<Vec<(Option<String>, usize)>, StoreError> {
        let text = format!("SELECT t.room_id, count(*) FROM {} GROUP BY t.room_id", self.each);
        let mut statement = self.connection.prepare_cached(&text)?;
        let found = statement.query_map(rows::bound(&self.values).as_slice(), |row| {
            Ok((row.get::<_, Option<String>>(0)?, row.get::<_, i64>(1)?))
        })?;
        let names = room_names(self.connection)?;
        let mut all = found.collect::<Result<Vec<_>, _>>()?;
        all.sort_by_key(|(id, _)| rank(&names, id.as_deref()));
        Ok(all.into_iter().map(|(id, count)| (id, usize::try_from(count).unwrap_or_default())).collect())
    }

    fn by_room(&self, query: &RowQuery, mut rooms: Vec<(Option<String>, usize)>) -> Result<Vec<Row>, StoreError> {
        let direction = if query.sort.descending { "DESC" } else { "ASC" };
        if query.sort.descending {
            rooms.reverse();
        }
        let order = format!("{} {direction}, t.rowid {direction}", order::key(Kind::Inventory, "name"));
        let (mut skip, mut found) = (query.offset, Vec::new());
        for (room, count) in rooms {
            if skip >= count {
                skip -= count;
                continue;
            }
            let wanted = (query.limit - found.len()).min(count - skip);
            let mut values = self.values.clone();
            values.push(room.map_or(Sql::Null, Sql::Text));
            let only = format!("{} AND t.room_id IS ?{}", self.only, values.len());
            found.extend(self.rows(&only, &order, values, skip, wanted)?);
            skip = 0;
            if found.len() >= query.limit {
                break;
            }
        }
        Ok(found)
    }
}

fn room_names(connection: &Connection) -> Result<BTreeMap<String, String>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT id, name FROM rooms")?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn rank(names: &BTreeMap<String, String>, id: Option<&str>) -> (bool, String, String) {
    let name = id.and_then(|id| names.get(id));
    (name.is_none(), name.map(|name| name.to_lowercase()).unwrap_or_default(), id.unwrap_or_default().to_owned())
}

/// What the listed rows come to, and the groups of their order; `today` is the day on the wall, `week` the last day that
/// counts as this week.
pub(crate) fn totals(connection: &Connection, query: &RowQuery, today: &str, week: &str) -> Result<Totals, StoreError> {
    let mut values = Vec::new();
    let Some(only) = only(query, &mut values) else { return Ok(Totals::default()) };
    let kind = query.kind;
    let worth = worth(kind);
    let format = resource(kind).field(query.sort.column).map(|field| field.format);
    let group = match (kind, query.sort.column, format) {
        (Kind::Task, "due_on", _) => {
            values.extend([today.to_owned().into(), week.to_owned().into()]);
            let (today, week) = (values.len() - 1, values.len());
            format!(
                "CASE WHEN t.status = 'done' THEN 'done' WHEN t.due_on IS NULL THEN 'none' WHEN t.due_on < ?{today} THEN 'overdue'
                      WHEN t.due_on = ?{today} THEN 'today' WHEN t.due_on <= ?{week} THEN 'week' ELSE 'later' END"
            )
        }
        (Kind::Task, "priority", _) => "CASE WHEN t.status = 'done' THEN 'done' ELSE t.priority END".to_owned(),
        (_, column, Some(Format::Choice(_) | Format::Reference(_))) => format!("coalesce(t.{column}, '')"),
        _ => "NULL".to_owned(),
    };
    let text = format!(
        "SELECT {group} AS part, count(*), sum({}) FROM {} GROUP BY part",
        worth.unwrap_or("0"),
        each(query, &only)
    );
    let mut statement = connection.prepare_cached(&text)?;
    let found = statement.query_map(rows::bound(&values).as_slice(), |row| {
        let count: i64 = row.get(1)?;
        Ok(Group {
            key: row.get::<_, Option<String>>(0)?.unwrap_or_default(),
            title: String::new(),
            count: usize::try_from(count).unwrap_or_default(),
            cents: row.get::<_, Option<i64>>(2)?.unwrap_or_default(),
        })
    })?;
    let mut groups = found.collect::<Result<Vec<_>, _>>()?;
    let cents = worth.map(|_| groups.iter().map(|group| group.cents).sum());
    if group == "NULL" {
        return Ok(Totals { cents, groups: Vec::new() });
    }
    if is_by_room(query) {
        let names = room_names(connection)?;
        groups.sort_by_key(|group| rank(&names, Some(&group.key)));
        for group in &mut groups {
            group.title = or_kind(Kind::Room, names.get(&group.key).cloned().unwrap_or_default());
        }
    } else {
        let words: &[&str] = match (kind, query.sort.column, format) {
            (Kind::Task, "due_on", _) => &DUE,
            (_, _, Some(Format::Choice(words))) => words,
            _ => &[],
        };
        groups.sort_by_key(|group| words.iter().position(|word| *word == group.key).unwrap_or(words.len()));
        if (kind, query.sort.column) == (Kind::Task, "priority") {
            // Read from the most urgent down, what is done after all of them.
            let done = groups.pop_if(|group| group.key == "done");
            groups.reverse();
            groups.extend(done);
        }
    }
    // Turned round, the last group comes first; priorities are usually read turned round.
    if query.sort.descending != ((kind, query.sort.column) == (Kind::Task, "priority")) {
        groups.reverse();
    }
    Ok(Totals { cents, groups })
}

/// The groups of due days, in their order.
const DUE: [&str; 6] = ["overdue", "today", "week", "later", "none", "done"];

/// What a row is worth or costs, in cents, as SQL over `t`.
fn worth(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Inventory => Some("CAST(round(coalesce(t.current_value, t.purchase_price) * 100) AS INTEGER)"),
        Kind::Vehicle => Some("CAST(round(coalesce(t.current_value, t.purchase_price) * 100) AS INTEGER)"),
        Kind::Task => Some("CAST(round(t.estimated_cost * 100) AS INTEGER)"),
        Kind::Document => Some("CAST(round(t.amount * 100) AS INTEGER)"),
        Kind::Room | Kind::Property => None,
    }
}
