//! One result of the doctor: its topic, its severity, a sentence and the command to type next. Must not know how findings
//! are made or shown.

use crate::model::words;

words! {
    /// The subject of a finding.
    Topic {
        /// The setup of the profile, or the version of the program.
        Setup = "setup",
        /// Files and directories: modes, owners, write access.
        Files = "files",
        /// Free space and faults of the disk.
        Disk = "disk",
        /// The database: damage, missing tables, search index.
        Database = "database",
        /// The syncing process, or the lack of one.
        Process = "process",
        /// Local edits that wait.
        Edits = "edits",
        /// The distance between the replica and the server's feed.
        Feed = "feed",
        /// The server and the network.
        Server = "server",
        /// The API key and its scopes.
        Key = "key",
        /// The difference to the server's clock.
        Clock = "clock",
    }
}

words! {
    /// How bad a finding is, from harmless to serious.
    Severity {
        /// In order.
        Ok = "ok",
        /// Worth knowing; no action needed.
        Note = "note",
        /// A failure is likely, or part of the state is hidden.
        Warning = "warning",
        /// A function does not work.
        Fault = "fault",
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The subject.
    pub topic: Topic,
    /// How bad the result is.
    pub severity: Severity,
    /// The result as a sentence for people.
    pub text: String,
    /// The command to type next. None when nothing needs to be done.
    pub next: Option<String>,
    /// True for the finding that the profile names no server: the home is not set up.
    pub is_server_missing: bool,
}

impl Finding {
    pub(super) fn ok(topic: Topic, text: impl Into<String>) -> Finding {
        Finding { topic, severity: Severity::Ok, text: text.into(), next: None, is_server_missing: false }
    }

    pub(super) fn new(topic: Topic, severity: Severity, text: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding { topic, severity, text: text.into(), next: Some(next.into()), is_server_missing: false }
    }

    pub(super) fn fault(topic: Topic, text: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding::new(topic, Severity::Fault, text, next)
    }
}
