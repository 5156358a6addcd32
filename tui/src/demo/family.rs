//! The edits of the second device: one realistic edit every few seconds. Must not know more of the server than the
//! generator of edits.

use std::path::Path;
use std::time::Duration;

use fastrand::Rng;
use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::{Condition, Replica, RowQuery, Sort, StoreError, Test};
use hearth_server::bench::lab::activity::{self, Action, Change, VisibleRecord};
use serde_json::Value;
use time::OffsetDateTime;

use super::home::Device;

/// How many records of a kind the generator may choose from.
const SAMPLE: usize = 40;

/// What the file of the demo says.
const RECEIPT: &str =
    "Hardware store, 14 March\n\n1 furnace filter   18.90\n2 light bulbs       7.80\n\nTotal              26.70\n";

/// Gives a file to a receipt of the home. `path`: where the file is written first.
pub(super) fn attach_receipt(device: &Device, path: &Path) -> anyhow::Result<()> {
    let sort = Sort { column: "title", descending: false };
    let receipts = vec![Condition::field("category", Test::Is("receipt".to_owned()))];
    let query = RowQuery { conditions: receipts, ..RowQuery::all(Kind::Document, sort, 1) };
    std::fs::write(path, RECEIPT)?;
    if let Some(row) = device.replica.rows(&query)?.rows.first() {
        device.replica.attach(&[path.to_owned()], &Fields::new(), Some(&row.id))?;
    }
    Ok(())
}

/// Makes an edit after each interval until the task is aborted.
pub(super) async fn edit_forever(device: Device, every: Duration) {
    let mut dice = Rng::with_seed(1);
    loop {
        tokio::time::sleep(every).await;
        if let Err(error) = make_edit(&device.replica, &mut dice) {
            tracing::debug!(%error, "the edit of the second device failed");
        }
    }
}

/// Makes one edit. The same dice on the same home make the same edit.
fn make_edit(replica: &Replica, dice: &mut Rng) -> anyhow::Result<()> {
    let today = OffsetDateTime::now_utc().date();
    match activity::next_change(dice, today, &mut |kind, place| sample(replica, kind, place))? {
        Some(Change { kind, action: Action::Create(fields) }) => drop(replica.create(kind, &fields)?),
        Some(Change { kind, action: Action::Update(id, fields) }) => replica.update(kind, &id, &fields)?,
        Some(Change { kind, action: Action::Delete(id) }) => replica.delete(kind, &id)?,
        None => (),
    }
    Ok(())
}

/// Some records of a kind. `place`: the start of the sample among all records, from 0 to 1.
fn sample(replica: &Replica, kind: Kind, place: f64) -> Result<Vec<VisibleRecord>, StoreError> {
    let sort = Sort { column: "created_at", descending: true };
    let page = |offset, limit| replica.rows(&RowQuery { offset, ..RowQuery::all(kind, sort, limit) });
    let total = page(0, 0)?.total;
    let offset = (total.saturating_sub(SAMPLE) as f64 * place) as usize;
    let rows = page(offset, SAMPLE)?.rows;
    Ok(rows.into_iter().map(|row| VisibleRecord { id: row.id, fields: row.fields }).collect())
}

/// The members of a JSON object.
pub(super) fn fields(value: Value) -> Fields {
    match value {
        Value::Object(members) => members,
        _ => Fields::new(),
    }
}
