//! Creates and renews the generated part of the database. Must never lose a row or an edit: tables only gain columns;
//! triggers, views and indexes are dropped and made again.

use std::sync::LazyLock;

use hearth_contract::resources::RESOURCES;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::trigger_sql::{LOWER_GATE, RAISE_GATE, gate_guards, guard, guards};
use super::{order, protected, table_sql, triggers, views};
use crate::store::{StoreError, migrations};

/// The version of the public tables and views. The first number changes when a script could break.
const SCHEMA_VERSION: &str = "1.0";

/// True when exactly this build made the generated tables, triggers and views. An error when a newer version made them, or
/// a version from before the first release.
pub(crate) fn is_current(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)";
    let has_table = |name: &str| connection.query_row(text, [name], |row| row.get::<_, bool>(0));
    if has_table("_sync")? && has_table(migrations::TABLE_BEFORE_RELEASE)? {
        return Err(StoreError::BeforeRelease);
    }
    let stored: Option<(String, String)> = match has_table("_schema")? {
        true => connection
            .query_row("SELECT stamp, version FROM _schema", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?,
        false => None,
    };
    if let Some((_, version)) = &stored
        && version_numbers(version) > version_numbers(SCHEMA_VERSION)
    {
        // Triggers and views of an older description lack what the newer program added.
        return Err(StoreError::Newer { theirs: version.clone(), ours: SCHEMA_VERSION.to_owned() });
    }
    if stored.is_some_and(|(stamp, _)| stamp == DESCRIPTION.stamp) {
        check_tables(connection)?;
        return Ok(true);
    }
    if has_table("_sync")? && !has_table(migrations::TABLE)? {
        return Err(StoreError::BeforeRelease);
    }
    Ok(false)
}

/// An error when a table is missing that only a migration creates: an empty new table would hide the loss of its rows.
fn check_tables(connection: &Connection) -> Result<(), StoreError> {
    let made: Vec<&str> = protected::TABLES.into_iter().chain(["_gate", "search", migrations::TABLE]).collect();
    let lost: Option<String> = connection.query_row(
        "SELECT group_concat(value, ', ') FROM json_each(?1)
         WHERE value NOT IN (SELECT name FROM sqlite_schema WHERE type = 'table')",
        [serde_json::json!(made).to_string()],
        |row| row.get(0),
    )?;
    lost.map_or(Ok(()), |tables| Err(StoreError::MissingTables(tables)))
}

/// The numbers of a version such as `1.0`, for comparison.
fn version_numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// Creates the generated part, or brings it up to date, in one transaction.
pub(crate) fn renew(connection: &mut Connection) -> Result<(), StoreError> {
    check_tables(connection)?;
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    drop_generated(&tx)?;
    for resource in &RESOURCES {
        tx.execute_batch(&table_sql::create_table(resource))?;
        table_sql::add_missing_columns(&tx, resource)?;
        for field in resource.fields.iter().filter(|field| field.relation().is_some()) {
            let table = resource.kind.collection();
            tx.execute_batch(&format!("CREATE INDEX IF NOT EXISTS _{table}_{0} ON {table} ({0})", field.name))?;
        }
    }
    for statement in &DESCRIPTION.generated {
        tx.execute_batch(statement)?;
    }
    tx.execute(RAISE_GATE, [])?;
    tx.execute(
        "INSERT INTO _schema (one, stamp, version) VALUES (1, ?1, ?2)
         ON CONFLICT (one) DO UPDATE SET stamp = excluded.stamp, version = excluded.version",
        (&DESCRIPTION.stamp, SCHEMA_VERSION),
    )?;
    tx.execute(LOWER_GATE, [])?;
    Ok(tx.commit()?)
}

/// What this build generates from the contract. The texts are made when a database is first opened.
static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| {
    let generated = generated_statements();
    Description { stamp: stamp(&generated), generated }
});

struct Description {
    /// The CREATE statements of every trigger, view and index, in the order of creation.
    generated: Vec<String>,
    /// A hash of the description and of the newest migration.
    stamp: String,
}

fn generated_statements() -> Vec<String> {
    let mut all: Vec<String> = RESOURCES.iter().flat_map(triggers::table_triggers).collect();
    all.extend(protected::TABLES.iter().flat_map(|table| guards(table)));
    all.extend(gate_guards());
    all.extend(["UPDATE", "DELETE"].map(|verb| guard(migrations::TABLE, verb, "1")));
    all.extend(views::statements());
    all.extend(order::indexes());
    all
}

/// The objects that this build generates and the database lacks, such as `the table rooms`.
pub(crate) fn missing_objects(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut missing = Vec::new();
    for resource in &RESOURCES {
        let table = resource.kind.collection();
        if !connection
            .query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)", [table], |r| r.get(0))?
        {
            missing.push(format!("the table {table}"));
        }
    }
    let mut statement = connection.prepare("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE sql = ?1)")?;
    for text in &DESCRIPTION.generated {
        if !statement.query_row([text], |row| row.get::<_, bool>(0))? {
            let words: Vec<&str> = text.split_whitespace().take(3).collect();
            missing.push(format!("the {} {}", words[1].to_lowercase(), words[2]));
        }
    }
    Ok(missing)
}

/// A hash of the description and of the newest migration, as 16 hexadecimal digits. FNV-1a, because the hash must be equal in
/// every build and protects no secret.
fn stamp(generated: &[String]) -> String {
    let tables: Vec<String> = RESOURCES.iter().map(table_sql::create_table).collect();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let migration = migrations::newest();
    for byte in tables.iter().chain(generated).chain([&migration]).flat_map(|text| text.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

fn drop_generated(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let mut statement = tx.prepare(
        "SELECT type, name FROM sqlite_schema
         WHERE (type = 'trigger' AND name GLOB '[_]*') OR (type = 'index' AND name GLOB '[_]*[_]by[_]*')
            OR (type = 'view' AND name IN (SELECT value FROM json_each(?1)))",
    )?;
    let names: Vec<&str> = views::VIEWS.iter().map(|(name, _)| *name).collect();
    let found = statement
        .query_map([serde_json::json!(names).to_string()], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?
        .collect::<Result<Vec<_>, _>>()?;
    for (kind, name) in found {
        // A person's object may begin with `_` too, and have any name.
        tx.execute_batch(&format!("DROP {kind} \"{}\"", name.replace('"', "\"\"")))?;
    }
    Ok(())
}
