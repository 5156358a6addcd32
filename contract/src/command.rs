//! Commands: the changes that clients ask for. A committed command becomes an event (`event`). Must not know records, HTTP
//! or storage.

use uuid::Uuid;

use crate::check::CheckedBody;
use crate::schema::Kind;

/// One change of one record. The body is already checked. A command may carry faults, because the server checks
/// existence and preconditions before fields (contract 4).
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Create a record.
    Create {
        /// The kind of the record; a collection, never the profile.
        kind: Kind,
        /// The fields, and the id if the client chose one.
        body: CheckedBody,
    },
    /// Merge fields into a record (RFC 7396), or set the profile.
    Update {
        /// The kind of the record.
        kind: Kind,
        /// The id of the record. None for the profile, whose id is the home's id.
        id: Option<Uuid>,
        /// The fields to merge.
        body: CheckedBody,
        /// The preconditions of the write.
        preconditions: Preconditions,
    },
    /// Delete a record.
    Delete {
        /// The kind of the record.
        kind: Kind,
        /// The id of the record.
        id: Uuid,
        /// The preconditions of the write.
        preconditions: Preconditions,
    },
}

/// The preconditions of a write (RFC 9110 13.1). Each must hold, if present.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preconditions {
    /// `If-Match`: the record exists, at one of these revisions.
    pub if_match: Option<RevMatch>,
    /// `If-None-Match`: the record does not exist at any of these revisions.
    pub if_none_match: Option<RevMatch>,
}

/// The revisions that a precondition names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevMatch {
    /// `*`: any revision.
    Any,
    /// One of these revisions. An empty list matches no record.
    OneOf(Vec<i64>),
}

impl RevMatch {
    /// Whether the precondition names a revision.
    pub fn matches(&self, rev: i64) -> bool {
        match self {
            RevMatch::Any => true,
            RevMatch::OneOf(revs) => revs.contains(&rev),
        }
    }
}

impl Preconditions {
    /// Whether a write to a record at this revision is allowed. `rev` None: the record does not exist.
    pub fn admits(&self, rev: Option<i64>) -> bool {
        let matches = |revs: &RevMatch| rev.is_some_and(|rev| revs.matches(rev));
        self.if_match.as_ref().is_none_or(matches) && !self.if_none_match.as_ref().is_some_and(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preconditions_admit_matching_revisions() {
        let listed = |revs: &[i64]| Some(RevMatch::OneOf(revs.to_vec()));
        for (if_match, if_none_match, rev, admitted) in [
            (None, None, None, true),
            (None, None, Some(3), true),
            (Some(RevMatch::Any), None, Some(3), true),
            (Some(RevMatch::Any), None, None, false),
            (listed(&[2, 3]), None, Some(3), true),
            (listed(&[2]), None, Some(3), false),
            (listed(&[]), None, Some(3), false),
            (None, Some(RevMatch::Any), None, true),
            (None, Some(RevMatch::Any), Some(3), false),
            (None, listed(&[3]), Some(4), true),
            (listed(&[3]), listed(&[3]), Some(3), false),
        ] {
            let preconditions = Preconditions { if_match, if_none_match };
            assert_eq!(preconditions.admits(rev), admitted, "{preconditions:?} at {rev:?}");
        }
    }
}
