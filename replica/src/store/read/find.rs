//! Finds records by the beginning of an id, as people type ids on a command line. Must not write.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, named_params};

use crate::store::{StoreError, select};

/// The fewest characters of an id that a person must type. Fewer are usually not meant as an id.
pub const ID_PREFIX_MIN: usize = 4;
/// The fewest characters of an id that are shown.
const ID_SHOWN_MIN: usize = 8;
/// The most candidates that are named when an id is ambiguous.
const CANDIDATES_MAX: usize = 5;

/// The kinds and ids of the records whose id begins with `prefix`, at most [`CANDIDATES_MAX`].
/// `include_deleted` also finds records without a row: those of edits, of the history and of tombstones.
pub(crate) fn find_by_prefix(
    connection: &Connection,
    prefix: &str,
    kinds: &[Kind],
    include_deleted: bool,
) -> Result<Vec<(Kind, String)>, StoreError> {
    let prefix = prefix.to_ascii_lowercase();
    let is_prefix = prefix.len() >= ID_PREFIX_MIN && prefix.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if !is_prefix {
        return Ok(Vec::new());
    }
    let mut matches = Vec::new();
    for kind in kinds {
        let table = kind.collection();
        let mut text = format!("SELECT id FROM {table} WHERE id >= :from AND id < :from || 'g' AND :kind IS NOT NULL");
        if include_deleted {
            for table in ["edits", "edit_history", "_base"] {
                text.push_str(&format!(
                    " UNION SELECT record_id FROM {table}
                      WHERE kind = :kind AND record_id >= :from AND record_id < :from || 'g'"
                ));
            }
        }
        let of = named_params! { ":from": prefix, ":kind": kind.as_str() };
        let ids: Vec<String> = select::column(connection, &format!("{text} LIMIT {CANDIDATES_MAX}"), of)?;
        matches.extend(ids.into_iter().map(|id| (*kind, id)));
    }
    matches.truncate(CANDIDATES_MAX);
    Ok(matches)
}

/// The shortest unambiguous beginning of each id, in the same order.
pub(crate) fn short_ids(connection: &Connection, ids: &[&str]) -> Result<Vec<String>, StoreError> {
    // Of all ids, the two neighbours in sort order share the longest beginning with an id.
    let next = |edge: &str, side: &str| {
        let all =
            Kind::ALL.map(|kind| format!("SELECT {edge}(id) AS id FROM {} WHERE id {side} ?1", kind.collection()));
        format!("SELECT {edge}(id) FROM ({})", all.join(" UNION ALL "))
    };
    let mut before = connection.prepare_cached(&next("max", "<"))?;
    let mut after = connection.prepare_cached(&next("min", ">"))?;
    let mut short = Vec::with_capacity(ids.len());
    for id in ids {
        let mut needed = ID_SHOWN_MIN;
        for statement in [&mut before, &mut after] {
            if let Some(other) = statement.query_row([id], |row| row.get::<_, Option<String>>(0))? {
                let shared = id.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
                needed = needed.max(shared + 1);
            }
        }
        short.push(id.chars().take(needed).collect());
    }
    Ok(short)
}
