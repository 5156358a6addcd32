//! Returns a home to an earlier position, as if an old copy of the database had been restored. For testing how clients
//! react to such a restore; no serving process calls this module. Must not know the clock.

use hearth_contract::formats::Timestamp;
use hearth_contract::record::Record;
use hearth_contract::search_text::indexed_texts;

use super::document_file;
use crate::store::copies::GAP;
use crate::store::rewind::{self, ChangedRecord};
use crate::store::{HomeNumber, StoreError, Tx, field_values, homes, records, search, stored_files};

/// The result of a rewind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewound {
    /// The head before.
    pub from: i64,
    /// The head afterwards: the last event at or before the wanted position.
    pub to: i64,
    /// Records that changed after `to`: each is as before, or removed.
    pub records: usize,
}

/// The position with exactly `events` events after it. The inner error is a sentence: the home has fewer events.
pub fn events_back(tx: &Tx<'_>, number: HomeNumber, events: u64) -> Result<Result<i64, String>, StoreError> {
    let home = homes::load(tx, number)?;
    Ok(match rewind::before_last(tx, &home, events)? {
        Some(position) => Ok(position),
        None if home.head == 0 => Err("the home is at position 0: it is empty, and no event can be undone".to_owned()),
        None => Err(format!(
            "the home is at position {}, which is fewer than {events} events from its beginning; {}",
            home.head,
            reachable_positions(tx, number)?
        )),
    })
}

/// A clause that says to which positions the home can return.
fn reachable_positions(tx: &Tx<'_>, number: HomeNumber) -> Result<String, StoreError> {
    Ok(match rewind::known_from(tx, number)? {
        0 => "it can go back as far as position 0, where it is empty".to_owned(),
        known => format!(
            "because old events were compacted, it can go back to any position from position {known} on, and to position 0, \
             where it is empty; rewind before you trim"
        ),
    })
}

/// Returns a home to a position. With `mark`, a random number, the break is marked and leaves a gap in the event ids, as
/// after `restore`. Without `mark` the break is unmarked, as after copying files. The inner error is a sentence: why the
/// home cannot return to the position.
pub fn rewind(
    tx: &Tx<'_>,
    number: HomeNumber,
    to: i64,
    mark: Option<i64>,
) -> Result<Result<Rewound, String>, StoreError> {
    let home = homes::load(tx, number)?;
    if !(0..=home.head).contains(&to) {
        return Ok(Err(format!("the home is at position {}; {to} is none of its past", home.head)));
    }
    let changed = rewind::changed_after(tx, number, to)?;
    let unknown = changed.iter().filter(|record| record.created <= to && record.then.is_none()).count();
    if unknown > 0 {
        return Ok(Err(format!(
            "{unknown} of the {} records that changed since position {to} are no longer known as they were then; the \
             home is at position {}, and {}",
            changed.len(),
            home.head,
            reachable_positions(tx, number)?
        )));
    }
    for record in &changed {
        rewind_record(tx, number, record)?;
    }
    let last = home.last_updated_at.unwrap_or(Timestamp::from_millis(0));
    stored_files::note_all_uses(tx, number, last)?;
    // A restore leaves a gap in the event ids. The head is the last event, also for a position in the gap.
    let to = rewind::last_change(tx, number)?;
    rewind::cut_history(tx, &home, to)?;
    if let Some(epoch) = mark {
        homes::mark_restored(tx, number, epoch, home.head, GAP)?;
    }
    Ok(Ok(Rewound { from: home.head, to, records: changed.len() }))
}

/// Returns the entry, the indexed values and the search text of one record to an earlier state.
fn rewind_record(tx: &Tx<'_>, number: HomeNumber, changed: &ChangedRecord) -> Result<(), StoreError> {
    let ChangedRecord { kind, id, created, .. } = *changed;
    let parse =
        |json: &str| Record::from_json(kind, json).ok_or_else(|| StoreError::Corrupt(format!("image of {kind} {id}")));
    let now = changed.now.as_deref().map(parse).transpose()?;
    let then = changed.then.as_deref().map(parse).transpose()?;
    let (old, new) = (now.as_ref().map(|now| &now.fields), then.as_ref().map(|then| &then.fields));
    field_values::replace(tx, number, kind, created, old, new)?;
    match then {
        None => {
            records::remove_entry(tx, number, id)?;
            search::remove(tx, number, created);
        }
        Some(record) => {
            records::save_entry(tx, number, id, &records::Entry { kind, created, rev: record.rev, deleted: false })?;
            if !kind.is_singleton() {
                let (title, rest) = indexed_texts(kind, &record.fields);
                search::index(tx, number, created, false, (kind, id), &title, &rest);
                document_file::index_reading(tx, number, created, kind, old, &record.fields)?;
            }
        }
    }
    Ok(())
}
