//! The replica database and the only SQL of this crate. Must not know HTTP or when anything happens.
//!
//! - [`open`]: files, connections, pragmas, migrations.
//! - [`schema`]: the six typed tables and what is generated with them, from [`rules`], [`triggers`] and [`views`].
//! - [`gate`]: the transactions of whoever keeps the replica.
//! - [`mirror`], [`rows`]: what the server says becomes rows; [`replay`]: reading it all again.
//! - [`edits`], [`push`]: local changes and their way to the server.
//! - [`view`], [`query`]: what screens and scripts read; [`standing`], [`status`]: where the replica stands.

pub(crate) mod edits;
pub(crate) mod gate;
pub(crate) mod mirror;
pub(crate) mod open;
pub(crate) mod push;
pub(crate) mod query;
pub(crate) mod replay;
pub(crate) mod rows;
pub(crate) mod rules;
pub(crate) mod schema;
pub(crate) mod standing;
pub(crate) mod status;
pub(crate) mod triggers;
pub(crate) mod view;
pub(crate) mod views;

#[cfg(test)]
mod tests;

/// A connection to a replica database; other modules only hand it on.
pub(crate) use rusqlite::Connection;

/// What can go wrong with the database itself.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused or failed.
    #[error("the replica database: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The tables could not be brought to this version.
    #[error("the replica's schema: {0}")]
    Migration(#[from] refinery::Error),
    /// A file or directory of the replica.
    #[error("{0}: {1}")]
    File(std::path::PathBuf, #[source] std::io::Error),
    /// The database holds something that this version cannot read.
    #[error("the replica database holds {0}")]
    Odd(String),
}

impl StoreError {
    /// Whether the file is no sound database; nothing but a rebuild helps.
    pub fn is_damaged(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        matches!(self, StoreError::Sqlite(error)
            if matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase)))
    }

    /// Whether another connection holds the database; the same again may succeed.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, StoreError::Sqlite(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy))
    }
}

/// This moment as the contract writes it, in SQL. Stable within one statement.
pub(crate) const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
