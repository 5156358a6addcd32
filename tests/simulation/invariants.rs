//! What must be true of a replica after every step (the README's invariants), read with plain SQL as
//! a stranger would. Must not know how anything came about.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::Connection;
use serde_json::Value;

use super::eye::{self, Ended, Open, Rows, Standing};
use super::model::{Fields, History, MARK, Model, Name, Since, marks};

/// At the end: an edit is blocked only behind one that needs a person, and none is refused for naming a record that is
/// there; unless the server was put back and the record came back after the refusal.
pub fn are_stuck_for_a_reason(book: &Book, edits: &[Open], model: &Model) -> Result<(), String> {
    for edit in edits.iter().filter(|edit| edit.state == "blocked") {
        let why = edit.reason.as_deref().unwrap_or_default();
        let cause = why.split_whitespace().find_map(|word| word.trim_end_matches(',').parse::<i64>().ok());
        if !edits.iter().any(|other| Some(other.id) == cause && other.needs_a_person()) {
            return Err(format!("edit {} is blocked, but nothing blocks it: {why}", edit.id));
        }
    }
    let [present] = &model.histories[..] else { return Ok(()) };
    for edit in edits.iter().filter(|edit| edit.state == "conflict" && !model.decided.contains(&edit.name)) {
        let note = book.known.get(&edit.id).ok_or_else(|| format!("edit {} was never seen", edit.id))?;
        if !is_contested(book, present, note, edit) {
            return Err(format!("edit {} is in conflict, but nobody has changed the same: {:?}", edit.id, edit.reason));
        }
    }
    let records = present.records_at(present.head);
    for edit in edits.iter().filter(|edit| edit.state == "rejected") {
        let room = edit.patch.get("room_id").and_then(Value::as_str).unwrap_or_default();
        if edit.reason.as_deref().is_some_and(|why| why.contains("room_id"))
            && records.contains_key(&(Kind::Room, room.to_owned()))
        {
            return Err(format!("edit {} is refused for a room that is there, {room}: {:?}", edit.id, edit.reason));
        }
    }
    Ok(())
}

/// Whether the server has changed or deleted what an edit is about since the replica stood where the edit was made, or
/// where the first was that it was made upon and that the server never took; a record that is to be made is there already.
fn is_contested(book: &Book, present: &History, note: &Note, edit: &Open) -> bool {
    // Whether a request had its effect before others wrote over it, nobody can tell any more after a gap.
    if edit.reason.as_deref().is_some_and(|why| why.contains("may have been on the server already")) {
        return true;
    }
    let versions = present.versions.get(&edit.name).map(Vec::as_slice).unwrap_or_default();
    // A row whose record is gone there stays in sight, and may be edited again.
    if versions.last().is_some_and(|(_, fields)| fields.is_none()) {
        return true;
    }
    let is_under = |id: &i64, known: &Note| {
        *id < edit.id && known.name == note.name && book.settled.get(id).is_none_or(|outcome| outcome != "confirmed")
    };
    let under = book.known.iter().filter(|(id, known)| is_under(id, known)).map(|(_, known)| known.position);
    let position = under.chain([note.position]).min().unwrap_or_default();
    let since = versions.iter().filter(|(rev, _)| *rev > position);
    let before = || present.at(&edit.name, position).and_then(|(_, fields)| fields.as_deref());
    match edit.method.as_str() {
        "create" => !versions.is_empty(),
        "delete" => since.count() > 0,
        _ => since.into_iter().any(|(_, after)| match (before(), after.as_deref()) {
            (Some(before), Some(after)) => edit.patch.keys().any(|field| before.get(field) != after.get(field)),
            // Made there since, or gone.
            _ => true,
        }),
    }
}

/// At the end: what is said to be confirmed is in the history that goes on. What a server lost when it was put back is
/// offered again, unless something else that was done here took its place, or its record was deleted there since, or in the
/// history that was lost somebody had written over it.
pub fn are_still_held(database: &Connection, book: &Book, edits: &[Open], model: &Model) -> Result<(), String> {
    let ended = eye::ended(database).map_err(|error| format!("the replica cannot be read: {error}"))?;
    let present = model.present();
    for Ended { id, name, method, patch, .. } in ended.into_iter().filter(|edit| edit.outcome == "confirmed") {
        let is_deleted = |known: &Note| known.name == name && known.method == "delete";
        let decided = model.decided.contains(&name) || book.let_go.contains(&id);
        if method == "delete" || decided || book.known.iter().any(|(other, known)| *other > id && is_deleted(known)) {
            continue;
        }
        if present.versions.get(&name).and_then(|versions| versions.last()).is_some_and(|(_, fields)| fields.is_none())
        {
            continue;
        }
        // Its record is offered again as a whole.
        if edits.iter().any(|edit| edit.name == name && edit.needs_a_person()) {
            continue;
        }
        let note = Note { name, method, patch, since: Since::default(), position: 0 };
        let note = without_what_came_over(book, id, &note);
        let is_in = |mark: &str| present.marks.keys().any(|(name, known)| known == mark && is_one(name, &note.name));
        let was_over = |mark: &str| model.lost().iter().any(|history| history.had_written_over(&note.name, mark));
        if let Some(mark) = marks(&note.patch).find(|mark| !is_in(mark) && !was_over(mark)) {
            let (kind, record) = &note.name;
            return Err(format!("edit {id} is confirmed, but {mark} of {kind} {record} is lost, and nobody was told"));
        }
    }
    Ok(())
}

/// What is known of a replica's edits from looking at it before.
#[derive(Debug, Default)]
pub struct Book {
    known: BTreeMap<i64, Note>,
    /// How edits ended.
    settled: BTreeMap<i64, String>,
    /// What each edit was ever seen to write, field by field, with its record.
    written: BTreeMap<i64, (Name, Fields)>,
    /// Whether what was changed here and there waits for a person.
    asks: bool,
    /// Edits that a person let go.
    pub let_go: BTreeSet<i64>,
    /// The highest rev at which each record was shown.
    revs: BTreeMap<Name, i64>,
    /// Deletes that it was told just now, and where.
    pub told: Vec<(i64, Name)>,
    /// Records whose end the feed has told.
    gone: BTreeSet<Name>,
    /// Records whose end was heard of, whether it was written down or not.
    heard: BTreeSet<Name>,
    /// A person has agreed to the deletions of the recovery that is under way.
    pub agreed: bool,
    /// Whether a script's table follows the tasks by triggers of its own.
    pub is_watched: bool,
    /// Whether the server refuses its key some time.
    pub keys_change: bool,
    /// What a recovery asks a person.
    asked: Option<String>,
    /// The records that were shown at the last look.
    shown: BTreeSet<Name>,
    /// Where it stood at the last look, and its edits that were not settled.
    pub sight: Option<(Standing, Vec<Open>)>,
    /// What others had committed at the last look, and the rows that the looking connection itself had changed.
    seen: Option<(i64, u64)>,
}

impl Book {
    /// That of a new replica; `asks`: what was changed here and there waits for a person.
    pub fn of(asks: bool) -> Book {
        Book { asks, ..Book::default() }
    }

    /// Where the server and the replica stood when an edit was first seen.
    fn since(&self, edit: i64, model: &Model, position: i64) -> (Since, i64) {
        self.known.get(&edit).map_or_else(|| (model.moment(), position), |note| (note.since, note.position))
    }

    /// The records of all edits that ever were.
    pub fn names(&self) -> impl Iterator<Item = Name> {
        self.known.values().map(|note| note.name.clone())
    }
}

/// An edit as it was last seen.
#[derive(Debug, Clone)]
struct Note {
    name: Name,
    method: String,
    patch: Fields,
    /// Where the server stood when it was first seen.
    since: Since,
    /// Where the replica stood then, as far as its record goes.
    position: i64,
}

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
    account(database, book, model, &edits, &standing, &rows)?;
    vanish_with_a_word(book, model, &standing, &rows)?;
    if model.histories.len() == 1 {
        let applied = standing.tail.unwrap_or(standing.position);
        book.gone.extend(told.into_iter().filter(|(at, _)| *at <= applied).map(|(_, name)| name));
        never_goes_back(book, &edits, &rows)?;
    }
    let judged = match standing.whole && !unaware {
        true => strictly(model, &standing, &edits, &rows),
        false => loosely(model, &edits, &rows, unaware),
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

/// Every edit is in exactly one place, and what is said of it is so.
fn account(
    database: &Connection,
    book: &mut Book,
    model: &Model,
    edits: &[Open],
    standing: &Standing,
    rows: &Rows,
) -> Result<(), String> {
    let mut open = BTreeSet::new();
    // While the tables are on their way, an edit stands on what is shown of its record, which may be nothing yet.
    let shown = |name: &Name| rows.get(name).and_then(|row| row["rev"].as_i64()).unwrap_or_default();
    let position_of = |name: &Name| if standing.whole { standing.position } else { shown(name).min(standing.position) };
    for edit in edits {
        open.insert(edit.id);
        let position = position_of(&edit.name);
        let (since, position) = book.since(edit.id, model, position);
        let (name, method) = (edit.name.clone(), edit.method.clone());
        let note = || Note { name: name.clone(), method: method.clone(), patch: edit.patch.clone(), since, position };
        book.written.entry(edit.id).or_insert_with(|| (name.clone(), Fields::new())).1.extend(edit.patch.clone());
        // A profile that was filled in before its home was known gets the home's id; an edit that was not sent may
        // take in another one.
        book.known.insert(edit.id, note());
        if edit.needs_a_person() && edit.reason.is_none() {
            return Err(format!("edit {} is {} without a reason", edit.id, edit.state));
        }
        if model.histories.len() == 1
            && edit.reason.as_deref().is_some_and(|why| why.contains("was put back to an older copy"))
        {
            return Err(format!("edit {} is said to be lost, but the server was never put back", edit.id));
        }
        if edit.state == "sent" && !is_held(model, &without_what_came_over(book, edit.id, &note())) {
            return Err(format!("edit {} is said to be sent, but the server never had it", edit.id));
        }
    }
    let failed = |error: rusqlite::Error| format!("the replica cannot be read: {error}");
    // Edits that go together with an earlier one of their record are in it.
    open.extend(eye::parts(database, None).map_err(failed)?);
    let ended = eye::ended(database).map_err(failed)?;
    nothing_is_forgotten(database, book, model, edits, &ended)?;
    for edit in &ended {
        let Ended { id, name, method, patch, outcome, rev, reason, .. } = edit.clone();
        if open.contains(&id) {
            return Err(format!("edit {id} is open and settled at once"));
        }
        if book.settled.insert(id, outcome.clone()).is_some() {
            continue;
        }
        let (since, position_then) = book.since(id, model, position_of(&name));
        let note = Note { name, method, patch, since, position: position_then };
        let seen_there = without_what_came_back(&ended, edit, without_what_came_over(book, id, &note));
        // Of a server that was put back, a stream may still tell the end that only the lost history has.
        let was_told = model.histories.len() > 1
            && note.method == "delete"
            && book.heard.contains(&note.name)
            && !rows.contains_key(&note.name);
        match outcome.as_str() {
            "confirmed" if !was_told && !is_held(model, &seen_there) => {
                let patch = Value::Object(note.patch.clone());
                return Err(format!("edit {id} is said to be confirmed, but the server never had it: {patch}"));
            }
            "confirmed" if rev.is_some_and(|rev| rev > standing.position && !is_shown(rows, &note.name, rev)) => {
                return Err(format!(
                    "edit {id} is settled at {}, before the feed has passed {rev:?}",
                    standing.position
                ));
            }
            "discarded" | "undone" if !book.let_go.contains(&id) => {
                return Err(format!("edit {id} is {outcome}, but nobody said so"));
            }
            "merged" if !came_to_nothing(reason.as_deref()) && !is_held(model, &seen_there) => {
                return Err(format!("edit {id} is said to be there already, but the server never had it: {reason:?}"));
            }
            "superseded" if !has_given_way(book, model, id, &seen_there) => {
                return Err(format!("edit {id} is said to be superseded, but by nothing: {reason:?}"));
            }
            _ => {}
        }
        book.known.insert(id, note);
    }
    let lost = book.known.iter().find(|(id, _)| !open.contains(*id) && !book.settled.contains_key(id));
    match lost {
        Some((id, note)) => Err(format!("edit {id} ({} of {} {}) is gone", note.method, note.name.0, note.name.1)),
        None => Ok(()),
    }
}

/// Whether an edit ended with nothing to be sent, as its reason says.
fn came_to_nothing(reason: Option<&str>) -> bool {
    reason.is_some_and(|why| why.contains("never sent") || why.contains("changes nothing"))
}

/// Whether something else stands in the place of an edit: a later one of here, what the server has or has not, or what a
/// person said, once for all or of this one. Of a server that was put back anything may be.
fn has_given_way(book: &Book, model: &Model, id: i64, note: &Note) -> bool {
    let deletes = |known: &Note| known.name == note.name && known.method == "delete";
    let is_deleted_here = book.known.iter().any(|(other, known)| *other > id && deletes(known));
    let is_gone_there = note.method != "create" && model.was_without(&note.name, note.since);
    let by_a_person = !book.asks || book.let_go.contains(&id) || model.decided.contains(&note.name);
    is_deleted_here || is_gone_there || by_a_person || model.histories.len() > 1 || is_held(model, note)
}

/// Every value that was written here, and not written over here, is still with its edit, with one that took it in, in the
/// history of edits, or on the server. What is settled is told for a month, and then no more.
fn nothing_is_forgotten(
    database: &Connection,
    book: &Book,
    model: &Model,
    edits: &[Open],
    ended: &[Ended],
) -> Result<(), String> {
    let parts = eye::patches_of_parts(database).map_err(|error| format!("the replica cannot be read: {error}"))?;
    let patches = edits.iter().map(|edit| &edit.patch).chain(&parts).chain(ended.iter().map(|edit| &edit.patch));
    let here: HashSet<&str> = patches.flat_map(marks).collect();
    let is_there = |mark: &str| model.any(|history| history.marks.keys().any(|(_, known)| known == mark)).is_some();
    // People decide on a clock of their own, by which what they let go may be forgotten at once.
    let open = book.written.iter().filter(|(id, _)| !book.settled.contains_key(id) && !book.let_go.contains(id));
    for (id, (name, written)) in open {
        let later = || book.written.range(id + 1..).filter(|(_, (of, _))| is_one(of, name));
        for (field, value) in written {
            let mark = value.as_str().filter(|text| text.starts_with(MARK) && !here.contains(text) && !is_there(text));
            if let Some(mark) = mark.filter(|_| !later().any(|(_, (_, over))| over.contains_key(field))) {
                return Err(format!("{mark}, which edit {id} wrote, is nowhere any more"));
            }
        }
    }
    Ok(())
}

/// Whether two names are of one record: the profile may have had another id here before its home was known.
fn is_one(one: &Name, other: &Name) -> bool {
    one == other || (one.0 == other.0 && one.0.is_singleton())
}

/// An edit without the fields that a later edit made here has changed since: they may have gone together, and of such
/// values the server sees the last alone.
fn without_what_came_over(book: &Book, id: i64, note: &Note) -> Note {
    let later = || book.known.iter().filter(|(other, known)| **other > id && is_one(&known.name, &note.name));
    let patch = note.patch.iter().filter(|(name, _)| !later().any(|(_, known)| known.patch.contains_key(*name)));
    Note { patch: patch.map(|(name, value)| (name.clone(), value.clone())).collect(), ..note.clone() }
}

/// The same without the fields that have the value again which they had before the edits that this one went together with:
/// that is no change, and what others have written there meanwhile stands.
fn without_what_came_back(ended: &[Ended], edit: &Ended, mut note: Note) -> Note {
    let together = |other: &&Ended| edit.key.is_some() && other.key == edit.key && is_one(&other.name, &edit.name);
    let earlier = || ended.iter().filter(together).take_while(|other| other.id < edit.id);
    let before = |field: &String| earlier().find_map(|other| other.base.get(field));
    note.patch.retain(|field, value| before(field) != Some(value));
    note
}

/// Whether a row shows its record as it was at a position or later, or is gone: then nothing flickers back.
fn is_shown(rows: &Rows, name: &Name, position: i64) -> bool {
    rows.get(name).is_none_or(|row| row["rev"].as_i64().is_some_and(|rev| rev >= position))
}

/// Whether the server has, or had in some history, what an edit wants. A delete wants nothing but that the record is not
/// there: a server that was put back to before it was made says yes to that too, and others may make it again.
fn is_held(model: &Model, note: &Note) -> bool {
    let Note { name, method, patch, since, .. } = note;
    let holds = |history: &&History| {
        let versions = history.versions.get(name);
        versions.is_some_and(|versions| versions.iter().any(|(_, fields)| has(fields.as_deref(), patch)))
    };
    match method.as_str() {
        "delete" => model.was_without(name, *since),
        _ => model.any(holds).is_some(),
    }
}

fn has(fields: Option<&Fields>, patch: &Fields) -> bool {
    fields.is_some_and(|fields| patch.iter().all(|(name, value)| fields.get(name) == Some(value)))
}

/// The tables are the server's records at the position, with the edits laid over in their order.
fn strictly(model: &Model, standing: &Standing, edits: &[Open], rows: &Rows) -> Result<(), String> {
    let (mut first, restored) = (None, model.histories.len() > 1);
    for history in model.histories.iter().rev().filter(|history| standing.position <= history.head) {
        match compare(history, restored, &model.decided, standing.position, edits, rows) {
            Ok(()) => return Ok(()),
            Err(why) => drop(first.get_or_insert(why)),
        }
    }
    let why = first.unwrap_or_else(|| "no history reaches so far".to_owned());
    Err(format!("the tables are not the server's at {} ({}): {why}", standing.position, standing.phase))
}

/// The same for one history; `restored`: there were others.
pub fn compare(
    history: &History,
    restored: bool,
    decided: &HashSet<Name>,
    position: i64,
    edits: &[Open],
    rows: &Rows,
) -> Result<(), String> {
    let records = history.records_at(position);
    let mut edited: BTreeMap<&Name, Vec<&Open>> = BTreeMap::new();
    for edit in edits {
        edited.entry(&edit.name).or_default().push(edit);
    }
    for (name, fields) in rows {
        if !edited.contains_key(name) {
            let Some((_, record)) = records.get(name) else {
                return Err(format!("{} {} is no record", name.0, name.1));
            };
            same(name, record, fields, true)?;
        }
    }
    for name in records.keys() {
        if !edited.contains_key(*name) && !rows.contains_key(*name) {
            // A person who was told that it is deleted there has let go of it, before the feed says so.
            let deleted = history.versions[*name].last().is_some_and(|(_, fields)| fields.is_none());
            if deleted && decided.contains(*name) {
                continue;
            }
            return Err(format!("{} {} is missing", name.0, name.1));
        }
    }
    for (name, edits) in edited {
        let laid_over = |form: Option<Fields>| lay_over(name, form, &edits);
        let expected = match records.get(name) {
            Some((_, fields)) => laid_over(Some(Fields::clone(fields))),
            // Gone there: the row stays as it was last seen, whenever that was, until a person has decided.
            None => {
                let versions = history.versions.get(name).into_iter().flatten();
                let seen = versions.filter(|(rev, _)| *rev <= position).filter_map(|(_, fields)| fields.as_deref());
                let mut forms = seen.rev().map(|fields| laid_over(Some(fields.clone())));
                let is_shown = |form: &Option<Fields>| match (form, rows.get(name)) {
                    (Some(form), Some(row)) => same(name, form, row, false).is_ok(),
                    (form, row) => form.is_some() == row.is_some(),
                };
                // Or it was last seen in a history that is put back. A create begins with nothing, and so does the profile,
                // unless its record was seen there.
                let begins = name.0.is_singleton() || edits.iter().any(|edit| edit.method == "create");
                let made = begins.then(|| laid_over(None));
                match (forms.find(is_shown), made) {
                    (Some(form), _) => form,
                    (None, Some(form)) if !restored || is_shown(&form) => form,
                    _ if restored => laid_over(rows.get(name).cloned()),
                    _ => return Err(format!("{} {} is shown as nobody ever had it", name.0, name.1)),
                }
            }
        };
        match (expected, rows.get(name)) {
            (None, None) => {}
            (Some(expected), Some(row)) => same(name, &expected, row, false)?,
            // Given back, because a server that was put back lost them; but their record is gone on both sides.
            (Some(_), None)
                if restored && !records.contains_key(name) && edits.iter().all(|edit| edit.needs_a_person()) => {}
            (Some(_), None) => {
                let edits: Vec<String> = edits.iter().map(|edit| format!("{} {}", edit.state, edit.method)).collect();
                return Err(format!("{} {} is missing with its edits ({})", name.0, name.1, edits.join(", ")));
            }
            (None, Some(_)) => return Err(format!("{} {} is still there", name.0, name.1)),
        }
    }
    Ok(())
}

/// A record with edits laid over, in their order; None: there is none then.
fn lay_over(name: &Name, mut form: Option<Fields>, edits: &[&Open]) -> Option<Fields> {
    for edit in edits {
        match (edit.method.as_str(), &mut form) {
            ("delete", form) => *form = None,
            (_, Some(form)) => form.extend(edit.patch.clone()),
            ("create", form) => *form = Some(edit.patch.clone()),
            (_, form) if name.0.is_singleton() => *form = Some(edit.patch.clone()),
            _ => {}
        }
    }
    form
}

/// Whether a row shows a record; `wholly`: with what only the server sets.
fn same(name: &Name, record: &Fields, row: &Fields, wholly: bool) -> Result<(), String> {
    let fields = resource(name.0).fields.iter().filter(|field| wholly || field.is_writable()).map(|field| field.name);
    let common = ["rev", "created_at", "updated_at"].into_iter().filter(|_| wholly);
    for column in fields.chain(common) {
        let wanted = record.get(column).unwrap_or(&Value::Null);
        if row.get(column) != Some(wanted) {
            let shown = row.get(column).unwrap_or(&Value::Null);
            return Err(format!("{} {}: {column} is {shown}, not {wanted}", name.0, name.1));
        }
    }
    Ok(())
}

/// On the way there, every row without edits is at least something that the server said once.
fn loosely(model: &Model, edits: &[Open], rows: &Rows, unaware: bool) -> Result<(), String> {
    for (name, row) in rows {
        // Positions of the other history make an edit look settled before the feed has shown its record.
        let too_early = unaware && row.get("rev") == Some(&Value::Null);
        if too_early || edits.iter().any(|edit| edit.name == *name) {
            continue;
        }
        let said = |history: &&History| {
            let versions = history.versions.get(name).into_iter().flatten();
            versions.filter_map(|(_, fields)| fields.as_deref()).any(|fields| {
                let mut fields = fields.clone();
                // Of a history that is put back it counts as unknown.
                let is_unknown = matches!(row.get("rev").and_then(Value::as_i64), None | Some(0));
                if is_unknown && model.histories.len() > 1 {
                    fields.insert("rev".to_owned(), row.get("rev").cloned().unwrap_or_default());
                }
                same(name, &fields, row, true).is_ok()
            })
        };
        if model.any(said).is_none() {
            return Err(format!(
                "{} {} shows what the server never said: {}",
                name.0,
                name.1,
                Value::Object(row.clone())
            ));
        }
    }
    Ok(())
}
