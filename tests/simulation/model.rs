//! The expected state: everything that the server has ever committed, read from its events after each step and kept
//! through compaction and restores. Must not know replicas.

use std::path::Path;

use hearth_replica::sync::HttpRequest;
use rusqlite::Connection;
use serde_json::Value;

use super::event_log;
use super::history::{History, WriteFacts};
use super::record::{RecordKey, Version};

/// A moment in the server's log.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogPoint {
    /// The index of the history that was current.
    history: usize,
    /// The head at the moment.
    head: i64,
}

/// Everything that the server has ever committed.
#[derive(Debug, Default)]
pub struct Model {
    /// All histories. The last is the current one; a restore discarded the others.
    pub histories: Vec<History>,
    /// What is known about writes beside the events.
    pub facts: WriteFacts,
    database: Option<Connection>,
    /// `PRAGMA data_version` at the last read.
    data_version: Option<i64>,
}

impl Model {
    /// The current history.
    pub fn current(&self) -> &History {
        self.histories.last().expect("there is a first history")
    }

    /// The histories that restores have discarded.
    pub fn discarded(&self) -> &[History] {
        self.histories.split_last().map_or(&[], |(_, discarded)| discarded)
    }

    /// True when the server was restored at least once.
    pub fn was_restored(&self) -> bool {
        self.histories.len() > 1
    }

    /// The newest history for which the condition is true.
    pub fn find_history(&self, condition: impl FnMut(&&History) -> bool) -> Option<&History> {
        self.histories.iter().rev().find(condition)
    }

    /// The current moment in the log.
    pub fn log_point(&self) -> LogPoint {
        LogPoint { history: self.histories.len().saturating_sub(1), head: self.current().head }
    }

    /// True when the record did not exist at some moment since `since`, in the history of that moment or a later one.
    pub fn was_absent_since(&self, record: &RecordKey, since: LogPoint) -> bool {
        self.histories.iter().enumerate().skip(since.history).any(|(number, history)| {
            let from = if number == since.history { since.head } else { history.fork };
            let is_absent = |version: Option<&Version>| version.is_none_or(|version| version.fields.is_none());
            let mut later = history.versions.get(record).into_iter().flatten().filter(|version| version.rev > from);
            is_absent(history.version_at(record, from)) || later.any(|version| is_absent(Some(version)))
        })
    }

    /// The highest position that the server has ever committed, in any history.
    pub fn highest_head(&self) -> i64 {
        self.histories.iter().map(|history| history.head).max().unwrap_or(0)
    }

    /// Starts a history at the head of the server's files, which are new or were restored from a backup.
    pub fn start_history(&mut self, data: &Path, home: i64) -> Result<(), String> {
        self.close();
        let database = event_log::open(data)?;
        let head = event_log::read_head(&database, home).map_err(|error| error.to_string())?;
        let mut history = self.histories.last().cloned().unwrap_or_default();
        history.truncate(head);
        self.histories.push(history);
        self.database = Some(database);
        Ok(())
    }

    /// Closes the server's database. Required before its files are replaced.
    pub fn close(&mut self) {
        (self.database, self.data_version) = (None, None);
    }

    /// Reads the events that the server has committed since the last call. Err: an event breaks a rule.
    pub fn read_new_events(&mut self, data: &Path, home: i64) -> Result<(), String> {
        let (database, last_version) = match self.database.take() {
            Some(database) => (database, self.data_version),
            None => (event_log::open(data)?, None),
        };
        let version =
            database.prepare_cached("PRAGMA data_version").and_then(|mut s| s.query_row([], |row| row.get(0)));
        let read = match version {
            Ok(version) if Some(version) == last_version => None,
            Ok(version) => {
                self.data_version = Some(version);
                Some(event_log::read_events(&database, home, self.current().head))
            }
            Err(error) => Some(Err(error)),
        };
        self.database = Some(database);
        let read = read.transpose().map_err(|error| format!("the event log cannot be read: {error}"))?;
        let Some((events, head)) = read else { return Ok(()) };
        let history = self.histories.last_mut().expect("there is a first history");
        for event in events {
            if event.id == history.head {
                history.check_last(&event)?;
                continue;
            }
            history.add(event, &self.facts)?;
        }
        if let Some(next) = history.missing_next_task() {
            return Err(format!("the task {next} was not made with the completion of the task before it"));
        }
        if history.head != head {
            return Err(format!("the head of the home is {head}, but its last event is {}", history.head));
        }
        Ok(())
    }

    /// Remembers the revisions that a request insists on. Its effect must change exactly these revisions.
    pub fn record_preconditions(&mut self, request: &HttpRequest) {
        let header =
            |name: &str| request.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
        let Some(key) = header("idempotency-key") else { return };
        let mut require = |record: &str, rev: i64| {
            self.facts.required_revs.insert((key.to_owned(), record.to_owned()), rev);
        };
        if let Some(rev) = header("if-match").and_then(|text| text.trim_matches('"').parse().ok()) {
            require(request.path.rsplit('/').next().unwrap_or_default(), rev);
        }
        let body: Value = request.body.as_deref().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
        for operation in body["operations"].as_array().into_iter().flatten() {
            if let (Some(record), Some(rev)) = (operation["id"].as_str(), operation["if_match"].as_i64()) {
                require(record, rev);
            }
        }
    }
}
