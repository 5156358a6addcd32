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
        /// Only under these conditions.
        guard: Guard,
    },
    /// Remove a record.
    Delete {
        /// Of this kind.
        kind: Kind,
        /// Which record.
        id: Uuid,
        /// Only under these conditions.
        guard: Guard,
    },
}

/// The conditions of a write, each of which must hold if it was sent (RFC 9110 13.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Guard {
    /// `If-Match`: the record exists at one of these.
    pub only: Option<Revs>,
    /// `If-None-Match`: the record exists at none of these.
    pub unless: Option<Revs>,
}

/// Revisions that a condition names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revs {
    /// `*`: whichever it is.
    Any,
    /// These. No record is at one of an empty list.
    These(Vec<i64>),
}

impl Revs {
    /// Whether a revision is one of these.
    pub fn have(&self, rev: i64) -> bool {
        match self {
            Revs::Any => true,
            Revs::These(revs) => revs.contains(&rev),
        }
    }
}

impl Guard {
    /// Whether a record at this revision passes. None: it does not exist.
    pub fn admits(&self, rev: Option<i64>) -> bool {
        let is_one = |revs: &Revs| rev.is_some_and(|rev| revs.have(rev));
        self.only.as_ref().is_none_or(is_one) && !self.unless.as_ref().is_some_and(is_one)
    }
}
