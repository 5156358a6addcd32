//! One result of the doctor: its topic, its severity, a sentence and the command to type next. Must not know how findings
//! are made or shown.

/// The subject of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// The setup of the profile, or the version of the program.
    Setup,
    /// Files and directories: modes, owners, write access.
    Files,
    /// Free space and faults of the disk.
    Disk,
    /// The database: damage, missing tables, search index.
    Database,
    /// The syncing process, or the lack of one.
    Process,
    /// Local edits that wait.
    Edits,
    /// The distance between the replica and the server's feed.
    Feed,
    /// The server and the network.
    Server,
    /// The API key and its scopes.
    Key,
    /// The difference to the server's clock.
    Clock,
}

impl Topic {
    /// The word in JSON and in text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Topic::Setup => "setup",
            Topic::Files => "files",
            Topic::Disk => "disk",
            Topic::Database => "database",
            Topic::Process => "process",
            Topic::Edits => "edits",
            Topic::Feed => "feed",
            Topic::Server => "server",
            Topic::Key => "key",
            Topic::Clock => "clock",
        }
    }
}

/// How bad a finding is, from harmless to serious.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// In order.
    Ok,
    /// Worth knowing; no action needed.
    Note,
    /// A failure is likely, or part of the state is hidden.
    Warning,
    /// A function does not work.
    Fault,
}

impl Severity {
    /// The word in JSON and in text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Ok => "ok",
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Fault => "fault",
        }
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
