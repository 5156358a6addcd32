//! What a driver tells the engine, and what the engine has it do.

use hearth_contract::formats::Timestamp;

use crate::sync::core::{Millis, Stretch, Verdict};
use crate::sync::wire::{Answer, Ask};

/// A point in time, as told to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds of a clock that never goes back; its zero means nothing.
    pub steady: Millis,
    /// This machine's idea of the time, for display and for how old contact is; nothing is decided by it.
    pub wall: Timestamp,
}

/// Random bits: for spreading retries and for keys that nobody else has.
pub type Chance = Box<dyn FnMut() -> u128 + Send>;

/// What the driver passes on.
#[derive(Debug)]
pub enum Heard {
    /// A question was answered, or was not, for this reason.
    Answer {
        /// Which question.
        ticket: u64,
        /// The answer, or why there is none, in plain words.
        answer: Result<Answer, String>,
    },
    /// The server has accepted the stream's cursor.
    StreamOpened,
    /// The server refuses the stream.
    StreamRefused(Answer),
    /// A stretch of the stream.
    Frames(Stretch),
    /// Bytes came on the stream, whatever they say.
    Contact,
    /// The stream is over, or never came to be.
    StreamEnded {
        /// Why, in plain words.
        reason: String,
    },
    /// Somebody wrote to the database.
    DatabaseChanged,
    /// Another key is asked with from now on.
    KeyChanged,
    /// The moment of [`Engine::wake_at`] has come.
    Timer,
    /// A person or the system wants it to end.
    StopRequested,
}

/// What the driver has to do, in order.
#[derive(Debug, PartialEq)]
pub enum Deed {
    /// Ask the server; the answer comes back with the ticket.
    Ask {
        /// What the answer comes back with.
        ticket: u64,
        /// The question.
        ask: Ask,
    },
    /// Open the stream.
    OpenStream(Ask),
    /// Let go of the stream.
    CloseStream,
    /// Nothing is left to do.
    End(Verdict),
}

/// What came of something heard.
#[derive(Debug, Default)]
pub struct Done {
    /// To be done now.
    pub deeds: Vec<Deed>,
    /// Whether the database was written, so that others should hear of it.
    pub wrote: bool,
}
