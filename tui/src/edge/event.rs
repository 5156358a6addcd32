//! Turns time and changes of the database into messages of the main loop. Must not know what a message means.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::Duration;

use hearth_replica::notification::{self, Subscription};
use hearth_replica::{Origin, Replica, StoreError};

use crate::message::Message;

/// How long the main loop waits for a message before drawing again: the day may change, and notices expire.
pub const TICK: Duration = Duration::from_secs(1);

/// Sends [`Message::DatabaseChanged`] after each change of the database by any process, until the watch is dropped. Before
/// that, makes the next tasks of recurring tasks that a script has completed.
pub fn watch_database(db: &Path, messages: Sender<Message>) -> Result<Subscription, StoreError> {
    let replica = Replica::open(db, Origin::Tui)?;
    notification::subscribe(db, move || {
        // After an error, the next change or the next program makes them.
        if let Err(error) = replica.make_next_tasks() {
            tracing::warn!(%error, "the next tasks of completed tasks could not be made");
        }
        drop(messages.send(Message::DatabaseChanged));
    })
}
