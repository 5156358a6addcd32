//! `query` and `path`: direct access to the database. Must not write.

use std::path::Path;

use clap::Args;
use hearth_replica::doctor::{Cause, diagnose, shell_quoted};
use hearth_replica::{StoreError, read_query};
use serde_json::{Value, json};

use super::context::Context;
use super::failure::{Exit, Failure};
use super::output;

/// A larger table is unreadable, and may exhaust the memory.
const TABLE_ROWS_MAX: usize = 100_000;

/// Arguments of `query`.
#[derive(Debug, Args)]
pub(super) struct Query {
    /// One SQL statement
    sql: String,
    /// Write CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

impl Query {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        // Opened for writing once, so the schema is up to date.
        drop(context.open_existing()?);
        let db = &context.profile.db;
        // SQLite rejects an empty statement with a message for programmers.
        if self.sql.trim_matches(|letter: char| letter.is_whitespace() || letter == ';').is_empty() {
            return Err(Failure::new(Exit::Usage, "there is no statement to run")
                .hint("hearth-replica query 'SELECT title, due_on FROM tasks_due'"));
        }
        let result = read_query(db, &self.sql, |columns, rows| {
            let mut rows = rows.map(|row| row.map_err(|error| query_failure(db, error)));
            match (self.csv, context.json) {
                (true, _) => output::csv(&columns, &mut rows),
                (_, true) => as_json(&columns, &mut rows),
                _ => as_table(&columns, &mut rows),
            }
        });
        result.map_err(|error| query_failure(db, error))?
    }
}

fn as_json(columns: &[String], rows: &mut output::Rows<'_>) -> Result<(), Failure> {
    // A JSON object holds one value per name, and a silently missing column would mislead.
    if let Some(name) = duplicate_column(columns) {
        let text = format!("two columns have the name {name}, and JSON can hold only one of them");
        return Err(Failure::new(Exit::Usage, text).hint("name one of them with AS, or use --csv"));
    }
    output::objects(columns, rows)
}

fn as_table(columns: &[String], rows: &mut output::Rows<'_>) -> Result<(), Failure> {
    let rows: Vec<Vec<Value>> = rows.take(TABLE_ROWS_MAX + 1).collect::<Result<_, _>>()?;
    if rows.len() > TABLE_ROWS_MAX {
        let text = format!("the result has more than {TABLE_ROWS_MAX} rows, the limit of a table");
        return Err(Failure::new(Exit::Usage, text).hint("use --csv or --json, or LIMIT in the statement"));
    }
    Ok(output::table(columns, rows)?)
}

/// The first name that occurs twice.
fn duplicate_column(columns: &[String]) -> Option<&String> {
    columns.iter().enumerate().find_map(|(place, name)| columns[..place].contains(name).then_some(name))
}

/// An SQLite error concerns the statement, unless the database itself has a fault.
fn query_failure(db: &Path, error: StoreError) -> Failure {
    let file = shell_quoted(db);
    match diagnose(db, &error).cause {
        Cause::NoAccess => Failure::new(Exit::Failure, "a query only reads, and this statement would write")
            .hint(format!("sqlite3 {file}")),
        Cause::Other => Failure::new(Exit::Failure, error.to_string()).hint(format!("sqlite3 {file} .schema")),
        _ => error.into(),
    }
}

/// Prints the path of the database.
pub(super) fn print_path(context: &Context) -> Result<(), Failure> {
    let db = &context.profile.db;
    if context.json {
        return Ok(output::json(&json!({ "db": output::path(db), "profile": context.profile.name }))?);
    }
    Ok(output::line(&db.display().to_string())?)
}
