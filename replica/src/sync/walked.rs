//! Pages of a walk over ids, gathered so that many are written at once. Must not write them itself.
//!
//! What is gathered is behind what the core knows, so whoever holds it writes it before anything else, and lets go of it
//! when that fails: the walk then goes on from what is on disk.

use crate::model::{ReconcileQuery, ReconcileResponse, ReconcileStep};

/// Ids that are gathered: ten pages.
const IDS_MAX: usize = 1000;

/// An answer of a recovery, to be written with the progress that it makes.
#[derive(Debug)]
pub(super) struct Kept {
    pub question: ReconcileQuery,
    pub found: ReconcileResponse,
    pub then: ReconcileStep,
}

impl Kept {
    /// Whether it may wait for the pages that follow it.
    pub(super) fn may_wait(&self) -> bool {
        matches!((&self.question, &self.then), (ReconcileQuery::Ids { .. }, ReconcileStep::Ids { .. }))
            && self.found.ids.len() < IDS_MAX
    }

    /// Lays the page after this one to it.
    pub(super) fn extend(&mut self, next: Kept) {
        self.found.ids.extend(next.found.ids);
        self.found.next_cursor = next.found.next_cursor;
        self.found.as_of = self.found.as_of.max(next.found.as_of);
        self.then = next.then;
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::schema::Kind;

    use uuid::Uuid;

    use super::*;
    use crate::model::ListedId;

    fn page(cursor: Option<&str>, then: ReconcileStep, as_of: i64) -> Kept {
        let found = ReconcileResponse {
            ids: vec![ListedId { id: Uuid::nil(), rev: 1 }],
            as_of,
            ..ReconcileResponse::default()
        };
        Kept { question: ReconcileQuery::Ids { kind: Kind::Room, cursor: cursor.map(str::to_owned) }, found, then }
    }

    #[test]
    fn pages_wait_until_their_walk_ends() {
        let more = |cursor: &str| ReconcileStep::Ids { kind: Kind::Room, cursor: Some(cursor.to_owned()), as_of: 5 };
        let mut kept = page(None, more("b"), 5);
        assert!(kept.may_wait());
        kept.extend(page(Some("b"), more("c"), 9));
        assert!(kept.may_wait());
        kept.extend(page(Some("c"), ReconcileStep::Records { kind: Kind::Room, as_of: 5 }, 7));
        assert!(!kept.may_wait());
        assert_eq!((kept.found.ids.len(), kept.found.as_of), (3, 9));
        assert_eq!(kept.question, ReconcileQuery::Ids { kind: Kind::Room, cursor: None }, "the walk begins with it");
    }
}
