//! What is found again after a restart: the tab, how each list stood, and a form that was not saved. Kept beside the database
//! whenever it changes, so that a crash loses nothing that was typed. Must not know the screen.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hearth_contract::check::Fields;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The whole session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// The kind of the tab in front.
    pub tab: String,
    /// How each list stood, by kind.
    pub lists: BTreeMap<String, ListSession>,
    /// A form that was open.
    pub draft: Option<Draft>,
}

/// How a list stood.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListSession {
    /// The field it was sorted by.
    pub sort: String,
    /// Whether that order was turned round.
    pub reversed: bool,
    /// Whether groups were shown.
    pub grouped: bool,
    /// The filter as typed.
    pub filter: String,
}

/// A form that was not saved.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// Of this kind.
    pub kind: String,
    /// Which record; None for a new one.
    pub id: Option<String>,
    /// What the record was called.
    pub title: String,
    /// The record as it was when the form was opened.
    pub before: Fields,
    /// What was typed, by field: as much of a value as there was.
    pub typed: BTreeMap<String, Value>,
    /// Names of what the reference fields point at.
    pub names: BTreeMap<String, String>,
}

/// Where the session of a database is kept.
pub fn beside(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(".session");
    name.into()
}

/// Reads a session; an unreadable one is none, because nothing depends on it but comfort.
pub fn read(path: &Path) -> Session {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Writes a session as a whole, for this user alone.
pub fn write(path: &Path, session: &Session) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    file.write_all(serde_json::to_string(session)?.as_bytes())?;
    fs::rename(&new, path)
}
