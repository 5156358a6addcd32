//! What the other family member does: a change every now and then, of the sort that makes a home, on a device of its
//! own. Must not know the server beyond what families do.

use std::time::Duration;

use fastrand::Rng;
use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::{Replica, RowQuery, Sort, StoreError};
use hearth_server::lab::family::{self, Change, Seen, What};
use serde_json::Value;
use time::OffsetDateTime;

use super::household::Device;

/// Records that are in sight at once.
const IN_SIGHT: usize = 40;

/// Lives on a device until the device goes.
pub(super) async fn live(device: Device, every: Duration) {
    let mut dice = Rng::with_seed(1);
    loop {
        tokio::time::sleep(every).await;
        if let Err(error) = act(&device.replica, &mut dice) {
            tracing::debug!(%error, "the family member's change was not made");
        }
    }
}

/// One change; the same dice on the same home are the same change.
pub(super) fn act(replica: &Replica, dice: &mut Rng) -> anyhow::Result<()> {
    let today = OffsetDateTime::now_utc().date();
    match family::change(dice, today, &mut |kind, place| in_sight(replica, kind, place))? {
        Some(Change { kind, what: What::Create(fields) }) => drop(replica.create(kind, &fields)?),
        Some(Change { kind, what: What::Update(id, fields) }) => replica.update(kind, &id, &fields)?,
        Some(Change { kind, what: What::Delete(id) }) => replica.delete(kind, &id)?,
        None => (),
    }
    Ok(())
}

/// Some records of a kind about a place in it.
fn in_sight(replica: &Replica, kind: Kind, place: f64) -> Result<Vec<Seen>, StoreError> {
    let sort = Sort { column: "created_at", descending: true };
    let page = |offset, limit| replica.rows(&RowQuery { offset, ..RowQuery::all(kind, sort, limit) });
    let total = page(0, 0)?.total;
    let offset = (total.saturating_sub(IN_SIGHT) as f64 * place) as usize;
    let rows = page(offset, IN_SIGHT)?.rows;
    Ok(rows.into_iter().map(|row| Seen { id: row.id, fields: row.fields }).collect())
}

/// The members of an object.
pub(super) fn fields(value: Value) -> Fields {
    match value {
        Value::Object(members) => members,
        _ => Fields::new(),
    }
}
