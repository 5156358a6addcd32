//! How a replica is kept in step with its server. Read in this order:
//!
//! - [`core`]: what to do next, decided without clock, chance or network.
//! - [`engine`]: what was decided, on the database and as questions to the server ([`wire`]); still without network.
//! - [`keyfile`]: a key that is replaced while syncing.
//! - [`walked`]: answers of a long list, gathered to be written at once.
//! - [`driver`]: the loop between the engine and the world; it decides nothing.
//! - [`brief`]: how much of the server's words is kept.
//! - [`client`], [`stream`], [`sse`]: HTTP, and the stream's frames as the core's inputs.
//! - [`ear`]: the same for a driver that has the bytes already and waits for nothing.
//! - [`listing`]: everything that a server lists, for a comparison.

mod brief;
mod client;
mod core;
mod driver;
mod ear;
mod engine;
mod keyfile;
mod listing;
mod sse;
mod stream;
mod walked;
mod wire;

use std::path::PathBuf;

use secrecy::SecretString;

pub use self::core::{Identity, Limits, Millis, Stretch, Verdict};
pub use crate::store::lock::SyncLock;
pub(crate) use client::meet;
pub use client::{ClientError, head, identify, shown};
pub(crate) use driver::wall_clock;
pub use ear::Ear;
pub(crate) use engine::meaning::home;
pub use engine::{Chance, Deed, Done, Engine, Heard, Moment};
pub use listing::listings;
pub use wire::{Answer, Ask};

use crate::model::BlockCause;
use crate::profile::ProfileError;
use crate::store::StoreError;
use crate::store::edits::judge::ConflictPolicy;

/// What is synced with whom.
#[derive(Debug, Clone)]
pub struct SyncConfig {
    /// The replica database.
    pub db: PathBuf,
    /// The server's address, without path.
    pub server: String,
    /// The API key.
    pub key: SecretString,
    /// The file it comes from, if any: a new key there is taken up while syncing.
    pub key_file: Option<PathBuf>,
    /// The profile's file, if any: a new key is for the server that it names then.
    pub profile: Option<PathBuf>,
    /// What becomes of a field that was changed here and there.
    pub conflict_policy: ConflictPolicy,
}

/// When syncing ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Never; when told to.
    Stopped,
    /// When the present is reached once.
    Current,
    /// When the present is reached and no edit is on its way.
    Pushed,
}

/// Why syncing ended without its goal.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The client could not be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server does not accept the key.
    #[error("the server wants another key: {0}")]
    NeedsKey(String),
    /// A person is asked before it goes on.
    #[error("{0}")]
    Asks(String),
    /// Which server a new key is for cannot be read.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A new key came with another server.
    #[error("the profile names another server now, {0}; syncing with {1} has ended, start it again")]
    AnotherServer(String, String),
    /// A person has paused it.
    #[error("syncing is paused")]
    Paused,
    /// Going on would mix what does not belong together.
    #[error("{1}")]
    Blocked(BlockCause, String),
}

/// Syncs until told to stop or until the goal is reached. SQLite's work happens off the async threads.
pub async fn run(
    config: SyncConfig,
    lock: SyncLock,
    until: Until,
    stop: tokio::sync::watch::Receiver<bool>,
) -> Result<(), SyncError> {
    driver::run(config, lock, until, stop).await
}
