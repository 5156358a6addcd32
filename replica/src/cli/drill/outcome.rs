//! How a drill ends: passed, failed or skipped. Must not know any drill.

/// Why a drill did not pass.
pub(super) enum DrillError {
    /// A check failed; the text says which.
    Failed(String),
    /// The drill cannot run on this machine; the text names what is missing.
    Skipped(String),
}

/// The result of a drill: a sentence on what was checked, or the error.
pub(super) type Outcome = Result<String, DrillError>;

impl<E: std::error::Error> From<E> for DrillError {
    fn from(error: E) -> DrillError {
        DrillError::Failed(error.to_string())
    }
}

/// A failed setup counts as skipped, because nothing was tested.
pub(super) fn skip_on_failure(stop: DrillError) -> DrillError {
    match stop {
        DrillError::Failed(why) | DrillError::Skipped(why) => DrillError::Skipped(why),
    }
}

pub(super) fn failed(why: impl Into<String>) -> DrillError {
    DrillError::Failed(why.into())
}
