//! Where a session is kept: beside the database, written whenever it changes, so that a crash loses nothing that was typed.
//! Every process has a file of its own, so that none takes or writes over what another has open. Must not know the screen.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::state::session::Session;

/// So many processes on one database have a session each; those that come later share the last.
const SEATS_MAX: usize = 16;

/// The session of this process: no other has it until this is dropped or the process has ended, however that came about.
#[derive(Debug)]
pub struct Seat {
    /// Where it is kept.
    pub path: PathBuf,
    /// As it was found.
    pub session: Session,
    _lock: Option<File>,
}

/// Takes a session of a database that no other process has: one in which a form was left, else the first. A new one begins as
/// the first stands, without its form.
pub fn take(db: &Path) -> Seat {
    let mut first: Option<Seat> = None;
    for number in 1..=SEATS_MAX {
        let path = beside(db, number);
        if first.is_some() && !path.exists() {
            continue;
        }
        let lock = match lock(&path) {
            Ok(lock) => Some(lock),
            Err(TryLockError::WouldBlock) if number < SEATS_MAX => continue,
            Err(error) => {
                tracing::warn!(%error, "the session could not be taken for this process alone");
                None
            }
        };
        let seat = Seat { session: read(&path), path, _lock: lock };
        if seat.session.draft.is_some() {
            return seat;
        }
        first.get_or_insert(seat);
    }
    let mut seat = first.unwrap_or_else(|| {
        let path = beside(db, SEATS_MAX);
        Seat { session: read(&path), path, _lock: None }
    });
    if !seat.path.exists() {
        seat.session = Session { draft: None, ..read(&beside(db, 1)) };
    }
    seat
}

/// Where a session of a database is kept.
fn beside(db: &Path, number: usize) -> PathBuf {
    with_end(db, &if number == 1 { ".session".to_owned() } else { format!(".session-{number}") })
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The lock of a session, which stands in a file of its own: the session's is another after every write.
fn lock(path: &Path) -> Result<File, TryLockError> {
    let file = private().open(with_end(path, ".lock")).map_err(TryLockError::Error)?;
    file.try_lock()?;
    Ok(file)
}

/// How a file for this user alone is opened.
fn private() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Reads a session; an unreadable one is none, because nothing depends on it but comfort.
pub fn read(path: &Path) -> Session {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Writes a session as a whole, for this user alone.
pub fn write(path: &Path, session: &Session) -> io::Result<()> {
    let new = with_end(path, ".new");
    let mut file = private().open(&new)?;
    file.write_all(serde_json::to_string(session)?.as_bytes())?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::session::Draft;

    fn of(tab: &str, typed: Option<&str>) -> Session {
        let draft = typed.map(|title| Draft { title: title.into(), ..Draft::default() });
        Session { tab: tab.into(), draft, ..Session::default() }
    }

    #[test]
    fn a_form_belongs_to_the_process_that_has_it_open_and_is_found_once_that_has_ended() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let first = take(&db);
        write(&first.path, &of("task", Some("mine"))).unwrap();
        let second = take(&db);
        assert_eq!(second.session, of("task", None), "it begins as the first stands, without its form");
        write(&second.path, &of("room", None)).unwrap();
        assert_eq!(read(&first.path), of("task", Some("mine")), "the crash copy is still there");
        write(&second.path, &of("room", Some("other"))).unwrap();
        drop(first);
        let third = take(&db);
        assert_eq!(third.session, of("task", Some("mine")));
        write(&third.path, &of("task", None)).unwrap();
        drop((second, third));
        assert_eq!(take(&db).session, of("room", Some("other")), "a form that was left comes before an order");
    }
}
