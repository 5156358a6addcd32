//! What a response of a reconcile does to records. Must not request anything.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};
use serde_json::Value;
use uuid::Uuid;

use crate::model::{ListedId, ReconcileQuery, ReconcileResponse, ReconcileStep};
use crate::store::reconcile::listing;
use crate::store::reconcile::progress::advance;
use crate::store::{StoreError, base, gate, mirror, select};

/// Applies responses in their order and writes the next step. The commit does not wait for the disk: a request that a power
/// cut loses is made again.
pub(crate) fn save_responses(
    connection: &mut Connection,
    responses: &[(ReconcileQuery, ReconcileResponse)],
    then: &ReconcileStep,
) -> Result<(), StoreError> {
    gate::sync_tx_without_fsync(connection, |tx| {
        for (query, found) in responses {
            save_response(tx, query, found)?;
        }
        advance(tx, then)
    })
}

fn save_response(tx: &Transaction<'_>, query: &ReconcileQuery, found: &ReconcileResponse) -> Result<(), StoreError> {
    if let ReconcileQuery::Ids { cursor: None, .. }
    | ReconcileQuery::List { since: None, cursor: None, .. }
    | ReconcileQuery::Deletions { cursor: None, .. } = query
    {
        listing::clear(tx)?;
    }
    let save_records = |kind| found.records.iter().try_for_each(|record| save_record(tx, kind, record));
    match query {
        ReconcileQuery::Ids { kind, .. } => listing::save_page(tx, *kind, &found.ids),
        ReconcileQuery::Deletions { .. } => Kind::COLLECTIONS.into_iter().try_for_each(|kind| {
            let of_kind = found.deletions.iter().filter(|(of, _)| *of == kind).map(|(_, listed)| *listed);
            listing::save_page(tx, kind, &of_kind.collect::<Vec<_>>())
        }),
        // These records are noted as a page of ids would list them. The newest entry of an id counts. After a server restore, the
        // revision of a single record may be lower than the listed one.
        ReconcileQuery::Record { kind, .. } | ReconcileQuery::List { kind, since: None, .. } => {
            save_records(*kind)?;
            let page = found.records.iter().map(listed).collect::<Result<Vec<_>, _>>()?;
            listing::save_page(tx, *kind, &page)
        }
        ReconcileQuery::List { kind, since: Some(_), .. } => save_records(*kind),
        ReconcileQuery::Property if found.records.is_empty() => unset_profile(tx, found.as_of),
        ReconcileQuery::Property => save_records(Kind::Property),
    }
}

/// Removes a profile that the server does not have. A profile is never deleted, but a restored server may be from
/// before its creation.
fn unset_profile(tx: &Transaction<'_>, as_of: i64) -> Result<(), StoreError> {
    let known = "SELECT record_id FROM _base WHERE kind = 'property' AND coalesce(rev <= ?1, 1)";
    let Some(id) = select::first::<String>(tx, known, [as_of])? else { return Ok(()) };
    base::forget_record(tx, Kind::Property, &id)?;
    base::rebase(tx, Kind::Property, &id)
}

/// A record as a page of ids would list it.
fn listed(record: &Fields) -> Result<ListedId, StoreError> {
    let id = text(record, "id")?;
    let id = Uuid::try_parse(id).map_err(|_| StoreError::Unexpected(format!("a listed record with the id {id}")))?;
    Ok(ListedId { id, rev: number(record, "rev")? })
}

fn save_record(tx: &Transaction<'_>, kind: Kind, record: &Fields) -> Result<(), StoreError> {
    mirror::apply(tx, kind, text(record, "id")?, number(record, "rev")?, record)
}

/// A text member of a listed record.
pub(super) fn text<'a>(record: &'a Fields, name: &str) -> Result<&'a str, StoreError> {
    let found = record.get(name).and_then(Value::as_str);
    found.ok_or_else(|| StoreError::Unexpected(format!("a listed record without {name}")))
}

/// A numeric member of a listed record.
pub(super) fn number(record: &Fields, name: &str) -> Result<i64, StoreError> {
    let found = record.get(name).and_then(Value::as_i64);
    found.ok_or_else(|| StoreError::Unexpected(format!("a listed record without {name}")))
}
