//! Ends a stream while a frame waits for a slow client. Between two frames the reader checks the same conditions itself.
//! Must not know frames.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::app::App;
use crate::app::keyring::Principal;
use crate::app::readers::StreamPlace;
use crate::home::cursor::FeedCursor;
use crate::home::feed;
use crate::http::auth::is_still_valid;

/// Interval between two checks without a notification.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// Time for a started frame to leave after the key has ended. The server notices the end within half a second, and must
/// close the stream within one second (contract 9.4).
const LEAVE_TIME_MAX: Duration = Duration::from_millis(250);
/// Time for a started frame to leave after a stop. Longer, so a slow client sees a clean end.
const STOP_TIME_MAX: Duration = Duration::from_secs(2);

/// The conditions of an open stream: the service runs, the key is valid, and the cursor is valid.
pub(super) struct StreamGuard {
    pub(super) app: Arc<App>,
    pub(super) principal: Arc<Principal>,
    cursor: Mutex<FeedCursor>,
    place: StreamPlace,
}

impl StreamGuard {
    /// A guard for a stream that starts after a cursor.
    pub(super) fn new(app: Arc<App>, principal: Arc<Principal>, cursor: FeedCursor) -> StreamGuard {
        let place = app.readers.open_stream(&principal.key.id, cursor, app.clock.now());
        StreamGuard { app, principal, cursor: Mutex::new(cursor), place }
    }

    /// Records the position of the stream.
    pub(super) fn set_cursor(&self, cursor: FeedCursor) {
        *self.cursor.lock().unwrap_or_else(PoisonError::into_inner) = cursor;
        self.place.served(cursor, self.app.clock.now());
    }

    /// Returns once a condition has failed and the time for the started frame has passed.
    pub(super) async fn invalidated(self: Arc<Self>) {
        let (mut shutdown, mut outside) = (self.app.shutdown.clone(), self.app.outside.subscribe());
        let time_left = loop {
            if !self.is_valid().await {
                break LEAVE_TIME_MAX;
            }
            tokio::select! {
                () = shutdown.requested() => break STOP_TIME_MAX,
                Ok(()) = outside.changed() => (),
                () = tokio::time::sleep(CHECK_EVERY) => (),
            }
        };
        tokio::time::sleep(time_left).await;
    }

    /// Whether key and cursor are valid. A database that is too busy to answer changes nothing.
    async fn is_valid(&self) -> bool {
        let (number, cursor) = (self.principal.key.home, *self.cursor.lock().unwrap_or_else(PoisonError::into_inner));
        self.principal.may_stream_at(self.app.clock.now())
            && is_still_valid(&self.app, &self.principal).await != Some(false)
            && self.app.db.read_inline(move |tx| feed::is_valid(tx, number, cursor)).await.unwrap_or(true)
    }
}
