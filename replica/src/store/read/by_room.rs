//! The inventory by rooms: rooms by name, items without a room last. Must not know pages.

use std::collections::BTreeMap;

use hearth_contract::schema::Kind;
use rusqlite::Connection;

use super::view::RowQuery;
use crate::store::StoreError;

/// True for the order of the inventory by rooms.
pub(super) fn is_by_room(query: &RowQuery) -> bool {
    (query.kind, query.sort.column) == (Kind::Inventory, "room_id")
}

/// The names of all rooms by id.
pub(super) fn room_names(connection: &Connection) -> Result<BTreeMap<String, String>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT id, name FROM rooms")?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// The sort key of a room: rooms without a known name last, then by name in lower case, then by id.
pub(super) fn room_rank(names: &BTreeMap<String, String>, id: Option<&str>) -> (bool, String, String) {
    let name = id.and_then(|id| names.get(id));
    (name.is_none(), name.map(|name| name.to_lowercase()).unwrap_or_default(), id.unwrap_or_default().to_owned())
}
