//! What only the stored records tell of a plan: faults of rows, and the bytes that the plan needs. So no row fails while others
//! are written already. Must not write.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::problem::FieldFault;
use hearth_contract::record::Record;
use hearth_contract::recurrence;
use hearth_contract::schema::Kind;
use hearth_exchange::import::plan::TableReport;
use hearth_exchange::import::{Action, Plan, PlannedRow, RowFault};

use crate::home::document_file;
use crate::store::homes::{self, Home};
use crate::store::imports::Job;
use crate::store::{StoreError, Tx, records};

/// A row beside the record that it changes.
struct Change {
    before: Option<Record>,
    after: Fields,
    /// The fields that the row sets.
    sent: Fields,
}

/// Refuses the rows that the home would refuse at the write, and gives the bytes that the other rows and all results take. The
/// bytes of records are those of their events; older events that leave the feed are not subtracted.
pub(super) fn judge(tx: &Tx<'_>, job: &Job, plan: &mut Plan, now: Timestamp) -> Result<i64, StoreError> {
    let home = homes::load(tx, job.home)?;
    let mut bytes = 0;
    for row in &mut plan.rows {
        let Some(mut change) = change(tx, &home, row)? else { continue };
        match file_fault(tx, &home, &mut change)? {
            Some(fault) => row.action = refused(&plan.tables, row.kind, &change.sent, fault),
            None => bytes += record_bytes(job, row, change, now),
        }
    }
    let results: usize = plan.rows.iter().map(|row| row.to_json().to_string().len()).sum();
    Ok(i64::try_from(bytes + results).unwrap_or(i64::MAX))
}

fn change(tx: &Tx<'_>, home: &Home, row: &PlannedRow) -> Result<Option<Change>, StoreError> {
    let (sent, before) = match &row.action {
        Action::Create(fields) => (fields.clone(), None),
        Action::Update(fields) => {
            let id = row.id.filter(|_| !row.kind.is_singleton()).unwrap_or(home.id);
            let image = records::image(tx, home.number, row.kind, id)?;
            (fields.clone(), image.and_then(|image| Record::from_json(row.kind, &image.json)))
        }
        Action::Unchanged | Action::Fail(_) => return Ok(None),
    };
    let mut after = before.as_ref().map(|before| before.fields.clone()).unwrap_or_default();
    after.extend(sent.clone());
    Ok(Some(Change { before, after, sent }))
}

/// The first fault of the file that a document names. Other faults show in the fields, or in the records of [`super::planning`].
fn file_fault(tx: &Tx<'_>, home: &Home, change: &mut Change) -> Result<Option<FieldFault>, StoreError> {
    let Change { before, after, sent } = change;
    let (sent, before) = (before.is_some().then_some(&*sent), before.as_ref().map(|before| &before.fields));
    Ok(document_file::complete(tx, home.number, sent, before, after)?.into_iter().next())
}

/// The refusal of a row, with the heading of the column at fault.
fn refused(tables: &[TableReport], kind: Kind, sent: &Fields, fault: FieldFault) -> Action {
    let mut used = tables.iter().filter(|table| table.kind == kind).flat_map(|table| &table.used);
    let column = used.find(|(_, field)| *field == fault.field).map(|(heading, _)| heading.clone());
    let value = sent.get(&fault.field).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    Action::Fail(RowFault::of_field(fault, column.as_deref(), value.as_deref()))
}

/// The bytes of the event of a change, and of the task that follows a completed one.
fn record_bytes(job: &Job, row: &PlannedRow, change: Change, now: Timestamp) -> usize {
    let Change { before, after, .. } = change;
    let is_followed = row.kind == Kind::Task
        && recurrence::becomes_done(before.as_ref().map(|before| &before.fields), &after)
        && recurrence::recurs(&after);
    let record = Record {
        kind: row.kind,
        id: row.id.unwrap_or_default(),
        rev: before.map_or(i64::from(u32::MAX), |before| before.rev),
        fields: after,
        created_at: now,
        updated_at: now,
        updated_by: job.author.clone(),
    };
    let bytes = record.to_json().len();
    if is_followed { 2 * bytes } else { bytes }
}

#[cfg(test)]
mod tests {
    use hearth_contract::problem::FaultCode;
    use serde_json::json;

    use super::*;

    #[test]
    fn refusal_names_the_heading() {
        let table = TableReport {
            kind: Kind::Document,
            product: hearth_exchange::import::plan::Product::Hearth,
            used: vec![("Hash".to_owned(), "file_sha256")],
            kept_out: Vec::new(),
        };
        let sent = json!({ "file_sha256": "ab" }).as_object().cloned().unwrap_or_default();
        let fault = FieldFault::new("file_sha256", FaultCode::NotFound, "There is no such file.");
        let Action::Fail(fault) = refused(&[table], Kind::Document, &sent, fault) else { panic!("not refused") };
        assert_eq!((fault.column.as_deref(), fault.value.as_deref()), (Some("Hash"), Some("ab")));
    }
}
