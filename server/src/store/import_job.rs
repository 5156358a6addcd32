//! An import job as it is stored: its state, its counts, and why it failed. Must not know when it changes.

use hearth_contract::formats::Timestamp;
use rusqlite::Row;
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::records::id;

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Waiting to be carried out.
    Queued,
    /// The file is being read, or its rows are being written.
    Running,
    /// All rows are done, or were looked at in a dry run.
    Succeeded,
    /// The file or a row was refused.
    Failed,
}

impl Status {
    /// The word in the database and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Succeeded => "succeeded",
            Status::Failed => "failed",
        }
    }

    fn parse(word: &str) -> Option<Status> {
        let all = [Status::Queued, Status::Running, Status::Succeeded, Status::Failed];
        all.into_iter().find(|status| status.as_str() == word)
    }
}

/// The numbers of rows by what they do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "contract 23 names the counts")]
pub struct Counts {
    pub created: i64,
    pub updated: i64,
    pub unchanged: i64,
    pub failed: i64,
}

/// What the failure of a job lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The file or a parameter cannot be used.
    File,
    /// Rows of the file are refused.
    Rows,
    /// The home has changed while the rows were written.
    Changed,
    /// The home has no room.
    Full,
    /// The key that asked has ended.
    Key,
    /// The key that asked lacks a scope now.
    Scope,
    /// The team has no plan for the home any more.
    Plan,
    /// The server stopped during the job.
    Interrupted,
    /// The server failed.
    Service,
}

impl FailureCause {
    const ALL: [FailureCause; 9] = [
        FailureCause::File,
        FailureCause::Rows,
        FailureCause::Changed,
        FailureCause::Full,
        FailureCause::Key,
        FailureCause::Scope,
        FailureCause::Plan,
        FailureCause::Interrupted,
        FailureCause::Service,
    ];

    /// The word in the database.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            FailureCause::File => "file",
            FailureCause::Rows => "rows",
            FailureCause::Changed => "changed",
            FailureCause::Full => "full",
            FailureCause::Key => "key",
            FailureCause::Scope => "scope",
            FailureCause::Plan => "plan",
            FailureCause::Interrupted => "interrupted",
            FailureCause::Service => "service",
        }
    }

    fn parse(word: &str) -> Option<FailureCause> {
        FailureCause::ALL.into_iter().find(|cause| cause.as_str() == word)
    }
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// For programs.
    pub cause: FailureCause,
    /// For people: one or two sentences.
    pub sentence: String,
}

impl Failure {
    /// A failure with its sentence.
    pub fn new(cause: FailureCause, sentence: impl Into<String>) -> Failure {
        Failure { cause, sentence: sentence.into() }
    }
}

/// An import job, without its file and its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The position in the order of creation; 0 before the job is inserted.
    pub number: i64,
    /// The id in the API.
    pub id: Uuid,
    /// The home into which the file goes.
    pub home: HomeNumber,
    /// The parameters, as a JSON object of texts.
    pub request: String,
    /// Whether nothing is written.
    pub is_dry_run: bool,
    /// The id of the key or grant that asked. It may have ended since.
    pub key: String,
    /// The scopes of the key when it asked.
    pub scopes: Vec<String>,
    /// The name of the key that asked, for `updated_by`.
    pub author: String,
    /// The state of the job.
    pub status: Status,
    /// The rows by what they do; zero until the file was read.
    pub counts: Counts,
    /// The moment of the request.
    pub created_at: Timestamp,
    /// The moment of the end. None: not ended.
    pub finished_at: Option<Timestamp>,
    /// Why the job failed. None: not failed.
    pub failure: Option<Failure>,
}

/// The columns that [`read_job`] expects.
pub(super) const SELECT: &str =
    "SELECT number, id, home, request, is_dry_run, key, scopes, author, status, created, updated,
    unchanged, failed, created_at, finished_at, error, cause FROM imports";

/// Reads a job from a row of [`SELECT`].
pub(super) fn read_job(row: &Row<'_>) -> Result<Job, StoreError> {
    let unknown = |what: &str, word: &str| StoreError::Corrupt(format!("{what} `{word}` of an import"));
    let (scopes, status): (String, String) = (row.get("scopes")?, row.get("status")?);
    let (error, cause): (Option<String>, Option<String>) = (row.get("error")?, row.get("cause")?);
    let failure = match (error, cause) {
        (Some(sentence), Some(word)) => {
            Some(Failure { cause: FailureCause::parse(&word).ok_or_else(|| unknown("cause", &word))?, sentence })
        }
        _ => None,
    };
    Ok(Job {
        number: row.get("number")?,
        id: id(row.get_ref("id")?.as_str().unwrap_or_default())?,
        home: HomeNumber(row.get("home")?),
        request: row.get("request")?,
        is_dry_run: row.get("is_dry_run")?,
        key: row.get("key")?,
        scopes: scopes.split_whitespace().map(str::to_owned).collect(),
        author: row.get("author")?,
        status: Status::parse(&status).ok_or_else(|| unknown("status", &status))?,
        counts: Counts {
            created: row.get("created")?,
            updated: row.get("updated")?,
            unchanged: row.get("unchanged")?,
            failed: row.get("failed")?,
        },
        created_at: Timestamp::from_millis(row.get("created_at")?),
        finished_at: row.get::<_, Option<i64>>("finished_at")?.map(Timestamp::from_millis),
        failure,
    })
}
