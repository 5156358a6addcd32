//! Putting a home back to an earlier position, as if an old copy of it had been put in place: what came after never
//! happened. For trying what clients make of a bad restore; nothing that serves calls it. Must not know the clock.

use hearth_contract::check::references;
use hearth_contract::record::Record;
use hearth_contract::search_text;

use crate::store::copies::GAP;
use crate::store::rewind::{self, Undone};
use crate::store::{self, Fault, HomeNo, Tx, homes, links, records};

/// What going back came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewound {
    /// The head before.
    pub from: i64,
    /// The head now.
    pub to: i64,
    /// Records that are as they were then, or not at all.
    pub records: usize,
}

/// The position after which so many events happened. A sentence: there were not so many.
pub fn events_back(tx: &Tx<'_>, number: HomeNo, events: u64) -> Result<Result<i64, String>, Fault> {
    let home = homes::load(tx, number)?;
    Ok(match rewind::before_last(tx, &home, events)? {
        Some(position) => Ok(position),
        None if home.head == 0 => {
            Err("the home is at position 0: it is empty, and nothing can be taken back".to_owned())
        }
        None => Err(format!(
            "the home is at position {}, which is fewer than {events} events from its beginning; {}",
            home.head,
            how_far(tx, number)?
        )),
    })
}

/// How far back a home can go, in words.
fn how_far(tx: &Tx<'_>, number: HomeNo) -> Result<String, Fault> {
    Ok(match rewind::known_from(tx, number)? {
        0 => "it can go back as far as position 0, where it is empty".to_owned(),
        known => format!(
            "because the log was thinned out, what all of it was is known from position {known} on, and at 0, where it is \
             empty; rewind before you trim"
        ),
    })
}

/// Goes back to a position. With `mark`, a random number, the break is marked and leaves a gap, as `restore` does;
/// without, nothing marks it, as when files are copied. A sentence: why not.
pub fn rewind(tx: &Tx<'_>, number: HomeNo, to: i64, mark: Option<i64>) -> Result<Result<Rewound, String>, Fault> {
    let home = homes::load(tx, number)?;
    if !(0..=home.head).contains(&to) {
        return Ok(Err(format!("the home is at position {}; {to} is none of its past", home.head)));
    }
    let undone = rewind::changed_after(tx, number, to)?;
    let unknown = undone.iter().filter(|record| record.created <= to && record.then.is_none()).count();
    if unknown > 0 {
        return Ok(Err(format!(
            "what has changed since position {to} is no longer known as it was then, in {unknown} of {} records; the home \
             is at {}, and {}",
            undone.len(),
            home.head,
            how_far(tx, number)?
        )));
    }
    for record in &undone {
        put_back(tx, number, record)?;
    }
    rewind::cut(tx, &home, to)?;
    if let Some(run) = mark {
        homes::mark_restored(tx, number, run, home.head, GAP)?;
    }
    Ok(Ok(Rewound { from: home.head, to, records: undone.len() }))
}

/// One record, its words and its links as they were.
fn put_back(tx: &Tx<'_>, number: HomeNo, undone: &Undone) -> Result<(), Fault> {
    let Undone { kind, id, created, .. } = *undone;
    let read =
        |json: &str| Record::from_json(kind, json).ok_or_else(|| Fault::Corrupt(format!("image of {kind} {id}")));
    if let Some(now) = &undone.now {
        for (_, _, target) in references(kind, &read(now)?.fields) {
            links::remove(tx, number, target, (kind, id))?;
        }
    }
    match &undone.then {
        None => {
            records::forget(tx, number, id)?;
            store::search::remove(tx, number, created);
        }
        Some(then) => {
            let record = read(then)?;
            records::put(tx, number, id, &records::Entry { kind, created, rev: record.rev, deleted: false })?;
            for (_, _, target) in references(kind, &record.fields) {
                links::add(tx, number, target, (kind, id))?;
            }
            if !kind.is_singleton() {
                let (title, body) = search_text::folded_title_and_rest(kind, &record.fields);
                store::search::put(tx, number, created, false, (kind, id), title, body);
            }
        }
    }
    Ok(())
}
