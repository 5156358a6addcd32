//! Buffers answers of a reconcile, to write several of them in one transaction. What each transaction changes in the indexes is
//! then written once. Must not write.
//!
//! The core counts a buffered answer as saved. The owner must therefore write the buffer before any action that reads or
//! writes the database, and drop the buffer after a failed write: the reconcile then continues from the state on disk.

use crate::model::{ReconcileQuery, ReconcileResponse, ReconcileStep};

/// Ids and records in the buffer: ten pages. A page of the server has at most 4 MiB.
const ENTRIES_MAX: usize = 1000;

/// Answers to queries of a reconcile in their order, and the step after the last one.
#[derive(Debug)]
pub(super) struct UnwrittenPages {
    pub pages: Vec<(ReconcileQuery, ReconcileResponse)>,
    pub next_step: ReconcileStep,
}

impl UnwrittenPages {
    /// Whether the write may wait for the next answer: that answer does not depend on the write.
    pub(super) fn may_wait(&self) -> bool {
        let next_is_list = matches!(
            self.next_step,
            ReconcileStep::Changes { .. } | ReconcileStep::Ids { .. } | ReconcileStep::Deletions { .. }
        );
        let entries = |found: &ReconcileResponse| found.ids.len() + found.records.len() + found.deletions.len();
        next_is_list && self.pages.iter().map(|(_, found)| entries(found)).sum::<usize>() < ENTRIES_MAX
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
    fn pages_wait_for_the_next_list() {
        let next_page = ReconcileStep::Changes { kind: Kind::Room, cursor: Some("b".to_owned()) };
        assert!(may_wait(&[100], next_page.clone()));
        assert!(
            may_wait(&[100, 7], ReconcileStep::Changes { kind: Kind::Inventory, cursor: None }),
            "other collection"
        );
        assert!(may_wait(&[100, 7], ReconcileStep::Deletions { cursor: None }));
        assert!(!may_wait(&[500, 500], next_page), "the buffer is full");
    }

    #[test]
    fn pages_do_not_wait_for_a_step_on_the_database() {
        for step in [
            ReconcileStep::Records { kind: Kind::Room, as_of: 5 },
            ReconcileStep::Sweep { kind: Kind::Room, as_of: 5 },
            ReconcileStep::Done,
        ] {
            assert!(!may_wait(&[1], step));
        }
    }
}
