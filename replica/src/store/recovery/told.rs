//! What is said of records that are gone from the server: how many somebody loses by it, and which, by their titles. Must
//! not end any.

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::{OptionalExtension, Transaction};

use crate::store::{StoreError, rows};

/// Titles that one line names at most.
const NAMED_MAX: usize = 20;

/// Of a collection, before they go. An older copy of the server lacks what nobody has deleted.
pub(super) fn of_collection(
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
        (false, 1) => format!("1 of {of} {collection} was deleted there{named}."),
        (false, _) => format!("{number} of {of} {collection} were deleted there{named}."),
    })
}

/// Of all of them, once everything is compared. `offers`: edits that the server has lost are offered again, and records that
/// they make are not among these.
pub(super) fn at_the_end(gone: i64, restored: bool, offers: bool) -> String {
    let words = match (restored, gone) {
        (true, 0) if offers => "no record is missing there but what is offered again".to_owned(),
        (true, 0) => "no record is missing there".to_owned(),
        (true, _) => format!("it no longer has {}", records(gone)),
        (false, 0) => "nothing was deleted there".to_owned(),
        (false, 1) => "1 record was deleted there".to_owned(),
        (false, _) => format!("{} were deleted there", records(gone)),
    };
    format!("Everything is compared with the server; {words}.")
}

/// Of all of them, once everything is read again. Why they are not there, that does not tell.
pub(super) fn read_again(gone: i64) -> String {
    let words = match gone {
        0 => "no record is missing there".to_owned(),
        1 => "1 record is not there any more".to_owned(),
        _ => format!("{} are not there any more", records(gone)),
    };
    format!("Everything is read again; {words}.")
}

fn records(number: i64) -> String {
    if number == 1 { "1 record".to_owned() } else { format!("{number} records") }
}

/// What a record is called: as it is shown, or as the server had it.
fn title(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<Option<String>, StoreError> {
    let name = resource(kind).title;
    if let Some(stored) = rows::load_row(tx, kind, id)? {
        return Ok(stored.fields.get(name).and_then(|title| title.as_str()).map(str::to_owned));
    }
    let text = "SELECT json_extract(fields, '$.' || ?3) FROM _base WHERE kind = ?1 AND record_id = ?2";
    Ok(tx.prepare_cached(text)?.query_row((kind.as_str(), id, name), |row| row.get(0)).optional()?.flatten())
}
