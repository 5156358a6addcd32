//! The tables that only the replica writes. Must not know how a guard is made.

/// The tables that only the replica writes: triggers refuse the writes of others. `_gate` and the table of migrations have
/// guards of their own, and `search` can have no trigger.
pub(crate) const TABLES: [&str; 14] = [
    "_sync",
    "_base",
    "_reconcile",
    "_listed",
    "_requests",
    "_outbox",
    "_search_rows",
    "_found_changes",
    "edits",
    "edit_history",
    "files",
    "captures",
    "file_texts",
    "sync_log",
];

/// What a refused writer should do instead.
pub(crate) const HINT: &str = "write to rooms, inventory, vehicles, documents, tasks or property instead";
