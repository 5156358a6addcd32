//! State of the core: fields and state types, without rules. Must not decide anything.

use super::backoff::Backoff;
use super::clock::Millis;
use super::goal::Until;
use super::identity::{FeedHead, Identity, ServerInfo};
use super::push::Push;
use super::reconcile::Reconciler;
use super::stream_health::StreamHealth;
use crate::model::{BlockCause, FeedBatch, Phase};

/// The reason of a new contact after the feed has ended before a head from an earlier response. That head, and all answers
/// compared with that head, belong to a discarded history.
pub(super) const RESTORED: &str = "the server was put back to an older copy meanwhile";

/// State of the connection that brings the feed. The diagram is at the head of `core.rs`.
#[derive(Debug, PartialEq)]
pub(super) enum Link {
    /// No contact. The next attempt is at `retry_at`. Even a retry-now request waits until `not_before`, the server's pause.
    Down { retry_at: Millis, not_before: Millis },
    /// Identity and feed head are requested.
    Greeting { identity: Option<Identity>, feed_head: Option<FeedHead> },
    /// The server is known: the feed comes by the stream, or by polls while no stream is open.
    Following(Following),
    /// Until a person resumes the sync.
    Paused,
    /// The sync is over.
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

/// The state of one sync.
#[derive(Debug)]
pub(crate) struct Core {
    pub(super) until: Until,
    pub(super) link: Link,
    /// The feed cursor. None: the feed is read from the first event.
    pub(super) cursor: Option<String>,
    /// The first backfill is complete.
    pub(super) is_filled: bool,
    /// The home of the replica. None: not known before the first contact.
    pub(super) home_id: Option<String>,
    /// Why the link is down or polls, for people.
    pub(super) reason: Option<String>,
    /// The server's message about a key that may not read the feed.
    pub(super) key_refusal: Option<String>,
    /// Attempts in a row to reach the server that did not begin a contact.
    pub(super) failures: u32,
    /// Batches handed out and not yet applied.
    pub(super) batches_pending: usize,
    pub(super) stream: StreamHealth,
    /// The server did not know the cursor, and no batch has arrived since.
    pub(super) has_expired_cursor: bool,
    /// Why the disk refused a write. While set, memory may be ahead of the database.
    pub(super) disk: Option<BlockCause>,
    pub(super) reconciler: Reconciler,
    /// The position up to which the feed is applied.
    pub(super) position: i64,
    /// Phase, reason and retry time as saved last.
    pub(super) shown: Option<(Phase, Option<String>, Option<Millis>)>,
    /// The feed head at the beginning of the contact.
    pub(super) head_at_contact: Option<i64>,
    /// The highest position of an edit that the server has accepted since the beginning of the contact.
    pub(super) accepted_head: Option<i64>,
    /// When the time of the last contact was saved.
    pub(super) touched_at: Millis,
    pub(super) push: Push,
    pub(super) backoff: Backoff,
}

impl Core {
    /// A core with the goal `until`. `seed` spreads the retry times of many replicas.
    pub(crate) fn new(until: Until, seed: u64) -> Core {
        Core {
            until,
            link: Link::Ended,
            cursor: None,
            is_filled: false,
            home_id: None,
            reason: None,
            key_refusal: None,
            failures: 0,
            batches_pending: 0,
            stream: StreamHealth::new(until.is_single_run()),
            has_expired_cursor: false,
            disk: None,
            reconciler: Reconciler::default(),
            position: 0,
            shown: None,
            head_at_contact: None,
            accepted_head: None,
            touched_at: Millis::MIN / 2,
            push: Push::default(),
            backoff: Backoff::new(seed),
        }
    }
}
