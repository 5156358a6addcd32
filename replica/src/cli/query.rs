//! `query` and `path`: the database itself. Must not write to it.

use std::path::Path;

use clap::Args;
use hearth_replica::doctor::{Cause, diagnose, shell_quoted};
use hearth_replica::{StoreError, Table, read_query};
use serde_json::{Value, json};

use super::context::Context;
use super::failure::{Exit, Failure};
use super::output;

/// A table of more rows is read by nobody and may need more memory than there is.
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
        // Opened once for writing, so that the tables are there and up to date.
        drop(context.open_existing()?);
        let db = &context.profile.db;
        // What is nothing but spaces and semicolons is no statement to SQLite, which says so in words for programmers.
        if self.sql.trim_matches(|letter: char| letter.is_whitespace() || letter == ';').is_empty() {
            return Err(Failure::new(Exit::Usage, "there is no statement to run")
                .hint("hearth-replica query 'SELECT title, due_on FROM tasks_due'"));
        }
        let result = read_query(db, &self.sql, |columns, rows| {
            let mut rows = rows.map(|row| row.map_err(|error| query_failure(db, error)));
            match (self.csv, context.json) {
                (true, _) => output::csv(&columns, &mut rows),
                (_, true) => as_json(&columns, &mut rows),
                _ => as_table(columns, &mut rows),
            }
        });
        result.map_err(|error| query_failure(db, error))?
    }
}

fn as_json(columns: &[String], rows: &mut output::Rows<'_>) -> Result<(), Failure> {
    // A member has one value, and a column that is left out in silence is one that somebody misses later.
    if let Some(name) = duplicate_column(columns) {
        let text = format!("two columns are called {name}, which JSON cannot tell apart");
        return Err(Failure::new(Exit::Usage, text).hint("the same with another name for one, by AS, or --csv"));
    }
    output::objects(columns, rows)
}

fn as_table(columns: Vec<String>, rows: &mut output::Rows<'_>) -> Result<(), Failure> {
    let rows: Vec<Vec<Value>> = rows.take(TABLE_ROWS_MAX + 1).collect::<Result<_, _>>()?;
    if rows.len() > TABLE_ROWS_MAX {
        let text = format!("the answer has more than {TABLE_ROWS_MAX} rows, and a table must know all of them first");
        return Err(
            Failure::new(Exit::Usage, text).hint("the same with --csv or --json, or with LIMIT in the statement")
        );
    }
    Ok(output::table(&Table { columns, rows })?)
}

/// The first name that two columns have.
fn duplicate_column(columns: &[String]) -> Option<&String> {
    columns.iter().enumerate().find_map(|(place, name)| columns[..place].contains(name).then_some(name))
}

/// What SQLite says of a statement is about the statement, unless the database itself is in trouble.
fn query_failure(db: &Path, error: StoreError) -> Failure {
    let file = shell_quoted(db);
    match diagnose(db, &error).cause {
        Cause::NoAccess => Failure::new(Exit::Failure, "a query only reads, and this statement would write")
            .hint(format!("sqlite3 {file}")),
        Cause::Other => Failure::new(Exit::Failure, error.to_string()).hint(format!("sqlite3 {file} .schema")),
        _ => error.into(),
    }
}

/// Says where the database is.
pub(super) fn print_path(context: &Context) -> Result<(), Failure> {
    let db = &context.profile.db;
    if context.json {
        return Ok(output::json(&json!({ "db": output::path(db), "profile": context.profile.name }))?);
    }
    Ok(output::line(&db.display().to_string())?)
}
