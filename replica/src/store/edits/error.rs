//! Why a local change was not made. Must not know what the change was.

use crate::store::StoreError;

/// Why a local change was not made.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// A value breaks a rule. The sentence names the rule, for people.
    #[error("{0}")]
    Refused(String),
    /// The record does not exist in this replica.
    #[error("there is no such record")]
    NotFound,
    /// The database failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for EditError {
    fn from(error: StoreError) -> EditError {
        match error {
            StoreError::Sqlite(error) => error.into(),
            other => EditError::Store(other),
        }
    }
}

impl From<rusqlite::Error> for EditError {
    fn from(error: rusqlite::Error) -> EditError {
        match &error {
            // The message of a trigger's RAISE, or of a STRICT table: a sentence for the person who typed the value.
            rusqlite::Error::SqliteFailure(failure, Some(sentence))
                if failure.code == rusqlite::ErrorCode::ConstraintViolation =>
            {
                EditError::Refused(sentence.clone())
            }
            _ => EditError::Store(error.into()),
        }
    }
}
