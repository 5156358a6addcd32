//! What a damaged database still gives: local data, which the server does not have, and base images. Must not read or write a database.

use rusqlite::types::Value as Sql;

use super::inferred_edits::EditTrace;
use super::reader::SalvagedTable;
use super::user_objects::UserObject;

/// The tables that are carried over: with data that the server cannot send again, and the base images.
pub(in crate::store) const LOCAL_TABLES: [&str; 8] =
    ["edits", "edit_history", "_requests", "_outbox", "_base", "_found_changes", "captures", "sync_log"];

/// The table in which SQLite counts AUTOINCREMENT ids.
pub(super) const SEQUENCE_TABLE: &str = "sqlite_sequence";

/// The columns that hold edit ids. An id that was ever given is never given again, whatever became of its edit.
const EDIT_ID_COLUMNS: [(&str, &str); 7] = [
    ("edits", "id"),
    ("edit_history", "id"),
    ("_outbox", "edit_id"),
    ("_outbox", "part_of"),
    ("_outbox", "next_edit"),
    ("_outbox", "undone_by"),
    (SEQUENCE_TABLE, "seq"),
];

/// The local data of a damaged database.
#[derive(Default)]
pub(super) struct LocalData {
    /// The local tables by name.
    pub tables: Vec<(&'static str, SalvagedTable)>,
    /// Records that may have lost edits.
    pub traces: Vec<EditTrace>,
    /// Objects that people have added.
    pub user_objects: Vec<UserObject>,
    /// The highest known edit id; 0 without any.
    pub newest_edit_id: i64,
    /// Server, id, name and environment of the home. None when the home is unknown.
    pub home: Option<Vec<Sql>>,
    /// True when the home never had a server.
    pub is_local: bool,
    /// True when a person has paused syncing.
    pub paused: bool,
    /// A sentence for each object or edit that cannot be carried over.
    pub lost: Vec<String>,
}

impl LocalData {
    /// The rows of a local table; None when the table was not read.
    pub(super) fn table(&self, name: &str) -> Option<&SalvagedTable> {
        self.tables.iter().find(|(table, _)| *table == name).map(|(_, rows)| rows)
    }

    /// Raises `newest_edit_id` to the highest id in a table, also of rows that cannot be carried over.
    pub(super) fn count_edit_ids(&mut self, name: &str, table: &SalvagedTable) {
        let columns = EDIT_ID_COLUMNS.iter().filter(|(of, _)| *of == name).map(|(_, column)| *column);
        let is_counted = |row: &&Vec<Sql>| name != SEQUENCE_TABLE || table.text(row, "name") == Some("edits");
        let rows = || table.rows.iter().chain(&table.invalid_rows).filter(is_counted);
        let ids = columns.flat_map(|column| {
            rows().filter_map(move |row| match table.value(row, column) {
                // A higher number can only come from damage, and would leave no ids for later edits.
                Some(Sql::Integer(id)) if *id < 1 << 53 => Some(*id),
                _ => None,
            })
        });
        self.newest_edit_id = self.newest_edit_id.max(ids.max().unwrap_or_default());
    }
}
