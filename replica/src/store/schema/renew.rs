//! Is the database made from this build's description, and are all generated objects as this build made them? Drops and
//! makes the generated triggers, views and indexes. Must not touch rows.

use std::collections::HashSet;
use std::sync::LazyLock;

use hearth_contract::resources::RESOURCES;
use hearth_contract::schema::Resource;
use rusqlite::{Connection, OptionalExtension, Transaction};

use super::trigger_sql::{gate_guards, guard, guards};
use super::{order, protected, table_sql, triggers, views};
use crate::store::sql_words::quoted;
use crate::store::{StoreError, migrations, rows, select};

/// The version of the public tables and views. The first number changes when a script could break.
const SCHEMA_VERSION: &str = "1.0";

/// How the generated tables, triggers and views of a database compare with those of this build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaState {
    /// This build made them, and nothing is missing.
    Current,
    /// This build made them, and another program has removed or altered some of them.
    Altered,
    /// An older build made them, or nothing is made yet.
    Outdated,
}

/// Compares the database with the description of this build. An error when a newer version made the database, or a
/// version from before the first release, or when a table is missing that only a migration makes.
pub(crate) fn state(connection: &Connection) -> Result<SchemaState, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)";
    let has_table = |name: &str| select::value::<bool>(connection, text, [name]);
    if has_table("_sync")? && has_table(migrations::TABLE_BEFORE_RELEASE)? {
        return Err(StoreError::BeforeRelease);
    }
    // An empty database has no such columns.
    let has_stamp = "SELECT EXISTS (SELECT 1 FROM pragma_table_info('_sync') WHERE name = 'schema_stamp')";
    let stored: Option<(String, String)> = match select::value(connection, has_stamp, [])? {
        true => connection
            .query_row("SELECT schema_stamp, schema_version FROM _sync WHERE schema_stamp IS NOT NULL", [], |row| {
                row.try_into()
            })
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
        let is_whole = altered_objects(connection)?.is_empty();
        return Ok(if is_whole { SchemaState::Current } else { SchemaState::Altered });
    }
    if has_table("_sync")? && !has_table(migrations::TABLE)? {
        return Err(StoreError::BeforeRelease);
    }
    Ok(SchemaState::Outdated)
}

/// An error when a table is missing that only a migration creates: an empty new table would hide the loss of its rows.
pub(crate) fn check_tables(connection: &Connection) -> Result<(), StoreError> {
    let made: Vec<&str> = protected::TABLES.into_iter().chain(["_gate", "search", migrations::TABLE]).collect();
    let text = "SELECT group_concat(value, ', ') FROM json_each(?1)
         WHERE value NOT IN (SELECT name FROM sqlite_schema WHERE type = 'table')";
    let lost: Option<String> = select::value(connection, text, [rows::json_text(&made)])?;
    lost.map_or(Ok(()), |tables| Err(StoreError::MissingTables(tables)))
}

/// The numbers of a version such as `1.0`, for comparison.
fn version_numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// The objects of this build that the database lacks, or has with another definition, such as `the table rooms`. Columns,
/// indexes and triggers that a person has added do not count.
pub(crate) fn altered_objects(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut altered = Vec::new();
    for resource in &RESOURCES {
        if !table_sql::has_own_shape(connection, resource)? {
            altered.push(format!("the table {}", resource.kind.collection()));
        }
    }
    let texts = stored_statements(connection)?;
    let all = reference_indexes().chain(DESCRIPTION.generated.iter().cloned());
    for text in all.filter(|text| !texts.contains(text)) {
        let words: Vec<&str> = text.split_whitespace().take(3).collect();
        altered.push(format!("the {} {}", words[1].to_lowercase(), words[2]));
    }
    Ok(altered)
}

/// The CREATE statements of all objects of the database.
fn stored_statements(connection: &Connection) -> Result<HashSet<String>, StoreError> {
    let texts = select::column(connection, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL", [])?;
    Ok(texts.into_iter().collect())
}

/// The typed tables whose values another program could write unchecked: a trigger that checks values is missing or altered.
pub(crate) fn tables_without_checks(connection: &Connection) -> Result<Vec<&'static Resource>, StoreError> {
    let texts = stored_statements(connection)?;
    let lacks = |resource: &&Resource| triggers::value_checks(resource).iter().any(|text| !texts.contains(text));
    Ok(RESOURCES.iter().filter(lacks).collect())
}

/// The CREATE statements of the indexes on references.
fn reference_indexes() -> impl Iterator<Item = String> {
    RESOURCES.iter().flat_map(|resource| {
        let table = resource.kind.collection();
        let references = resource.fields.iter().filter(|field| field.relation().is_some());
        references.map(move |field| format!("CREATE INDEX _{table}_{0} ON {table} ({0})", field.name))
    })
}

/// Makes all generated triggers, views and indexes, and notes that this build made them.
pub(crate) fn create_generated(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let stored = stored_statements(tx)?;
    for statement in reference_indexes().filter(|statement| !stored.contains(statement)) {
        let name = statement.split_whitespace().nth(2).unwrap_or_default();
        tx.execute_batch(&format!("DROP INDEX IF EXISTS {name}; {statement}"))?;
    }
    for statement in &DESCRIPTION.generated {
        tx.execute_batch(statement)?;
    }
    tx.execute("UPDATE _sync SET schema_stamp = ?1, schema_version = ?2", (&DESCRIPTION.stamp, SCHEMA_VERSION))?;
    Ok(())
}

/// What this build generates from the contract. The texts are made when a database is first opened.
static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| {
    let generated = generated_statements();
    Description { stamp: stamp(&generated), generated }
});

struct Description {
    /// The CREATE statements of every trigger, view and list index, in the order of creation.
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

/// Drops all generated triggers, views and list indexes. Tables and the indexes on references stay.
pub(crate) fn drop_generated(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let text = "SELECT type, name FROM sqlite_schema
         WHERE (type = 'trigger' AND name GLOB '[_]*') OR (type = 'index' AND name GLOB '[_]*[_]by[_]*')
            OR (type IN ('view', 'table') AND name IN (SELECT value FROM json_each(?1)))";
    let names = views::VIEWS.map(|(name, _)| name);
    let found: Vec<(String, String)> = select::all(tx, text, [rows::json_text(&names)], |row| Ok(row.try_into()?))?;
    for (kind, name) in found {
        // A person's object may begin with `_` too, and have any name.
        let own = quoted(&name);
        match kind.as_str() {
            // Another program has put a table at the name of a view. Its rows are kept under another name.
            "table" => {
                let other = quoted(&format!("{name}_of_another_program"));
                tx.execute_batch(&format!("ALTER TABLE {own} RENAME TO {other}"))?;
            }
            _ => tx.execute_batch(&format!("DROP {kind} {own}"))?,
        }
    }
    Ok(())
}
