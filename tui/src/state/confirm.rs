//! A question before data is lost, and the action of yes. Must not know how a question is drawn.

use crate::message::Write;

/// A question before data is lost.
#[derive(Debug, PartialEq)]
pub struct Confirm {
    /// The question, with the name of the record or screen.
    pub question: String,
    /// The consequence of yes.
    pub consequence: String,
    /// The action of yes.
    pub then: Then,
}

/// The action of yes.
#[derive(Debug, PartialEq)]
pub enum Then {
    /// Carry out a write.
    Write(Box<Write>),
    /// Leave the layer below the question.
    Leave,
    /// End the program.
    Quit,
}
