//! Applies the plan of an import in one transaction, through the same statements as every edit. Must not know files.

use hearth_contract::formats::parse_id;
use hearth_contract::schema::Kind;
use hearth_exchange::import::{Action, Draft, Existing, Plan};
use rusqlite::Connection;
use uuid::Uuid;

use super::edits::{EditError, create_in, fresh_id, update_in};
use super::{StoreError, base, gate, read, rows, select};
use crate::model::Origin;

/// What an import did.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// What each row does to the records as they were at that moment.
    pub plan: Plan,
    /// Whether the plan was applied. False: a row is refused, and nothing was written.
    pub applied: bool,
}

/// Plans an import of the present records. Writes nothing.
pub(crate) fn plan(connection: &Connection, draft: &Draft) -> Result<Plan, StoreError> {
    read::at_one_moment(connection, || plan_in(connection, draft))
}

fn plan_in(connection: &Connection, draft: &Draft) -> Result<Plan, StoreError> {
    let mut existing = Existing::new(draft);
    for kind in draft.kinds_to_offer() {
        rows::each(connection, kind, |id, fields| {
            if let Some(id) = parse_id(id) {
                existing.offer(kind, id, fields);
            }
        })?;
    }
    for (_, id) in draft.ids() {
        if is_used(connection, id)? {
            existing.mark_used(id);
        }
    }
    Ok(draft.plan(&existing, &mut fresh_id))
}

/// Whether a record with this id was deleted on the server.
fn is_used(connection: &Connection, id: Uuid) -> Result<bool, StoreError> {
    // The index begins with the kind.
    let of_kind = Kind::COLLECTIONS.map(|kind| base::deleted_there(&format!("'{kind}'"), "?1"));
    select::value(connection, &format!("SELECT {}", of_kind.join(" OR ")), [id.to_string()])
}

/// Plans an import and applies the plan in the same transaction: all rows or none. With `partial`, refused rows are left out.
/// `progress` hears the number of changes made so far.
pub(crate) fn apply(
    connection: &mut Connection,
    origin: Origin,
    draft: &Draft,
    partial: bool,
    progress: &mut dyn FnMut(usize),
) -> Result<Imported, EditError> {
    gate::edit_tx(connection, origin, |tx| {
        let plan = plan_in(tx, draft)?;
        if plan.counts().failed > 0 && !partial {
            return Ok(Imported { plan, applied: false });
        }
        for (done, at) in plan.steps().into_iter().enumerate() {
            let row = &plan.rows[at];
            let id = row.id.map(|id| id.to_string()).unwrap_or_default();
            let made = match &row.action {
                Action::Create(fields) => {
                    let mut fields = fields.clone();
                    fields.insert("id".to_owned(), id.into());
                    create_in(tx, row.kind, &fields).map(drop)
                }
                Action::Update(fields) => update_in(tx, row.kind, &id, fields),
                Action::Unchanged | Action::Fail(_) => Ok(()),
            };
            made.map_err(|error| in_row(row.number, error))?;
            progress(done + 1);
        }
        super::edits::next_tasks::make::make(tx)?;
        Ok(Imported { plan, applied: true })
    })
}

/// Names the row of a change that a trigger refused.
fn in_row(number: u32, error: EditError) -> EditError {
    match error {
        EditError::Refused(sentence) => EditError::Refused(format!("row {number}: {sentence}; nothing was imported")),
        other => other,
    }
}
