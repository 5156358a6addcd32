//! A page of a list with equality filters (contract 5): which index the page walks. Must not know the parameters of a
//! request.

use std::ops::ControlFlow;

use hearth_contract::schema::Kind;
use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};

use super::error::StoreError;
use super::field_values::{field_number, stored};
use super::filter::{Filter, matches_all};
use super::home_number::HomeNumber;
use super::records::{self, Bounds, Direction, PageRange, Sort, number};
use super::tx::Tx;

/// Records that a page looks at, at most. A page that has looked at so many ends, full or not (contract 5).
pub const LOOKED_MAX: usize = 5000;

/// Bytes of JSON that a page looks at, at most: short reads must not wait long behind the page.
const LOOKED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes on a page. The record that reaches the limit is the last (contract 5): a page of a hundred long records would
/// need too much memory on both sides.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A page of a list.
#[derive(Debug, Clone)]
pub struct List {
    /// The home.
    pub home: HomeNumber,
    /// The kind of the records.
    pub kind: Kind,
    /// The order of the records.
    pub order: (Sort, Direction),
    /// The limits of the positions.
    pub bounds: Bounds,
    /// The filters; a record must match all of them.
    pub filters: Vec<Filter>,
    /// Records on the page, at most.
    pub limit: usize,
}

/// Passes the JSON of each record of a page to `show`, which returns the bytes of the page so far. Gives the position after
/// which the next page begins. None: no record follows.
pub fn show(
    tx: &Tx<'_>,
    list: &List,
    mut show: impl FnMut(&str) -> Result<usize, StoreError>,
) -> Result<Option<i64>, StoreError> {
    let mut page =
        PageInProgress { list, looked: 0, looked_bytes: 0, shown: 0, shown_bytes: 0, last: None, next: None };
    let look = |position: i64, json: Option<&str>| page.look(position, json, &mut show);
    match find_driver(tx, list)? {
        None => walk_order(tx, list, look)?,
        Some(driver) if list.order.0 == Sort::Created => walk_values(tx, list, driver, look)?,
        Some(driver) => sort_values(tx, list, driver, look)?,
    }
    Ok(page.next)
}

/// The progress of a page.
struct PageInProgress<'l> {
    list: &'l List,
    looked: usize,
    /// The bytes of JSON that were looked at.
    looked_bytes: usize,
    shown: usize,
    /// The bytes on the page.
    shown_bytes: usize,
    /// The position of the last record that was looked at.
    last: Option<i64>,
    next: Option<i64>,
}

impl PageInProgress<'_> {
    /// Looks at the next record in the order of the list. `json` is None when the record is outside the bounds.
    fn look(
        &mut self,
        position: i64,
        json: Option<&str>,
        show: &mut impl FnMut(&str) -> Result<usize, StoreError>,
    ) -> Result<ControlFlow<()>, StoreError> {
        if self.has_ended() {
            self.next = self.last;
            return Ok(ControlFlow::Break(()));
        }
        self.looked_bytes += json.map_or(0, str::len);
        let json = match json {
            Some(json) if matches_all(&self.list.filters, json)? => Some(json),
            _ => None,
        };
        if json.is_some() && self.shown == self.list.limit {
            self.next = self.last;
            return Ok(ControlFlow::Break(()));
        }
        self.looked += 1;
        self.last = Some(position);
        if let Some(json) = json {
            self.shown += 1;
            self.shown_bytes = show(json)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether the page ends before the next record, full or not.
    fn has_ended(&self) -> bool {
        self.looked == LOOKED_MAX || self.looked_bytes >= LOOKED_BYTES_MAX || self.shown_bytes >= PAGE_BYTES_MAX
    }
}

/// The filter whose index the page walks: the indexed filter with the fewest records. None: the page walks the order of the
/// list, because no filter is indexed, or because few records changed since a moment. In the order of the last change only
/// a filter with few records is of use: its records must be sorted.
fn find_driver<'l>(tx: &Tx<'_>, list: &'l List) -> Result<Option<&'l Filter>, StoreError> {
    let indexed: Vec<&Filter> = list.filters.iter().filter(|filter| field_number(filter.field).is_some()).collect();
    if indexed.is_empty() {
        return Ok(None);
    }
    let (is_created, since) = (list.order.0 == Sort::Created, list.bounds.changed_from);
    if let ([only], true, 0) = (&indexed[..], is_created, since) {
        return Ok(Some(only));
    }
    if is_created && since > 0 && records::are_few_changed(tx, list.home, list.kind, since)? {
        return Ok(None);
    }
    let mut best: Option<(usize, &Filter)> = None;
    for filter in indexed {
        let count = count_records(tx, list, filter)?;
        if best.is_none_or(|(fewest, _)| count < fewest) {
            best = Some((count, filter));
        }
    }
    Ok(best.filter(|(count, _)| is_created || *count <= LOOKED_MAX).map(|(_, filter)| filter))
}

/// The number of records with a value of an indexed filter; at most [`LOOKED_MAX`] + 1.
fn count_records(tx: &Tx<'_>, list: &List, filter: &Filter) -> Result<usize, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM field_values
                               WHERE home = ?1 AND kind = ?2 AND field = ?3 AND value = ?4 LIMIT ?5)",
    )?;
    let mut count = 0;
    for value in &filter.values {
        let (field, left) = (field_number(filter.field), LOOKED_MAX + 1 - count);
        let values = (list.home.0, number(list.kind), field, stored(value.as_deref()), left as i64);
        count += statement.query_row(values, |row| row.get::<_, i64>(0))? as usize;
    }
    Ok(count)
}

/// Walks all records in the order of the list.
fn walk_order(
    tx: &Tx<'_>,
    list: &List,
    mut look: impl FnMut(i64, Option<&str>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), StoreError> {
    let most = if list.filters.is_empty() { list.limit + 1 } else { LOOKED_MAX + 1 };
    records::show_page(tx, list.home, list.kind, list.order, list.bounds, most, |position, json| {
        look(position, Some(json))
    })
}

/// Walks the records of an indexed filter in the order of creation. The index has this order for each value, and SQLite
/// merges the values without sorting them.
fn walk_values(
    tx: &Tx<'_>,
    list: &List,
    driver: &Filter,
    mut look: impl FnMut(i64, Option<&str>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), StoreError> {
    let mut statement = tx.conn.prepare_cached(&values_sql(driver.values.len(), list.order.1))?;
    let range = PageRange::new(list.order, list.bounds);
    let field = field_number(driver.field).unwrap_or_default();
    let numbers = [list.home.0, number(list.kind), field, range.low, range.high].map(Value::from);
    let values = driver.values.iter().map(|value| Value::from(stored(value.as_deref()).to_owned()));
    let mut rows = statement.query(params_from_iter(numbers.into_iter().chain(values)))?;
    let mut find = tx.conn.prepare_cached(
        "SELECT r.rev, e.body FROM records r INDEXED BY records_by_creation
         JOIN events e ON e.event_rowid = ?1 + r.rev
         WHERE r.home = ?2 AND r.kind = ?3 AND r.deleted = 0 AND r.created = ?4",
    )?;
    while let Some(row) = rows.next()? {
        let created: i64 = row.get(0)?;
        let mut found = find.query((list.home.event_rowid(0), list.home.0, number(list.kind), created))?;
        let record = found
            .next()?
            .ok_or_else(|| StoreError::Corrupt(format!("{} of no {} created at {created}", driver.field, list.kind)))?;
        let json = if record.get::<_, i64>(0)? < list.bounds.changed_from { None } else { Some(text_of(record, 1)?) };
        if look(created, json)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// The statement of the creation positions of records that have one of so many values.
fn values_sql(values: usize, direction: Direction) -> String {
    let of_value = |nth: usize| {
        format!(
            "SELECT created FROM field_values
             WHERE home = ?1 AND kind = ?2 AND field = ?3 AND value = ?{} AND created BETWEEN ?4 AND ?5",
            nth + 6
        )
    };
    let each: Vec<String> = (0..values).map(of_value).collect();
    format!("{} ORDER BY created {}", each.join(" UNION ALL "), direction.word())
}

/// Sorts the records of an indexed filter, of which there are few, by their last change.
fn sort_values(
    tx: &Tx<'_>,
    list: &List,
    driver: &Filter,
    mut look: impl FnMut(i64, Option<&str>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), StoreError> {
    let range = PageRange::new(list.order, list.bounds);
    // CROSS JOIN: SQLite would otherwise begin with all records of the kind.
    let mut statement = tx.conn.prepare_cached(
        "SELECT r.rev FROM field_values v
         CROSS JOIN records r INDEXED BY records_by_creation
           ON r.home = v.home AND r.kind = v.kind AND r.deleted = 0 AND r.created = v.created
         WHERE v.home = ?1 AND v.kind = ?2 AND v.field = ?3 AND v.value = ?4 AND v.created >= ?5
           AND r.rev BETWEEN ?6 AND ?7",
    )?;
    let mut revs: Vec<i64> = Vec::new();
    for value in &driver.values {
        let (field, value) = (field_number(driver.field), stored(value.as_deref()));
        let bounds = (list.bounds.created_from, range.low, range.high);
        let values = (list.home.0, number(list.kind), field, value, bounds.0, bounds.1, bounds.2);
        let found = statement.query_map(values, |row| row.get(0))?;
        revs.extend(found.collect::<Result<Vec<i64>, _>>()?);
    }
    revs.sort_unstable();
    if list.order.1 == Direction::Descending {
        revs.reverse();
    }
    let mut find = tx.conn.prepare_cached("SELECT body FROM events WHERE event_rowid = ?1")?;
    for rev in revs {
        let mut found = find.query([list.home.event_rowid(rev)])?;
        let record =
            found.next()?.ok_or_else(|| StoreError::Corrupt(format!("no image of a {} at {rev}", list.kind)))?;
        if look(rev, Some(text_of(record, 0)?))?.is_break() {
            break;
        }
    }
    Ok(())
}

fn text_of<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, StoreError> {
    row.get_ref(column)?.as_str().map_err(|error| StoreError::Corrupt(error.to_string()))
}
