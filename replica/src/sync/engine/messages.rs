//! What the driver reports to the engine, and what the engine asks the driver to do. Plain values; must not decide
//! anything.

use hearth_contract::formats::Timestamp;

use crate::sync::core::{EndReason, FeedBatch, Millis};
use crate::sync::wire::{HttpRequest, HttpResponse};

/// A point in time on two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds of a clock that never goes back, with an arbitrary zero. Decisions use only this clock.
    pub steady: Millis,
    /// The machine's wall clock, for display and for the age of the last contact.
    pub wall: Timestamp,
}

/// A source of random bits, for retry times and idempotency keys.
pub type RandomBits = Box<dyn FnMut() -> u128 + Send>;

/// A report of the driver.
#[derive(Debug)]
pub enum DriverEvent {
    /// A request has ended.
    Response {
        /// The ticket of [`Command::Send`].
        ticket: u64,
        /// The response, or a sentence for people why none arrived.
        response: Result<HttpResponse, String>,
    },
    /// The server has accepted the stream's cursor.
    StreamOpened,
    /// The server has refused the stream with this response.
    StreamRefused(HttpResponse),
    /// Events arrived on the stream.
    StreamBatch(FeedBatch),
    /// Bytes arrived on the stream, perhaps only a comment.
    StreamActive,
    /// The stream has ended or could not be opened.
    StreamEnded {
        /// The cause, for people.
        reason: String,
    },
    /// The notification of a commit, by another program or by the engine.
    DatabaseChanged,
    /// Requests carry another key from now on.
    KeyChanged,
    /// The time of [`super::Engine::wake_at`] has come.
    Timer,
    /// A person or the system stops the sync.
    StopRequested,
}

/// A task for the driver. The driver executes commands in order.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// Send a request, and report the response as [`DriverEvent::Response`].
    Send {
        /// Connects the response with the request.
        ticket: u64,
        /// The request to send.
        request: HttpRequest,
    },
    /// Open the stream.
    OpenStream(HttpRequest),
    /// Close the stream, if open.
    CloseStream,
    /// End the sync.
    End(EndReason),
}

/// Result of one step of the engine.
#[derive(Debug, Default)]
pub struct StepOutput {
    /// Commands to execute, unless a sink takes them ([`super::Engine::set_command_sink`]).
    pub commands: Vec<Command>,
    /// Whether the database was written, so that other programs need a notification.
    pub has_written: bool,
}
