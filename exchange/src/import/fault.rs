//! Why one row is refused: row, column, value, code and what to do. Must not know how values are parsed.

use std::fmt;

use hearth_contract::problem::{FaultCode, FieldFault, shorten};

/// The most characters of a value that a refusal repeats.
const VALUE_MAX: usize = 100;

/// The fault as a code, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowCode {
    /// A fault that the API reports for a field too.
    Field(FaultCode),
    /// The value has two meanings, such as `1.299` or `10/11/2022`.
    Ambiguous,
    /// The record exists already: the id was used, or an equal record is there and nothing tells the two apart.
    AlreadyExists,
    /// Several records match the row.
    SeveralMatch,
    /// The caller may not write what the row makes.
    InsufficientScope,
    /// An earlier row of the file has the same key: both are the same record.
    DuplicateKey,
    /// The home changed after the row was checked.
    ChangedMeanwhile,
    /// The changes of the file are larger than the storage that the home has left.
    NoRoom,
}

impl RowCode {
    /// The word in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            RowCode::Field(code) => code.as_str(),
            RowCode::Ambiguous => "ambiguous",
            RowCode::AlreadyExists => "already_exists",
            RowCode::SeveralMatch => "several_match",
            RowCode::InsufficientScope => "insufficient_scope",
            RowCode::DuplicateKey => "duplicate_key",
            RowCode::ChangedMeanwhile => "changed_meanwhile",
            RowCode::NoRoom => "no_room",
        }
    }
}

/// A refused row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFault {
    /// The heading of the column. None: the whole row is at fault.
    pub column: Option<String>,
    /// The value as the file has it, cut if it is long.
    pub value: Option<String>,
    /// The fault as a code.
    pub code: RowCode,
    /// What is wrong and what to do, for people.
    pub message: String,
}

impl RowFault {
    /// A fault of a whole row.
    pub fn of_row(code: RowCode, message: impl Into<String>) -> RowFault {
        RowFault { column: None, value: None, code, message: message.into() }
    }

    /// A fault of a cell.
    pub fn of_cell(column: &str, value: &str, code: RowCode, message: impl Into<String>) -> RowFault {
        let value = Some(shorten(value, VALUE_MAX).into_owned());
        RowFault { column: Some(column.to_owned()), value, code, message: message.into() }
    }

    /// A fault that the API finds in a field. `column`: its heading; None: the name of the field.
    pub fn of_field(fault: FieldFault, column: Option<&str>, value: Option<&str>) -> RowFault {
        RowFault {
            column: Some(column.unwrap_or(&fault.field).to_owned()),
            value: value.map(|value| shorten(value, VALUE_MAX).into_owned()),
            code: RowCode::Field(fault.code),
            message: fault.message,
        }
    }
}

/// `column Price, value "1.299": the message`
impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(column) = &self.column {
            write!(f, "column {column}")?;
            if let Some(value) = &self.value {
                write!(f, ", value {value:?}")?;
            }
            write!(f, ": ")?;
        }
        f.write_str(&self.message)
    }
}
