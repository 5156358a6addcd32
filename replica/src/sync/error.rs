//! Why a sync has ended without reaching the goal. Must not decide what a program prints or exits with.

use super::client::ClientError;
use crate::model::BlockCause;
use crate::profile::ProfileError;
use crate::store::StoreError;

/// Why a sync has ended without reaching the goal.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The HTTP client could not be built, from a bad address or key.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server refuses the key, with the server's message.
    #[error("the server wants another key: {0}")]
    NeedsKey(String),
    /// The profile, which names the server of a new key, could not be read.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The new key belongs to another server: the profile's server and the server of the sync.
    #[error("the profile names another server now, {0}; syncing with {1} has ended, start it again")]
    AnotherServer(String, String),
    /// A person has paused the sync.
    #[error("syncing is paused")]
    Paused,
    /// A person wants a rebuild. The supervisor of the sync carries it out.
    #[error("a person wants a rebuild")]
    RebuildWanted,
    /// Only a person can remove the cause, or answer a question; with a sentence about it.
    #[error("{1}")]
    Blocked(BlockCause, String),
}
