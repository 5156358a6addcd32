//! Records: which ids exist, where each stands in creation and change order, and its image in the log.

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{OptionalExtension, ToSql};
use uuid::Uuid;

use super::{Fault, HomeNo, Tx};

/// Room that is made for a page at once: an ordinary one (contract 5). A longer one grows.
const PAGE_ROOM: usize = 101;
/// So many changed records are sorted for a page rather than looked for along the other order.
const FEW: i64 = 1000;

/// An id that was ever used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Which kind its record is of.
    pub kind: Kind,
    /// The event that created it.
    pub created: i64,
    /// The event that last changed it.
    pub rev: i64,
    /// Whether that event deleted it.
    pub deleted: bool,
}

/// A stored image: the record's wire JSON at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The record's revision.
    pub rev: i64,
    /// Its wire JSON.
    pub json: String,
}

/// The two total orders of a collection (contract 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Creation order.
    Created,
    /// Last-change order.
    Updated,
}

/// The number a kind is stored under. Never changes.
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

pub(super) fn kind(stored: i64) -> Result<Kind, Fault> {
    let found = Kind::ALL.into_iter().find(|kind| number(*kind) == stored);
    found.ok_or_else(|| Fault::Corrupt(format!("kind {stored}")))
}

pub(super) fn id(text: &str) -> Result<Uuid, Fault> {
    Uuid::try_parse(text).map_err(|_| Fault::Corrupt(format!("id {text}")))
}

/// What is known of an id.
pub fn entry(tx: &Tx<'_>, home: HomeNo, id: Uuid) -> Result<Option<Entry>, Fault> {
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

/// The image of an existing record of a kind.
pub fn image(tx: &Tx<'_>, home: HomeNo, kind: Kind, id: Uuid) -> Result<Option<Image>, Fault> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT r.rev, e.body FROM records r JOIN events e ON e.seat = ?1 + r.rev
         WHERE r.home = ?2 AND r.id = ?3 AND r.kind = ?4 AND r.deleted = 0",
    )?;
    let found = statement.query_row((home.seat(0), home.0, text(&id), number(kind)), |row| {
        Ok(Image { rev: row.get(0)?, json: row.get(1)? })
    });
    Ok(found.optional()?)
}

/// The image of an existing record of a kind, and the home's head.
pub fn image_and_head(tx: &Tx<'_>, home: HomeNo, kind: Kind, id: Uuid) -> Result<(Option<Image>, i64), Fault> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT h.head, r.rev, e.body FROM homes h
         LEFT JOIN records r ON r.home = h.number AND r.id = ?3 AND r.kind = ?4 AND r.deleted = 0
         LEFT JOIN events e ON e.seat = ?1 + r.rev
         WHERE h.number = ?2",
    )?;
    Ok(statement.query_row((home.seat(0), home.0, text(&id), number(kind)), |row| {
        let rev: Option<i64> = row.get(1)?;
        let image = rev.map(|rev| row.get(2).map(|json| Image { rev, json })).transpose()?;
        Ok((image, row.get(0)?))
    })?)
}

/// The ids of the existing records of a kind, in creation order.
pub fn ids(tx: &Tx<'_>, home: HomeNo, kind: Kind) -> Result<Vec<Uuid>, Fault> {
    let mut statement = tx
        .conn
        .prepare_cached("SELECT id FROM records WHERE home = ?1 AND kind = ?2 AND deleted = 0 ORDER BY created")?;
    let rows = statement.query_and_then((home.0, number(kind)), |row| id(row.get_ref(0)?.as_str().unwrap_or_default()));
    rows?.collect()
}

/// Notes a new id, or where an existing record stands now.
pub fn put(tx: &Tx<'_>, home: HomeNo, id: Uuid, entry: &Entry) -> Result<(), Fault> {
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO records (home, id, kind, created, rev, deleted) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (home, id) DO UPDATE SET rev = excluded.rev, deleted = excluded.deleted WHERE kind = excluded.kind",
    )?;
    match statement.execute((home.0, text(&id), number(entry.kind), entry.created, entry.rev, entry.deleted))? {
        1 => Ok(()),
        _ => Err(Fault::Corrupt(format!("{id} is no {}", entry.kind))),
    }
}

/// Forgets that an id was ever used.
pub fn forget(tx: &Tx<'_>, home: HomeNo, id: Uuid) -> Result<(), Fault> {
    tx.conn.prepare_cached("DELETE FROM records WHERE home = ?1 AND id = ?2")?.execute((home.0, text(&id)))?;
    Ok(())
}

/// One page of a collection, at most `limit` images in an order, with the position of each.
pub fn page(
    tx: &Tx<'_>,
    home: HomeNo,
    kind: Kind,
    order: (Sort, Direction),
    bounds: Bounds,
    limit: usize,
) -> Result<Vec<(i64, String)>, Fault> {
    let mut found = Vec::with_capacity(limit.min(PAGE_ROOM));
    show_page(tx, home, kind, order, bounds, limit, |position, image| {
        found.push((position, image.to_owned()));
        Ok(())
    })?;
    Ok(found)
}

/// The same, each image shown where it lies. The cost does not grow with depth: each order is an index that holds the
/// image's place and the other order's position. What few have changed is put in creation order by itself: they may be the
/// last of a long collection.
pub fn show_page(
    tx: &Tx<'_>,
    home: HomeNo,
    kind: Kind,
    order: (Sort, Direction),
    bounds: Bounds,
    limit: usize,
    mut show: impl FnMut(i64, &str) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (column, index) = column(order.0);
    let (word, low, high) = match order.1 {
        Direction::Ascending => ("ASC", bounds.after.map_or(0, |after| after.saturating_add(1)), i64::MAX),
        Direction::Descending => ("DESC", 0, bounds.after.map_or(i64::MAX, |after| after.saturating_sub(1))),
    };
    let (low, created_from, changed_from) = match order.0 {
        Sort::Created => (low.max(bounds.created_from), 0, bounds.changed_from),
        // No record changed last before it was created.
        Sort::Updated => (low.max(bounds.changed_from).max(bounds.created_from), bounds.created_from, 0),
    };
    let text = if changed_from > 0 && are_few(tx, home, kind, changed_from)? {
        format!(
            "SELECT r.created, e.body
             FROM (SELECT created, rev FROM records INDEXED BY records_by_change
                   WHERE home = ?2 AND kind = ?3 AND deleted = 0 AND rev >= ?7
                     AND +created BETWEEN ?4 AND ?5 AND +created >= ?6
                   ORDER BY +created {word} LIMIT ?8) r
             JOIN events e ON e.seat = ?1 + r.rev ORDER BY r.created {word}"
        )
    } else {
        format!(
            "SELECT r.{column}, e.body FROM records r INDEXED BY {index} JOIN events e ON e.seat = ?1 + r.rev
             WHERE r.home = ?2 AND r.kind = ?3 AND r.deleted = 0 AND r.{column} BETWEEN ?4 AND ?5
               AND +r.created >= ?6 AND +r.rev >= ?7
             ORDER BY r.{column} {word} LIMIT ?8"
        )
    };
    let mut statement = tx.conn.prepare_cached(&text)?;
    let values: [&dyn ToSql; 8] =
        [&home.seat(0), &home.0, &number(kind), &low, &high, &created_from, &changed_from, &(limit as i64)];
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(1)?.as_str().map_err(|error| Fault::Corrupt(error.to_string()))?;
        show(row.get(0)?, text)?;
    }
    Ok(())
}

/// Whether few records of a kind changed from a position on.
fn are_few(tx: &Tx<'_>, home: HomeNo, kind: Kind, changed_from: i64) -> Result<bool, Fault> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM records INDEXED BY records_by_change
                               WHERE home = ?1 AND kind = ?2 AND deleted = 0 AND rev >= ?3 LIMIT ?4)",
    )?;
    let found: i64 = statement.query_row((home.0, number(kind), changed_from, FEW + 1), |row| row.get(0))?;
    Ok(found <= FEW)
}

/// The position in an order from which on every record of a kind was created, or changed, at or after a moment. Both
/// orders are orders in time as well, because a home's clock never goes back; so a bisection finds it.
pub fn first_since(tx: &Tx<'_>, home: HomeNo, kind: Kind, sort: Sort, since: Timestamp) -> Result<i64, Fault> {
    let (column, index) = column(sort);
    let member = match sort {
        Sort::Created => "created_at",
        Sort::Updated => "updated_at",
    };
    let mut probe = tx.conn.prepare_cached(&format!(
        "SELECT r.{column}, json_extract(e.body, '$.{member}') FROM records r INDEXED BY {index}
         JOIN events e ON e.seat = ?1 + r.rev
         WHERE r.home = ?2 AND r.kind = ?3 AND r.deleted = 0 AND r.{column} >= ?4 ORDER BY r.{column} LIMIT 1"
    ))?;
    let since = since.to_string();
    let (mut low, mut high) = (0, super::homes::load(tx, home)?.head + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let found: Option<(i64, String)> = probe
            .query_row((home.seat(0), home.0, number(kind), middle), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        match found {
            Some((position, moment)) if moment < since => low = position + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// The column and the index of an order.
fn column(sort: Sort) -> (&'static str, &'static str) {
    match sort {
        Sort::Created => ("created", "records_by_creation"),
        Sort::Updated => ("rev", "records_by_change"),
    }
}

/// The direction of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Oldest first.
    Ascending,
    /// Newest first.
    Descending,
}

/// What a page may show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The last position of the page before, which is not shown again.
    pub after: Option<i64>,
    /// Nothing that was created before this position.
    pub created_from: i64,
    /// Nothing that last changed before this position.
    pub changed_from: i64,
}

/// An id as it is stored.
pub(super) fn text(id: &Uuid) -> String {
    id.hyphenated().to_string()
}
