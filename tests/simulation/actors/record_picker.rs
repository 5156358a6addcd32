//! Random records and values for the actors. Must not write.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::Connection;
use serde_json::Value;

use super::super::rng::SimRng;

/// A random record of one of these kinds in the replica. None: the drawn kind has no record.
pub(super) fn pick_record(database: &Connection, rng: &mut SimRng, kinds: &[Kind]) -> Option<(Kind, String)> {
    let kind = rng.pick(kinds);
    let drawn = rng.next_u64();
    let count = format!("SELECT count(*) FROM {}", kind.collection());
    let count: i64 = database.prepare_cached(&count).ok()?.query_row([], |row| row.get(0)).ok()?;
    let offset = (drawn >> 1).checked_rem(count.unsigned_abs())? as i64;
    let text = format!("SELECT id FROM {} ORDER BY id LIMIT 1 OFFSET ?1", kind.collection());
    let id = database.prepare_cached(&text).ok()?.query_row([offset], |row| row.get(0)).ok()?;
    Some((kind, id))
}

/// The name of the field that contains the title of a record.
pub(super) fn title_field(kind: Kind) -> &'static str {
    hearth_contract::resources::resource(kind).title
}

/// The members of a JSON object; empty for any other value.
pub(super) fn fields_of(value: Value) -> Fields {
    value.as_object().cloned().unwrap_or_default()
}
