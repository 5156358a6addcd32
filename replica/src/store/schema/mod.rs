//! The tables, triggers and views that are generated from the contract's resource table, and their renewal when it
//! has changed. Must never lose a row or an edit: tables only grow columns; triggers and views are made anew.
//!
//! Made of [`rules`], [`triggers`], [`views`], the upkeep of [`mod@search`] and the keys of [`mod@order`]. What is
//! not ours on these tables: [`others`].

pub(super) mod order;
pub(super) mod others;
mod rules;
pub(super) mod search;
mod triggers;
mod views;

use std::fmt::Write as _;
use std::sync::LazyLock;

use hearth_contract::resources::RESOURCES;
use hearth_contract::schema::{Field, Format, Presence, Preset, Resource};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use crate::store::schema::triggers::column_type;
pub(super) use crate::store::schema::triggers::{LOWER_GATE, RAISE_GATE};
use crate::store::{NOW, StoreError, migrations};

/// The version of the public tables and views. The first number changes when a script could break.
pub(crate) const SCHEMA_VERSION: &str = "1.0";

/// Tables that only the replica's keeper writes, and what a stranger should do instead.
pub(crate) const KEPT: [(&str, &str); 17] = [
    ("_schema", HINT),
    ("_sync", HINT),
    ("_base", HINT),
    ("_tombstones", HINT),
    ("_seen", HINT),
    ("_reconcile", HINT),
    ("_walk_pages", HINT),
    ("_requests", HINT),
    ("_outbox", HINT),
    ("_acked", HINT),
    ("_coalesced", HINT),
    ("_undone", HINT),
    ("_already_applied", HINT),
    ("_search_rows", HINT),
    ("edits", HINT),
    ("edit_history", HINT),
    ("sync_log", HINT),
];
const HINT: &str = "write to rooms, inventory, vehicles, documents, tasks or property instead";

/// True when exactly this build made the generated tables, triggers and views. An error when a newer version made them, or
/// a version from before the first release.
pub(crate) fn is_current(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)";
    let has_table = |name: &str| connection.query_row(text, [name], |row| row.get::<_, bool>(0));
    if has_table("_sync")? && has_table(migrations::TABLE_BEFORE_RELEASE)? {
        return Err(StoreError::BeforeRelease);
    }
    let is_unfinished = || match has_table("_sync")? && !has_table(migrations::TABLE)? {
        true => Err(StoreError::BeforeRelease),
        false => Ok(false),
    };
    if !has_table("_schema")? {
        return is_unfinished();
    }
    let found: Option<(String, String)> = connection
        .query_row("SELECT stamp, version FROM _schema", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((stamp, version)) = found else { return is_unfinished() };
    if numbers(&version) > numbers(SCHEMA_VERSION) {
        // To make its triggers and views anew from an older description would take away what the newer one knows.
        return Err(StoreError::Newer { theirs: version, ours: SCHEMA_VERSION.to_owned() });
    }
    if stamp != DESCRIPTION.stamp {
        return is_unfinished();
    }
    whole(connection)?;
    Ok(true)
}

/// An error unless the tables are there that only migrations make: what they held is not made again by a new table.
fn whole(connection: &Connection) -> Result<(), StoreError> {
    let made = KEPT.iter().map(|(table, _)| *table).chain(["_gate", "search", migrations::TABLE]).collect::<Vec<_>>();
    let lost: Option<String> = connection.query_row(
        "SELECT group_concat(value, ', ') FROM json_each(?1)
         WHERE value NOT IN (SELECT name FROM sqlite_schema WHERE type = 'table')",
        [serde_json::json!(made).to_string()],
        |row| row.get(0),
    )?;
    lost.map_or(Ok(()), |tables| Err(StoreError::Lacks(tables)))
}

/// A version as numbers that compare.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// Brings the generated part up to date, in one transaction.
pub(crate) fn renew(connection: &mut Connection) -> Result<(), StoreError> {
    whole(connection)?;
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    drop_generated(&tx)?;
    for resource in &RESOURCES {
        tx.execute_batch(&create_table(resource))?;
        add_missing_columns(&tx, resource)?;
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

/// What this build makes of the contract's table, written out when a database is first opened.
static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| {
    let generated = generated();
    Description { stamp: stamp_of(&generated), generated }
});

struct Description {
    /// Every trigger, view and index of an order, in the order in which they are made.
    generated: Vec<String>,
    /// Tells it from that of any other build.
    stamp: String,
}

fn generated() -> Vec<String> {
    let mut all: Vec<String> = RESOURCES.iter().flat_map(triggers::of).collect();
    all.extend(KEPT.iter().flat_map(|(table, hint)| triggers::guards(table, hint)));
    all.extend(triggers::guards_of_gate(HINT));
    all.extend(["UPDATE", "DELETE"].map(|verb| triggers::guard(migrations::TABLE, verb, "1", HINT)));
    all.extend(views::VIEWS.iter().map(|(name, query)| format!("CREATE VIEW {name} AS{query}")));
    all.extend(order::indexes());
    all
}

/// What this description makes and the database does not have, by name.
pub(crate) fn missing(connection: &Connection) -> Result<Vec<String>, StoreError> {
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

/// A stamp of the whole description, migrations included: FNV-1a, because it must be the same in every build and guards nothing secret.
fn stamp_of(generated: &[String]) -> String {
    let tables: Vec<String> = RESOURCES.iter().map(create_table).collect();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let migrated = migrations::newest();
    for byte in tables.iter().chain(generated).chain([&migrated]).flat_map(|text| text.bytes().chain([0])) {
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
        // Somebody else's may begin with `_` too, and be called anything.
        tx.execute_batch(&format!("DROP {kind} \"{}\"", name.replace('"', "\"\"")))?;
    }
    Ok(())
}

/// The CREATE TABLE text of a kind. Its comments are the table's documentation: `.schema tasks` shows them.
fn create_table(resource: &Resource) -> String {
    let mut text = format!("CREATE TABLE IF NOT EXISTS {} (\n    -- {}\n", resource.kind.collection(), resource.about);
    let mut column = |name: &str, definition: &str, about: &str, last: bool| {
        let definition = format!("{name} {definition}{}", if last { "" } else { "," });
        let _ = writeln!(text, "    {definition:<48} -- {about}");
    };
    column(
        "id",
        &format!("TEXT PRIMARY KEY NOT NULL DEFAULT ({})", rules::NEW_ID),
        "UUID; leave it out to get a new one",
        false,
    );
    for field in resource.fields {
        column(field.name, &definition(field), &format!("{}; {}", field.about, values(field)), false);
    }
    column(
        "created_at",
        &format!("TEXT DEFAULT ({NOW})"),
        "When it was created, by the server's clock once confirmed",
        false,
    );
    column("updated_at", &format!("TEXT DEFAULT ({NOW})"), "When the server last changed it", false);
    column("rev", "INTEGER", "Position of its last change; null until the server has confirmed it once", false);
    column("extra", "TEXT", "JSON of members that a newer server sent", true);
    text.push_str(") STRICT");
    text
}

fn definition(field: &Field) -> String {
    let kind = column_type(field.format);
    match field.presence {
        Presence::Default(Preset::Word(word)) => format!("{kind} DEFAULT '{word}'"),
        Presence::Default(Preset::Number(number)) => format!("{kind} DEFAULT {number}"),
        _ => kind.to_owned(),
    }
}

fn values(field: &Field) -> String {
    let values = match field.format {
        Format::Text { max, .. } => format!("at most {max} characters"),
        Format::Choice(words) => words.join(", "),
        Format::Count => "an integer from 0".to_owned(),
        Format::Year => "an integer from 1000 to 9999".to_owned(),
        Format::Money => "a decimal such as 1299.00".to_owned(),
        Format::Date => "YYYY-MM-DD".to_owned(),
        Format::Timestamp => "YYYY-MM-DDTHH:MM:SS.mmmZ".to_owned(),
        Format::Vin => "11 to 17 letters and digits".to_owned(),
        Format::Url => "http or https".to_owned(),
        Format::Reference(kind) => format!("id in {}", kind.collection()),
        Format::Subject => "id in the table that subject_type means".to_owned(),
    };
    match field.presence {
        Presence::Required => format!("{values}; required"),
        Presence::ReadOnly => format!("{values}; set by the server"),
        _ => values,
    }
}

/// Columns that the contract has gained since the table was made. Their values may already have come from a newer
/// server and wait in `extra`, of rows and of the server's form of rows that have edits.
fn add_missing_columns(tx: &Transaction<'_>, resource: &Resource) -> Result<(), StoreError> {
    let table = resource.kind.collection();
    let present: Vec<String> = tx
        .prepare("SELECT name FROM pragma_table_info(?1)")?
        .query_map([table], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for field in resource.fields.iter().filter(|field| !present.iter().any(|name| name == field.name)) {
        let name = field.name;
        tx.execute_batch(&format!(
            "ALTER TABLE {table} ADD COLUMN {name} {} /* {} */;
             UPDATE {table} SET {name} = json_extract(extra, '$.{name}'), extra = nullif(json_remove(extra, '$.{name}'), '{{}}')
             WHERE json_type(extra, '$.{name}') IS NOT NULL;
             UPDATE _base SET fields = json_set(fields, '$.{name}', json_extract(extra, '$.{name}')),
                 extra = nullif(json_remove(extra, '$.{name}'), '{{}}')
             WHERE kind = '{}' AND json_type(extra, '$.{name}') IS NOT NULL;",
            definition(field),
            field.about,
            resource.kind.as_str()
        ))?;
    }
    Ok(())
}
