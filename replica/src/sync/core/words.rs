//! What the core hears and what it says. Must not decide anything.

use hearth_contract::event::Event;
use hearth_contract::schema::Kind;
use serde_json::Value;

pub(crate) use crate::model::{BlockCause, Phase};
use crate::recovery::{Cause, Found, Question, Recovery, Step, Swept};

/// Milliseconds of a clock that never goes back; its zero means nothing.
pub type Millis = i64;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Input {
    /// The sync begins, from here.
    Started { cursor: Option<String>, backfilled: bool, home: Option<String>, recovery: Option<Recovery>, paused: bool },
    /// What people ask for: no sync until further notice; a recovery, and whether its deletions are agreed to.
    Wished { paused: bool, reconcile: Option<bool>, hurry: bool },
    /// Who the key belongs to.
    Met(Result<Identity, Failure>),
    /// Where the feed stands.
    FeedStands(Result<Standing, Failure>),
    /// The server has accepted the cursor.
    StreamOpened,
    /// Bytes came, whatever they say.
    Contact,
    /// A stretch of the feed came.
    Frames(Stretch),
    /// The stream is over, or never came to be.
    StreamEnded { reason: String },
    /// What a poll of the feed brought, or why nothing.
    Polled(Result<Stretch, Failure>),
    /// The server refuses the stream.
    StreamRefused(Refusal),
    /// A stretch is applied. `leapt`: it left numbers out, so that the server was put back.
    Applied { cursor: Option<String>, tail: i64, leapt: bool, touched_edits: bool, found_edits: bool },
    /// The disk has no room for what was to be written; nothing of it was.
    DiskFull { reason: String, cause: BlockCause },
    /// Somebody changed the database.
    EditsChanged,
    /// The edits were looked through.
    Planned { ready: Vec<Ready>, open: bool },
    /// A request was answered, or not: what was to go with it, and the edits that did.
    Answered { sent: Vec<i64>, carried: Vec<i64>, outcome: Outcome },
    /// The server was asked for the record of an edit that met its own id.
    Looked { edit: i64, there: There },
    /// A recovery was begun; None: there was nothing to recover.
    Recovering(Option<Recovery>),
    /// The cursor is good still, or not.
    Proven { round: u64, answer: Result<(), Failure> },
    /// What the recovery asked for, or why not.
    Found { round: u64, answer: Result<Found, Failure> },
    /// Records of which the server has a newer form were looked up.
    Missing(Vec<String>),
    /// A collection was swept, or not.
    Swept { kind: Kind, swept: Swept },
    /// What the key may do, for the recovery.
    Scopes { round: u64, answer: Result<Identity, Failure> },
    /// Another key is asked with from now on.
    KeyChanged,
    /// The moment of [`super::Core::wake_at`] has come.
    Timer,
    /// A person or the system wants it to end.
    StopRequested,
}

impl Effect {
    /// Whether it sends edits.
    pub(crate) fn sends(&self) -> bool {
        matches!(self, Effect::Ask(Errand::Send { .. }))
    }
}

/// Something for the driver to carry out, in order.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    /// Ask the server.
    Ask(Errand),
    /// Write down who and what was met.
    Greet { identity: Identity, standing: Standing },
    /// Open the stream after this cursor, or at the beginning.
    OpenStream { cursor: Option<String> },
    /// Let go of the stream.
    CloseStream,
    /// Apply a stretch; the phase is true once it is applied. `current`: it ends at the present, whatever the phase.
    Apply { stretch: Stretch, phase: Phase, reason: Option<String>, polled: bool, current: bool },
    /// Note that the server was heard, and whether what is applied is proven to be the present.
    Touch { current: bool },
    /// Look through the edits.
    Plan,
    /// Write down what came of edits.
    Record { endings: Vec<(i64, Ending)> },
    /// Write the phase down.
    Show { phase: Phase, blocked_by: Option<BlockCause>, reason: Option<String>, retry_at: Option<Millis> },
    /// Begin a recovery.
    Recover(Cause),
    /// Apply what a recovery was answered, and note how far it is with it.
    Keep { question: Question, found: Found, then: Step },
    /// Note how far the recovery is.
    SetStep(Step),
    /// Look up records of which the server has a newer form.
    LookForMissing { kind: Kind },
    /// End what the walk did not show, unless that is too much.
    Sweep { kind: Kind, as_of: i64, then: Step },
    /// Ask a person before the recovery goes on.
    AskPerson(String),
    /// Note that a person's wish was heard.
    Heed { accepted: bool },
    /// The recovery is done.
    EndRecovery,
    /// Begin again from what is on disk.
    Reload,
    /// Nothing is left to do.
    Finish(Verdict),
}

/// What the server is asked, besides the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Errand {
    /// Who the key belongs to.
    Me,
    /// Where the feed stands.
    Feed,
    /// For what the feed has after this cursor. `goes_on`: it follows another at once, because the present is not reached.
    Poll { cursor: Option<String>, goes_on: bool },
    /// To take edits, always with the same bytes; several parcels go as one bulk call.
    Send { parcels: Vec<Vec<i64>> },
    /// For the record of an edit, as it is there.
    Look { edit: i64 },
    /// What a recovery asks for.
    Recover { round: u64, question: Question },
    /// Whether a cursor is good still.
    Prove { round: u64, cursor: Option<String> },
    /// What the key may do.
    Scopes { round: u64 },
}

impl Errand {
    /// Whether its answer is worth something only to the contact that it was asked in.
    pub(crate) fn is_of_contact(&self) -> bool {
        matches!(self, Errand::Me | Errand::Feed | Errand::Poll { .. })
    }

    /// Whether its answer says what the server holds of an edit.
    pub(crate) fn is_of_edits(&self) -> bool {
        matches!(self, Errand::Send { .. } | Errand::Look { .. })
    }
}

/// Edits that may be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ready {
    /// One parcel: the edits of a fixed request, or one edit and those that go with it.
    pub edits: Vec<i64>,
    /// The kind of their records.
    pub kind: Kind,
    /// Whether their request is fixed.
    pub frozen: bool,
    /// How large their request is, roughly.
    pub bytes: usize,
}

/// What the server says of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The home's id.
    pub home_id: String,
    /// The team's name, which is what people call the home.
    pub home_name: String,
    /// `live` or `test`.
    pub environment: String,
    /// What the key may do.
    pub scopes: Vec<String>,
    /// How often it may ask; None is without limit.
    pub limits: Option<Limits>,
}

/// Calls that a key may make within a minute (contract 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Reads.
    pub reads: u32,
    /// Single writes.
    pub writes: u32,
    /// Bulk calls.
    pub bulk: u32,
}

impl Limits {
    /// Of so many reads a minute what whoever asks for much may take: a fifth is left to whoever else asks with the key.
    pub(crate) fn share(reads: u32) -> u32 {
        reads / 5 * 4
    }
}

/// What the server says of its feed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The newest position.
    pub head: Option<i64>,
    /// How long it remembers; None is for ever.
    pub retention_seconds: Option<i64>,
}

/// Why a question has no good answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum Failure {
    /// None came, or none that makes sense.
    #[error("{0}")]
    NoAnswer(String),
    /// An error answer.
    #[error("{}", .0.message)]
    Refused(Refusal),
}

/// A stretch of the feed.
#[derive(Debug, Default, PartialEq)]
pub struct Stretch {
    /// Its events.
    pub events: Vec<Event>,
    /// The cursor after it.
    pub cursor: Option<String>,
    /// The head, when the replay has reached the present with it; 0 if all that is known of it is that it is here.
    pub ready: Option<i64>,
}

impl Stretch {
    /// Whether the feed ends with it before a head that was told earlier.
    pub(crate) fn ends_before(&self, head: Option<i64>) -> bool {
        self.ready.is_some_and(|ready| ready > 0 && Some(ready) < head)
    }
}

/// An error answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    /// The status.
    pub status: u16,
    /// `error.type`.
    pub kind: String,
    /// `error.message`.
    pub message: String,
    /// What a 410 says of the cursor.
    pub expired: Option<Expired>,
    /// The whole error object.
    pub problem: Value,
    /// `Retry-After` in milliseconds.
    pub retry_after: Option<Millis>,
}

impl Refusal {
    /// Whether it is of the server itself, and of the key. Anybody on the way may forbid something as well.
    pub(super) fn is_of_the_key(&self) -> bool {
        matches!(self.status, 401 | 403) && !self.kind.is_empty()
    }

    /// Whether it is of where the replica stands in the feed. Only the server itself can say that.
    pub(super) fn is_of_the_cursor(&self) -> bool {
        self.status == 410 && !self.kind.is_empty() || self.kind == "invalid_cursor"
    }

    /// Whether a refused stream says something of the replica that a poll would be told as well: of its key or of where it
    /// stands.
    pub(super) fn is_of_the_replica(&self) -> bool {
        self.is_of_the_key() || self.is_of_the_cursor()
    }
}

/// Why a cursor is good no more, and where the feed goes on (contract 9.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expired {
    /// The cursor is of a history that was thrown away; otherwise the server has only forgotten events.
    pub restored: bool,
    /// Where the feed goes on.
    pub resume: String,
    /// The last position that both histories share, if that is known.
    pub fork: Option<i64>,
}

/// What became of one attempt to send edits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// Each edit has its own answer.
    Told(Vec<(i64, Word)>),
    /// A request was refused as a whole: nothing of what it carries is in.
    Refused(Refusal),
    /// No answer.
    NoAnswer { reason: String },
    /// The answer is of an earlier contact, perhaps of a history that was thrown away since: the same request finds out.
    TooLate { reason: String },
    /// Nothing was sent: the edits were settled, or wait for a person.
    Moot,
}

/// The server's answer to one edit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Word {
    /// It is in, at this position if the answer says so.
    Accepted { rev: Option<i64> },
    /// It is not.
    Refused(Refusal),
}

/// What is there under the id that a create brought.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum There {
    /// A record that holds our values: our own create, whose answer was lost.
    Same { rev: i64 },
    /// Something else, or nothing any more.
    Other,
    /// That could not be learnt.
    Unknown(Failure),
}

/// How an attempt ends for an edit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ending {
    Sent {
        rev: Option<i64>,
    },
    /// Its record is there, with all that it wrote, and stands at this position by now, perhaps by others.
    There {
        rev: i64,
    },
    Later {
        at: Option<Millis>,
        reason: String,
    },
    /// The server did not look at it, because of the key. It goes again, by itself or with others.
    TurnedAway {
        reason: String,
    },
    /// The record has moved on; what it is now comes with the feed.
    Overtaken,
    /// It goes again by itself.
    Apart,
    Rejected {
        reason: String,
        problem: Value,
    },
    Conflict {
        reason: String,
        problem: Value,
        gone: bool,
    },
}

/// How the whole sync ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The goal is reached, or it was told to stop.
    Done,
    /// The server does not accept the key, in these words.
    NeedsKey(String),
    /// A person must decide, for this reason.
    Blocked(BlockCause, String),
    /// A person is asked this before it goes on.
    Asks(String),
    /// A person has paused it.
    Paused,
}
