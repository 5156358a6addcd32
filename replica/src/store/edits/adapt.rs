//! Adapts an edit to the server's newer version of the record, before the three-way merge. Three cases: values that
//! were changed back, references that a delete has cleared, and subjects, which are one value in two fields. Must not
//! merge.

use std::sync::LazyLock;

use hearth_contract::check::Fields;
use hearth_contract::recurrence::{self, STATUS};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECT_ID, SUBJECT_TYPE, SUBJECTS, is_subject};
use rusqlite::Connection;
use serde_json::Value;

use crate::store::merge::{ServerVersion, changes_completion, normalized};
use crate::store::{StoreError, base, rows, select};

/// Changes the patch and the base of an edit to fit the server's version of the record. `known`: None when the server
/// does not have the record.
pub(super) fn adapt(
    tx: &Connection,
    kind: Kind,
    patch: &mut Fields,
    base: &mut Fields,
    known: Option<&ServerVersion>,
) -> Result<(), StoreError> {
    let Some(known) = known else { return Ok(()) };
    drop_unchanged(kind, patch, base, known);
    drop_cleared_references(tx, kind, patch, base, known)?;
    complete_subject(tx, kind, patch, base, known)
}

/// Removes fields whose patch equals the base: a person changed the value and changed it back. Without this, the edit
/// would overwrite a newer value of the server.
fn drop_unchanged(kind: Kind, patch: &mut Fields, base: &mut Fields, known: &ServerVersion) {
    let is_done_again = kind == Kind::Task && changes_completion(patch, base);
    let is_same = |name: &str| {
        base.contains_key(name)
            && normalized(kind, name, base.get(name)) == normalized(kind, name, patch.get(name))
            && !(is_done_again && name == STATUS)
    };
    // A subject is one value in two fields: an unchanged half stays when the other half is changed.
    let is_other_subject = patch.keys().any(|name| is_subject(name) && !is_same(name));
    let is_old = |name: &str| {
        let server_value = known.fields.get(name).unwrap_or(&Value::Null);
        is_same(name)
            && !(is_subject(name) && is_other_subject)
            && normalized(kind, name, base.get(name)) != *server_value
    };
    let old: Vec<String> = patch.keys().filter(|name| is_old(name)).cloned().collect();
    drop_fields(patch, base, old.iter().map(String::as_str));
}

/// Removes fields from both sides of an edit, with what means nothing without them.
pub(super) fn drop_fields<'a>(patch: &mut Fields, base: &mut Fields, names: impl IntoIterator<Item = &'a str>) {
    for name in names {
        patch.shift_remove(name);
        base.shift_remove(name);
    }
    recurrence::drop_orphans(patch);
    recurrence::drop_orphans(base);
}

/// Completes half a subject. A subject is one value in two fields, and an edit of one half keeps the other half. When
/// the server has another subject by now, both halves are sent: a mix of both subjects would name a wrong record.
fn complete_subject(
    tx: &Connection,
    kind: Kind,
    patch: &mut Fields,
    base: &mut Fields,
    known: &ServerVersion,
) -> Result<(), StoreError> {
    if !resource(kind).has_subject() {
        return Ok(());
    }
    let server_value = |name: &str| known.fields.get(name).and_then(Value::as_str);
    match (patch.get(SUBJECT_TYPE), patch.get(SUBJECT_ID)) {
        (None, Some(Value::String(named))) => {
            // The edit does not store the kind of the old subject, but the replica knows the subject's record.
            let before = base.get(SUBJECT_ID).and_then(Value::as_str);
            let ours = match before.map(|id| kind_of(tx, id)).transpose()?.flatten() {
                None => kind_of(tx, named)?,
                before => before,
            };
            if let Some(ours) = ours.filter(|ours| server_value(SUBJECT_TYPE) != Some(ours.as_str())) {
                patch.insert(SUBJECT_TYPE.to_owned(), ours.as_str().into());
                base.insert(SUBJECT_TYPE.to_owned(), ours.as_str().into());
            }
        }
        // The edit sets no id, so the subject had no id before: otherwise the edit would have cleared the id.
        (Some(subject), None)
            if subject.as_str().and_then(Kind::parse).is_none() && server_value(SUBJECT_ID).is_some() =>
        {
            patch.insert(SUBJECT_ID.to_owned(), Value::Null);
            base.insert(SUBJECT_ID.to_owned(), Value::Null);
        }
        _ => {}
    }
    Ok(())
}

/// The kind of a record that can be a subject. None when the replica does not know the record.
fn kind_of(tx: &Connection, record: &str) -> Result<Option<Kind>, StoreError> {
    first_subject(|kind| Ok(rows::load_row(tx, kind, record)?.is_some() || is_deleted_there(tx, kind, record)?))
}

/// Another kind that has a record with the same id on the server. None when no other kind has one.
pub(super) fn other_kind(tx: &Connection, kind: Kind, record: &str) -> Result<Option<Kind>, StoreError> {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let one = |kind: Kind| {
            format!("SELECT '{kind}' FROM {} WHERE id = ?1 AND rev IS NOT NULL AND ?2 <> '{kind}'", kind.collection())
        };
        Kind::ALL.map(one).join(" UNION ALL ")
    });
    let word: Option<String> = select::first(tx, &TEXT, (record, kind.as_str()))?;
    Ok(word.as_deref().and_then(Kind::parse))
}

/// The first subject kind for which `holds` is true.
pub(super) fn first_subject(holds: impl Fn(Kind) -> Result<bool, StoreError>) -> Result<Option<Kind>, StoreError> {
    for kind in SUBJECTS {
        if holds(kind)? {
            return Ok(Some(kind));
        }
    }
    Ok(None)
}

/// Clears references in the base that the server has cleared because the target was deleted (contract 3). No person
/// changed such a reference, so the reference must not count as a conflict.
fn drop_cleared_references(
    tx: &Connection,
    kind: Kind,
    patch: &mut Fields,
    base: &mut Fields,
    known: &ServerVersion,
) -> Result<(), StoreError> {
    let is_null = |name: &str| known.fields.get(name).is_none_or(Value::is_null);
    for field in resource(kind).fields.iter().filter(|field| is_null(field.name)) {
        let Some(named) = base.get(field.name).and_then(Value::as_str) else { continue };
        match field.format {
            Format::Reference(target) if is_deleted_there(tx, target, named)? => {}
            Format::Subject if is_null(SUBJECT_TYPE) => {
                let Some(target) = first_subject(|kind| is_deleted_there(tx, kind, named))? else { continue };
                // The server has cleared the kind too, so an edit that only names another record must also name the
                // kind.
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

/// True when the server is known to have deleted a record: the feed showed the delete, or the server accepted a
/// delete of this replica.
pub(super) fn is_deleted_there(tx: &Connection, kind: Kind, record: &str) -> Result<bool, StoreError> {
    Ok(base::with_acked(tx, kind, record)?.is_some_and(|known| known.deleted))
}
