//! Reads for people and scripts: lists, records, figures, search. Must not write.
//!
//! - For screens: [`view`] (records and search), [`page`] and [`totals`] with [`filter`] (lists), [`related`], [`overview`] of [`days`].
//! - For commands: [`find`], [`why`], [`query`], [`counts`].

mod by_room;
pub(crate) mod counts;
pub(crate) mod days;
pub(crate) mod filter;
pub(crate) mod find;
pub(crate) mod overview;
pub(crate) mod page;
pub(crate) mod query;
pub(crate) mod related;
pub(crate) mod totals;
pub(crate) mod view;
pub(crate) mod why;

use rusqlite::Connection;

use crate::store::StoreError;

/// SQL: true once this home has a server. Before that no edit waits for a server.
pub(crate) const HAS_SERVER: &str = "(SELECT phase <> 'local' FROM _sync)";

/// Runs several reads on one snapshot of the database: none of them sees a later commit.
pub(crate) fn at_one_moment<T, E: From<StoreError>>(
    connection: &Connection,
    reads: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    // Dropping the transaction ends it, also after a failed read.
    let _snapshot = connection.unchecked_transaction().map_err(StoreError::from)?;
    reads()
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;
    use hearth_contract::schema::Kind;

    use super::*;
    use crate::store::read::view::{RowQuery, Sort};
    use crate::{EditError, Origin, Replica};

    #[test]
    fn reads_at_one_moment_share_a_snapshot() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let [replica, other] = [Origin::Tui, Origin::Cli].map(|origin| Replica::open(&db, origin).unwrap());
        let room = |name: &str| Fields::from_iter([("name".to_owned(), name.into())]);
        let query = RowQuery::all(Kind::Room, Sort { column: "name", descending: false }, 9);
        let number = |replica: &Replica| replica.rows(&query).map(|page| page.total);
        let seen = replica.in_snapshot(|replica| {
            let before = number(replica)?;
            other.create(Kind::Room, &room("Hall"))?;
            Ok::<_, EditError>((before, number(replica)?))
        });
        assert_eq!(seen.unwrap(), (0, 0));
        assert_eq!(number(&replica).unwrap(), 1, "the snapshot has ended");
        let failed: Result<(), StoreError> = replica.in_snapshot(|replica| {
            number(replica)?;
            Err(StoreError::Unexpected("a failure".to_owned()))
        });
        assert!(failed.is_err());
        other.create(Kind::Room, &room("Attic")).unwrap();
        assert_eq!(number(&replica).unwrap(), 2, "a failure ends the snapshot too");
        let changed = replica.in_snapshot(|replica| replica.create(Kind::Room, &room("Shed")));
        assert!(matches!(changed, Err(EditError::Store(_))), "{changed:?}");
        replica.create(Kind::Room, &room("Shed")).unwrap();
    }
}
