//! What was read in files (contracts 21 and 22): which files wait for the reader, and the results. Must not know how a file is read,
//! or what its text means.

use rusqlite::{OptionalExtension, named_params};
use uuid::Uuid;

use super::capture_files::{self, add_bytes};
use super::error::StoreError;
use super::file_hash::FileHash;
use super::home_number::HomeNumber;
use super::looks;
use super::records::id;
use super::tx::Tx;

/// How often the reading of one file begins at most: once, and once again after the server stopped meanwhile.
pub const ATTEMPTS_MAX: i64 = 2;

/// What is known of the text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The file waits for the reader, or is being read.
    Waiting,
    /// The JSON of the reading.
    Read(String),
    /// Why the file could not be read.
    Failed(Failure),
}

/// Why a file was not read, or a job failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The reason as a word, for programs.
    pub code: FailureCode,
    /// The reason as a sentence, and what to do.
    pub message: String,
}

/// The reasons of a [`Failure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCode {
    /// The reader refused the file, or ended on it.
    Unreadable,
    /// The reader took too long.
    TimeUp,
    /// The reader cannot run on this machine.
    NoReader,
    /// The server stopped twice meanwhile.
    Interrupted,
    /// The home has no room for the result.
    HomeFull,
    /// The service itself failed.
    Internal,
}

impl FailureCode {
    /// All reasons.
    pub const ALL: [FailureCode; 6] = [
        FailureCode::Unreadable,
        FailureCode::TimeUp,
        FailureCode::NoReader,
        FailureCode::Interrupted,
        FailureCode::HomeFull,
        FailureCode::Internal,
    ];

    /// The word in the database and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            FailureCode::Unreadable => "unreadable",
            FailureCode::TimeUp => "time_up",
            FailureCode::NoReader => "no_reader",
            FailureCode::Interrupted => "interrupted",
            FailureCode::HomeFull => "home_full",
            FailureCode::Internal => "internal",
        }
    }

    pub(super) fn parse(word: &str) -> Option<FailureCode> {
        FailureCode::ALL.into_iter().find(|code| code.as_str() == word)
    }
}

/// The result of a reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The file was read.
    Read {
        /// The JSON of the reading.
        reading: String,
        /// The beginning of the text, for snippets.
        beginning: String,
        /// The text, folded for the index.
        searched: String,
        /// The perceptual hash of a picture.
        look: Option<u64>,
    },
    /// The file was not read.
    Failed(Failure),
}

/// A file whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The home of the file.
    pub home: HomeNumber,
    /// The id of the home, which names its directory.
    pub home_id: Uuid,
    /// The file.
    pub sha256: FileHash,
    /// Its size in bytes.
    pub size_bytes: i64,
    /// How often its reading began, this time included.
    pub attempts: i64,
}

/// Lets a file wait for the reader unless it was read. `is_asked`: a job waits for the file. `is_again`: a file that failed, or whose
/// text was not recognized for want of models, is read again too.
pub fn want(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash, is_asked: bool, is_again: bool) -> Result<(), StoreError> {
    let mut insert = tx.conn.prepare_cached(
        "INSERT INTO readings (home, sha256, state, is_asked) VALUES (:home, :sha256, 'waiting', :asked)
         ON CONFLICT (home, sha256) DO UPDATE SET is_asked = max(is_asked, excluded.is_asked) WHERE state = 'waiting'",
    )?;
    insert.execute(named_params! { ":home": home.0, ":sha256": hash.as_str(), ":asked": is_asked })?;
    if is_again {
        let mut renew = tx.conn.prepare_cached(
            "UPDATE readings SET state = 'waiting', is_asked = :asked, attempts = 0
             WHERE home = :home AND sha256 = :sha256
               AND (state = 'failed' OR state = 'read' AND reading ->> 'text_source' = 'no_models')",
        )?;
        renew.execute(named_params! { ":home": home.0, ":sha256": hash.as_str(), ":asked": is_asked })?;
    }
    Ok(())
}

/// Takes the file that is read next: files that jobs wait for before others, and the homes in turn, the next one after `last`.
pub fn claim(tx: &Tx<'_>, last: HomeNumber) -> Result<Option<Claimed>, StoreError> {
    let mut select = tx.conn.prepare_cached(
        "SELECT number, home, sha256, attempts FROM readings
         WHERE state = 'waiting' AND is_asked = ?1 AND home > ?2 ORDER BY home, number LIMIT 1",
    )?;
    let mut found = None;
    for (is_asked, after) in [(1, last.0), (1, 0), (0, last.0), (0, 0)] {
        let row = select.query_row((is_asked, after), |row| {
            Ok((row.get::<_, i64>(0)?, HomeNumber(row.get(1)?), row.get::<_, String>(2)?, row.get::<_, i64>(3)?))
        });
        found = row.optional()?;
        if found.is_some() {
            break;
        }
    }
    let Some((number, home, text, attempts)) = found else { return Ok(None) };
    let sha256 = FileHash::parse(&text).ok_or_else(|| StoreError::Corrupt(format!("hash `{text}` of a reading")))?;
    let mut of_file = tx.conn.prepare_cached(
        "SELECT f.size_bytes, h.id FROM files f JOIN homes h ON h.number = f.home WHERE f.home = ?1 AND f.sha256 = ?2",
    )?;
    let (size_bytes, home_id) = of_file
        .query_row((home.0, sha256.as_str()), |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))
        .optional()?
        .ok_or_else(|| StoreError::Corrupt(format!("a reading of no file: {text}")))?;
    tx.conn.prepare_cached("UPDATE readings SET attempts = attempts + 1 WHERE number = ?1")?.execute([number])?;
    capture_files::begin(tx, home, &sha256)?;
    Ok(Some(Claimed { home, home_id: id(&home_id)?, sha256, size_bytes, attempts: attempts + 1 }))
}

/// Gives a claimed file back that was not read, because the server stops.
pub fn give_back(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash) -> Result<(), StoreError> {
    tx.conn.execute(
        "UPDATE readings SET attempts = attempts - 1 WHERE home = ?1 AND sha256 = ?2 AND state = 'waiting'",
        (home.0, hash.as_str()),
    )?;
    Ok(())
}

/// Stores the result of a reading. False: the file was deleted meanwhile.
pub fn finish(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash, outcome: &Outcome) -> Result<bool, StoreError> {
    let Some(before) = bytes(tx, home, hash)? else { return Ok(false) };
    let (state, reading, beginning, searched, failure) = match outcome {
        Outcome::Read { reading, beginning, searched, .. } => {
            ("read", Some(reading.as_str()), beginning.as_str(), searched.as_str(), None)
        }
        Outcome::Failed(failure) => ("failed", None, "", "", Some(failure)),
    };
    let bytes = (reading.map_or(0, str::len) + beginning.len() + searched.len()) as i64;
    tx.conn.execute(
        "UPDATE readings SET state = :state, is_asked = 0, attempts = 0, reading = :reading, beginning = :beginning,
           searched = :searched,
           code = :code, error = :error, bytes = :bytes
         WHERE home = :home AND sha256 = :sha256",
        named_params! {
            ":state": state, ":reading": reading, ":beginning": beginning, ":searched": searched,
            ":bytes": bytes,
            ":code": failure.map(|failure| failure.code.as_str()),
            ":error": failure.map(|failure| failure.message.as_str()),
            ":home": home.0, ":sha256": hash.as_str(),
        },
    )?;
    add_bytes(tx, home, bytes - before)?;
    let look = if let Outcome::Read { look, .. } = outcome { *look } else { None };
    looks::replace(tx, home, hash, look)?;
    capture_files::count_unread(tx, home, hash)?;
    Ok(true)
}

/// What is known of the text of a file. None: it was never to be read.
pub fn state(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash) -> Result<Option<State>, StoreError> {
    let mut statement =
        tx.conn.prepare_cached("SELECT state, reading, code, error FROM readings WHERE home = ?1 AND sha256 = ?2")?;
    let found = statement.query_row((home.0, hash.as_str()), |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?, row.get(2)?, row.get(3)?))
    });
    let Some((state, reading, code, error)) = found.optional()? else { return Ok(None) };
    let state = match (state.as_str(), reading) {
        ("read", Some(reading)) => State::Read(reading),
        ("waiting", _) => State::Waiting,
        _ => State::Failed(failure(code, error)?.unwrap_or_else(|| Failure {
            code: FailureCode::Internal,
            message: "The file could not be read.".to_owned(),
        })),
    };
    Ok(Some(state))
}

/// The text of a file as it is searched; empty before it was read.
pub fn searched(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash) -> Result<String, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT searched FROM readings WHERE home = ?1 AND sha256 = ?2")?;
    Ok(statement.query_row((home.0, hash.as_str()), |row| row.get(0)).optional()?.unwrap_or_default())
}

/// The beginning of the text of a file, as written; empty before it was read.
pub fn beginning(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash) -> Result<String, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT beginning FROM readings WHERE home = ?1 AND sha256 = ?2")?;
    Ok(statement.query_row((home.0, hash.as_str()), |row| row.get(0)).optional()?.unwrap_or_default())
}

/// The failure in two columns of a row.
pub(super) fn failure(code: Option<String>, message: Option<String>) -> Result<Option<Failure>, StoreError> {
    let Some(word) = code else { return Ok(None) };
    let code = FailureCode::parse(&word).ok_or_else(|| StoreError::Corrupt(format!("failure `{word}`")))?;
    Ok(Some(Failure { code, message: message.unwrap_or_default() }))
}

/// Deletes what was read in a file.
pub(super) fn forget(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash) -> Result<(), StoreError> {
    let Some(bytes) = bytes(tx, home, hash)? else { return Ok(()) };
    looks::replace(tx, home, hash, None)?;
    tx.conn.execute("DELETE FROM readings WHERE home = ?1 AND sha256 = ?2", (home.0, hash.as_str()))?;
    // A job that waits for the file alone goes on without it.
    capture_files::count_unread(tx, home, hash)?;
    add_bytes(tx, home, -bytes)
}

/// Deletes what was read in all files of a home.
pub(super) fn forget_all(tx: &Tx<'_>, home: HomeNumber) -> Result<(), StoreError> {
    tx.conn.execute("DELETE FROM looks WHERE home = ?1", [home.0])?;
    tx.conn.execute(
        "UPDATE homes SET capture_bytes = capture_bytes - (SELECT coalesce(sum(bytes), 0) FROM readings WHERE home = ?1)
         WHERE number = ?1",
        [home.0],
    )?;
    tx.conn.execute("DELETE FROM readings WHERE home = ?1", [home.0])?;
    Ok(())
}

/// Bytes of a reading in the database. None: no such reading.
fn bytes(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash) -> Result<Option<i64>, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT bytes FROM readings WHERE home = ?1 AND sha256 = ?2")?;
    Ok(statement.query_row((home.0, hash.as_str()), |row| row.get(0)).optional()?)
}
