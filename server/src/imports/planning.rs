//! What the rows of a file do to the records of a home, from one read. Must not write.

use std::collections::HashSet;

use hearth_contract::formats::Timestamp;
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use hearth_exchange::import::{Action, Draft, Existing, Plan, RowCode, RowFault};
use serde_json::Value;

use super::{against_home, permission};
use crate::random::fresh_id;
use crate::store::imports::Job;
use crate::store::records::{self, Bounds, Direction, Sort};
use crate::store::{HomeNumber, StoreError, Tx, events, homes};

/// Records read at once.
const PAGE: usize = 500;

/// A plan, with the bytes that it takes.
pub(super) struct Planned {
    /// What each row does.
    pub(super) plan: Plan,
    /// The bytes that the changes and the results take.
    pub(super) bytes: i64,
    /// The bytes that the home has left.
    pub(super) bytes_left: i64,
}

/// Plans the rows of a file. `scopes`: those of the key.
pub(super) fn plan(
    tx: &Tx<'_>,
    job: &Job,
    draft: &Draft,
    scopes: &[String],
    home_bytes_max: i64,
    now: Timestamp,
) -> Result<Planned, StoreError> {
    let mut plan = draft.plan(&existing(tx, job.home, draft)?, &mut || fresh_id(now));
    refuse_out_of_scope(&mut plan, scopes);
    let bytes = against_home::judge(tx, job, &mut plan, now)?;
    Ok(Planned { plan, bytes, bytes_left: home_bytes_max.saturating_sub(homes::used_bytes(tx, job.home)?) })
}

/// The records of a home that the rows of a file mean.
fn existing(tx: &Tx<'_>, home: HomeNumber, draft: &Draft) -> Result<Existing, StoreError> {
    let mut existing = Existing::new(draft);
    for kind in draft.kinds_to_offer() {
        let has_nameless_rows = draft.has_nameless_rows(kind);
        let mut bounds = Bounds::default();
        loop {
            let page = records::page(tx, home, kind, (Sort::Created, Direction::Ascending), bounds, PAGE)?;
            for (created, json) in &page {
                let record = parse(kind, json)?;
                existing.offer(kind, record.id, &record.fields);
                if has_nameless_rows
                    && record.rev != *created
                    && let Some(first) = events::payload(tx, home, *created)?
                {
                    existing.offer_former(kind, record.id, &parse(kind, &first)?.fields);
                }
            }
            bounds.after = page.last().map(|(place, _)| *place);
            if page.len() < PAGE {
                break;
            }
        }
    }
    let reserved = homes::load(tx, home)?.id;
    for (kind, id) in draft.ids() {
        let is_reserved = id == reserved && !kind.is_singleton();
        if is_reserved || records::entry(tx, home, id)?.is_some_and(|entry| entry.deleted || entry.kind != kind) {
            existing.mark_used(id);
        }
    }
    Ok(existing)
}

fn parse(kind: Kind, json: &str) -> Result<Record, StoreError> {
    Record::from_json(kind, json).ok_or_else(|| StoreError::Corrupt("a stored record is malformed".to_owned()))
}

/// Refuses the rows that the key may not write, and the rows whose room the key may not make. Of a kind that the key may not
/// write, each row is refused without its id: other results would tell what the home holds.
fn refuse_out_of_scope(plan: &mut Plan, scopes: &[String]) {
    let lacks = |kind: Kind| !scopes.contains(&permission::needed(kind));
    let mut rooms: HashSet<String> = HashSet::new();
    for row in &mut plan.rows {
        let room = match &row.action {
            Action::Create(fields) | Action::Update(fields) => fields.get("room_id").and_then(Value::as_str),
            Action::Unchanged | Action::Fail(_) => None,
        };
        let kind = match room.filter(|room| rooms.contains(*room)) {
            Some(_) => Kind::Room,
            None if lacks(row.kind) => row.kind,
            None => continue,
        };
        if row.kind == Kind::Room {
            rooms.extend(row.id.map(|id| id.to_string()));
        }
        row.id = None;
        let message = format!("The key lacks the scope {}, which this row needs.", permission::needed(kind));
        row.action = Action::Fail(RowFault::of_row(RowCode::InsufficientScope, message));
    }
}
