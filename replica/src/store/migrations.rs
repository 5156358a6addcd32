//! The migrations of the replica database and the table that records them. Must not know connections or the generated schema.

use refinery::Runner;
use rusqlite::Connection;

use super::{StoreError, select};

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

/// Runs the migrations that the database lacks, after it has deleted the rows of another program. The guard that refuses deletes
/// goes before; the caller makes it again with the other triggers.
pub(super) fn run(connection: &mut Connection) -> Result<(), StoreError> {
    let has_table = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)";
    let is_unreadable = format!("SELECT EXISTS (SELECT 1 FROM {TABLE} WHERE {UNREADABLE})");
    if select::value(connection, has_table, [TABLE])? && select::value(connection, &is_unreadable, [])? {
        connection.execute_batch(&format!(
            "DROP TRIGGER IF EXISTS _guard_{TABLE}_delete; DELETE FROM {TABLE} WHERE {UNREADABLE}"
        ))?;
    }
    runner().run(connection)?;
    Ok(())
}

/// A runner of all migrations.
fn runner() -> Runner {
    let mut runner = embedded::migrations::runner();
    runner.set_migration_table_name(TABLE);
    runner
}

/// The newest migration as `V1__name`: the last one that an up-to-date database has run.
pub(super) fn newest() -> String {
    runner().get_migrations().iter().max().map(ToString::to_string).unwrap_or_default()
}
