//! Pages of lists. A page is read by the index of the list's order, from a known row nearby or from the nearer end, so a deep
//! page costs as much as the first page. Must not write.

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params_from_iter};

use super::by_room::{is_by_room, room_rank, rooms};
use super::filter;
use super::view::{
    Near, Row, RowPage, RowQuery, Sort, load_reference_titles, match_words, row_columns, row_from_sql, title_or_kind,
};
use crate::store::schema::order;
use crate::store::{StoreError, select};

/// The greatest distance from a known row at which a page is read from the row. Farther away, counting from an end is as fast.
const NEAR_MAX: usize = 2_000;

/// A list with more rows asks each row for the words instead of collecting all ids first. Lower in tests.
const LONG_LIST_MIN: usize = if cfg!(test) { 50 } else { 2_000 };

/// The condition that a row `t` has the words of the first parameter: SQLite collects the ids of all matches, then reads the
/// rows.
fn id_in_matches(kind: Kind) -> String {
    format!(
        "t.id IN (SELECT r.record_id FROM _search_rows r WHERE r.kind = '{kind}'
                  AND r.id IN (SELECT rowid FROM search WHERE search MATCH ?1))"
    )
}

/// The same condition, evaluated row by row: with many matches the first page fills after a few rows.
fn row_matches(kind: Kind) -> String {
    format!(
        "(SELECT r.id FROM _search_rows r WHERE r.kind = '{kind}' AND r.record_id = t.id)
         IN (SELECT rowid FROM search WHERE search MATCH ?1)"
    )
}

/// The condition of a query, as SQL over the row `t`, and its parameters; the words of the query are the first one. None when no
/// row can match.
pub(super) fn where_clause(query: &RowQuery) -> Option<(String, Vec<Sql>)> {
    let (mut all, mut values) = (vec!["1".to_owned()], Vec::new());
    if !query.words.trim().is_empty() {
        values.push(match_words(&query.words)?.into());
        all.push(id_in_matches(query.kind));
    }
    all.extend(query.conditions.iter().map(|condition| filter::condition_sql(query.kind, condition, &mut values)));
    Some((all.join(" AND "), values))
}

/// FROM and WHERE of a statement that reads every row of a query once. With words the rows come from the search, which is much
/// faster than asking every row.
pub(super) fn from_clause(query: &RowQuery, condition: &str) -> String {
    let table = query.kind.collection();
    if query.words.trim().is_empty() {
        return format!("{table} t WHERE {condition}");
    }
    let condition = condition.replacen(&id_in_matches(query.kind), "s.search MATCH ?1", 1);
    format!(
        "search s CROSS JOIN _search_rows r ON r.id = s.rowid AND r.kind = '{}' CROSS JOIN {table} t ON t.id = r.record_id
         WHERE {condition}",
        query.kind
    )
}

/// Reads one page.
pub(crate) fn page(connection: &Connection, query: &RowQuery) -> Result<RowPage, StoreError> {
    let Some((condition, values)) = where_clause(query) else { return Ok(RowPage { rows: Vec::new(), total: 0 }) };
    let from = from_clause(query, &condition);
    let mut list = List { connection, kind: query.kind, condition, from, values };
    let rooms = if is_by_room(query) { list.rooms()? } else { Vec::new() };
    let total = if is_by_room(query) { rooms.iter().map(|(_, count)| count).sum() } else { list.count(query)? };
    if query.limit == 0 {
        return Ok(RowPage { rows: Vec::new(), total });
    }
    if total > LONG_LIST_MIN {
        list.condition = list.condition.replacen(&id_in_matches(query.kind), &row_matches(query.kind), 1);
    }
    let rows = if is_by_room(query) { list.by_room(query, rooms)? } else { list.in_order(query, total)? };
    Ok(RowPage { rows, total })
}

/// The first rows for which a condition with two parameters holds, in an order.
pub(super) fn rows_where(
    connection: &Connection,
    kind: Kind,
    condition: &str,
    column: &str,
    values: [&str; 2],
    limit: usize,
) -> Result<Vec<Row>, StoreError> {
    let order = format!("{}, t.rowid", order::sort_key(kind, column));
    let values: Vec<Sql> = values.map(|value| Sql::Text(value.to_owned())).into();
    let list = List { connection, kind, condition: condition.to_owned(), from: String::new(), values };
    list.rows(&list.condition, &order, list.values.clone(), 0, limit)
}

/// The rows of a query.
struct List<'c> {
    connection: &'c Connection,
    kind: Kind,
    /// The condition on a row `t`.
    condition: String,
    /// FROM and WHERE of a statement that reads every row.
    from: String,
    /// The parameters of the condition.
    values: Vec<Sql>,
}

impl List<'_> {
    fn count(&self, query: &RowQuery) -> Result<usize, StoreError> {
        let text = match (query.conditions.is_empty(), self.values.is_empty()) {
            // Without a condition SQLite counts by an index.
            (true, true) => format!("SELECT count(*) FROM {}", self.kind.collection()),
            // Every match is a row of its table.
            (true, false) => format!(
                "SELECT count(*) FROM search s CROSS JOIN _search_rows r ON r.id = s.rowid AND r.kind = '{}'
                 WHERE s.search MATCH ?1",
                self.kind
            ),
            _ => format!("SELECT count(*) FROM {}", self.from),
        };
        select::count(self.connection, &text, params_from_iter(&self.values))
    }

    /// The page of a list in a simple order.
    fn in_order(&self, query: &RowQuery, total: usize) -> Result<Vec<Row>, StoreError> {
        let key = order::sort_key(self.kind, query.sort.column);
        let backward = is_backward(self.kind, query.sort);
        // The list may have become shorter than the offset.
        let from = query.offset.min(total);
        let limit = query.limit.min(total - from);
        let near = query.near.as_ref().filter(|near| near.number.abs_diff(from) <= NEAR_MAX);
        if let Some(Near { id, number }) = near
            && let Some(at) = self.position(&key, id)?
        {
            if from >= *number {
                return self.read_from(&key, backward, Some((&at, true)), from - number, limit);
            }
            let before = (number - from).min(limit);
            let mut found = self.read_from(&key, !backward, Some((&at, false)), number - from - before, before)?;
            found.reverse();
            found.extend(self.read_from(&key, backward, Some((&at, true)), 0, limit - before)?);
            return Ok(found);
        }
        if from <= total / 2 {
            return self.read_from(&key, backward, None, from, limit);
        }
        let mut found = self.read_from(&key, !backward, None, total - from - limit, limit)?;
        found.reverse();
        Ok(found)
    }

    /// The sort key and rowid of a row.
    fn position(&self, key: &str, id: &str) -> Result<Option<(String, i64)>, StoreError> {
        let text = format!("SELECT {key}, rowid FROM {} WHERE id = ?1", self.kind.collection());
        Ok(self.connection.prepare_cached(&text)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// Reads rows in one direction. `start` is the position of a row, and whether that row is included.
    fn read_from(
        &self,
        key: &str,
        backward: bool,
        start: Option<(&(String, i64), bool)>,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        let mut values = self.values.clone();
        let mut condition = self.condition.clone();
        let (sign, direction) = if backward { ("<", "DESC") } else { (">", "ASC") };
        if let Some(((at, rowid), inclusive)) = start {
            values.extend([Sql::Text(at.clone()), Sql::Integer(*rowid)]);
            let (k, r) = (values.len() - 1, values.len());
            let equal = if inclusive { "=" } else { "" };
            condition =
                format!("{condition} AND {key} {sign}= ?{k} AND ({key} {sign} ?{k} OR t.rowid {sign}{equal} ?{r})");
        }
        self.rows(&condition, &format!("{key} {direction}, t.rowid {direction}"), values, skip, limit)
    }

    fn rows(
        &self,
        condition: &str,
        order: &str,
        mut values: Vec<Sql>,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        values.extend([skip, limit].map(|number| Sql::Integer(select::limit(number))));
        let text = format!(
            "SELECT {} FROM {} t WHERE {condition} ORDER BY {order} LIMIT ?{} OFFSET ?{}",
            row_columns(self.kind),
            self.kind.collection(),
            values.len(),
            values.len() - 1
        );
        let read = |row: &SqlRow<'_>| Ok(row_from_sql(self.kind, row)?);
        let mut found = select::all(self.connection, &text, params_from_iter(values), read)?;
        found.iter_mut().try_for_each(|row| load_reference_titles(self.connection, row))?;
        Ok(found)
    }

    /// The rooms of the listed items with their number of items, by name. Items without a room come last.
    fn rooms(&self) -> Result<Vec<(Option<String>, usize)>, StoreError> {
        let text = format!("SELECT t.room_id, count(*) FROM {} GROUP BY t.room_id", self.from);
        let mut all: Vec<(Option<String>, usize)> =
            select::all(self.connection, &text, params_from_iter(&self.values), |row| {
                Ok((row.get(0)?, select::count_of(row, 1)?))
            })?;
        let rooms = rooms(self.connection)?;
        all.sort_by_key(|(id, _)| room_rank(&rooms, id.as_deref()));
        Ok(all)
    }

    /// The page of the inventory by rooms: room by room, in each room by name.
    fn by_room(&self, query: &RowQuery, mut rooms: Vec<(Option<String>, usize)>) -> Result<Vec<Row>, StoreError> {
        let direction = if query.sort.descending { "DESC" } else { "ASC" };
        if query.sort.descending {
            rooms.reverse();
        }
        let order = format!("{} {direction}, t.rowid {direction}", order::sort_key(Kind::Inventory, "name"));
        let (mut skip, mut found) = (query.offset, Vec::new());
        for (room, count) in rooms {
            if skip >= count {
                skip -= count;
                continue;
            }
            let wanted = (query.limit - found.len()).min(count - skip);
            let mut values = self.values.clone();
            values.push(room.map_or(Sql::Null, Sql::Text));
            let condition = format!("{} AND t.room_id IS ?{}", self.condition, values.len());
            found.extend(self.rows(&condition, &order, values, skip, wanted)?);
            skip = 0;
            if found.len() >= query.limit {
                break;
            }
        }
        Ok(found)
    }
}

/// True when the order reads its key from the greatest down.
pub(super) fn is_backward(kind: Kind, sort: Sort) -> bool {
    // The key of priorities begins with the most urgent.
    sort.descending != ((kind, sort.column) == (Kind::Task, "priority"))
}

/// Ids and titles of the records of a kind, by title, for choosing one.
pub(crate) fn titles(connection: &Connection, kind: Kind, limit: usize) -> Result<Vec<(String, String)>, StoreError> {
    let title = resource(kind).title;
    let (table, key) = (kind.collection(), order::sort_key(kind, title));
    let text = format!("SELECT id, {title} FROM {table} ORDER BY {key} LIMIT ?1");
    select::all(connection, &text, [select::limit(limit)], |row| {
        Ok((row.get(0)?, title_or_kind(kind, row.get::<_, Option<String>>(1)?.unwrap_or_default())))
    })
}

/// The names of the people who have tasks, the most frequent first.
pub(crate) fn assignees(connection: &Connection, limit: usize) -> Result<Vec<String>, StoreError> {
    let text = "SELECT assignee FROM tasks WHERE assignee IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ?1";
    select::column(connection, text, [select::limit(limit)])
}
