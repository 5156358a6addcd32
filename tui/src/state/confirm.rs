//! A question before something is lost, and what follows from yes. Must not know how it is drawn.

use crate::message::Write;

/// A question before something is lost.
#[derive(Debug, PartialEq)]
pub struct Confirm {
    /// What is asked, naming the thing.
    pub question: String,
    /// What follows from yes.
    pub consequence: String,
    /// What yes does.
    pub then: Then,
}

/// What follows a question that was answered with yes.
#[derive(Debug, PartialEq)]
pub enum Then {
    /// Something is written.
    Write(Box<Write>),
    /// What is underneath is left.
    Leave,
    /// Hearth is left.
    Quit,
}
