//! What is carried over from a damaged database: what the server does not have, and the base images. Must not read or write a
//! database.

use hearth_contract::schema::Kind;
use rusqlite::types::Value as Sql;

use super::inferred_edits::EditTrace;
use super::reader::SalvagedTable;
use super::user_objects::UserObject;
use crate::store::health;

/// The tables that are carried over whole.
pub(in crate::store) const CARRIED_TABLES: [&str; 9] =
    ["edits", "edit_history", "_requests", "_outbox", "_base", "_reconcile", "_found_changes", "captures", "sync_log"];

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

/// What is carried over from a damaged database.
#[derive(Default)]
pub(super) struct Carried {
    /// The carried tables by name.
    pub tables: Vec<(&'static str, SalvagedTable)>,
    /// The rows of each kind, if a base image is missing. Empty otherwise.
    pub rows: Vec<(Kind, SalvagedTable)>,
    /// Records that may have lost edits.
    pub traces: Vec<EditTrace>,
    /// Objects that people have added.
    pub user_objects: Vec<UserObject>,
    /// The highest known edit id; 0 without any.
    pub newest_edit_id: i64,
    /// The row of `_sync`: column and value. Empty when it cannot be read.
    pub sync: Vec<(String, Sql)>,
    /// A sentence for each object or edit that cannot be carried over.
    pub lost: Vec<String>,
}

impl Carried {
    /// The rows of a carried table; None when the table was not read.
    pub(super) fn table(&self, name: &str) -> Option<&SalvagedTable> {
        self.tables.iter().find(|(table, _)| *table == name).map(|(_, rows)| rows)
    }

    /// True when every row of a carried table was read.
    pub(super) fn is_complete(&self, name: &str) -> bool {
        self.table(name).is_some_and(|table| table.complete)
    }

    /// True when every base image was read, and each one is valid.
    pub(super) fn has_all_images(&self) -> bool {
        let is_valid = |fields| health::is_valid_text("_base", "fields", fields);
        self.table("_base").is_some_and(|images| {
            images.complete
                && images.invalid_rows.is_empty()
                && images.rows.iter().all(|row| images.text(row, "fields").is_some_and(is_valid))
        })
    }

    /// A text of the row of `_sync`.
    pub(super) fn sync_text(&self, name: &str) -> Option<&str> {
        match self.sync.iter().find(|(column, _)| column == name) {
            Some((_, Sql::Text(text))) => Some(text),
            _ => None,
        }
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
