//! The bell: how processes on one database learn that something changed. It carries no news; who hears it reads the
//! database again, so a bell that is lost or doubled does no harm. Must not know what changed.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::store::presence::OpenedFile;
use crate::store::{Connection, StoreError, connection, files};

/// How often the database's change counter is read when no file system tells of a change. A lost bell costs this
/// long, nothing else.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A knock by the log comes as it is written, which is a little before the change counts. So it is looked again.
const LOOK_AGAIN_MILLIS: [u64; 7] = [1, 2, 5, 10, 25, 50, 100];

/// Between two knocks of the file system. Each page of the log that is written is an event, ours too: a busy sync would
/// otherwise spend a tenth of its time on hearing itself. The counter is looked at again meanwhile.
const KNOCK_INTERVAL: Duration = Duration::from_millis(5);

/// A watch over one database. Dropping it ends its thread.
pub struct BellWatch {
    stop: Sender<Knock>,
    thread: Option<JoinHandle<()>>,
    // Held for its life: the watcher stops when dropped. None where the system offers none.
    watcher: Option<RecommendedWatcher>,
}

impl fmt::Debug for BellWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BellWatch").field("by_notification", &self.watcher.is_some()).finish_non_exhaustive()
    }
}

impl Drop for BellWatch {
    fn drop(&mut self) {
        self.watcher = None;
        let _ = self.stop.send(Knock::Stop);
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

enum Knock {
    Maybe,
    Stop,
}

/// Calls `on_change`, from a thread of its own, after each change of the database by any connection of any process.
/// Changes close together are one call.
pub fn watch(db: &Path, on_change: impl Fn() + Send + 'static) -> Result<BellWatch, StoreError> {
    let connection = connection::read_only(db)?;
    let place = OpenedFile::new(db);
    let seen = connection::data_version(&connection)?;
    let (knock, knocks) = channel();
    let watcher = notification(db, knock.clone());
    let thread = std::thread::Builder::new()
        .name("bell".to_owned())
        .spawn(move || listen(&connection, &place, seen, &knocks, on_change))
        .map_err(|error| StoreError::File(db.to_owned(), error))?;
    Ok(BellWatch { stop: knock, thread: Some(thread), watcher })
}

/// Touches the marker file, after a commit. Failure is no matter: the poll is the floor.
pub fn ring(db: &Path) {
    let marker = marker(db);
    if let Ok(file) = files::private_file(&marker) {
        let _ = file.set_modified(std::time::SystemTime::now());
    }
}

fn marker(db: &Path) -> PathBuf {
    files::companion(db, "bell")
}

fn listen(connection: &Connection, place: &OpenedFile, mut seen: i64, knocks: &Receiver<Knock>, on_change: impl Fn()) {
    let mut soon = LOOK_AGAIN_MILLIS.len();
    let mut kept = true;
    loop {
        match knocks
            .recv_timeout(LOOK_AGAIN_MILLIS.get(soon).map_or(POLL_INTERVAL, |millis| Duration::from_millis(*millis)))
        {
            Ok(Knock::Maybe) => soon = 0,
            Err(RecvTimeoutError::Timeout) => soon = (soon + 1).min(LOOK_AGAIN_MILLIS.len()),
            Ok(Knock::Stop) | Err(RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(more) = knocks.try_recv() {
            if matches!(more, Knock::Stop) {
                return;
            }
        }
        // That the file is not there any more is a change too, of which no counter tells.
        if std::mem::replace(&mut kept, place.ensure_unmoved().is_ok()) && !kept {
            on_change();
        }
        // The counter decides, so a bell without a change wakes nobody.
        match connection::data_version(connection) {
            Ok(version) if version == seen => {}
            Ok(version) => {
                seen = version;
                on_change();
            }
            Err(error) => tracing::debug!(%error, "the change counter could not be read"),
        }
    }
}

/// Watches the directory for our marker and, as a hint that strangers give for free, for the database's own files.
fn notification(db: &Path, knock: Sender<Knock>) -> Option<RecommendedWatcher> {
    let directory = db.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let bell = marker(db).file_name()?.to_owned();
    let log = log_name(db.file_name()?);
    let handler = move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        let ours = event.paths.iter().filter_map(|path| path.file_name()).any(|name| name == bell || name == log);
        if ours && !matches!(event.kind, EventKind::Access(_)) {
            let _ = knock.send(Knock::Maybe);
            // What happens until then waits in the kernel, where the same again is one.
            std::thread::sleep(KNOCK_INTERVAL);
        }
    };
    let mut watcher = notify::recommended_watcher(handler).ok()?;
    watcher.watch(directory, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

fn log_name(db: &OsStr) -> std::ffi::OsString {
    let mut name = db.to_owned();
    name.push("-wal");
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_heard_and_a_bare_ring_is_not() {
        let directory = std::env::temp_dir().join(format!("hearth-bell-{}", uuid::Uuid::new_v4()));
        let db = directory.join("replica.db");
        let connection = crate::store::open::read_write(&db).unwrap();
        let (heard, hears) = channel();
        let watch = watch(&db, move || heard.send(()).unwrap_or_default()).unwrap();

        ring(&db);
        connection.execute("INSERT INTO rooms (name) VALUES ('Hall')", []).unwrap();
        ring(&db);
        hears.recv_timeout(Duration::from_secs(5)).unwrap();
        drop(watch);
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_file_that_is_taken_away_is_a_change() {
        let directory = std::env::temp_dir().join(format!("hearth-bell-{}", uuid::Uuid::new_v4()));
        let db = directory.join("replica.db");
        let _open = crate::store::open::read_write(&db).unwrap();
        let (heard, hears) = channel();
        let watch = watch(&db, move || heard.send(()).unwrap_or_default()).unwrap();
        std::fs::rename(&db, directory.join("aside.db")).unwrap();
        hears.recv_timeout(Duration::from_secs(5)).unwrap();
        drop(watch);
        std::fs::remove_dir_all(directory).unwrap();
    }
}
