//! Finding records the way a command line names them: by the beginning of an id. Must not write.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, named_params};

use crate::store::StoreError;

/// Characters of an id that a person must type at least: fewer are rarely meant.
pub const ID_PREFIX_MIN: usize = 4;
/// Characters of an id that are shown at least.
const ID_SHOWN_MIN: usize = 8;
/// Candidates that are named when an id is ambiguous.
const CANDIDATES_MAX: usize = 5;

/// What the beginning of an id stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One record.
    One(Kind, String),
    /// Several; some of them.
    Many(Vec<(Kind, String)>),
    /// None.
    Nothing,
}

/// The record whose id begins so. `also_gone` looks among records too that only edits or the server's deletes tell of.
pub(crate) fn by_id(
    connection: &Connection,
    prefix: &str,
    kinds: &[Kind],
    also_gone: bool,
) -> Result<Found, StoreError> {
    let prefix = prefix.to_ascii_lowercase();
    let typed = prefix.len() >= ID_PREFIX_MIN && prefix.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if !typed {
        return Ok(Found::Nothing);
    }
    let mut found = Vec::new();
    for kind in kinds {
        let table = kind.collection();
        let mut text = format!("SELECT id FROM {table} WHERE id >= :from AND id < :from || 'g' AND :kind IS NOT NULL");
        if also_gone {
            for (table, id) in [("edits", "record_id"), ("edit_history", "record_id"), ("_tombstones", "record_id")] {
                text.push_str(&format!(
                    " UNION SELECT {id} FROM {table} WHERE kind = :kind AND {id} >= :from AND {id} < :from || 'g'"
                ));
            }
        }
        let mut statement = connection.prepare_cached(&format!("{text} LIMIT {CANDIDATES_MAX}"))?;
        let ids = statement
            .query_map(named_params! { ":from": prefix, ":kind": kind.as_str() }, |row| row.get::<_, String>(0))?;
        for id in ids {
            found.push((*kind, id?));
        }
    }
    Ok(match found.len() {
        0 => Found::Nothing,
        1 => found.pop().map_or(Found::Nothing, |(kind, id)| Found::One(kind, id)),
        _ => {
            found.truncate(CANDIDATES_MAX);
            Found::Many(found)
        }
    })
}

/// How much of each id is enough to name it, in the same order.
pub(crate) fn short_ids(connection: &Connection, ids: &[&str]) -> Result<Vec<String>, StoreError> {
    // The ids next to it in order share the longest beginning with it.
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
