//! How far a recovery has come: the words with which the core decides and which the store keeps. Plain values; must
//! not decide or store anything.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use serde::Deserialize;
use uuid::Uuid;

/// Why the replica cannot go on from its cursor alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The server has forgotten events after the cursor.
    Gap {
        /// Where the feed goes on.
        resume: String,
    },
    /// The server was put back to an older copy: what it numbered after `fork` is another history.
    Restored {
        /// Where the feed goes on.
        resume: String,
        /// The last position that both histories share; None when unknown.
        fork: Option<i64>,
    },
    /// A person wants it.
    Asked {
        /// Whatever it deletes is agreed to.
        accepted: bool,
    },
}

impl Cause {
    /// The same in words.
    pub(crate) const fn why(&self) -> &'static str {
        match self {
            Cause::Gap { .. } => "the server has forgotten events that this replica has not seen",
            Cause::Restored { .. } => "the server was put back to an older copy",
            Cause::Asked { .. } => "a person wants it",
        }
    }
}

/// A recovery that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// What changed at or after this moment of the server's clock is listed; None lists everything.
    pub since: Option<String>,
    /// Up to where the feed was applied when this was read; 0: it has told nothing yet after the cursor to go on from.
    pub tail: i64,
    /// What is done next.
    pub step: Step,
    /// A person has agreed to whatever is deleted.
    pub accepted: bool,
    /// What a person is asked before it goes on.
    pub question: Option<String>,
}

/// The steps, in their order: the profile, then for each collection its changes, its ids, the records that these show
/// to be missing, and the end of those that they do not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The home's profile is fetched.
    Property,
    /// What changed is listed, page by page.
    Changes { kind: Kind, cursor: Option<String> },
    /// Every id is walked, page by page; `as_of` is the position of the first page.
    Ids { kind: Kind, cursor: Option<String>, as_of: i64 },
    /// Records that the server has in a newer form are fetched.
    Records { kind: Kind, as_of: i64 },
    /// Records that the walk did not show are gone.
    Sweep { kind: Kind, as_of: i64 },
    /// Nothing is left but the proof that all of it was read in the history that the feed tells.
    Done,
}

/// What the server is asked in a recovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Question {
    /// For the home's profile.
    Property,
    /// For a page of changed records.
    Changes { kind: Kind, since: Option<String>, cursor: Option<String> },
    /// For a page of whole records, in the order of the ids.
    Walk { kind: Kind, cursor: Option<String> },
    /// For a page of ids.
    Ids { kind: Kind, cursor: Option<String> },
    /// For one record.
    Record { kind: Kind, id: String },
}

/// What it answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Found {
    /// The records. None of a record that was asked for: it was deleted since it was listed.
    pub records: Vec<Fields>,
    /// Of a page of ids what it lists.
    pub ids: Vec<Listed>,
    /// Where the list goes on.
    pub next_cursor: Option<String>,
    /// The position at which it was read.
    pub as_of: i64,
}

/// A record as a page of ids lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Listed {
    pub id: Uuid,
    /// The position of its last change.
    pub rev: i64,
}

/// What came of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swept {
    /// It is done.
    Done,
    /// So many of so many would vanish that a person must agree; nothing was done.
    TooMany { gone: i64, of: i64 },
    /// There is no walk to compare with; nothing was done.
    NotWalked,
}
