//! The migrations of the replica database and the table that records them. Must not open a database or know the generated schema.

use refinery::Runner;
use rusqlite::{Connection, OptionalExtension};

mod embedded {
    refinery::embed_migrations!("../migrations/replica");
}

/// The table in which refinery records the migrations that ran.
pub(super) const TABLE: &str = "_migrations";
/// The name of the same table in databases made before the first release.
pub(super) const TABLE_BEFORE_RELEASE: &str = "refinery_schema_history";

/// SQL condition: another program wrote this row of the table. The runner cannot read the row.
const UNREADABLE: &str = "(name IS NULL OR coalesce(checksum GLOB '*[^0-9]*', 1)
    OR coalesce(applied_on NOT GLOB '????-??-??T??:??:??*', 1))";

/// Deletes the rows of another program. The trigger that refuses deletes steps aside for them.
pub(super) fn delete_unreadable(connection: &Connection) -> rusqlite::Result<()> {
    let has_table = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)";
    let is_unreadable = format!("SELECT EXISTS (SELECT 1 FROM {TABLE} WHERE {UNREADABLE})");
    if !connection.query_row(has_table, [TABLE], |row| row.get(0))?
        || !connection.query_row(&is_unreadable, [], |row| row.get(0))?
    {
        return Ok(());
    }
    let guard = format!("SELECT sql FROM sqlite_schema WHERE name = '_guard_{TABLE}_delete'");
    let guard: Option<String> = connection.query_row(&guard, [], |row| row.get(0)).optional()?;
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; DROP TRIGGER IF EXISTS _guard_{TABLE}_delete; DELETE FROM {TABLE} WHERE {UNREADABLE};
         {}; COMMIT",
        guard.unwrap_or_default()
    ))
}

/// A runner of all migrations.
pub(super) fn runner() -> Runner {
    let mut runner = embedded::migrations::runner();
    runner.set_migration_table_name(TABLE);
    runner
}

/// The newest migration as `V1__name`: the last one that an up-to-date database has run.
pub(super) fn newest() -> String {
    runner().get_migrations().iter().max().map(ToString::to_string).unwrap_or_default()
}
