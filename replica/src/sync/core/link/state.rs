//! State of the link, and what others may see of it. Must not decide anything.

use super::super::clock::Millis;
use super::super::goal::Until;
use super::super::identity::{FeedHead, Identity, ServerInfo};
use super::super::turn::Feed;
use super::stream_health::StreamHealth;
use crate::model::{BlockCause, FeedBatch};

/// The machine.
#[derive(Debug, Default)]
pub(crate) struct Link {
    pub(super) state: State,
    /// The feed cursor. None: the feed is read from the first event.
    pub(super) cursor: Option<String>,
    /// The position up to which the feed is applied.
    pub(super) position: i64,
    /// The first backfill is complete.
    pub(in super::super) is_filled: bool,
    /// The home of the replica. None: not known before the first contact.
    pub(super) home_id: Option<String>,
    /// Why the link is down or polls, for people.
    pub(in super::super) reason: Option<String>,
    /// The server's message about a key that may not read the feed.
    pub(in super::super) key_refusal: Option<String>,
    /// Why the disk refused a write. While set, memory may be ahead of the database.
    pub(in super::super) disk: Option<BlockCause>,
    /// Failures in a row since contact began last, refused writes included. They lengthen the pause.
    pub(super) failures: u32,
    /// Batches handed out and not yet applied.
    pub(super) batches_pending: usize,
    pub(super) stream: StreamHealth,
    /// How often the cursor has expired in a row. The row ends with a reconcile that has ended, or with a batch outside a reconcile.
    pub(super) expired_cursors: u32,
    /// The feed head at the beginning of the contact.
    pub(super) head_at_contact: Option<i64>,
    /// The highest position that an answer to an edit or to the reconcile has named since the beginning of the contact.
    pub(super) head_in_answers: Option<i64>,
    /// The highest position that the server had named when the last stream was requested.
    pub(super) head_at_stream: Option<i64>,
    /// When the time of the last contact was saved. None: not in this process.
    pub(super) touched_at: Option<Millis>,
}

/// Where the link is. The diagram is at the head of `link.rs`.
#[derive(Debug, Default, PartialEq)]
pub(super) enum State {
    /// No contact. The next attempt is at `retry_at`. Even a retry-now request waits until `not_before`, the server's pause.
    Down { retry_at: Millis, not_before: Millis },
    /// Identity and feed head are requested.
    Greeting { identity: Option<Identity>, feed_head: Option<FeedHead> },
    /// The server is known: the feed comes by the stream, or by polls while no stream is open.
    Following(Following),
    /// Until a person resumes the sync.
    Paused,
    /// The sync has not started, or is over.
    #[default]
    Ended,
}

/// How the feed comes from a server that is known.
#[derive(Debug, PartialEq)]
pub(super) struct Following {
    /// The server's greeting, until the server has accepted the feed cursor, by stream or by poll: then contact begins.
    pub(super) greeting: Option<ServerInfo>,
    pub(super) stream: StreamState,
    pub(super) poll: PollState,
    /// The feed has reached the present.
    pub(super) is_current: bool,
}

/// The stream of a server that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamState {
    /// The next stream waits for its turn. Polls bring the feed meanwhile.
    Waiting,
    /// The stream is requested.
    Requested,
    /// The server has accepted the stream.
    Open,
}

/// The polls of a server that is known. Beside a stream, a poll checks whether the stream delivers.
#[derive(Debug, PartialEq)]
pub(super) enum PollState {
    /// The next poll is sent at this time. A poll beside a stream waits until the stream is silent too.
    Idle { next_at: Millis },
    /// A poll awaits an answer. `is_outdated`: the stream has brought a batch since. `known_head`: the highest position
    /// that the server had named before.
    Asked { is_outdated: bool, known_head: Option<i64> },
    /// The poll has found events that the stream has not brought. At `decide_at` polls replace the stream, unless the stream
    /// brings a batch before.
    Held { batch: FeedBatch, decide_at: Millis },
}

impl Link {
    /// A link of a sync that has not started.
    pub(in super::super) fn new(until: Until) -> Link {
        Link { stream: StreamHealth::new(until.is_single_run()), ..Link::default() }
    }

    /// What a reconcile needs to know of the feed.
    pub(in super::super) fn feed(&self) -> Feed<'_> {
        Feed { in_contact: self.in_contact(), position: self.position, cursor: self.cursor.as_ref() }
    }

    /// Whether the server has accepted the feed cursor, by stream or by poll, since the last loss of contact.
    pub(in super::super) fn in_contact(&self) -> bool {
        matches!(self.state, State::Following(Following { greeting: None, .. }))
    }

    /// Whether the feed has reached the present, perhaps during a reconcile.
    pub(in super::super) fn is_current(&self) -> bool {
        matches!(self.state, State::Following(Following { is_current: true, .. }))
    }

    /// Whether the feed has reached the present and all of it is applied.
    pub(in super::super) fn is_applied(&self) -> bool {
        self.is_current() && self.batches_pending == 0
    }

    /// Whether the open stream has brought a batch.
    pub(in super::super) fn is_stream_delivering(&self) -> bool {
        matches!(self.state, State::Following(Following { stream: StreamState::Open, .. })) && self.stream.has_batch
    }

    /// Whether nothing new is proven, so that the saved phase stays.
    pub(in super::super) fn is_undecided(&self) -> bool {
        matches!(self.state, State::Greeting { .. } | State::Following(Following { greeting: Some(_), .. }))
    }

    pub(in super::super) fn is_paused(&self) -> bool {
        self.state == State::Paused
    }

    pub(in super::super) fn is_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// When the next attempt to reach the server is made. None: the link is not down.
    pub(in super::super) fn retry_at(&self) -> Option<Millis> {
        match self.state {
            State::Down { retry_at, .. } => Some(retry_at),
            _ => None,
        }
    }
}
