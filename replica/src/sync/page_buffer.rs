//! Buffers pages of a list of a reconcile, to write several of them in one transaction. What each transaction changes in the
//! indexes is then written once. Must not write.
//!
//! The core counts a buffered page as saved. The owner must therefore write the buffer before any action that reads or
//! writes the database, and drop the buffer after a failed write: the reconcile then continues from the state on disk.

use crate::model::{ReconcileQuery, ReconcileResponse, ReconcileStep};

/// Ids and records in the buffer: ten pages. A page of the server has at most 4 MiB.
const ENTRIES_MAX: usize = 1000;

/// Answers to the queries of a list in their order, and the step after the last one.
#[derive(Debug)]
pub(super) struct UnwrittenPages {
    pub pages: Vec<(ReconcileQuery, ReconcileResponse)>,
    pub next_step: ReconcileStep,
}

impl UnwrittenPages {
    /// Whether the write may wait for the next answer: it is the next page of the same list. The end of a list is written at
    /// once, so that a reconcile that is cut off goes on with the next list.
    pub(super) fn may_wait(&self) -> bool {
        let is_same_list = matches!(
            self.next_step,
            ReconcileStep::Changes { cursor: Some(_), .. }
                | ReconcileStep::Ids { cursor: Some(_), .. }
                | ReconcileStep::Deletions { cursor: Some(_) }
        );
        let entries = |found: &ReconcileResponse| found.ids.len() + found.records.len() + found.deletions.len();
        is_same_list && self.pages.iter().map(|(_, found)| entries(found)).sum::<usize>() < ENTRIES_MAX
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;
    use hearth_contract::schema::Kind;

    use super::*;

    fn page(records: usize) -> (ReconcileQuery, ReconcileResponse) {
        let found = ReconcileResponse { records: vec![Fields::new(); records], ..ReconcileResponse::default() };
        (ReconcileQuery::List { kind: Kind::Room, since: None, cursor: None }, found)
    }

    fn may_wait(records: &[usize], next_step: ReconcileStep) -> bool {
        UnwrittenPages { pages: records.iter().map(|records| page(*records)).collect(), next_step }.may_wait()
    }

    #[test]
    fn pages_wait_for_the_next_page() {
        let next_page = ReconcileStep::Changes { kind: Kind::Room, cursor: Some("b".to_owned()) };
        assert!(may_wait(&[100], next_page.clone()));
        assert!(may_wait(&[100], ReconcileStep::Deletions { cursor: Some("b".to_owned()) }));
        assert!(!may_wait(&[500, 500], next_page), "the buffer is full");
    }

    #[test]
    fn end_of_a_list_does_not_wait() {
        for step in [
            ReconcileStep::Changes { kind: Kind::Inventory, cursor: None },
            ReconcileStep::Ids { kind: Kind::Room, cursor: None, as_of: None },
            ReconcileStep::Deletions { cursor: None },
            ReconcileStep::Records { kind: Kind::Room, as_of: 5 },
            ReconcileStep::Sweep { kind: Kind::Room, as_of: 5 },
            ReconcileStep::Done,
        ] {
            assert!(!may_wait(&[1], step));
        }
    }
}
