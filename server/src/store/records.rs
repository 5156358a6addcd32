//! Records: the ids that were ever used, their creation and change order, and their current JSON. Must not know the rules
//! of the kinds.

use std::ops::ControlFlow;

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{OptionalExtension, ToSql};
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::homes;
use super::tx::Tx;

/// Records for which [`page`] allocates room at once: a default page and one more (contract 5).
const PAGE_CAPACITY: usize = 101;
/// Changed records up to which a page in creation order sorts the changed records, instead of scanning creation order.
const FEW: i64 = 1000;

/// The row of an id that was ever used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the event that created the record.
    pub created: i64,
    /// The id of the event that last changed the record.
    pub rev: i64,
    /// Whether that event deleted the record.
    pub deleted: bool,
}

/// The JSON of a record at a revision, as the API shows the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The revision of the record.
    pub rev: i64,
    /// A JSON object with all members of the record.
    pub json: String,
}

/// The two total orders of a collection (contract 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// The order of creation.
    Created,
    /// The order of the last change.
    Updated,
}

/// The direction of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Oldest first.
    Ascending,
    /// Newest first.
    Descending,
}

impl Direction {
    /// The word in SQL.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Direction::Ascending => "ASC",
            Direction::Descending => "DESC",
        }
    }
}

/// Limits on the records of a page. The default has no limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The last position of the page before, in the order of the page; excluded.
    pub after: Option<i64>,
    /// The lowest position of creation; included.
    pub created_from: i64,
    /// The lowest position of the last change; included.
    pub changed_from: i64,
}

/// The number under which a kind is stored. A number never changes.
pub(super) fn number(kind: Kind) -> i64 {
    match kind {
        Kind::Inventory => 1,
        Kind::Vehicle => 2,
        Kind::Document => 3,
        Kind::Task => 4,
        Kind::Room => 5,
        Kind::Property => 6,
    }
}

/// The kind that is stored under a number.
pub(super) fn kind(stored: i64) -> Result<Kind, StoreError> {
    let found = Kind::ALL.into_iter().find(|kind| number(*kind) == stored);
    found.ok_or_else(|| StoreError::Corrupt(format!("kind {stored}")))
}

/// The id in a stored text.
pub(super) fn id(text: &str) -> Result<Uuid, StoreError> {
    Uuid::try_parse(text).map_err(|_| StoreError::Corrupt(format!("id {text}")))
}

/// The stored text of an id.
pub(super) fn text(id: &Uuid) -> String {
    id.hyphenated().to_string()
}

/// The entry of an id. None: no record of the home ever had the id.
pub fn entry(tx: &Tx<'_>, home: HomeNumber, id: Uuid) -> Result<Option<Entry>, StoreError> {
    let mut statement =
        tx.conn.prepare_cached("SELECT kind, created, rev, deleted FROM records WHERE home = ?1 AND id = ?2")?;
    let found = statement
        .query_row((home.0, text(&id)), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    match found {
        Some((stored, created, rev, deleted)) => Ok(Some(Entry { kind: kind(stored)?, created, rev, deleted })),
        None => Ok(None),
    }
}

/// The image of a record. None: no record of this kind has the id now.
pub fn image(tx: &Tx<'_>, home: HomeNumber, kind: Kind, id: Uuid) -> Result<Option<Image>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT r.rev, e.body FROM records r JOIN events e ON e.event_rowid = ?1 + r.rev
         WHERE r.home = ?2 AND r.id = ?3 AND r.kind = ?4 AND r.deleted = 0",
    )?;
    let found = statement.query_row((home.event_rowid(0), home.0, text(&id), number(kind)), |row| {
        Ok(Image { rev: row.get(0)?, json: row.get(1)? })
    });
    Ok(found.optional()?)
}

/// The image of a record as in [`image`], and the head of the home, in one statement.
pub fn image_and_head(tx: &Tx<'_>, home: HomeNumber, kind: Kind, id: Uuid) -> Result<(Option<Image>, i64), StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT h.head, r.rev, e.body FROM homes h
         LEFT JOIN records r ON r.home = h.number AND r.id = ?3 AND r.kind = ?4 AND r.deleted = 0
         LEFT JOIN events e ON e.event_rowid = ?1 + r.rev
         WHERE h.number = ?2",
    )?;
    Ok(statement.query_row((home.event_rowid(0), home.0, text(&id), number(kind)), |row| {
        let rev: Option<i64> = row.get(1)?;
        let image = rev.map(|rev| row.get(2).map(|json| Image { rev, json })).transpose()?;
        Ok((image, row.get(0)?))
    })?)
}

/// The ids of the existing records of a kind, in creation order.
pub fn ids(tx: &Tx<'_>, home: HomeNumber, kind: Kind) -> Result<Vec<Uuid>, StoreError> {
    let mut statement = tx
        .conn
        .prepare_cached("SELECT id FROM records WHERE home = ?1 AND kind = ?2 AND deleted = 0 ORDER BY created")?;
    let rows = statement.query_and_then((home.0, number(kind)), |row| id(row.get_ref(0)?.as_str().unwrap_or_default()));
    rows?.collect()
}

/// The number of existing records of each kind that has any. Reads an index of the existing records.
pub fn count_by_kind(tx: &Tx<'_>, home: HomeNumber) -> Result<Vec<(Kind, i64)>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT kind, count(*) FROM records INDEXED BY records_by_creation WHERE home = ?1 AND deleted = 0 GROUP BY kind",
    )?;
    let mut rows = statement.query([home.0])?;
    let mut counts = Vec::new();
    while let Some(row) = rows.next()? {
        counts.push((kind(row.get(0)?)?, row.get(1)?));
    }
    Ok(counts)
}

/// Inserts the entry of a new id, or updates the entry of a used id. An id of another kind is an error.
pub fn save_entry(tx: &Tx<'_>, home: HomeNumber, id: Uuid, entry: &Entry) -> Result<(), StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO records (home, id, kind, created, rev, deleted) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (home, id) DO UPDATE SET rev = excluded.rev, deleted = excluded.deleted WHERE kind = excluded.kind",
    )?;
    match statement.execute((home.0, text(&id), number(entry.kind), entry.created, entry.rev, entry.deleted))? {
        1 => Ok(()),
        _ => Err(StoreError::Corrupt(format!("{id} is no {}", entry.kind))),
    }
}

/// Removes the entry of an id, as if the id was never used. For rewinding only.
pub fn remove_entry(tx: &Tx<'_>, home: HomeNumber, id: Uuid) -> Result<(), StoreError> {
    tx.conn.prepare_cached("DELETE FROM records WHERE home = ?1 AND id = ?2")?.execute((home.0, text(&id)))?;
    Ok(())
}

/// A page of a collection: position and JSON of at most `limit` records, in the given order.
pub fn page(
    tx: &Tx<'_>,
    home: HomeNumber,
    kind: Kind,
    order: (Sort, Direction),
    bounds: Bounds,
    limit: usize,
) -> Result<Vec<(i64, String)>, StoreError> {
    let mut found = Vec::with_capacity(limit.min(PAGE_CAPACITY));
    show_page(tx, home, kind, order, bounds, limit, |position, json| {
        found.push((position, json.to_owned()));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// Passes position and JSON of each record of a page to `show`, without copying the JSON, until `show` breaks.
pub fn show_page(
    tx: &Tx<'_>,
    home: HomeNumber,
    kind: Kind,
    order: (Sort, Direction),
    bounds: Bounds,
    limit: usize,
    mut show: impl FnMut(i64, &str) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), StoreError> {
    let range = PageRange::new(order, bounds);
    let are_few_changed = match range.changed_from {
        Some(changed_from) => are_few_changed(tx, home, kind, changed_from)?,
        None => false,
    };
    let mut statement = tx.conn.prepare_cached(&page_sql(order, are_few_changed))?;
    let (created_from, changed_from) = (range.created_from.unwrap_or(0), range.changed_from.unwrap_or(0));
    let values: [&dyn ToSql; 8] = [
        &home.event_rowid(0),
        &home.0,
        &number(kind),
        &range.low,
        &range.high,
        &created_from,
        &changed_from,
        &(limit as i64),
    ];
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        let json = row.get_ref(1)?.as_str().map_err(|error| StoreError::Corrupt(error.to_string()))?;
        if show(row.get(0)?, json)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// The positions of a page: a range of the order of the page, and limits in both orders that rows are filtered by.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageRange {
    pub(super) low: i64,
    pub(super) high: i64,
    created_from: Option<i64>,
    changed_from: Option<i64>,
}

impl PageRange {
    pub(super) fn new((sort, direction): (Sort, Direction), bounds: Bounds) -> PageRange {
        let (low, high) = match direction {
            Direction::Ascending => (bounds.after.map_or(0, |after| after.saturating_add(1)), i64::MAX),
            Direction::Descending => (0, bounds.after.map_or(i64::MAX, |after| after.saturating_sub(1))),
        };
        let filter = |from: i64| Some(from).filter(|from| *from > 0);
        match sort {
            Sort::Created => PageRange {
                low: low.max(bounds.created_from),
                high,
                created_from: None,
                changed_from: filter(bounds.changed_from),
            },
            // No record changed last before its creation.
            Sort::Updated => PageRange {
                low: low.max(bounds.changed_from).max(bounds.created_from),
                high,
                created_from: filter(bounds.created_from),
                changed_from: None,
            },
        }
    }
}

/// The statement of a page. Each order has an index that also holds the position in the other order, so the cost does not
/// grow with the depth of the page. When few records changed, a page in creation order sorts the changed records: they
/// may be the last of a long collection.
fn page_sql((sort, direction): (Sort, Direction), are_few_changed: bool) -> String {
    let (column, index) = column(sort);
    let word = direction.word();
    if are_few_changed {
        format!(
            "SELECT r.created, e.body
             FROM (SELECT created, rev FROM records INDEXED BY records_by_change
                   WHERE home = ?2 AND kind = ?3 AND deleted = 0 AND rev >= ?7
                     AND +created BETWEEN ?4 AND ?5 AND +created >= ?6
                   ORDER BY +created {word} LIMIT ?8) r
             JOIN events e ON e.event_rowid = ?1 + r.rev ORDER BY r.created {word}"
        )
    } else {
        format!(
            "SELECT r.{column}, e.body FROM records r INDEXED BY {index} JOIN events e ON e.event_rowid = ?1 + r.rev
             WHERE r.home = ?2 AND r.kind = ?3 AND r.deleted = 0 AND r.{column} BETWEEN ?4 AND ?5
               AND +r.created >= ?6 AND +r.rev >= ?7
             ORDER BY r.{column} {word} LIMIT ?8"
        )
    }
}

/// Whether at most [`FEW`] records of a kind changed from a position on.
pub(super) fn are_few_changed(
    tx: &Tx<'_>,
    home: HomeNumber,
    kind: Kind,
    changed_from: i64,
) -> Result<bool, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM records INDEXED BY records_by_change
                               WHERE home = ?1 AND kind = ?2 AND deleted = 0 AND rev >= ?3 LIMIT ?4)",
    )?;
    let found: i64 = statement.query_row((home.0, number(kind), changed_from, FEW + 1), |row| row.get(0))?;
    Ok(found <= FEW)
}

/// The position in an order from which on each record of a kind was created, or last changed, at or after a moment.
/// Moments rise in both orders, because `homes.last_updated_at` never decreases; a binary search finds the position.
pub fn first_since(tx: &Tx<'_>, home: HomeNumber, kind: Kind, sort: Sort, since: Timestamp) -> Result<i64, StoreError> {
    let (column, index) = column(sort);
    let member = match sort {
        Sort::Created => "created_at",
        Sort::Updated => "updated_at",
    };
    let mut probe = tx.conn.prepare_cached(&format!(
        "SELECT r.{column}, json_extract(e.body, '$.{member}') FROM records r INDEXED BY {index}
         JOIN events e ON e.event_rowid = ?1 + r.rev
         WHERE r.home = ?2 AND r.kind = ?3 AND r.deleted = 0 AND r.{column} >= ?4 ORDER BY r.{column} LIMIT 1"
    ))?;
    let since = since.to_string();
    let (mut low, mut high) = (0, homes::load(tx, home)?.head + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let found: Option<(i64, String)> = probe
            .query_row((home.event_rowid(0), home.0, number(kind), middle), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        match found {
            Some((position, moment)) if moment < since => low = position + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// The creation moment of the last created record of a kind. None: no record of the kind exists.
pub fn last_created_at(tx: &Tx<'_>, home: HomeNumber, kind: Kind) -> Result<Option<Timestamp>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT json_extract(e.body, '$.created_at') FROM records r INDEXED BY records_by_creation
         JOIN events e ON e.event_rowid = ?1 + r.rev
         WHERE r.home = ?2 AND r.kind = ?3 AND r.deleted = 0 ORDER BY r.created DESC LIMIT 1",
    )?;
    let values = (home.event_rowid(0), home.0, number(kind));
    let text: Option<String> = statement.query_row(values, |row| row.get(0)).optional()?;
    Ok(text.and_then(|text| Timestamp::parse(&text)))
}

/// The column and the index of an order.
fn column(sort: Sort) -> (&'static str, &'static str) {
    match sort {
        Sort::Created => ("created", "records_by_creation"),
        Sort::Updated => ("rev", "records_by_change"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_range_combines_cursor_and_filters() {
        let bounds = |after, created_from, changed_from| Bounds { after, created_from, changed_from };
        let range = |low, high, created_from, changed_from| PageRange { low, high, created_from, changed_from };
        for (sort, direction, bounds, expected) in [
            (Sort::Created, Direction::Ascending, Bounds::default(), range(0, i64::MAX, None, None)),
            (Sort::Created, Direction::Ascending, bounds(Some(7), 3, 5), range(8, i64::MAX, None, Some(5))),
            (Sort::Created, Direction::Descending, bounds(Some(7), 3, 0), range(3, 6, None, None)),
            (Sort::Updated, Direction::Ascending, bounds(None, 3, 5), range(5, i64::MAX, Some(3), None)),
            (Sort::Updated, Direction::Descending, bounds(Some(i64::MIN), 9, 5), range(9, i64::MIN, Some(9), None)),
            (Sort::Created, Direction::Ascending, bounds(Some(i64::MAX), 0, 0), range(i64::MAX, i64::MAX, None, None)),
        ] {
            assert_eq!(PageRange::new((sort, direction), bounds), expected, "{sort:?} {direction:?} {bounds:?}");
        }
    }
}
