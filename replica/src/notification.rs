//! Notifications between processes on one database: something changed. A notification carries no data; a subscriber
//! reads the database again. A lost or repeated notification does no harm. Must not know what changed.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::store::presence::OpenedFile;
use crate::store::{Connection, StoreError, connection, files};

/// Interval for the poll of SQLite's change counter, where the file system sends no events. A lost notification costs
/// at most this delay.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Pauses (ms) after a file event until the counter is read again: the write to the log happens shortly before the
/// counter changes.
const RECHECK_MILLIS: [u64; 7] = [1, 2, 5, 10, 25, 50, 100];

/// Minimum time between two file events. Each page written to the log is an event, own writes included; without the
/// pause a busy sync spends a tenth of its time on its own events.
const EVENT_INTERVAL: Duration = Duration::from_millis(5);

/// A subscription to the changes of one database. Dropping the subscription ends its thread.
#[derive(Debug)]
pub struct Subscription {
    stop: Sender<Signal>,
    thread: Option<JoinHandle<()>>,
    // The watcher works until dropped. None where the system offers no file events; then the poll remains.
    watcher: Option<RecommendedWatcher>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.watcher = None;
        let _ = self.stop.send(Signal::Stop);
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// A message to the thread of a subscription.
#[derive(Debug)]
enum Signal {
    /// A watched file changed, so the database may have changed.
    Changed,
    /// The subscription was dropped.
    Stop,
}

/// Calls `on_change` on a thread of its own after each change of the database, by any connection of any process.
/// Changes in quick succession are one call. Error: the database cannot be opened.
pub fn subscribe(db: &Path, on_change: impl Fn() + Send + 'static) -> Result<Subscription, StoreError> {
    let connection = connection::read_only(db)?;
    let place = OpenedFile::new(db);
    let last_version = connection::data_version(&connection)?;
    let (sender, signals) = channel();
    let watcher = watch_files(db, sender.clone());
    let thread = std::thread::Builder::new()
        .name("notifications".to_owned())
        .spawn(move || listen(&connection, &place, last_version, &signals, on_change))
        .map_err(StoreError::at(db))?;
    Ok(Subscription { stop: sender, thread: Some(thread), watcher })
}

/// Touches the marker file `changed`; called after each commit. An error is ignored, because subscribers also poll.
pub fn notify(db: &Path) {
    let marker = marker(db);
    if let Ok(file) = files::private_file(&marker) {
        let _ = file.set_modified(std::time::SystemTime::now());
    }
}

fn marker(db: &Path) -> PathBuf {
    files::companion(db, "changed")
}

fn listen(
    connection: &Connection,
    place: &OpenedFile,
    mut last_version: i64,
    signals: &Receiver<Signal>,
    on_change: impl Fn(),
) {
    let mut recheck = RECHECK_MILLIS.len();
    let mut is_present = true;
    loop {
        match signals
            .recv_timeout(RECHECK_MILLIS.get(recheck).map_or(POLL_INTERVAL, |millis| Duration::from_millis(*millis)))
        {
            Ok(Signal::Changed) => recheck = 0,
            Err(RecvTimeoutError::Timeout) => recheck = (recheck + 1).min(RECHECK_MILLIS.len()),
            Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(more) = signals.try_recv() {
            if matches!(more, Signal::Stop) {
                return;
            }
        }
        // The removal of the database file is a change too, but the change counter does not show the removal.
        if std::mem::replace(&mut is_present, place.ensure_unmoved().is_ok()) && !is_present {
            on_change();
        }
        // Only a changed counter wakes the subscriber. A touched marker alone does not.
        match connection::data_version(connection) {
            Ok(version) if version == last_version => {}
            Ok(version) => {
                last_version = version;
                on_change();
            }
            Err(error) => tracing::debug!(%error, "the change counter could not be read"),
        }
    }
}

/// Watches the directory for the marker file. Also watches the write-ahead log, because foreign programs write there
/// without touching the marker.
fn watch_files(db: &Path, sender: Sender<Signal>) -> Option<RecommendedWatcher> {
    let (marker, log) = (marker(db), files::beside(db, "-wal"));
    let names = [marker.file_name()?.to_owned(), log.file_name()?.to_owned()];
    let handler = move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        let is_ours = |path: &PathBuf| path.file_name().is_some_and(|name| names.iter().any(|known| known == name));
        if event.paths.iter().any(is_ours) && !matches!(event.kind, EventKind::Access(_)) {
            let _ = sender.send(Signal::Changed);
            // Events during the sleep wait in the kernel, which merges equal events.
            std::thread::sleep(EVENT_INTERVAL);
        }
    };
    let mut watcher = notify::recommended_watcher(handler).ok()?;
    watcher.watch(files::directory(db), RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plain SQL, which touches no marker.
    #[test]
    fn commit_wakes_subscriber() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let connection = crate::store::open::read_write(&db).unwrap();
        let (sender, receiver) = channel();
        let watch = subscribe(&db, move || sender.send(()).unwrap_or_default()).unwrap();
        connection.execute("INSERT INTO rooms (name) VALUES ('Hall')", []).unwrap();
        receiver.recv_timeout(Duration::from_secs(5)).unwrap();
        drop(watch);
    }

    #[test]
    fn removed_file_wakes_subscriber() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let _open = crate::store::open::read_write(&db).unwrap();
        let (sender, receiver) = channel();
        let watch = subscribe(&db, move || sender.send(()).unwrap_or_default()).unwrap();
        std::fs::rename(&db, directory.path().join("aside.db")).unwrap();
        receiver.recv_timeout(Duration::from_secs(5)).unwrap();
        drop(watch);
    }
}
