//! Faults of single fields of a body (contract 12). Must not know how a body is checked.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::quote::{QUOTED_NAME_MAX, shorten};

/// The most field faults in a response. A checker stops at `FAULTS_MAX` + 1; the extra fault tells the reader that faults
/// were left out. Without the limit, a body full of faults would cause a response many times its size.
pub const FAULTS_MAX: usize = 100;

/// A fault of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFault {
    /// The name of the member, or a path like `operations[3].method`. A name that the client sent is cut to
    /// [`QUOTED_NAME_MAX`] characters.
    pub field: String,
    /// The fault as a code, for programs.
    pub code: FaultCode,
    /// The fault as a sentence, for people.
    pub message: String,
}

impl FieldFault {
    /// A fault of a field. A long name is cut to [`QUOTED_NAME_MAX`] characters.
    pub fn new(field: impl Into<String>, code: FaultCode, message: impl Into<String>) -> FieldFault {
        let mut field = field.into();
        if let Cow::Owned(short) = shorten(&field, QUOTED_NAME_MAX) {
            field = short;
        }
        FieldFault { field, code, message: message.into() }
    }

    /// The wire form: an item of `error.details.fields`.
    pub(super) fn to_value(&self) -> Value {
        json!({ "field": self.field, "code": self.code.as_str(), "message": self.message })
    }
}

/// The closed list of fault codes (contract 12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "contract 12 describes each code")]
pub enum FaultCode {
    Required,
    UnknownField,
    WrongType,
    InvalidFormat,
    TooLong,
    TooShort,
    OutOfRange,
    NotAChoice,
    NotFound,
    ReadOnly,
    NotNullable,
    Inconsistent,
}

impl FaultCode {
    /// The value of `code`.
    pub const fn as_str(self) -> &'static str {
        match self {
            FaultCode::Required => "required",
            FaultCode::UnknownField => "unknown_field",
            FaultCode::WrongType => "wrong_type",
            FaultCode::InvalidFormat => "invalid_format",
            FaultCode::TooLong => "too_long",
            FaultCode::TooShort => "too_short",
            FaultCode::OutOfRange => "out_of_range",
            FaultCode::NotAChoice => "not_a_choice",
            FaultCode::NotFound => "not_found",
            FaultCode::ReadOnly => "read_only",
            FaultCode::NotNullable => "not_nullable",
            FaultCode::Inconsistent => "inconsistent",
        }
    }
}
