//! Buffers pages of a list, of ids or of changed records, to write several pages in one transaction. What each transaction changes
//! in the indexes is then written once. Must not write.
//!
//! The core counts a buffered page as saved. The owner must therefore write the buffer before any other action, and drop
//! the buffer after a failed write: the list then continues from the state on disk.

use crate::model::{ReconcileQuery, ReconcileResponse, ReconcileStep};

/// Ids in the buffer: ten pages.
const IDS_MAX: usize = 1000;
/// Records in the buffer: five pages. A page of the server has at most 4 MiB.
const RECORDS_MAX: usize = 500;

/// The response to a query of a reconcile, and the next step.
#[derive(Debug)]
pub(super) struct QueryResponse {
    pub query: ReconcileQuery,
    pub found: ReconcileResponse,
    pub next_step: ReconcileStep,
}

impl QueryResponse {
    /// Whether the write may wait for the next page.
    pub(super) fn may_wait(&self) -> bool {
        let goes_on = matches!(
            (&self.query, &self.next_step),
            (
                ReconcileQuery::Ids { .. } | ReconcileQuery::AllRecords { .. },
                ReconcileStep::Ids { cursor: Some(_), .. }
            ) | (ReconcileQuery::Changes { .. }, ReconcileStep::Changes { cursor: Some(_), .. })
        );
        goes_on && self.found.ids.len() < IDS_MAX && self.found.records.len() < RECORDS_MAX
    }

    /// Appends the next page.
    pub(super) fn extend(&mut self, next: QueryResponse) {
        self.found.ids.extend(next.found.ids);
        self.found.records.extend(next.found.records);
        self.found.next_cursor = next.found.next_cursor;
        self.found.as_of = self.found.as_of.max(next.found.as_of);
        self.next_step = next.next_step;
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;
    use hearth_contract::schema::Kind;

    use uuid::Uuid;

    use super::*;
    use crate::model::ListedId;

    fn page(cursor: Option<&str>, next_step: ReconcileStep, as_of: i64) -> QueryResponse {
        let found = ReconcileResponse {
            ids: vec![ListedId { id: Uuid::nil(), rev: 1 }],
            as_of,
            ..ReconcileResponse::default()
        };
        let query = ReconcileQuery::Ids { kind: Kind::Room, cursor: cursor.map(str::to_owned) };
        QueryResponse { query, found, next_step }
    }

    #[test]
    fn pages_wait_until_the_list_ends() {
        let more =
            |cursor: &str| ReconcileStep::Ids { kind: Kind::Room, cursor: Some(cursor.to_owned()), as_of: Some(5) };
        let mut buffer = page(None, more("b"), 5);
        assert!(buffer.may_wait());
        buffer.extend(page(Some("b"), more("c"), 9));
        assert!(buffer.may_wait());
        buffer.extend(page(Some("c"), ReconcileStep::Records { kind: Kind::Room, as_of: 5 }, 7));
        assert!(!buffer.may_wait());
        assert_eq!((buffer.found.ids.len(), buffer.found.as_of), (3, 9));
        assert_eq!(buffer.query, ReconcileQuery::Ids { kind: Kind::Room, cursor: None }, "the query of the first page");
    }
    #[test]
    fn changed_records_wait_until_their_collection_ends() {
        let since = "2026-01-01T00:00:00.000Z".to_owned();
        let changes = |kind, cursor: Option<&str>| ReconcileStep::Changes { kind, cursor: cursor.map(str::to_owned) };
        let page = |next_step, records| QueryResponse {
            query: ReconcileQuery::Changes { kind: Kind::Room, since: since.clone(), cursor: None },
            found: ReconcileResponse { records: vec![Fields::new(); records], ..ReconcileResponse::default() },
            next_step,
        };
        let mut buffer = page(changes(Kind::Room, Some("b")), 100);
        assert!(buffer.may_wait());
        buffer.extend(page(changes(Kind::Inventory, None), 7));
        assert!(!buffer.may_wait(), "the next page is of another collection");
        assert_eq!(buffer.found.records.len(), 107);
        assert!(!page(changes(Kind::Room, Some("b")), RECORDS_MAX).may_wait());
        let ids = |cursor: Option<&str>| ReconcileStep::Ids {
            kind: Kind::Room,
            cursor: cursor.map(str::to_owned),
            as_of: Some(5),
        };
        let all = |next_step| QueryResponse {
            query: ReconcileQuery::AllRecords { kind: Kind::Room, cursor: None },
            ..page(next_step, 100)
        };
        assert!(all(ids(Some("b"))).may_wait());
        assert!(!all(ids(None)).may_wait(), "the list starts again");
    }
}
