//! `query` and `path`: the database itself. Must not write to it.

use clap::Args;
use hearth_replica::read_query;
use serde_json::json;

use super::{Context, Failure, output};

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
        let answer = read_query(&context.profile.db, &self.sql)?;
        if self.csv {
            output::table_csv(&answer)?;
        } else if context.json {
            output::table_json(&answer)?;
        } else {
            output::table(&answer)?;
        }
        Ok(())
    }
}

/// Says where the database is.
pub(super) fn path(context: &Context) -> Result<(), Failure> {
    let db = &context.profile.db;
    if context.json {
        return Ok(output::json(&json!({ "db": db, "profile": context.profile.name }))?);
    }
    Ok(output::line(&db.display().to_string())?)
}
