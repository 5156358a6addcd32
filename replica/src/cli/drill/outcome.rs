//! How a drill ends: passed, failed or skipped. Must not know any drill.

/// Why a drill did not pass.
pub(super) enum DrillError {
    /// What must hold did not; the sentence says what.
    Failed(String),
    /// It cannot be tried on this machine; the sentence says what is missing.
    Skipped(String),
}

/// How a drill went: a sentence about what was found good, or why not.
pub(super) type Outcome = Result<String, DrillError>;

impl<E: std::error::Error> From<E> for DrillError {
    fn from(error: E) -> DrillError {
        DrillError::Failed(error.to_string())
    }
}

/// What cannot even be set up is not tried, so nothing has failed.
pub(super) fn skip_on_failure(stop: DrillError) -> DrillError {
    match stop {
        DrillError::Failed(why) | DrillError::Skipped(why) => DrillError::Skipped(why),
    }
}

pub(super) fn failed(why: impl Into<String>) -> DrillError {
    DrillError::Failed(why.into())
}
