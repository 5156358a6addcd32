//! Merges an edit with the server's version before the edit is sent: the edit is sent, ends, or waits for a person. Must not
//! know how edits are sent.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::recurrence;
use hearth_contract::schema::Kind;
use rusqlite::Transaction;
use serde_json::Value;

use crate::model::{ConflictPolicy, EditOutcome, LogLevel, Method};
use crate::store::edits::next_step::{self, Ending, NextStep};
use crate::store::edits::prepared::{PreparedEdit, save};
use crate::store::edits::reason::{Reason, need_person};
use crate::store::edits::{already_applied, names, parts, settle};
use crate::store::merge::FieldConflict;
use crate::store::{StoreError, base, log};

/// Merges an edit before it is sent. Gives the edit with the revision for If-Match; None when the edit has ended or
/// waits for a person.
pub(super) fn prepare(
    tx: &Transaction<'_>,
    mut prepared: PreparedEdit,
    policy: ConflictPolicy,
    now: Timestamp,
) -> Result<Option<(PreparedEdit, Option<i64>)>, StoreError> {
    let PreparedEdit { edit, kind, method, .. } = prepared;
    let values = (prepared.patch.clone(), prepared.base.clone());
    let compared = next_step::compare(tx, edit, (kind, &prepared.record), method, values)?;
    let is_adapted = prepared.patch != compared.patch;
    (prepared.patch, prepared.base) = (compared.patch.clone(), compared.base.clone());
    if is_adapted {
        save(tx, &prepared)?;
        base::rebase(tx, kind, &prepared.record)?;
    }
    let maybe_applied = prepared.maybe_applied;
    if method == Method::Update && !maybe_applied {
        already_applied::record_fields(tx, edit, kind, &compared)?;
    }
    let rev = compared.known.as_ref().and_then(|known| known.rev);
    match compared.next_step(method, maybe_applied, policy) {
        NextStep::Send if prepared.request_given_up => {
            log(
                tx,
                LogLevel::Info,
                &format!("Edit {edit}: the {kind} was changed on the server meanwhile; both changes stand."),
            )?;
        }
        NextStep::Send => {}
        NextStep::End(ending) => {
            // A server that is restored to before the record's revision has lost the edit too.
            end_edit(tx, edit, kind, &prepared.record, rev, ending, now)?;
            return Ok(None);
        }
        NextStep::Ask(reason) => return wait_for_person(tx, &prepared, reason),
        NextStep::ApplyPolicy(conflicts) => {
            if !apply_policy(tx, &mut prepared, &conflicts, policy, now)? {
                return Ok(None);
            }
        }
    }
    Ok(Some((prepared, rev.filter(|_| method != Method::Create))))
}

/// Ends an edit of which nothing is left to send. `rev`: the revision of the record on the server, if known.
pub(super) fn end_edit(
    tx: &Transaction<'_>,
    edit: i64,
    kind: Kind,
    record: &str,
    rev: Option<i64>,
    why: Ending,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (reason, result) = match why {
        Ending::ChangesNothing => ("it changes nothing", "stays as it is, for nothing of it was changed"),
        Ending::AlreadyThere => ("the server has it already", "is already so on the server"),
    };
    settle::finish_at(tx, edit, rev, EditOutcome::Merged, reason, now)?;
    base::rebase(tx, kind, record)?;
    log(tx, LogLevel::Info, &format!("Edit {edit}: the {kind} {result}."))
}

fn wait_for_person<T>(
    tx: &Transaction<'_>,
    prepared: &PreparedEdit,
    reason: Reason<'_>,
) -> Result<Option<T>, StoreError> {
    let PreparedEdit { edit, kind, .. } = *prepared;
    save(tx, prepared)?;
    let sentence = reason.sentence();
    need_person(tx, edit, reason)?;
    let name = names::title(tx, kind, &prepared.record, &[&prepared.patch, &prepared.base])?;
    log(tx, LogLevel::Warning, &format!("“{name}” needs you (edit {edit}, conflict): {sentence}."))?;
    Ok(None)
}

/// Resolves conflicting fields by the profile's policy. The losing values go to the history. False when nothing of the
/// edit is left.
fn apply_policy(
    tx: &Transaction<'_>,
    prepared: &mut PreparedEdit,
    conflicts: &[FieldConflict],
    policy: ConflictPolicy,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let edit = prepared.edit;
    let side = |of: fn(&FieldConflict) -> &Value| -> Fields {
        conflicts.iter().map(|conflict| (conflict.field.to_owned(), of(conflict).clone())).collect()
    };
    let (mine, theirs) = (side(|conflict| &conflict.mine), side(|conflict| &conflict.theirs));
    let names = conflicts.iter().map(|conflict| conflict.field).collect::<Vec<_>>().join(", ");
    if policy == ConflictPolicy::Mine {
        let why = format!("lost to edit {edit}: the profile keeps the value on this device");
        let kept = settle::keep_loser(tx, edit, &theirs, &mine, &why, now)?;
        prepared.base.extend(theirs);
        log(
            tx,
            LogLevel::Info,
            &format!("Edit {edit}: {names} changed on both sides; yours was kept (undo {kept} takes theirs)."),
        )?;
        save(tx, prepared)?;
        parts::update_parts(tx, edit, prepared.method, &prepared.patch, &prepared.base)?;
        return Ok(true);
    }
    let why = format!("of edit {edit}: the profile keeps the value on the server");
    for conflict in conflicts {
        prepared.patch.shift_remove(conflict.field);
        prepared.base.shift_remove(conflict.field);
    }
    recurrence::drop_orphans(&mut prepared.patch);
    recurrence::drop_orphans(&mut prepared.base);
    if prepared.patch.is_empty() {
        settle::finish(tx, edit, EditOutcome::Superseded, Some("the profile keeps the value on the server"), now)?;
        log(
            tx,
            LogLevel::Info,
            &format!("Edit {edit}: {names} changed on both sides; theirs was kept (undo {edit} takes yours)."),
        )?;
    } else {
        let kept = settle::keep_loser(tx, edit, &mine, &theirs, &why, now)?;
        log(
            tx,
            LogLevel::Info,
            &format!("Edit {edit}: {names} changed on both sides; theirs was kept (undo {kept} takes yours)."),
        )?;
        save(tx, prepared)?;
        parts::update_parts(tx, edit, prepared.method, &prepared.patch, &prepared.base)?;
    }
    base::rebase(tx, prepared.kind, &prepared.record)?;
    Ok(!prepared.patch.is_empty())
}
