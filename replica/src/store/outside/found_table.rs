//! A typed table as another program has left it: reads its rows and gives the table the replica's own shape again. Must not
//! judge the rows.
//!
//! - A renamed column gets its name back. A dropped column returns, and its values are those that the replica knows.
//! - A table that was dropped or made anew is replaced by the replica's own table. Columns, indexes and triggers that people
//!   have added continue.

use hearth_contract::check::Fields;
use hearth_contract::schema::Resource;
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Row, Transaction};
use serde_json::Value;

use crate::model::LogLevel;
use crate::store::rows::sql_to_json;
use crate::store::schema::table_sql::{add_missing_columns, column_names, columns, create_table, has_own_text};
use crate::store::sql_words::quoted;
use crate::store::{StoreError, log, select};

/// A typed table as found.
pub(super) struct FoundTable {
    pub rows: Vec<FoundRow>,
    /// The replica's columns that the table lacked. Their values say nothing.
    pub missing: Vec<&'static str>,
    /// True when the table was dropped or made anew: the table is empty now.
    pub is_replaced: bool,
    /// Columns that are not the replica's.
    added: Vec<String>,
    /// The CREATE statements of people's indexes and triggers on a replaced table.
    objects: Vec<String>,
}

/// A row as found.
pub(super) struct FoundRow {
    /// The values of [`columns`], in their order; null for a missing column.
    values: Vec<Value>,
    /// The values of the added columns.
    added: Vec<Sql>,
}

impl FoundRow {
    /// The value of a column of the replica.
    pub(super) fn value(&self, resource: &Resource, name: &str) -> &Value {
        let index = columns(resource).position(|column| column == name);
        index.and_then(|index| self.values.get(index)).unwrap_or(&Value::Null)
    }

    /// The id as text; None when the row has none.
    pub(super) fn id(&self) -> Option<String> {
        match self.values.first()? {
            Value::String(id) => Some(id.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    }
}

/// Reads a typed table, and gives the table its own shape. A missing table is made, and has no row.
pub(super) fn take(tx: &Transaction<'_>, resource: &Resource) -> Result<FoundTable, StoreError> {
    let table = resource.kind.collection();
    rename_back(tx, resource)?;
    let present = column_names(tx, table)?;
    let missing: Vec<&'static str> = columns(resource).filter(|own| !present.iter().any(|name| name == own)).collect();
    // SQLite can add a column of a field to a table with rows, but no column whose default is the time.
    let can_be_completed = missing.iter().all(|name| resource.field(name).is_some());
    let is_replaced = !has_own_text(tx, resource)? || !can_be_completed;
    let added: Vec<String> =
        present.iter().filter(|name| columns(resource).all(|own| own != **name)).cloned().collect();
    let rows = if present.is_empty() { Vec::new() } else { read_rows(tx, resource, &missing, &added)? };
    let objects = if is_replaced { replace(tx, resource, &added)? } else { Vec::new() };
    if !is_replaced {
        add_missing_columns(tx, resource)?;
    }
    Ok(FoundTable { rows, missing, is_replaced, added, objects })
}

impl FoundTable {
    /// The values of a row in added columns, without null. Bytes become a text.
    pub(super) fn added_values(&self, row: &FoundRow) -> Fields {
        let values = self.added.iter().cloned().zip(row.added.iter().map(|value| value_of(value.into())));
        values.filter(|(_, value)| !value.is_null()).collect()
    }

    /// Gives a replaced table, once it has its rows again, the values of added columns and people's indexes and triggers.
    pub(super) fn finish(&self, tx: &Transaction<'_>, resource: &Resource) -> Result<(), StoreError> {
        // Another table still has the values.
        for (index, name) in self.added.iter().enumerate().filter(|_| self.is_replaced) {
            let text = format!("UPDATE {} SET {} = ?2 WHERE id = ?1", resource.kind.collection(), quoted(name));
            let mut update = tx.prepare(&text)?;
            for row in &self.rows {
                if let (Some(id), Some(value)) = (row.id(), row.added.get(index)) {
                    update.execute((id, value))?;
                }
            }
        }
        for text in &self.objects {
            if let Err(error) = tx.execute_batch(text) {
                let name = text.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
                log(
                    tx,
                    LogLevel::Warning,
                    &format!("{name} on {} could not be made again: {error}.", resource.kind.collection()),
                )?;
            }
        }
        Ok(())
    }
}

fn read_rows(
    tx: &Transaction<'_>,
    resource: &Resource,
    missing: &[&str],
    added: &[String],
) -> Result<Vec<FoundRow>, StoreError> {
    let own = columns(resource).map(|name| if missing.contains(&name) { "NULL".to_owned() } else { quoted(name) });
    let all: Vec<String> = own.chain(added.iter().map(|name| quoted(name))).collect();
    let own_count = columns(resource).count();
    let read = |row: &Row<'_>| -> Result<FoundRow, StoreError> {
        let values = (0..own_count).map(|n| row.get_ref(n).map(value_of)).collect::<Result<_, _>>()?;
        let added = (own_count..all.len()).map(|n| row.get(n)).collect::<Result<_, _>>()?;
        Ok(FoundRow { values, added })
    };
    select::all(tx, &format!("SELECT {} FROM {}", all.join(", "), resource.kind.collection()), [], read)
}

/// A number that is not finite stands for no value in data frames.
fn value_of(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Real(number) if !number.is_finite() => Value::Null,
        cell => sql_to_json(cell),
    }
}

/// Puts the replica's own table in the place of the table as found. Returns the CREATE statements of people's indexes and
/// triggers on the table.
fn replace(tx: &Transaction<'_>, resource: &Resource, added: &[String]) -> Result<Vec<String>, StoreError> {
    let table = resource.kind.collection();
    let text = "SELECT sql FROM sqlite_schema WHERE tbl_name = ?1 AND type IN ('index', 'trigger') AND sql IS NOT NULL
         AND name NOT GLOB '[_]*'";
    let objects = select::column(tx, text, [table])?;
    let place = "SELECT type FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?1";
    if let Some(place) = select::first::<String>(tx, place, [table])? {
        tx.execute_batch(&format!("DROP {place} {table}"))?;
    }
    tx.execute_batch(&create_table(resource))?;
    for name in added {
        tx.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {} ANY", quoted(name)))?;
    }
    Ok(objects)
}

/// Gives renamed columns their names back. A column of another name counts as a missing column when most rows have the known
/// values there; without known values, when it is at the place of the missing column and has its type.
fn rename_back(tx: &Transaction<'_>, resource: &Resource) -> Result<(), StoreError> {
    let table = resource.kind.collection();
    // In a table that was made anew, the place of a column says nothing.
    let keeps_places = has_own_text(tx, resource)?;
    for (index, own) in columns(resource).enumerate() {
        let present = column_names(tx, table)?;
        if present.is_empty() || present.iter().any(|name| name == own) {
            continue;
        }
        let others = present.iter().enumerate().filter(|(_, name)| columns(resource).all(|own| own != **name));
        for (place, other) in others {
            let has_values = match has_known_values(tx, resource, own, other)? {
                Some(has_values) => has_values,
                None => keeps_places && place == index && has_type_of(tx, resource, other, own)?,
            };
            // SQLite refuses the new name when a view or a trigger of another program is broken. The table is replaced then.
            if has_values
                && tx.execute_batch(&format!("ALTER TABLE {table} RENAME COLUMN {} TO {own}", quoted(other))).is_ok()
            {
                break;
            }
        }
    }
    Ok(())
}

/// True when more than half of the known values of a missing column are in the column of another name. None: no value is known.
fn has_known_values(
    tx: &Transaction<'_>,
    resource: &Resource,
    own: &str,
    other: &str,
) -> Result<Option<bool>, StoreError> {
    let (table, kind) = (resource.kind.collection(), resource.kind.as_str());
    let other = quoted(other);
    let read = |row: &Row<'_>| {
        let (known, equal): (i64, i64) = (row.get(0)?, row.get(1)?);
        Ok((known > 0).then_some(equal * 2 > known))
    };
    let known = match own {
        "id" => {
            let text = format!(
                "SELECT count(*), (SELECT count(*) FROM {table} t JOIN _base s ON s.kind = ?1 AND s.record_id = t.{other}
                                   WHERE NOT s.deleted)
                 FROM _base WHERE kind = ?1 AND NOT deleted"
            );
            return Ok(tx.query_row(&text, [kind], read)?);
        }
        "rev" | "created_at" | "updated_at" | "updated_by" | "extra" => format!("s.{own}"),
        field => format!("s.fields ->> '$.{field}'"),
    };
    if !column_names(tx, table)?.iter().any(|name| name == "id") {
        return Ok(None);
    }
    let text = format!(
        "SELECT count({known}), count(*) FILTER (WHERE {known} = t.{other})
         FROM _base s JOIN {table} t ON t.id = s.record_id WHERE s.kind = ?1 AND NOT s.deleted"
    );
    Ok(tx.query_row(&text, [kind], read)?)
}

fn has_type_of(tx: &Transaction<'_>, resource: &Resource, column: &str, own: &str) -> Result<bool, StoreError> {
    let is_integer = own == "rev" || resource.field(own).is_some_and(|field| field.format.is_integer());
    let text = "SELECT upper(type) LIKE '%INT%' FROM pragma_table_info(?1) WHERE name = ?2";
    let found: bool = select::value(tx, text, (resource.kind.collection(), column))?;
    Ok(found == is_integer)
}
