//! The link brings the feed down, by stream or by polls. It greets the server, begins and loses contact, and closes streams that
//! bring nothing. Must not know the push or a reconcile: what it needs of them is an argument. Must not know how responses are
//! read.
//!
//! ```text
//!  Started ─▶ greeting ─────────────────────────▶ following ─────────────────────────────────────────────┐
//!              ▲ ▲ ▲    identity and feed head     stream:  Waiting ──▶ Requested ──▶ Open               │
//!              │ │ │                                           ▲            │           │                │
//!              │ │ │ silent for 45 s                           └────────────┴───────────┘                │
//!              │ │ └────────────────────────────────────────── refused, cut, held back: a long wait      │
//!              │ │                                 poll:    Idle ──▶ Asked ──▶ Held                      │
//!              │ └ a pause is over ── down ◀────── no answer, or the next stream follows soon ───────────┘
//!              └ resumed ── paused ◀── a person pauses, in any state
//! ```
//!
//! Contact lasts from the first stream or poll that the server accepts until the link stops to follow. A test walks this table:
//! whatever the table does not name leaves state and actions as they are. `requested`: no contact yet. `live`: the stream has
//! brought the present. `checking` and `held`: a poll beside the stream waits for its answer, or has found events. `polling`,
//! `poll due` and `polled`: polls bring the feed. `first poll`: no contact yet.
//!
//! ```text
//! state                            input                    next state    actions
//! any                              started                  greeting      Identity, FeedHead
//! any                              started paused           paused        CloseStream, tell Paused
//! any                              pause                    paused        CloseStream, tell Paused
//! any                              new key                  greeting      CloseStream, Identity, FeedHead, tell KeyChanged
//! any                              end                      ended         CloseStream, Finish
//! any                              write failed             disk failed   CloseStream
//! any, ended                       id gap applied           same          tell IdsSkipped
//! any                              reconcile ended          same          TouchContact
//! paused                           pause                    same          -
//! paused                           resume                   greeting      Identity, FeedHead
//! paused, disk failed              new key                  same          -
//! down, no key                     retry now                greeting      Identity, FeedHead
//! down                             6 s pass                 greeting      Identity, FeedHead
//! down                             46 s pass                greeting      Identity, FeedHead
//! disk failed                      retry now                same          ReloadState
//! disk failed                      6 s pass                 same          ReloadState
//! disk failed                      46 s pass                same          ReloadState
//! greeting                         identity                 half greeted  -
//! greeting                         other home               half greeted  -
//! greeting                         head                     half greeted  -
//! half greeted                     identity                 requested     OpenStream
//! half greeted                     other home               ended         ShowPhase, CloseStream, Finish
//! greeting, half greeted           greeting refused         no key        CloseStream
//! greeting, half greeted           no greeting              down          CloseStream
//! requested                        stream opened            open          SaveContact, tell ContactBegan
//! requested                        6 s pass                 first check   Poll
//! requested, live, checking, held  46 s pass                greeting      CloseStream, Identity, FeedHead
//! requested, live, checking, held  stream cut               down          CloseStream
//! requested, live, checking, held  stream refused           down          CloseStream
//! requested, live, checking, held  key refused              no key        CloseStream
//! requested                        cursor expired           requested     CloseStream, StartReconcile, OpenStream
//! live, checking, held             cursor expired           greeting      CloseStream, StartReconcile, Identity, FeedHead
//! requested, live, checking, held  cursor unknown           ended         ShowPhase, CloseStream, Finish
//! requested                        no stream for 5 min      first poll    CloseStream, Poll
//! live, checking, held             no stream for 5 min      greeting      CloseStream, Identity, FeedHead
//! live                             batch                    same          tell BatchArrived
//! checking                         batch                    same          tell BatchArrived
//! held                             batch                    live          tell BatchArrived
//! live, checking, held             older batch              down          CloseStream
//! checking                         nothing new              live          TouchContact
//! checking                         events found             held          -
//! checking                         poll refused             live          -
//! held                             6 s pass                 held back     CloseStream, SaveFinding, tell BatchArrived
//! first poll                       nothing new              polling       SaveContact, tell ContactBegan, tell BatchArrived
//! first poll                       events found             polling       SaveContact, tell ContactBegan, tell BatchArrived
//! polled                           nothing new              polling       tell BatchArrived
//! polled                           events found             polling       tell BatchArrived
//! checking, first poll, polled     older feed               down          CloseStream
//! checking, first poll, polled     no answer                down          CloseStream
//! checking, first poll, polled     poll: key refused        no key        CloseStream
//! checking, polled                 poll: cursor expired     greeting      CloseStream, StartReconcile, Identity, FeedHead
//! first poll                       poll: cursor expired     first poll    CloseStream, StartReconcile, Poll
//! first poll, polled               poll refused             down          CloseStream
//! polling                          feed wanted              poll due      -
//! polling                          retry now                poll due      -
//! polling                          6 s pass                 polled        Poll
//! polling                          46 s pass                polled        Poll
//! poll due                         6 s pass                 polled        Poll
//! poll due                         46 s pass                polled        Poll
//! ```
//!
//! `state` holds the fields, `contact` begins and ends contact, `feed` decides between stream and polls, and `stream_health`
//! knows the times of a stream.

mod contact;
mod feed;
mod state;
mod stream_health;
#[cfg(test)]
mod tests;

pub(crate) use self::state::Link;
use super::goal::EndReason;
use super::identity::{FeedHead, Identity};
use super::outcome::Failure;
use super::turn::{Fact, Turn};
use crate::model::{BlockCause, FeedBatch};

/// An input of the link.
#[derive(Debug)]
pub(crate) enum Input {
    /// The sync starts from the state on disk.
    Started(Start),
    /// A person's wish, or the end.
    Control(Control),
    /// A request of the greeting has an answer.
    Greeted(Result<Greeting, Failure>),
    /// The stream tells something.
    Stream(StreamEvent),
    /// A poll of the feed has an answer.
    Polled(Result<FeedBatch, Failure>),
    /// A batch is applied up to `position`. `has_id_gap`: ids are missing in the batch, so the server was restored.
    Applied { cursor: Option<String>, position: i64, has_id_gap: bool },
    /// The disk has refused a write; the transaction is rolled back.
    WriteFailed { reason: String, cause: BlockCause },
    /// The time of [`super::Core::wake_at`] has come.
    Timer,
}

/// The state on disk.
#[derive(Debug)]
pub(crate) struct Start {
    /// The feed cursor. None: the feed is read from the first event.
    pub cursor: Option<String>,
    /// The first backfill is complete.
    pub is_filled: bool,
    /// The home of the replica. None: not known before the first contact.
    pub home_id: Option<String>,
    /// Polls have proven before that streams to this server are held back on the way.
    pub holds_streams_back: bool,
    pub is_paused: bool,
}

/// What a person or the system wants of the link.
#[derive(Debug)]
pub(crate) enum Control {
    /// Pauses the sync, or resumes it.
    Pause(bool),
    /// Do not wait for the replica's own retry pauses.
    RetryNow,
    /// Requests carry another key from now on.
    KeyChanged,
    /// The sync ends.
    End(EndReason),
}

/// An answer to one of the two requests that begin each contact.
#[derive(Debug)]
pub(crate) enum Greeting {
    Identity(Identity),
    FeedHead(FeedHead),
}

/// What the stream tells.
#[derive(Debug)]
pub(crate) enum StreamEvent {
    /// The server has accepted the cursor.
    Opened,
    /// Bytes arrived, perhaps only a comment.
    Active,
    /// Events arrived.
    Batch(FeedBatch),
    /// The stream has ended, could not be opened, or was refused.
    Ended(Failure),
}

/// What the link needs to know of the other machines.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Others {
    /// Answers to edits are awaited.
    pub(super) is_pushing: bool,
    /// A reconcile is open.
    pub(super) is_reconciling: bool,
}

impl Link {
    /// Takes an input.
    pub(super) fn handle(&mut self, turn: &mut Turn, input: Input, others: Others) {
        match input {
            Input::Started(start) => self.start(turn, start),
            Input::Control(control) => self.control(turn, control),
            Input::Greeted(answer) => self.greeted(turn, answer, others),
            Input::Stream(event) => self.stream_told(turn, event, others),
            Input::Polled(answer) => self.polled(turn, answer, others),
            Input::Applied { cursor, position, has_id_gap } => {
                self.cursor = cursor.or(self.cursor.take());
                self.position = position;
                self.batches_pending = self.batches_pending.saturating_sub(1);
                if has_id_gap {
                    turn.tell(Fact::IdsSkipped);
                }
            }
            Input::WriteFailed { reason, cause } => self.write_failed(turn, reason, cause),
            Input::Timer => self.check(turn, others),
        }
    }

    /// Takes a fact that another machine tells.
    pub(super) fn hear(&mut self, turn: &mut Turn, fact: &Fact, others: Others) {
        match fact {
            Fact::FeedWanted { position } => {
                self.head_in_answers = self.head_in_answers.max(*position);
                self.poll_soon(turn.now);
            }
            Fact::CursorRefused(refusal) => self.refused(turn, refusal.clone(), others),
            Fact::Compared => {
                self.expired_cursors = 0;
                self.touch_now(turn, others);
            }
            _ => {}
        }
    }
}
