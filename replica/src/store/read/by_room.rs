//! The inventory by rooms: rooms by name, items without a room last. Must not know pages.

use std::collections::BTreeMap;

use hearth_contract::schema::Kind;
use rusqlite::Connection;

use super::view::RowQuery;
use crate::store::schema::order;
use crate::store::{StoreError, select};

/// True for the order of the inventory by rooms.
pub(super) fn is_by_room(query: &RowQuery) -> bool {
    (query.kind, query.sort.column) == (Kind::Inventory, "room_id")
}

/// A room as a heading of the inventory.
pub(super) struct Room {
    pub(super) name: String,
    /// The sort key of the name, in lower case.
    key: String,
}

/// All rooms by id.
pub(super) fn rooms(connection: &Connection) -> Result<BTreeMap<String, Room>, StoreError> {
    let text =
        format!("SELECT id, coalesce(name, ''), coalesce({}, '') FROM rooms", order::sort_key(Kind::Room, "name"));
    let found = select::all(connection, &text, [], |row| {
        let key: String = row.get(2)?;
        // SQLite's lower() only knows ASCII.
        Ok((row.get(0)?, Room { name: row.get(1)?, key: key.to_lowercase() }))
    })?;
    Ok(found.into_iter().collect())
}

/// The sort key of a room: unknown rooms last, then by name, then by id.
pub(super) fn room_rank(rooms: &BTreeMap<String, Room>, id: Option<&str>) -> (bool, String, String) {
    let room = id.and_then(|id| rooms.get(id));
    (room.is_none(), room.map(|room| room.key.clone()).unwrap_or_default(), id.unwrap_or_default().to_owned())
}
