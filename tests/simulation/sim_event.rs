//! The events of a simulated world: messages that arrive, timers, and actions of the plan. Must not know what an event
//! causes.

use hearth_replica::sync::{HttpRequest, HttpResponse};

/// A process of a machine. Messages for an earlier process of the machine are discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The number of the machine.
    pub machine: usize,
    /// The number of the process: 1 for the first process of the machine.
    pub process: u64,
}

/// An event. The event queue of the network orders events by time.
#[expect(missing_docs, reason = "the comment of each event says what its members are")]
pub enum SimEvent {
    /// The action with this index in the plan.
    Action(usize),
    /// A request of a machine arrives at the server. A duplicate is not `wanted`: nobody receives its response.
    RequestArrives { from: Address, ticket: u64, request: HttpRequest, wanted: bool },
    /// A response arrives at a machine. Err: the transport error in place of a response.
    ResponseArrives { to: Address, ticket: u64, response: Result<HttpResponse, String> },
    /// The request for a stream arrives at the server.
    StreamRequested { from: Address, stream: u64, request: HttpRequest },
    /// The head of an accepted stream arrives at its machine.
    StreamOpened { to: Address, stream: u64 },
    /// The refusal of a stream arrives at its machine.
    StreamRefused { to: Address, stream: u64, response: HttpResponse },
    /// Bytes of a stream arrive at its machine.
    StreamBytes { to: Address, stream: u64, bytes: Vec<u8> },
    /// A machine learns that its stream has ended.
    StreamEnded { to: Address, stream: u64, reason: &'static str },
    /// The timer that the engine of a machine has set.
    Timer { to: Address },
    /// A machine is notified that a program has written to its database.
    DatabaseChanged { machine: usize },
    /// A machine sends the files that wait, beside the sync of records.
    CarryFiles { machine: usize },
    /// A machine starts a syncing process.
    StartMachine { machine: usize },
    /// The server starts.
    StartServer,
    /// The server looks for writes of other processes in its database.
    DetectWrites,
    /// The server removes old events.
    CleanUp,
    /// A person resumes a paused sync.
    ResumeSync { machine: usize },
    /// A client of the API retries a request without response, at the latest at `until` (server time, milliseconds).
    RetryClient { request: HttpRequest, until: i64 },
    /// A revoked or reduced key gets back all its rights.
    RestoreKey { key: usize },
}

impl SimEvent {
    /// True when the event can change the database of the machine with this number.
    pub fn can_change(&self, number: usize) -> bool {
        match self {
            SimEvent::Action(_) => true,
            SimEvent::RequestArrives { from: address, .. }
            | SimEvent::ResponseArrives { to: address, .. }
            | SimEvent::StreamRequested { from: address, .. }
            | SimEvent::StreamOpened { to: address, .. }
            | SimEvent::StreamRefused { to: address, .. }
            | SimEvent::StreamBytes { to: address, .. }
            | SimEvent::StreamEnded { to: address, .. }
            | SimEvent::Timer { to: address } => address.machine == number,
            SimEvent::DatabaseChanged { machine }
            | SimEvent::CarryFiles { machine }
            | SimEvent::StartMachine { machine }
            | SimEvent::ResumeSync { machine } => *machine == number,
            SimEvent::StartServer
            | SimEvent::DetectWrites
            | SimEvent::CleanUp
            | SimEvent::RetryClient { .. }
            | SimEvent::RestoreKey { .. } => false,
        }
    }

    /// True for a message in transit and for a timer. None of them survives a long sleep.
    pub fn is_message_or_timer(&self) -> bool {
        matches!(
            self,
            SimEvent::RequestArrives { .. }
                | SimEvent::ResponseArrives { .. }
                | SimEvent::StreamRequested { .. }
                | SimEvent::StreamOpened { .. }
                | SimEvent::StreamRefused { .. }
                | SimEvent::StreamBytes { .. }
                | SimEvent::StreamEnded { .. }
                | SimEvent::Timer { .. }
        )
    }
}
