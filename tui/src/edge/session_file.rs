//! The session file beside the database: the tab, the filters and an unsaved form. Written at each change, therefore a
//! crash loses no typed text. Each process has a file of its own and never touches the file of another. Must not know
//! the screen.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::state::session::Session;

/// The most session files of one database. Further processes share the last file.
const FILES_MAX: usize = 16;

/// The session file of this process, locked until the value is dropped or the process ends.
#[derive(Debug)]
pub struct SessionFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The session as read at the start.
    pub session: Session,
    _lock: Option<File>,
}

/// Claims a session file that no other process holds: a file with an unsaved form, otherwise the first free file. A new
/// file starts as a copy of the first file, without the form.
pub fn claim(db: &Path) -> SessionFile {
    let mut first: Option<SessionFile> = None;
    for number in 1..=FILES_MAX {
        let path = session_path(db, number);
        if first.is_some() && !path.exists() {
            continue;
        }
        let lock = match lock_session(&path) {
            Ok(lock) => Some(lock),
            Err(TryLockError::WouldBlock) if number < FILES_MAX => continue,
            Err(error) => {
                tracing::warn!(%error, "the session file could not be locked; another process may write the same file");
                None
            }
        };
        let file = SessionFile { session: read_session(&path), path, _lock: lock };
        if file.session.draft.is_some() {
            return file;
        }
        first.get_or_insert(file);
    }
    let mut file = first.unwrap_or_else(|| {
        let path = session_path(db, FILES_MAX);
        SessionFile { session: read_session(&path), path, _lock: None }
    });
    if !file.path.exists() {
        file.session = Session { draft: None, ..read_session(&session_path(db, 1)) };
    }
    file
}

/// The path of the session file with this number.
fn session_path(db: &Path, number: usize) -> PathBuf {
    with_suffix(db, &if number == 1 { ".session".to_owned() } else { format!(".session-{number}") })
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Locks a session. The lock is a separate file, because each write replaces the session file.
fn lock_session(path: &Path) -> Result<File, TryLockError> {
    let file = private_file().open(with_suffix(path, ".lock")).map_err(TryLockError::Error)?;
    file.try_lock()?;
    Ok(file)
}

/// Options that create a file with access for this user only.
fn private_file() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Reads a session. An unreadable file gives an empty session: a session holds no records.
pub fn read_session(path: &Path) -> Session {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Replaces the session file. Only this user can read the file.
pub fn write_session(path: &Path, session: &Session) -> io::Result<()> {
    let new = with_suffix(path, ".new");
    let mut file = private_file().open(&new)?;
    file.write_all(serde_json::to_string(session)?.as_bytes())?;
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::session::Draft;

    fn session_of(tab: &str, typed: Option<&str>) -> Session {
        let draft = typed.map(|title| Draft { title: title.into(), ..Draft::default() });
        Session { tab: tab.into(), draft, ..Session::default() }
    }

    #[test]
    fn unsaved_form_belongs_to_its_process() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let first = claim(&db);
        write_session(&first.path, &session_of("task", Some("mine"))).unwrap();
        let second = claim(&db);
        assert_eq!(second.session, session_of("task", None), "a new file copies the first, without the form");
        write_session(&second.path, &session_of("room", None)).unwrap();
        assert_eq!(
            read_session(&first.path),
            session_of("task", Some("mine")),
            "the file of the first process is unchanged"
        );
        write_session(&second.path, &session_of("room", Some("other"))).unwrap();
        drop(first);
        let third = claim(&db);
        assert_eq!(third.session, session_of("task", Some("mine")));
        write_session(&third.path, &session_of("task", None)).unwrap();
        drop((second, third));
        assert_eq!(claim(&db).session, session_of("room", Some("other")), "a file with a form comes first");
    }
}
