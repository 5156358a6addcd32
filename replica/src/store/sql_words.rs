//! Words that several tables share: the fixed words of the model as TEXT, and the current time in SQL. Must not know a table.

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};

use crate::model::{
    BlockCause, CapturePurpose, CaptureState, EditOutcome, EditProgress, EditState, FileState, LogLevel, Method,
    Origin, Phase, ReasonCode, Transport,
};

/// The current time in SQL (RFC 3339, UTC, milliseconds). The same value everywhere in one statement.
pub(super) const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

/// A name as SQL quotes names.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

macro_rules! stored_as_text {
    ($($name:ident),+) => {
        $(impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(self.as_str()))
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<$name> {
                let word = value.as_str()?;
                let unknown = || FromSqlError::Other(format!("{} has no value {word}", stringify!($name)).into());
                $name::parse(word).ok_or_else(unknown)
            }
        })+
    };
}

stored_as_text!(
    BlockCause,
    CapturePurpose,
    CaptureState,
    EditOutcome,
    EditProgress,
    EditState,
    FileState,
    LogLevel,
    Method,
    Origin,
    Phase,
    ReasonCode,
    Transport
);
