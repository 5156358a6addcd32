//! What the rows of a file do to the records of a home, from one read. Must not write.

use std::collections::HashSet;

use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use hearth_exchange::import::{Action, Draft, Existing, Plan, RowCode, RowFault};
use serde_json::Value;
use uuid::Uuid;

use crate::store::records::{self, Bounds, Direction, Sort};
use crate::store::{HomeNumber, StoreError, Tx};

/// Records read at once.
const PAGE: usize = 500;

/// Plans the rows of a file.
pub(super) fn plan(
    tx: &Tx<'_>,
    home: HomeNumber,
    draft: &Draft,
    new_id: &mut dyn FnMut() -> Uuid,
) -> Result<Plan, StoreError> {
    let mut existing = Existing::new(draft);
    for kind in draft.kinds_to_offer() {
        let mut bounds = Bounds::default();
        loop {
            let page = records::page(tx, home, kind, (Sort::Created, Direction::Ascending), bounds, PAGE)?;
            for (_, json) in &page {
                let record = Record::from_json(kind, json)
                    .ok_or_else(|| StoreError::Corrupt("a stored record is malformed".to_owned()))?;
                existing.offer(kind, record.id, &record.fields);
            }
            bounds.after = page.last().map(|(place, _)| *place);
            if page.len() < PAGE {
                break;
            }
        }
    }
    for (kind, id) in draft.ids() {
        if records::entry(tx, home, id)?.is_some_and(|entry| entry.deleted || entry.kind != kind) {
            existing.mark_used(id);
        }
    }
    Ok(draft.plan(&existing, new_id))
}

/// Refuses the rows that the key may not write, and the rows whose room the key may not make. Of a kind that the key may not
/// write, each row is refused without its id: other results would tell what the home holds.
pub(super) fn refuse_out_of_scope(plan: &mut Plan, scopes: &[String]) {
    let lacks = |kind: Kind| !scopes.contains(&format!("{}:write", kind.collection()));
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
        let message = format!("The key lacks the scope {}:write, which this row needs.", kind.collection());
        row.action = Action::Fail(RowFault::of_row(RowCode::InsufficientScope, message));
    }
}
