//! An edit that the server may have lost. Must not know why.

use hearth_contract::schema::Kind;
use rusqlite::{Params, Transaction};

use crate::store::StoreError;

/// An edit that the server may have lost.
pub(super) struct Lost {
    pub edit: i64,
    pub kind: Kind,
    pub record: String,
}

/// The edits that a statement gives as number, kind and record id.
pub(super) fn candidates(tx: &Transaction<'_>, text: &str, values: impl Params) -> Result<Vec<Lost>, StoreError> {
    let mut statement = tx.prepare_cached(text)?;
    let found = statement.query_map(values, |row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?)))?;
    let mut all = Vec::new();
    for one in found {
        let (edit, word, record) = one?;
        all.extend(Kind::parse(&word).map(|kind| Lost { edit, kind, record }));
    }
    Ok(all)
}
