//! What is read for people and scripts: lists, records, figures, answers to questions. Must not write.
//!
//! - [`view`], [`page`] with [`filter`], [`related`], [`overview`]: what screens read.
//! - [`find`], [`why`], [`query`], [`tally`]: what commands read.

pub(crate) mod filter;
pub(crate) mod find;
pub(crate) mod overview;
pub(crate) mod page;
pub(crate) mod query;
pub(crate) mod related;
pub(crate) mod tally;
pub(crate) mod view;
pub(crate) mod why;

use rusqlite::Connection;

use crate::store::StoreError;

/// Runs reads that belong together: all of them see what the first of them sees.
pub(crate) fn at_one_moment<T, E: From<StoreError>>(
    connection: &Connection,
    reads: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    // It ends when it is dropped, whatever came of the reads.
    let _moment = connection.unchecked_transaction().map_err(StoreError::from)?;
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
    fn what_is_read_at_one_moment_holds_nothing_that_others_write_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let [replica, other] = [Origin::Tui, Origin::Cli].map(|origin| Replica::open(&db, origin).unwrap());
        let room = |name: &str| Fields::from_iter([("name".to_owned(), name.into())]);
        let query = RowQuery::of(Kind::Room, Sort { column: "name", descending: false }, 9);
        let number = |replica: &Replica| replica.rows(&query).map(|page| page.total);
        let seen = replica.in_snapshot(|replica| {
            let before = number(replica)?;
            other.create(Kind::Room, &room("Hall"))?;
            Ok::<_, EditError>((before, number(replica)?))
        });
        assert_eq!(seen.unwrap(), (0, 0));
        assert_eq!(number(&replica).unwrap(), 1, "the moment is over");
        let failed: Result<(), StoreError> = replica.in_snapshot(|replica| {
            number(replica)?;
            Err(StoreError::Odd("a failure".to_owned()))
        });
        assert!(failed.is_err());
        other.create(Kind::Room, &room("Attic")).unwrap();
        assert_eq!(number(&replica).unwrap(), 2, "a failure ends it too");
        let changed = replica.in_snapshot(|replica| replica.create(Kind::Room, &room("Shed")));
        assert!(matches!(changed, Err(EditError::Store(_))), "{changed:?}");
        replica.create(Kind::Room, &room("Shed")).unwrap();
    }
}
