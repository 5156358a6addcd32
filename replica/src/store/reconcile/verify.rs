//! Compares every base image with the server's lists at one position, and every row with its base image and edits. Repairs
//! differences on request. Must not fetch.
//!
//! Every page names the position at which it was read, and both sides know the revision of every record. The comparison
//! therefore holds while records change. A record that is newer here than its page, and not newer than the replica, cannot
//! be compared and is left out. Everything else must be equal once the replica has passed the last page.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Row, Transaction};
use serde::Serialize;
use serde_json::Value;

use crate::model::LogLevel;
use crate::store::edits::reason::Reason;
use crate::store::edits::settle;
use crate::store::reconcile::response::{number, text};
use crate::store::schema::search;
use crate::store::{StoreError, base, gate, log, rows, select};

/// All records of a kind that the server lists.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// The records, each with the position at which its page was read.
    pub records: Vec<(Fields, i64)>,
    /// The position at which the last page was read.
    pub as_of: i64,
}

/// A record that differs from the server's. Commands print the members in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record, a UUID in lower case.
    pub id: String,
    /// The title of the record, or its id.
    pub title: String,
    /// How the record differs.
    pub how: How,
    /// The members that differ, by name. Empty when one side has no record.
    pub fields: Vec<FieldDifference>,
}

/// A member that differs. Commands print the members in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldDifference {
    /// The name of the member.
    pub field: &'static str,
    /// The value here.
    pub ours: Value,
    /// The value on the server.
    pub theirs: Value,
}

/// How a record differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// The server has the record, and the replica does not.
    Missing,
    /// The replica has the record, and the server does not.
    Extra,
    /// Both have the record, and members of it differ.
    Differs,
}

/// The result of a comparison. Commands print the members in this order.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Verification {
    /// The position at which the replica was compared.
    pub position: i64,
    /// Records that were compared, equal or not.
    pub compared: usize,
    /// Records that changed during the comparison and could not be compared.
    pub changed_meanwhile: usize,
    /// True when something differed and was repaired.
    pub repaired: bool,
    /// True when the search index did not match the tables: another program has changed it.
    pub search_differs: bool,
    /// Records that differ from the server's.
    pub differences: Vec<Difference>,
}

impl Verification {
    /// True when the known version of a record is newer than the page that lists the record. A version after the
    /// replica's own position is wrong: no event has shown it.
    fn may_have_changed(&self, rev: i64, as_of: i64) -> bool {
        rev > as_of && rev <= self.position
    }
}

/// Compares all records, and repairs differences when `repair` is true, in one transaction. None when the replica has
/// not passed the last page yet.
pub(crate) fn verify(
    connection: &mut Connection,
    listings: &[(Kind, Listing)],
    repair: bool,
    now: Timestamp,
) -> Result<Option<Verification>, StoreError> {
    let found = compare_all(connection, listings, repair, now)?;
    let Some(mut found) = found else { return Ok(None) };
    found.search_differs = !search::is_complete(connection)?;
    if repair && found.search_differs {
        gate::sync_tx(connection, search::refill)?;
    }
    found.repaired = repair && (found.search_differs || !found.differences.is_empty());
    Ok(Some(found))
}

fn compare_all(
    connection: &mut Connection,
    listings: &[(Kind, Listing)],
    repair: bool,
    now: Timestamp,
) -> Result<Option<Verification>, StoreError> {
    gate::sync_tx(connection, |tx| {
        let (position, is_reconciling): (i64, bool) =
            tx.query_row("SELECT position, EXISTS (SELECT 1 FROM _reconcile) FROM _sync", [], |row| row.try_into())?;
        if is_reconciling || listings.iter().any(|(_, listing)| listing.as_of > position) {
            return Ok(None);
        }
        let mut found = Verification { position, ..Verification::default() };
        for (kind, listing) in listings {
            compare(tx, *kind, listing, &mut found)?;
        }
        if repair {
            for difference in &found.differences {
                let listing = listings.iter().find(|(kind, _)| *kind == difference.kind).map(|(_, listing)| listing);
                if let Some(listing) = listing {
                    mend(tx, difference, listing, now)?;
                }
            }
        }
        if repair || found.differences.is_empty() {
            tx.execute("UPDATE _sync SET verified_at = ?1", [now.to_string()])?;
        }
        let count = found.differences.len();
        if count > 0 {
            let (were, them, they) = match count {
                1 => ("record was", "it", "it is"),
                _ => ("records were", "them", "they are"),
            };
            let done = if repair { format!("; {they} repaired") } else { String::new() };
            log(tx, LogLevel::Warning, &format!("{count} {were} not as the server has {them}{done}."))?;
        }
        Ok(Some(found))
    })
}

fn compare(tx: &Transaction<'_>, kind: Kind, listing: &Listing, found: &mut Verification) -> Result<(), StoreError> {
    let mut listed = std::collections::HashSet::new();
    for (record, as_of) in &listing.records {
        let (id, rev) = (text(record, "id")?, number(record, "rev")?);
        listed.insert(id);
        let theirs = rows::StoredRecord::from_payload(kind, rev, record);
        let ours = base::load(tx, kind, id)?;
        if ours.as_ref().and_then(|ours| ours.stored.rev).is_some_and(|rev| found.may_have_changed(rev, *as_of)) {
            found.changed_meanwhile += 1;
            continue;
        }
        found.compared += 1;
        let known = ours.and_then(base::StoredImage::present).map(|ours| differing(kind, &ours, &theirs));
        let (how, fields) = match known {
            None => (How::Missing, Vec::new()),
            Some(fields) if !fields.is_empty() => (How::Differs, fields),
            Some(_) => match shown_otherwise(tx, kind, id)? {
                Some(found) => found,
                None => continue,
            },
        };
        let title = theirs.fields.get(resource(kind).title).and_then(Value::as_str).unwrap_or(id).to_owned();
        found.differences.push(Difference { kind, id: id.to_owned(), title, how, fields });
    }
    // Rows that neither the server nor an edit made are as wrong as unlisted ones.
    let known = format!(
        "SELECT record_id, i.rev, coalesce(t.{1}, fields ->> '$.{1}', record_id)
         FROM _base i LEFT JOIN {0} t ON t.id = i.record_id WHERE kind = ?1 AND NOT deleted
         UNION ALL SELECT id, NULL, coalesce({1}, id) FROM {0} t
         WHERE NOT EXISTS (SELECT 1 FROM _base i WHERE i.kind = ?1 AND i.record_id = t.id)
             AND NOT EXISTS (SELECT 1 FROM edits e WHERE e.kind = ?1 AND e.record_id = t.id)",
        kind.collection(),
        resource(kind).title
    );
    let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?, row.get(2)?));
    for (id, rev, title) in select::all(tx, &known, [kind.as_str()], read)? {
        if listed.contains(id.as_str()) {
            continue;
        }
        if rev.is_some_and(|rev| found.may_have_changed(rev, listing.as_of)) {
            found.changed_meanwhile += 1;
            continue;
        }
        found.compared += 1;
        found.differences.push(Difference { kind, id, title, how: How::Extra, fields: Vec::new() });
    }
    Ok(())
}

/// How the row of a record differs from the base image with the edits laid over it.
fn shown_otherwise(
    tx: &Transaction<'_>,
    kind: Kind,
    id: &str,
) -> Result<Option<(How, Vec<FieldDifference>)>, StoreError> {
    Ok(match (rows::load_row(tx, kind, id)?, base::overlay(tx, kind, id, i64::MAX)?) {
        (None, None) => None,
        (None, Some(_)) => Some((How::Missing, Vec::new())),
        (Some(_), None) => Some((How::Extra, Vec::new())),
        (Some(row), Some(server_version)) => {
            Some((How::Differs, differing(kind, &row, &server_version))).filter(|(_, fields)| !fields.is_empty())
        }
    })
}

/// The members that differ, by name. A field that an older server leaves out equals null. The order of unknown members
/// does not matter.
fn differing(kind: Kind, ours: &rows::StoredRecord, theirs: &rows::StoredRecord) -> Vec<FieldDifference> {
    let field = |stored: &rows::StoredRecord, name: &str| stored.fields.get(name).cloned().unwrap_or_default();
    let fields = resource(kind).fields.iter().map(|it| (it.name, field(ours, it.name), field(theirs, it.name)));
    let mut all: Vec<(&'static str, Value, Value)> = fields.collect();
    all.push(("rev", ours.rev.into(), theirs.rev.into()));
    all.push(("created_at", ours.created_at.clone().into(), theirs.created_at.clone().into()));
    all.push(("updated_at", ours.updated_at.clone().into(), theirs.updated_at.clone().into()));
    all.push(("updated_by", ours.updated_by.clone().into(), theirs.updated_by.clone().into()));
    all.retain(|(_, ours, theirs)| ours != theirs);
    let unknown = |stored: &rows::StoredRecord| {
        let text = stored.extra.as_deref()?;
        Some(serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into()))
    };
    if unknown(ours) != unknown(theirs) {
        all.push(("extra", ours.extra.clone().into(), theirs.extra.clone().into()));
    }
    all.sort_unstable_by_key(|(name, ..)| *name);
    all.into_iter().map(|(field, ours, theirs)| FieldDifference { field, ours, theirs }).collect()
}

/// Writes the server's version of a record.
fn mend(tx: &Transaction<'_>, difference: &Difference, listing: &Listing, now: Timestamp) -> Result<(), StoreError> {
    let Difference { kind, id, .. } = difference;
    let is_it = |record: &&(Fields, i64)| record.0.get("id").and_then(Value::as_str) == Some(id);
    if let Some((record, _)) = listing.records.iter().find(is_it) {
        let rev = number(record, "rev")?;
        base::save(tx, *kind, id, &rows::StoredRecord::from_payload(*kind, rev, record))?;
        return base::rebase(tx, *kind, id);
    }
    base::mark_deleted(tx, *kind, id, listing.as_of)?;
    settle::record_is_deleted(tx, *kind, id, listing.as_of, &Reason::DeletedThere, now)
}
