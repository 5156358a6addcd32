//! Lines for `sync_log` about records that the server no longer has, with their number and titles. Must not delete
//! records.

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::Transaction;

use crate::store::{StoreError, rows, select};

/// Titles in a line at most.
const NAMED_MAX: usize = 20;

/// A line about a collection, written before the records are deleted from the replica. `gone`: the ids; `of`: the
/// number of known records. `restored`: true when the server was restored and no person deleted the records.
pub(super) fn deleted_in_collection(
    tx: &Transaction<'_>,
    kind: Kind,
    gone: &[&str],
    of: i64,
    restored: bool,
) -> Result<String, StoreError> {
    let titles = gone.iter().take(NAMED_MAX).map(|id| title(tx, kind, id)).collect::<Result<Vec<_>, _>>()?;
    let titles: Vec<String> = titles.into_iter().flatten().collect();
    let more = if titles.len() < gone.len() { " and more" } else { "" };
    let named = if titles.is_empty() { String::new() } else { format!(": {}{more}", titles.join(", ")) };
    let (number, collection) = (gone.len(), kind.collection());
    Ok(match (restored, number) {
        (true, _) => format!("The server was put back and no longer has {number} of {of} {collection}{named}."),
        (false, 1) => format!("1 of {of} {collection} was deleted on the server{named}."),
        (false, _) => format!("{number} of {of} {collection} were deleted on the server{named}."),
    })
}

/// A line about all collections, after the reconcile. `gone`: the number of deleted records. `offers`: true when lost
/// edits are offered again. Records that lost edits create do not count as missing. `only_changes`: true when the rest was
/// not compared.
pub(super) fn reconcile_done(gone: i64, restored: bool, offers: bool, only_changes: bool) -> String {
    let words = match (restored, gone) {
        (true, 0) if offers => {
            "no record is missing on the server except the records that are offered again".to_owned()
        }
        (true, 0) => "no record is missing on the server".to_owned(),
        (true, _) => format!("it no longer has {}", records(gone)),
        (false, 0) => "nothing was deleted on the server".to_owned(),
        (false, 1) => "1 record was deleted on the server".to_owned(),
        (false, _) => format!("{} were deleted on the server", records(gone)),
    };
    let what =
        if only_changes { "All changes on the server are read" } else { "Everything is compared with the server" };
    format!("{what}; {words}.")
}

fn records(number: i64) -> String {
    if number == 1 { "1 record".to_owned() } else { format!("{number} records") }
}

/// The title of a record, from its row or its base image.
fn title(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<Option<String>, StoreError> {
    if let Some(title) = rows::stored_title(tx, kind, id)? {
        return Ok(Some(title));
    }
    let name = resource(kind).title;
    let text = "SELECT json_extract(fields, '$.' || ?3) FROM _base WHERE kind = ?1 AND record_id = ?2";
    select::first(tx, text, (kind.as_str(), id, name))
}
