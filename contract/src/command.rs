//! A wish: what a client wants done to one record. Commands go up; what comes of them comes down as events.

use uuid::Uuid;

use crate::check::Checked;
use crate::schema::Kind;

/// One change that a client asks for. Its body was looked through before; faults travel with it, because existence
/// and preconditions are answered first (contract 4).
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Make a record.
    Create {
        /// Of this kind; never the singleton.
        kind: Kind,
        /// With these fields, and this id if it chose one.
        body: Checked,
    },
    /// Merge fields into a record, or into the home's profile.
    Update {
        /// Of this kind.
        kind: Kind,
        /// Which record; the profile has one id per home and needs none.
        id: Option<Uuid>,
        /// The fields to merge.
        body: Checked,
        /// Only if the record still has one of these revisions.
        guard: Guard,
    },
    /// Remove a record.
    Delete {
        /// Of this kind.
        kind: Kind,
        /// Which record.
        id: Uuid,
        /// Only if the record still has one of these revisions.
        guard: Guard,
    },
}

/// The condition of a write: `If-Match` (RFC 9110 13.1.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Guard {
    /// None was sent.
    #[default]
    Absent,
    /// `*`: the record exists.
    Exists,
    /// The record's revision is one of these. An empty list never holds.
    Revs(Vec<i64>),
}

impl Guard {
    /// Whether a record at this revision passes.
    pub fn admits(&self, rev: i64) -> bool {
        match self {
            Guard::Absent | Guard::Exists => true,
            Guard::Revs(revs) => revs.contains(&rev),
        }
    }
}
