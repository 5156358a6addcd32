//! The migrations of the replica database and the table that records them. Must not know connections or the generated schema.

use refinery::Runner;

mod embedded {
    refinery::embed_migrations!("../migrations/replica");
}

/// The table in which refinery records the migrations that ran.
pub(super) const TABLE: &str = "_migrations";
/// The name of the same table in databases made before the first release.
pub(super) const TABLE_BEFORE_RELEASE: &str = "refinery_schema_history";

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
