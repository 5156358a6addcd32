//! The words of a reconcile, which the state machine decides with and the store writes down. Plain values; must not decide
//! or store anything.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use serde::Deserialize;
use uuid::Uuid;

/// Records or ids per page of a list (contract 5).
pub(crate) const PAGE_RECORDS: u32 = 100;

/// Why the replica cannot go on from its cursor alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReconcileCause {
    /// The server has forgotten events after the cursor.
    Gap {
        /// The cursor at which the feed resumes.
        resume: String,
    },
    /// The server was restored to an older copy: its events after `fork` are another history.
    Restored {
        /// The cursor at which the feed resumes. None: at its beginning, because the server gave none.
        resume: Option<String>,
        /// The last position that both histories share; None when the position is unknown.
        fork: Option<i64>,
    },
    /// A person has asked for a reconcile.
    Asked {
        /// True when the person agrees to every deletion.
        accepted: bool,
    },
}

impl ReconcileCause {
    /// The word that the store writes down.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            ReconcileCause::Gap { .. } => "gap",
            ReconcileCause::Restored { .. } => "restored",
            ReconcileCause::Asked { .. } => "asked",
        }
    }
}

/// What a reconcile compares. `since`: a moment of the server's clock (RFC 3339).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReconcileScope {
    /// What changed after a revision of the present history: the records that changed since the moment and the deleted ids are
    /// listed.
    Changed { since: String, since_rev: i64 },
    /// All records. The records that changed since the moment are listed, and then every id. Without a moment, every record is
    /// listed.
    Everything { since: Option<String> },
}

impl ReconcileScope {
    /// The moment since which changed records are listed. None: every record is listed.
    pub(crate) const fn since(&self) -> Option<&String> {
        match self {
            ReconcileScope::Changed { since, .. } => Some(since),
            ReconcileScope::Everything { since } => since.as_ref(),
        }
    }
}

/// A running reconcile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reconcile {
    /// What is compared.
    pub scope: ReconcileScope,
    /// The position up to which the feed is applied. None until the feed has told something after the cursor to resume from.
    pub tail_position: Option<i64>,
    /// The next step.
    pub step: ReconcileStep,
    /// True when a person has agreed to every deletion.
    pub accepted: bool,
    /// The question that a person must answer before the reconcile goes on.
    pub question: Option<String>,
}

/// The steps in their order. With [`ReconcileScope::Everything`]: the profile, and then for each collection its changes (if there is
/// a moment), its ids, the records that the ids show to be newer, and the deletion of the records that the ids do not show. With
/// [`ReconcileScope::Changed`]: the profile, the changes of each collection, the deleted ids of all, and their deletion from each
/// collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReconcileStep {
    /// The home's profile is fetched.
    Property,
    /// Changed records are listed, page by page.
    Changes { kind: Kind, cursor: Option<String> },
    /// Every id is listed, or every record, page by page. `as_of`: the position of the first page; None before that page.
    Ids { kind: Kind, cursor: Option<String>, as_of: Option<i64> },
    /// The ids that were deleted are listed, page by page.
    Deletions { cursor: Option<String> },
    /// Records are fetched of which the server has a newer version.
    Records { kind: Kind, as_of: i64 },
    /// Records that the ids did not show, or that the list of deletions has shown, are deleted.
    Sweep { kind: Kind, as_of: i64 },
    /// The last check: every response was read in the history that the feed tells.
    Done,
}

impl ReconcileStep {
    /// The word that the store writes down.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            ReconcileStep::Property => "property",
            ReconcileStep::Changes { .. } => "changes",
            ReconcileStep::Ids { .. } => "ids",
            ReconcileStep::Deletions { .. } => "deletions",
            ReconcileStep::Records { .. } => "records",
            ReconcileStep::Sweep { .. } => "sweep",
            ReconcileStep::Done => "done",
        }
    }
}

/// A request of a reconcile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReconcileQuery {
    /// The home's profile.
    Property,
    /// A page of the records that changed since a moment. Without a moment: of all records, in the order of their creation. Such
    /// pages list all ids too.
    List { kind: Kind, since: Option<String>, cursor: Option<String> },
    /// A page of all ids, in the order of their creation.
    Ids { kind: Kind, cursor: Option<String> },
    /// A page of deleted ids of all collections.
    Deletions { since_rev: i64, cursor: Option<String> },
    /// One record.
    Record { kind: Kind, id: String },
}

/// The response to a [`ReconcileQuery`].
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReconcileResponse {
    /// The records. Empty for a single record that was deleted since it was listed.
    pub records: Vec<Fields>,
    /// The entries of a page of ids.
    pub ids: Vec<ListedId>,
    /// The entries of a page of deleted ids, each with the position of the delete.
    pub deletions: Vec<(Kind, ListedId)>,
    /// The cursor of the next page; None on the last page.
    pub next_cursor: Option<String>,
    /// The position at which the server read the response.
    pub as_of: i64,
}

/// A record as a page of ids lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct ListedId {
    pub id: Uuid,
    /// The position of the record's last change.
    pub rev: i64,
}

/// The result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SweepOutcome {
    /// The records are deleted.
    Done,
    /// `gone` of `of` records would be deleted, and a person must agree first. Nothing was done.
    TooMany { gone: i64, of: i64 },
    /// No ids are listed to compare with. Nothing was done.
    NotListed,
}
