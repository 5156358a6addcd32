//! Why a whole file, or a parameter of an import, is refused. Must not know rows.

use std::fmt;

/// What is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The parameter with this name.
    Parameter(&'static str),
    /// The bytes are no text in the encoding.
    Encoding,
    /// The file has no form that an import reads.
    Form,
    /// The file is larger than an import may be.
    Limit,
    /// The heading: columns are missing, doubled or unknown.
    Columns,
}

/// A refused file, with a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// What is at fault.
    pub cause: Cause,
    /// What is wrong and what to do next, for people.
    pub message: String,
}

impl ImportError {
    pub(super) fn new(cause: Cause, message: impl Into<String>) -> ImportError {
        ImportError { cause, message: message.into() }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ImportError {}
