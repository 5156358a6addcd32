//! What a screen wants to see that takes more than one question to the replica: a record in full, names of what values point
//! at, names that match a few letters. Reads only.

use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECTS};
use hearth_replica::{Replica, RowQuery, Sort, StoreError};
use serde_json::Value;

use crate::state::detail::{CHANGES_MAX, Full, RELATED_MAX};
use crate::typed::fuzzy;
use crate::words::Names;

/// More names than this are not offered but typed on.
const TITLES_MAX: usize = 50;

/// More names than this are not looked through.
const NAMES_MAX: usize = 200_000;

/// More names than this are not looked up for one screen.
const POINTED_MAX: usize = 200;

pub(super) fn full(replica: &Replica, kind: Kind, id: &str) -> Result<Option<Full>, StoreError> {
    let Some(row) = replica.row(kind, id)? else { return Ok(None) };
    let related = replica.related(kind, &row.id, RELATED_MAX)?;
    let changes = replica.changes(kind, &row.id, CHANGES_MAX)?;
    let names = names(
        replica,
        changes.iter().flat_map(|change| {
            let values = change.patch.iter().chain(&change.base);
            values.map(|(name, value)| (kind, name.as_str(), value))
        }),
    );
    Ok(Some(Full { row, related, changes, names }))
}

/// The names of what values point at: fields of kinds with their values. What is not here has none.
pub(super) fn names<'a>(replica: &Replica, values: impl Iterator<Item = (Kind, &'a str, &'a Value)>) -> Names {
    let mut names = Names::new();
    for (kind, name, value) in values {
        let targets: &[Kind] = match resource(kind).field(name).map(|field| field.format) {
            Some(Format::Reference(Kind::Room)) => &[Kind::Room],
            Some(Format::Reference(_) | Format::Subject) => &SUBJECTS,
            _ => continue,
        };
        let Some(id) = value.as_str().filter(|id| !names.contains_key(*id)) else { continue };
        if names.len() == POINTED_MAX {
            break;
        }
        let found = targets.iter().find_map(|target| replica.row(*target, id).ok().flatten());
        if let Some(row) = found {
            names.insert(id.to_owned(), row.title);
        }
    }
    names
}

/// The names of some kinds that match a few letters, best first.
pub(super) fn titles(
    replica: &Replica,
    kinds: &[Kind],
    words: &str,
) -> Result<Vec<(Kind, String, String)>, StoreError> {
    let most = if words.trim().is_empty() { TITLES_MAX / kinds.len().max(1) } else { NAMES_MAX };
    let mut all = Vec::new();
    for kind in kinds {
        all.extend(replica.titles(*kind, "", most)?.into_iter().map(|(id, title)| (*kind, id, title)));
    }
    let best = fuzzy::best(words, all.iter().map(|(_, _, title)| title));
    Ok(best.into_iter().take(TITLES_MAX).map(|at| all[at].clone()).collect())
}

/// What a part of a name means most likely: a thing, a vehicle or a room. Of several that match alike, the shortest.
pub(super) fn about(replica: &Replica, words: &str) -> Option<(Kind, String, String)> {
    let found = [Kind::Room, Kind::Vehicle, Kind::Inventory]
        .into_iter()
        .filter_map(|kind| titles(replica, &[kind], words).ok()?.into_iter().next());
    let rank = |title: &str| {
        let (title, words) = (title.to_lowercase(), words.to_lowercase());
        (!title.split_whitespace().any(|word| word.starts_with(&words)), title.len())
    };
    found.min_by_key(|(_, _, title)| rank(title))
}

/// How many records there are of each kind. A kind that cannot be counted is left out; its page will say why.
pub(super) fn counts(replica: &Replica) -> Vec<(Kind, usize)> {
    let count = |kind: Kind| {
        let sort = Sort { column: "updated_at", descending: false };
        let page = replica.rows(&RowQuery::all(kind, sort, 0));
        page.ok().map(|page| (kind, page.total))
    };
    Kind::COLLECTIONS.into_iter().filter_map(count).collect()
}
