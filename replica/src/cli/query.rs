//! `query` and `path`: the database itself. Must not write to it.

use std::path::Path;

use clap::Args;
use hearth_replica::doctor::{Cause, trouble};
use hearth_replica::{StoreError, read_query};
use serde_json::json;

use super::{Context, Exit, Failure, output};

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
        drop(context.existing()?);
        let db = &context.profile.db;
        if self.sql.trim().is_empty() {
            return Err(Failure::new(Exit::Usage, "there is no statement to run")
                .hint("hearth-replica query 'SELECT title, due_on FROM tasks_due'"));
        }
        let answer = read_query(db, &self.sql).map_err(|error| refused(db, error))?;
        if self.csv {
            output::table_csv(&answer)?;
        } else if context.json {
            // A member has one value, and a column that is left out in silence is one that somebody misses later.
            if let Some(name) = twice(&answer.columns) {
                let text = format!("two columns are called {name}, which JSON cannot tell apart");
                return Err(Failure::new(Exit::Usage, text).hint("the same with another name for one, by AS, or --csv"));
            }
            output::table_json(&answer)?;
        } else {
            output::table(&answer)?;
        }
        Ok(())
    }
}

/// The first name that two columns have.
fn twice(columns: &[String]) -> Option<&String> {
    columns.iter().enumerate().find_map(|(place, name)| columns[..place].contains(name).then_some(name))
}

/// What SQLite says of a statement is about the statement, unless the database itself is in trouble.
fn refused(db: &Path, error: StoreError) -> Failure {
    match trouble(db, &error).cause {
        Cause::Shut => Failure::new(Exit::Failure, "a query only reads, and this statement would write")
            .hint(format!("sqlite3 {}", db.display())),
        Cause::Other => Failure::new(Exit::Failure, error.to_string())
            .hint(format!("sqlite3 {} .schema says what tables and columns there are", db.display())),
        _ => error.into(),
    }
}

/// Says where the database is.
pub(super) fn path(context: &Context) -> Result<(), Failure> {
    let db = &context.profile.db;
    if context.json {
        return Ok(output::json(&json!({ "db": output::path(db), "profile": context.profile.name }))?);
    }
    Ok(output::line(&db.display().to_string())?)
}
