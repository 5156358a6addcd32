//! An edit as it is about to be sent: with those that go with it, and judged against what the server is known to have.
//! Must not know how it is sent.

use std::sync::LazyLock;

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECT_ID, SUBJECT_TYPE, SUBJECTS, is_subject};
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::Serialize;
use serde_json::Value;

use crate::model::{EditOutcome, Method};
use crate::store::edits::judge::{Clash, ConflictPolicy, Judgement, Known, judge, spelled};
use crate::store::edits::{had, history, parts, settle, sides};
use crate::store::mirror::image;
use crate::store::{StoreError, log, rows};

/// An edit as it is about to be sent.
pub(super) struct Parcel {
    pub(super) edit: i64,
    pub(super) kind: Kind,
    pub(super) record: String,
    pub(super) method: Method,
    pub(super) patch: Fields,
    pub(super) base: Fields,
    /// A request of it was refused because the record had moved on.
    pub(super) overtaken: bool,
    /// That request may have been in before: its own event may be among those that were missed.
    in_doubt: bool,
}

/// What is said of an edit whose effect may have been there and gone again.
const IN_DOUBT: &str = "it may have been on the server already and been changed there since, while this replica was away; \
     retry sends it again, discard lets it go";

/// An edit that has not reached the server; None: it has, or it is settled, or a person decides.
pub(super) fn load(tx: &Connection, edit: i64) -> Result<Option<Parcel>, StoreError> {
    let found = tx
        .prepare_cached(
            "SELECT kind, record_id, method, patch, base, coalesce(f.refused, 0), coalesce(f.refused AND f.missed = 2, 0)
             FROM edits e LEFT JOIN _outbox f ON f.edit_id = e.id WHERE id = ?1 AND state IN ('waiting', 'sending')",
        )?
        .query_row([edit], |row| {
            let strings: (String, String, Method) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((strings, row.get::<_, String>(3)?, row.get::<_, String>(4)?, (row.get(5)?, row.get(6)?)))
        })
        .optional()?;
    let Some(((word, record, method), patch, base, (overtaken, in_doubt))) = found else { return Ok(None) };
    let kind =
        Kind::parse(&word).ok_or_else(|| StoreError::InvalidContent(format!("an edit of unknown kind {word}")))?;
    let (patch, base) = (rows::parse_object(&patch)?, rows::parse_object(&base)?);
    Ok(Some(Parcel { edit, kind, record, method, patch, base, overtaken, in_doubt }))
}

/// Makes one edit of an edit and later ones of its record that were never sent. None: the record came and went without
/// anybody else having heard of it.
pub(super) fn join(
    tx: &Transaction<'_>,
    mut sum: Parcel,
    with: &[i64],
    now: Timestamp,
) -> Result<Option<Parcel>, StoreError> {
    let mut joined = Vec::new();
    for edit in with {
        match load(tx, *edit)? {
            Some(next) if next.record == sum.record && next.kind == sum.kind => joined.push(next),
            _ => break, // somebody has decided on it meanwhile, so what follows it must wait
        }
    }
    if joined.is_empty() {
        return Ok(Some(sum));
    }
    for edit in [sum.edit].into_iter().chain(joined.iter().map(|part| part.edit)) {
        parts::remember(tx, edit, sum.edit)?;
    }
    for part in joined {
        for (name, value) in part.base {
            // What was before the first edit of a field was before their sum.
            if !sum.patch.contains_key(&name) {
                sum.base.entry(name).or_insert(value);
            }
        }
        if !hearth_simulated::planted(hearth_simulated::Fault::CoalescedEditLost) {
            sum.patch.extend(part.patch);
        }
        if part.method == Method::Delete {
            sum.patch.clear();
            if sum.method == Method::Create {
                settle::finish(tx, part.edit, EditOutcome::Merged, Some("it was never sent"), now)?;
                tx.prepare_cached("DELETE FROM _coalesced WHERE edit_id = ?1")?.execute([part.edit])?;
                settle::finish(tx, sum.edit, EditOutcome::Superseded, Some("deleted again before it was sent"), now)?;
                image::project(tx, sum.kind, &sum.record)?;
                return Ok(None);
            }
            sum.method = part.method;
        }
        tx.prepare_cached("DELETE FROM edits WHERE id = ?1")?.execute([part.edit])?;
    }
    if sum.method == Method::Create {
        sum.base.clear();
    }
    write(tx, &sum)?;
    Ok(Some(sum))
}

fn write(tx: &Connection, parcel: &Parcel) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE edits SET method = ?2, patch = ?3, base = ?4 WHERE id = ?1")?.execute((
        parcel.edit,
        parcel.method,
        text(&parcel.patch),
        text(&parcel.base),
    ))?;
    Ok(())
}

/// JSON text.
pub(super) fn text(value: &impl Serialize) -> String {
    // What is serialized here has keys of text and no numbers that JSON lacks.
    serde_json::to_string(value).unwrap_or_default()
}

/// Looks an edit over before it goes: gives it with the revision it must insist on, or settles it, or has it wait for a
/// person.
pub(super) fn admit(
    tx: &Transaction<'_>,
    mut parcel: Parcel,
    policy: ConflictPolicy,
    now: Timestamp,
) -> Result<Option<(Parcel, Option<i64>)>, StoreError> {
    let Parcel { edit, kind, .. } = parcel;
    let known = image::known(tx, kind, &parcel.record)?;
    let written = parcel.patch.clone();
    fit(tx, kind, &mut parcel.patch, &mut parcel.base, known.as_ref())?;
    if parcel.patch != written {
        write(tx, &parcel)?;
        image::project(tx, kind, &parcel.record)?;
    }
    // The server would only say that the id was used, and it uses none twice (contract 6.1).
    if parcel.method == Method::Create
        && let Some(other) = other_kind(tx, kind, &parcel.record)?
    {
        return wait_for_a_person(tx, &parcel, &format!("its id belongs to another kind, {other}"));
    }
    // Of one that may be in already, it may be that which is there.
    if parcel.method == Method::Update && !parcel.in_doubt {
        had::note(tx, edit, kind, &parcel.patch, known.as_ref())?;
    }
    let guard = known.as_ref().and_then(|known| known.rev).filter(|_| parcel.method != Method::Create);
    match judge(kind, parcel.method, &parcel.patch, &parcel.base, known.as_ref()) {
        // A second effect would undo what others have done since.
        Judgement::Go | Judgement::Clash(_) if parcel.in_doubt && parcel.method == Method::Update => {
            return wait_for_a_person(tx, &parcel, IN_DOUBT);
        }
        Judgement::Go if parcel.overtaken => {
            log(tx, "info", &format!("Edit {edit}: the {kind} was changed there meanwhile; both changes stand."))?;
        }
        Judgement::Go => {}
        Judgement::Done => {
            // Where its record stands, or somewhere: a server that is put back to before that has lost this as well.
            let nothing = parcel.method == Method::Update && (parcel.patch.is_empty() || known.is_none());
            let rev = known.and_then(|known| known.rev).unwrap_or(0);
            end(tx, edit, kind, &parcel.record, rev, if nothing { Ends::IsNothing } else { Ends::IsThere }, now)?;
            return Ok(None);
        }
        Judgement::Gone => return wait_for_a_person(tx, &parcel, "deleted there"),
        Judgement::Taken(_) => return wait_for_a_person(tx, &parcel, "a record with this id is there already"),
        Judgement::Clash(clashes) if parcel.method == Method::Delete || policy == ConflictPolicy::Ask => {
            let reason = clash(parcel.method, &clashes);
            return wait_for_a_person(tx, &parcel, &reason);
        }
        Judgement::Clash(clashes) => {
            if !decide(tx, &mut parcel, &clashes, policy, now)? {
                return Ok(None);
            }
        }
    }
    Ok(Some((parcel, guard)))
}

/// Why nothing is left of an edit to be sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// It changes nothing.
    IsNothing,
    /// The server has it already.
    IsThere,
}

/// Ends an edit of which nothing is left to be sent; its record stands at this revision there.
pub(super) fn end(
    tx: &Transaction<'_>,
    edit: i64,
    kind: Kind,
    record: &str,
    rev: i64,
    why: Ends,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (reason, told) = match why {
        Ends::IsNothing => ("it changes nothing", "stays as it is, for nothing of it was changed"),
        Ends::IsThere => ("the server has it already", "is already so on the server"),
    };
    settle::finish_at(tx, edit, rev, EditOutcome::Merged, reason, now)?;
    image::project(tx, kind, record)?;
    log(tx, "info", &format!("Edit {edit}: the {kind} {told}."))
}

/// What is said of a delete that clashes.
const SINCE_DELETED: &str = "changed there since you deleted it";
/// What is said of a change that clashes, after the names of its fields.
const TOO: &str = " changed there too";

/// What is said of an edit that clashes.
pub(super) fn clash(method: Method, clashes: &[Clash]) -> String {
    if method == Method::Delete {
        return SINCE_DELETED.to_owned();
    }
    let names: Vec<&str> = clashes.iter().map(|clash| clash.field).collect();
    names.join(", ") + TOO
}

/// Whether this is said of an edit that clashes. Of one that may have been in before, or was, something else is said.
pub(super) fn is_clash(reason: &str) -> bool {
    reason == SINCE_DELETED || reason.ends_with(TOO)
}

/// Fits an edit to what the server holds of its record by now, before the two are compared.
pub(super) fn fit(
    tx: &Connection,
    kind: Kind,
    patch: &mut Fields,
    base: &mut Fields,
    known: Option<&Known>,
) -> Result<(), StoreError> {
    let Some(known) = known else { return Ok(()) };
    forget_unchanged(kind, patch, base, known);
    forget_cleared(tx, kind, patch, base, known)?;
    complete_subject(tx, kind, patch, base, known)
}

/// A value that was changed and changed back here is no change, whatever was written there meanwhile.
fn forget_unchanged(kind: Kind, patch: &mut Fields, base: &mut Fields, known: &Known) {
    let is_same = |name: &str| {
        base.contains_key(name) && spelled(kind, name, base.get(name)) == spelled(kind, name, patch.get(name))
    };
    // A subject is one thing in two fields: one half stands while the other is another.
    let is_other_subject = patch.keys().any(|name| is_subject(name) && !is_same(name));
    let is_old = |name: &str| {
        let there = known.fields.get(name).unwrap_or(&Value::Null);
        is_same(name) && !(is_subject(name) && is_other_subject) && spelled(kind, name, base.get(name)) != *there
    };
    let old: Vec<String> = patch.keys().filter(|name| is_old(name)).cloned().collect();
    for name in old {
        patch.shift_remove(&name);
        base.shift_remove(&name);
    }
}

/// A subject is one thing in two fields. An edit that changed one half has meant the other as it was; where the server has
/// another by now, both go, because half of ours and half of theirs would name something nobody meant.
fn complete_subject(
    tx: &Connection,
    kind: Kind,
    patch: &mut Fields,
    base: &mut Fields,
    known: &Known,
) -> Result<(), StoreError> {
    if !resource(kind).has_subject() {
        return Ok(());
    }
    let there = |name: &str| known.fields.get(name).and_then(Value::as_str);
    match (patch.get(SUBJECT_TYPE), patch.get(SUBJECT_ID)) {
        (None, Some(Value::String(named))) => {
            // Nobody has kept of which kind it was, but the records that were named are known.
            let before = base.get(SUBJECT_ID).and_then(Value::as_str);
            let ours = match before.map(|id| kind_of(tx, id)).transpose()?.flatten() {
                None => kind_of(tx, named)?,
                before => before,
            };
            if let Some(ours) = ours.filter(|ours| there(SUBJECT_TYPE) != Some(ours.as_str())) {
                patch.insert(SUBJECT_TYPE.to_owned(), ours.as_str().into());
                base.insert(SUBJECT_TYPE.to_owned(), ours.as_str().into());
            }
        }
        // What has no id was without one before, or the edit would have cleared it.
        (Some(subject), None) if subject.as_str().and_then(Kind::parse).is_none() && there(SUBJECT_ID).is_some() => {
            patch.insert(SUBJECT_ID.to_owned(), Value::Null);
            base.insert(SUBJECT_ID.to_owned(), Value::Null);
        }
        _ => {}
    }
    Ok(())
}

/// Of which kind a record is that can be a subject, if it is there or is known to have been.
fn kind_of(tx: &Connection, record: &str) -> Result<Option<Kind>, StoreError> {
    first_subject(|kind| Ok(rows::load_row(tx, kind, record)?.is_some() || is_deleted(tx, kind, record)?))
}

/// Of which other kind the server has a record with this id.
pub(super) fn other_kind(tx: &Connection, kind: Kind, record: &str) -> Result<Option<Kind>, StoreError> {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let one = |kind: Kind| {
            format!("SELECT '{kind}' FROM {} WHERE id = ?1 AND rev > 0 AND ?2 <> '{kind}'", kind.collection())
        };
        Kind::ALL.map(one).join(" UNION ALL ")
    });
    let word: Option<String> =
        tx.prepare_cached(&TEXT)?.query_row((record, kind.as_str()), |row| row.get(0)).optional()?;
    Ok(word.as_deref().and_then(Kind::parse))
}

/// The first kind of which this holds, of those that a subject can name.
pub(super) fn first_subject(holds: impl Fn(Kind) -> Result<bool, StoreError>) -> Result<Option<Kind>, StoreError> {
    for kind in SUBJECTS {
        if holds(kind)? {
            return Ok(Some(kind));
        }
    }
    Ok(None)
}

/// A reference that is null there because what it named is deleted was cleared by that delete (contract 3). Nobody has
/// changed it, so it counts as null before the edit too.
fn forget_cleared(
    tx: &Connection,
    kind: Kind,
    patch: &mut Fields,
    base: &mut Fields,
    known: &Known,
) -> Result<(), StoreError> {
    let is_null = |name: &str| known.fields.get(name).is_none_or(Value::is_null);
    for field in resource(kind).fields.iter().filter(|field| is_null(field.name)) {
        let Some(named) = base.get(field.name).and_then(Value::as_str) else { continue };
        match field.format {
            Format::Reference(target) if is_deleted(tx, target, named)? => {}
            Format::Subject if is_null(SUBJECT_TYPE) => {
                let Some(target) = first_subject(|kind| is_deleted(tx, kind, named))? else { continue };
                // One that only named another of the kind must say the kind as well, which is cleared too.
                if patch.get(SUBJECT_ID).is_some_and(|id| !id.is_null()) && !patch.contains_key(SUBJECT_TYPE) {
                    patch.insert(SUBJECT_TYPE.to_owned(), target.as_str().into());
                }
                if patch.contains_key(SUBJECT_TYPE) || base.contains_key(SUBJECT_TYPE) {
                    base.insert(SUBJECT_TYPE.to_owned(), Value::Null);
                }
            }
            _ => continue,
        }
        base.insert(field.name.to_owned(), Value::Null);
    }
    Ok(())
}

/// Whether the server is known to have deleted a record, because the feed has told it or it has taken a delete from here.
pub(super) fn is_deleted(tx: &Connection, kind: Kind, record: &str) -> Result<bool, StoreError> {
    let told = "SELECT EXISTS (SELECT 1 FROM _tombstones WHERE kind = ?1 AND record_id = ?2)";
    Ok(tx.prepare_cached(told)?.query_row((kind.as_str(), record), |row| row.get(0))?
        || image::known(tx, kind, record)?.is_some_and(|known| known.gone))
}

fn wait_for_a_person<T>(tx: &Transaction<'_>, parcel: &Parcel, reason: &str) -> Result<Option<T>, StoreError> {
    let Parcel { edit, kind, .. } = *parcel;
    write(tx, parcel)?;
    sides::spell(tx, edit)?;
    tx.prepare_cached("UPDATE edits SET state = 'conflict', reason = ?2, next_attempt_at = NULL WHERE id = ?1")?
        .execute((edit, reason))?;
    let name = history::title(tx, kind, &parcel.record, &[&parcel.patch, &parcel.base])?;
    log(tx, "warning", &format!("“{name}” needs you (edit {edit}, conflict): {reason}."))?;
    Ok(None)
}

/// Decides as the profile says. The values that lose are kept. False: nothing of the edit is left.
fn decide(
    tx: &Transaction<'_>,
    parcel: &mut Parcel,
    clashes: &[Clash],
    policy: ConflictPolicy,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let edit = parcel.edit;
    let side = |of: fn(&Clash) -> &Value| -> Fields {
        clashes.iter().map(|clash| (clash.field.to_owned(), of(clash).clone())).collect()
    };
    let (mine, theirs) = (side(|clash| &clash.mine), side(|clash| &clash.theirs));
    let names = clashes.iter().map(|clash| clash.field).collect::<Vec<_>>().join(", ");
    if policy == ConflictPolicy::Mine {
        let why = format!("lost to edit {edit}: the profile keeps what was written here");
        let kept = settle::keep_loser(tx, edit, &theirs, &mine, &why, now)?;
        parcel.base.extend(theirs);
        log(
            tx,
            "info",
            &format!("Edit {edit}: {names} changed on both sides; yours was kept (undo {kept} takes theirs)."),
        )?;
        write(tx, parcel)?;
        parts::follow(tx, edit, parcel.method, &parcel.patch, &parcel.base)?;
        return Ok(true);
    }
    let why = format!("of edit {edit}: the profile keeps what was written there");
    for clash in clashes {
        parcel.patch.shift_remove(clash.field);
        parcel.base.shift_remove(clash.field);
    }
    if parcel.patch.is_empty() {
        settle::finish(tx, edit, EditOutcome::Superseded, Some("the profile keeps what was written there"), now)?;
        log(
            tx,
            "info",
            &format!("Edit {edit}: {names} changed on both sides; theirs was kept (undo {edit} takes yours)."),
        )?;
    } else {
        let kept = settle::keep_loser(tx, edit, &mine, &theirs, &why, now)?;
        log(
            tx,
            "info",
            &format!("Edit {edit}: {names} changed on both sides; theirs was kept (undo {kept} takes yours)."),
        )?;
        write(tx, parcel)?;
        parts::follow(tx, edit, parcel.method, &parcel.patch, &parcel.base)?;
    }
    image::project(tx, parcel.kind, &parcel.record)?;
    Ok(!parcel.patch.is_empty())
}
