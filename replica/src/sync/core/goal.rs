//! When a sync ends, and why a sync has ended. Plain values; must not decide anything.

use crate::model::BlockCause;

/// When a sync ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Only when stopped: a daemon.
    Stopped,
    /// When the feed has reached the present.
    Current,
    /// When the feed has reached the present and the server holds all edits.
    Pushed,
}

impl Until {
    /// Whether the sync runs once, to a goal.
    pub(in crate::sync) fn is_single_run(self) -> bool {
        self != Until::Stopped
    }
}

/// Why a sync has ended. The texts are sentences for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// The goal is reached, or the sync was stopped.
    Done,
    /// The server refuses the key, with the server's message.
    NeedsKey(String),
    /// Only a person can remove the cause, or answer the question about deletions; with the sentence.
    Blocked(BlockCause, String),
    /// A person has paused the sync.
    Paused,
}
