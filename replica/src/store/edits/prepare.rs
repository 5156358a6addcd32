//! Merges an edit with the server's version before the edit is sent: the edit is sent, ends, or waits for a person. Must not
//! know how edits are sent.

use hearth_contract::formats::Timestamp;
use rusqlite::Transaction;

use crate::model::{ConflictPolicy, EditOutcome, LogLevel, Method};
use crate::store::edits::next_step::{self, Ending, NextStep};
use crate::store::edits::pending::{PendingEdit, save};
use crate::store::edits::reason::{Reason, need_person};
use crate::store::edits::{adapt, already_applied, parts, settle};
use crate::store::merge::{FieldConflict, side};
use crate::store::{StoreError, base, log};

/// Merges an edit before it is sent. Gives the edit with the revision for If-Match; None when the edit has ended or
/// waits for a person.
pub(super) fn prepare(
    tx: &Transaction<'_>,
    mut found: PendingEdit,
    policy: ConflictPolicy,
    now: Timestamp,
) -> Result<Option<(PendingEdit, Option<i64>)>, StoreError> {
    let PendingEdit { id: edit, kind, method, .. } = found;
    let compared = next_step::compare(tx, &found)?;
    let is_adapted = found.patch != compared.patch;
    (found.patch, found.base) = (compared.patch.clone(), compared.base.clone());
    if is_adapted {
        save(tx, &found)?;
        base::rebase(tx, kind, &found.record)?;
    }
    let maybe_applied = found.maybe_applied;
    if method == Method::Update && !maybe_applied {
        already_applied::record_fields(tx, edit, kind, &compared)?;
    }
    let rev = compared.known.as_ref().and_then(|known| known.rev);
    match compared.next_step(method, maybe_applied, policy) {
        NextStep::Send if found.request_given_up => {
            log(
                tx,
                LogLevel::Info,
                &format!("Edit {edit}: the {kind} was changed on the server meanwhile; both changes stand."),
            )?;
        }
        NextStep::Send => {}
        NextStep::End(ending) => {
            // The history keeps `rev`: a server that is restored to a position before it has lost this edit too.
            end_edit(tx, &found, rev, ending, now)?;
            return Ok(None);
        }
        NextStep::Ask(reason) => return wait_for_person(tx, &found, reason),
        NextStep::ApplyPolicy(conflicts) => {
            if !apply_policy(tx, &mut found, &conflicts, policy, now)? {
                return Ok(None);
            }
        }
    }
    Ok(Some((found, rev.filter(|_| method != Method::Create))))
}

/// Ends an edit of which nothing is left to send. `rev`: the revision of the record on the server, if known.
pub(super) fn end_edit(
    tx: &Transaction<'_>,
    PendingEdit { id, kind, record, .. }: &PendingEdit,
    rev: Option<i64>,
    why: Ending,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (reason, result) = match why {
        Ending::ChangesNothing => ("it changes nothing", "stays as it is, for nothing of it was changed"),
        Ending::AlreadyThere => ("the server has it already", "is already so on the server"),
    };
    settle::finish(tx, &[(*id, rev)], EditOutcome::Merged, Some(reason), now)?;
    base::rebase(tx, *kind, record)?;
    log(tx, LogLevel::Info, &format!("Edit {id}: the {kind} {result}."))
}

fn wait_for_person<T>(tx: &Transaction<'_>, found: &PendingEdit, reason: Reason<'_>) -> Result<Option<T>, StoreError> {
    let PendingEdit { id, name, .. } = found;
    save(tx, found)?;
    let sentence = reason.sentence();
    need_person(tx, *id, reason)?;
    log(tx, LogLevel::Warning, &format!("{name} needs you (edit {id}, conflict): {sentence}."))?;
    Ok(None)
}

/// Resolves conflicting fields by the profile's policy. The losing values go to the history. False when nothing of the
/// edit is left.
fn apply_policy(
    tx: &Transaction<'_>,
    found: &mut PendingEdit,
    conflicts: &[FieldConflict],
    policy: ConflictPolicy,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let edit = found.id;
    let names = conflicts.iter().map(|conflict| conflict.field).collect::<Vec<_>>().join(", ");
    let is_mine = policy == ConflictPolicy::Mine;
    // The number of the history entry with the values that lost.
    let lost = if is_mine {
        settle::keep_theirs(tx, found, conflicts, "the profile keeps the value on this device", now)?
    } else {
        adapt::drop_fields(&mut found.patch, &mut found.base, conflicts.iter().map(|conflict| conflict.field));
        if found.patch.is_empty() {
            let why = "the profile keeps the value on the server";
            settle::finish(tx, &[(edit, None)], EditOutcome::Superseded, Some(why), now)?;
            edit
        } else {
            let (mine, theirs) =
                (side(conflicts, |conflict| &conflict.mine), side(conflicts, |conflict| &conflict.theirs));
            let why = format!("of edit {edit}: the profile keeps the value on the server");
            settle::keep_loser(tx, edit, &mine, &theirs, &why, now)?
        }
    };
    let (kept, other) = if is_mine { ("yours", "theirs") } else { ("theirs", "yours") };
    let text = format!("Edit {edit}: {names} changed on both sides; {kept} was kept (undo {lost} takes {other}).");
    log(tx, LogLevel::Info, &text)?;
    let is_left = !found.patch.is_empty();
    if is_left {
        save(tx, found)?;
        parts::update_parts(tx, found)?;
    }
    base::rebase(tx, found.kind, &found.record)?;
    Ok(is_left)
}
