//! One result of the doctor: its topic, its severity, a sentence and the command to type next. Must not know how findings
//! are made or shown.

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// What was never set up, or the program itself.
    Setup,
    /// Files and directories.
    Files,
    /// The disk.
    Disk,
    /// The database.
    Database,
    /// Who syncs.
    Process,
    /// Local changes.
    Edits,
    /// Whether the replica keeps up with the feed.
    Feed,
    /// The server and the way to it.
    Server,
    /// The API key.
    Key,
    /// This machine's clock.
    Clock,
}

impl Topic {
    /// Its name.
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

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing needs to be done.
    Note,
    /// Something will go wrong, or cannot be seen.
    Warning,
    /// Something does not work.
    Fault,
}

impl Severity {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Ok => "ok",
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Fault => "fault",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub topic: Topic,
    /// How bad it is.
    pub severity: Severity,
    /// What is so, in a sentence.
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
