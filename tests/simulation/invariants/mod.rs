//! What must be true of a replica after every step (the README's invariants), read with plain SQL as
//! a stranger would. Must not know how anything came about.

mod account;
mod book;
mod end;
mod tables;

use std::collections::BTreeSet;

use hearth_contract::schema::Kind;
use rusqlite::Connection;

use super::eye::{self, Open, Rows, Standing};
use super::model::{Model, Name};

pub use book::Book;
pub use end::{are_still_held, are_stuck_for_a_reason};
pub use tables::compare;

/// So many records of a collection, and more than this part of it, do not vanish without a person's word.
const FUSE: (usize, usize) = (50, 5);

/// Checks everything that a look at the database can tell, unless it has not changed since the last look. `unaware`:
/// the server was put back, and the replica could not hear of it yet.
pub fn check(database: &Connection, book: &mut Book, model: &Model, unaware: bool) -> Result<(), String> {
    let failed = |error: rusqlite::Error| format!("the replica cannot be read: {error}");
    let version = database.prepare_cached("PRAGMA data_version").and_then(|mut s| s.query_row([], |row| row.get(0)));
    let version: i64 = version.map_err(failed)?;
    let told = std::mem::take(&mut book.told);
    book.heard.extend(told.iter().map(|(_, name)| name.clone()));
    let state = (version, database.total_changes());
    if book.seen.replace(state) == Some(state) {
        return Ok(());
    }
    // All of it is one look, which costs less than many.
    let database = &database.unchecked_transaction().map_err(failed)?;
    let gate: i64 = database
        .prepare_cached("SELECT open FROM _gate")
        .and_then(|mut s| s.query_row([], |r| r.get(0)))
        .map_err(failed)?;
    if gate != 0 {
        return Err("the gate is open outside a transaction".to_owned());
    }
    if book.is_watched {
        let unheard = eye::not_watched(database).map_err(failed)?;
        if !unheard.is_empty() {
            return Err(format!("triggers of a script do not fire for tasks {}", unheard.join(", ")));
        }
    }
    let standing = eye::standing(database).map_err(failed)?;
    if standing.position > model.highest() {
        return Err(format!("position {} was never committed ({})", standing.position, model.highest()));
    }
    if standing.head.is_some_and(|head| head > model.highest()) {
        return Err(format!("head {:?} was never committed ({})", standing.head, model.highest()));
    }
    let heads = [standing.live_at, standing.head.filter(|_| standing.phase == "live")];
    if heads.into_iter().flatten().any(|head| head > standing.position) {
        return Err(format!("it claims to be live at {} of {heads:?}", standing.position));
    }
    if standing.is_half {
        return Err(format!("it says {}, but its tables are on their way", standing.phase));
    }
    if standing.phase == "needs_key" && !book.keys_change {
        return Err("it wants another key, but the server has refused none".to_owned());
    }
    let edits = eye::edits(database).map_err(failed)?;
    // What somebody else says on the way is no word of the server's.
    if let Some(edit) = edits.iter().find(|edit| edit.state == "rejected" && edit.problem.is_none()) {
        return Err(format!("edit {} counts as refused, but not by the server: {:?}", edit.id, edit.reason));
    }
    let rows = eye::rows(database).map_err(failed)?;
    account::account(database, book, model, &edits, &standing, &rows)?;
    vanish_with_a_word(book, model, &standing, &rows)?;
    if model.histories.len() == 1 {
        let applied = standing.tail.unwrap_or(standing.position);
        book.gone.extend(told.into_iter().filter(|(at, _)| *at <= applied).map(|(_, name)| name));
        never_goes_back(book, &edits, &rows)?;
    }
    let judged = match standing.whole && !unaware {
        true => tables::strictly(model, &standing, &edits, &rows),
        false => tables::loosely(model, &edits, &rows, unaware),
    };
    book.sight = Some((standing, edits));
    judged
}

/// Many records do not vanish at once unless the feed has told their end or a person has agreed, and
/// nobody is asked about what is there.
fn vanish_with_a_word(book: &mut Book, model: &Model, standing: &Standing, rows: &Rows) -> Result<(), String> {
    let before = std::mem::replace(&mut book.shown, rows.keys().cloned().collect());
    for kind in Kind::COLLECTIONS {
        let of = before.iter().filter(|name| name.0 == kind).count();
        let gone =
            before.iter().filter(|name| name.0 == kind && !rows.contains_key(*name) && !book.heard.contains(*name));
        let gone = gone.count();
        if gone > FUSE.0 && gone > of / FUSE.1 && !book.agreed {
            return Err(format!("{gone} of {of} {kind} records vanish, and nobody has agreed"));
        }
    }
    if standing.tail.is_none() {
        book.agreed = false;
    }
    if standing.question != book.asked && model.histories.len() == 1 {
        let records = model.present().records_at(model.present().head);
        let absent = before.iter().chain(book.revs.keys()).filter(|name| !records.contains_key(name));
        let absent = absent.collect::<BTreeSet<_>>().len();
        let claimed = standing.question.as_deref().and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(0);
        if absent < claimed {
            return Err(format!("{absent} records are gone, but a person is asked: {:?}", standing.question));
        }
    }
    book.asked.clone_from(&standing.question);
    Ok(())
}

/// No record is shown as it was before what was shown of it already, nor again after it was deleted. Of a server that
/// was put back this is not so.
fn never_goes_back(book: &mut Book, edits: &[Open], rows: &Rows) -> Result<(), String> {
    let is_edited = |name: &Name| edits.iter().any(|edit| edit.name == *name);
    for (name, row) in rows {
        if book.gone.contains(name) && !is_edited(name) {
            return Err(format!("{} {} is shown, after the feed has told its end", name.0, name.1));
        }
        let Some(rev) = row["rev"].as_i64() else { continue };
        match book.revs.insert(name.clone(), rev) {
            Some(known) if known > rev => {
                return Err(format!("{} {} is shown at {rev}, after it was at {known}", name.0, name.1));
            }
            _ => {}
        }
    }
    Ok(())
}
