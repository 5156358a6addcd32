//! Turns time and changes of the database into messages of the main loop. Must not know what a message means.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::Duration;

use hearth_replica::StoreError;
use hearth_replica::notification::{self, Subscription};

use crate::message::Message;

/// How long the main loop waits for a message before drawing again: the day may change, and notices expire.
pub const TICK: Duration = Duration::from_secs(1);

/// Sends [`Message::DatabaseChanged`] after each change of the database by any process, until the watch is dropped.
pub fn watch_database(db: &Path, messages: Sender<Message>) -> Result<Subscription, StoreError> {
    notification::subscribe(db, move || drop(messages.send(Message::DatabaseChanged)))
}
