//! Queries that need several reads of the replica: a full record, titles of referenced records, titles that match some
//! letters. Must not write.

use std::collections::BTreeMap;

use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECTS};
use hearth_replica::{Capture, CaptureState, Conflict, Edit, Replica, RowQuery, Sort, StoreError};
use serde_json::Value;

use crate::parse::matching::{Query, rank_matches};
use crate::state::detail::{CHANGES_MAX, FullRecord, RELATED_MAX};
use crate::state::inbox::KnownRecords;
use crate::words::Names;

/// The most titles that a field offers.
const OFFERED_TITLES_MAX: usize = 50;

/// The most titles that are compared with the typed letters.
const COMPARED_TITLES_MAX: usize = 200_000;

/// The most names of persons that quick add knows.
const ASSIGNEES_MAX: usize = 1_000;

/// The most referenced records whose titles one screen shows.
const REFERENCES_MAX: usize = 200;

/// A record with related records, changes, and titles of the records in the values of the changes. None: the record does
/// not exist.
pub(super) fn full_record(replica: &Replica, kind: Kind, id: &str) -> Result<Option<FullRecord>, StoreError> {
    let Some(row) = replica.row(kind, id)? else { return Ok(None) };
    let related = replica.related(kind, &row.id, RELATED_MAX)?;
    let changes = replica.changes(kind, &row.id, CHANGES_MAX)?;
    let names = referenced_names(
        replica,
        changes.iter().flat_map(|change| {
            let values = change.patch.iter().chain(&change.base);
            values.map(|(name, value)| (kind, name.as_str(), value))
        }),
    );
    Ok(Some(FullRecord { row, related, changes, names }))
}

/// The pending edits, and titles of the records in the values of the edits.
pub(super) fn edits_with_names(replica: &Replica) -> Result<(Vec<Edit>, Names), StoreError> {
    let edits = replica.edits()?;
    let names = referenced_names(
        replica,
        edits.iter().flat_map(|edit| {
            let values = edit.patch.iter().chain(&edit.base);
            values.map(|(name, value)| (edit.kind, name.as_str(), value))
        }),
    );
    Ok((edits, names))
}

/// The conflicts, and titles of the records in the values of the conflicts.
pub(super) fn conflicts_with_names(replica: &Replica) -> Result<(Vec<Conflict>, Names), StoreError> {
    let conflicts = replica.conflicts()?;
    let names = referenced_names(
        replica,
        conflicts.iter().flat_map(|conflict| {
            let values = [&conflict.base, &conflict.mine, &conflict.theirs];
            values.map(|value| (conflict.kind, conflict.field.as_str(), value))
        }),
    );
    Ok((conflicts, names))
}

/// The captures, and what the replica knows of the records that their drafts name, change or may be.
pub(super) fn captures_with_records(replica: &Replica) -> Result<(Vec<Capture>, KnownRecords), StoreError> {
    let captures = replica.captures()?;
    let is_shown = |capture: &&Capture| capture.state.is_open() || capture.state == CaptureState::Failed;
    let drafts = || captures.iter().filter(is_shown).flat_map(|capture| &capture.drafts);
    let values = drafts().flat_map(|draft| draft.fields.iter().map(|(name, value)| (draft.kind, name.as_str(), value)));
    let titles = referenced_names(replica, values);
    let changed = drafts().flat_map(|draft| {
        let matched = draft.matches.first().and_then(|found| found["id"].as_str());
        draft.id.as_deref().or(matched).map(|id| (draft.kind, id))
    });
    let mut fields = BTreeMap::new();
    for (kind, id) in changed.take(REFERENCES_MAX) {
        if let Some(row) = replica.row(kind, id)? {
            fields.insert(id.to_owned(), row.fields);
        }
    }
    Ok((captures, KnownRecords { titles, fields }))
}

/// The titles of the records that `values` refer to, by record id. `values`: kind, field name, value. A record that is not
/// in the replica has no entry.
fn referenced_names<'a>(replica: &Replica, values: impl Iterator<Item = (Kind, &'a str, &'a Value)>) -> Names {
    let mut names = Names::new();
    for (kind, name, value) in values {
        let targets: &[Kind] = match resource(kind).field(name).map(|field| field.format) {
            Some(Format::Reference(Kind::Room)) => &[Kind::Room],
            Some(Format::Reference(_) | Format::Subject) => &SUBJECTS,
            _ => continue,
        };
        let Some(id) = value.as_str().filter(|id| !names.contains_key(*id)) else { continue };
        if names.len() == REFERENCES_MAX {
            break;
        }
        let target = targets.iter().find_map(|target| replica.row(*target, id).ok().flatten());
        if let Some(row) = target {
            names.insert(id.to_owned(), row.title);
        }
    }
    names
}

/// The records of some kinds whose titles match `words`, best match first: kind, id, title.
pub(super) fn matching_titles(
    replica: &Replica,
    kinds: &[Kind],
    words: &str,
) -> Result<Vec<(Kind, String, String)>, StoreError> {
    let most = if words.trim().is_empty() { OFFERED_TITLES_MAX / kinds.len().max(1) } else { COMPARED_TITLES_MAX };
    let mut all = Vec::new();
    for kind in kinds {
        all.extend(replica.titles(*kind, most)?.into_iter().map(|(id, title)| (*kind, id, title)));
    }
    let best = rank_matches(words, all.iter().map(|(_, _, title)| title));
    Ok(best.into_iter().take(OFFERED_TITLES_MAX).map(|at| all[at].clone()).collect())
}

/// The name for the home itself in quick add.
const HOME: &str = "home";

/// The room, vehicle or item that a part of a title most likely means, or the home itself: kind, id, title. The home has
/// an empty id, and is meant by `home` unless a record has exactly this title.
pub(super) fn best_subject(replica: &Replica, words: &str) -> Option<(Kind, String, String)> {
    let best = matching_titles(replica, &[Kind::Room, Kind::Vehicle, Kind::Inventory], words).ok()?.into_iter().next();
    let is_exact = |title: &str| Query::new(words)?.rank(title).map(|rank| rank.is_exact());
    if words.trim().eq_ignore_ascii_case(HOME) && best.as_ref().and_then(|(_, _, title)| is_exact(title)) != Some(true)
    {
        return Some((Kind::Property, String::new(), "the home".to_owned()));
    }
    best
}

/// The names of persons who have tasks, the most frequent first.
pub(super) fn assignees(replica: &Replica) -> Vec<String> {
    replica.assignees(ASSIGNEES_MAX).unwrap_or_default()
}

/// The number of records of each kind. A kind that cannot be counted is left out; the list of the kind shows the error.
pub(super) fn record_counts(replica: &Replica) -> Vec<(Kind, usize)> {
    let count = |kind: Kind| {
        let sort = Sort { column: "updated_at", descending: false };
        let page = replica.rows(&RowQuery::all(kind, sort, 0));
        page.ok().map(|page| (kind, page.total))
    };
    Kind::COLLECTIONS.into_iter().filter_map(count).collect()
}
