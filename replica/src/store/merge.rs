//! The three-way merge of an edit: the value that a person saw, the value that the person wants, the value that the server has.
//! Pure: must not know the source of the values, or how a conflict is settled.

use hearth_contract::check::{Fields, Intent, check_field};
use hearth_contract::record::complete;
use hearth_contract::recurrence::{COMPLETED_AT, is_done};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, is_subject};
use serde_json::Value;

use crate::model::Method;

/// The server's version of a record: the base image, with the edits that the server has accepted since laid over.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ServerVersion {
    /// The revision of the record; None when the revision is unknown.
    pub rev: Option<i64>,
    pub fields: Fields,
    /// True when the record is deleted on the server; `fields` are its last values.
    pub deleted: bool,
}

/// The result of a three-way merge.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MergeResult {
    /// Nothing conflicts: the edit can be sent.
    Send,
    /// The server already has the values of the edit.
    AlreadyThere,
    /// Both sides changed these fields differently; or a delete would remove changes that nobody here saw.
    Conflict(Vec<FieldConflict>),
    /// The record is deleted on the server. The server uses its id for no other record.
    DeletedThere,
    /// The id of a create is in use on the server; these fields differ.
    IdTaken(Vec<FieldConflict>),
}

/// A field with its three values, each in the server's form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldConflict {
    pub field: &'static str,
    pub base: Value,
    pub mine: Value,
    pub theirs: Value,
}

/// One side of conflicting fields, as the fields of a record.
pub(crate) fn side(conflicts: &[FieldConflict], of: fn(&FieldConflict) -> &Value) -> Fields {
    conflicts.iter().map(|conflict| (conflict.field.to_owned(), of(conflict).clone())).collect()
}

/// Merges an edit with the server's version of its record. `known`: None when the server never had the record.
pub(crate) fn three_way_merge(
    kind: Kind,
    method: Method,
    patch: &Fields,
    base: &Fields,
    known: Option<&ServerVersion>,
) -> MergeResult {
    let Some(known) = known else {
        // A profile without any value does not exist on the server.
        let clears = kind.is_singleton() && patch.values().all(Value::is_null);
        let is_nothing = method == Method::Update && (patch.is_empty() || clears);
        return if is_nothing { MergeResult::AlreadyThere } else { MergeResult::Send };
    };
    match method {
        Method::Delete if known.deleted => MergeResult::AlreadyThere,
        Method::Delete => {
            let changed = differing(kind, base, base, known, |conflict| conflict.base != conflict.theirs);
            let changed: Vec<FieldConflict> =
                changed.into_iter().map(|conflict| FieldConflict { mine: Value::Null, ..conflict }).collect();
            if changed.is_empty() { MergeResult::Send } else { MergeResult::Conflict(changed) }
        }
        Method::Create if known.deleted => MergeResult::DeletedThere,
        Method::Create => {
            let others = differing(kind, patch, &Fields::new(), known, |conflict| conflict.mine != conflict.theirs);
            if others.is_empty() { MergeResult::AlreadyThere } else { MergeResult::IdTaken(others) }
        }
        _ if known.deleted => MergeResult::DeletedThere,
        _ => {
            let open = differing(kind, patch, base, known, |conflict| conflict.mine != conflict.theirs);
            if open.is_empty() {
                let is_new_moment = kind == Kind::Task && completes_again(patch, base, known);
                return if is_new_moment { MergeResult::Send } else { MergeResult::AlreadyThere };
            }
            let mut conflicts: Vec<FieldConflict> =
                open.iter().filter(|conflict| conflict.base != conflict.theirs).cloned().collect();
            // A subject is one value in two fields: a mixed subject names no record that anybody meant.
            if conflicts.iter().any(|conflict| is_subject(conflict.field)) {
                let other =
                    open.into_iter().filter(|conflict| is_subject(conflict.field) && !conflicts.contains(conflict));
                conflicts.extend(other.collect::<Vec<_>>());
            }
            if conflicts.is_empty() { MergeResult::Send } else { MergeResult::Conflict(conflicts) }
        }
    }
}

/// True when an edit completes a completed task at another moment: the task was reopened in between. When the server has
/// another completion than the base, that completion stays: nobody typed a moment, so no person must decide.
fn completes_again(patch: &Fields, base: &Fields, known: &ServerVersion) -> bool {
    let moment = |fields: &Fields| normalized(Kind::Task, COMPLETED_AT, fields.get(COMPLETED_AT));
    changes_completion(patch, base) && moment(base) == moment(&known.fields)
}

/// True when a task is done before and after an edit, and the edit changes the moment of the completion.
pub(crate) fn changes_completion(patch: &Fields, base: &Fields) -> bool {
    let moment = |fields: &Fields| fields.get(COMPLETED_AT).filter(|moment| !moment.is_null()).cloned();
    is_done(patch) && is_done(base) && moment(patch).is_some_and(|mine| moment(base) != Some(mine))
}

/// True when a record of the server has these values. Values that the server computes prove nothing.
pub(crate) fn holds(kind: Kind, record: &Fields, values: &Fields) -> bool {
    let mut there = ServerVersion { rev: None, fields: record.clone(), deleted: false };
    complete(kind, &mut there.fields);
    differing(kind, values, &Fields::new(), &there, |field| field.mine != field.theirs).is_empty()
}

/// The fields of `mine` for which `only` is true, in the order of the table. Every value is in the server's form.
fn differing(
    kind: Kind,
    mine: &Fields,
    base: &Fields,
    known: &ServerVersion,
    only: impl Fn(&FieldConflict) -> bool,
) -> Vec<FieldConflict> {
    resource(kind)
        .fields
        .iter()
        .filter(|field| field.is_writable() && mine.contains_key(field.name))
        .map(|field| FieldConflict {
            field: field.name,
            base: normalized(kind, field.name, base.get(field.name)),
            mine: normalized(kind, field.name, mine.get(field.name)),
            theirs: known.fields.get(field.name).cloned().unwrap_or(Value::Null),
        })
        .filter(only)
        .collect()
}

/// A value in the server's form. A value that the server would refuse stays unchanged.
pub(crate) fn normalized(kind: Kind, name: &str, value: Option<&Value>) -> Value {
    let value = value.cloned().unwrap_or(Value::Null);
    match resource(kind).field(name) {
        Some(field) => check_field(field, Intent::Patch, &value).unwrap_or(value),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Fields {
        value.as_object().cloned().unwrap()
    }

    fn known(value: Value) -> ServerVersion {
        ServerVersion { rev: Some(3), fields: fields(value), deleted: false }
    }

    fn update(patch: Value, base: Value, there: &ServerVersion) -> MergeResult {
        three_way_merge(Kind::Vehicle, Method::Update, &fields(patch), &fields(base), Some(there))
    }

    #[test]
    fn merge_of_one_sided_fields_is_sent() {
        let there = known(json!({ "name": "Car", "color": "red", "purchase_price": "7.50" }));
        assert_eq!(update(json!({ "name": "Bus" }), json!({ "name": "Car" }), &there), MergeResult::Send);
        // The base has another form than the server's value, and is equal to it.
        let mine = json!({ "purchase_price": "8" });
        assert_eq!(update(mine, json!({ "purchase_price": "07.5" }), &there), MergeResult::Send);
    }

    #[test]
    fn merge_of_equal_values_is_already_there() {
        let there = known(json!({ "name": "Bus", "purchase_price": "7.50" }));
        let mine = json!({ "name": "Bus", "purchase_price": "7.5" });
        assert_eq!(update(mine, json!({ "name": "Car", "purchase_price": null }), &there), MergeResult::AlreadyThere);
        let half = json!({ "name": "Bus", "color": "red" });
        assert_eq!(update(half, json!({ "name": "Car", "color": null }), &there), MergeResult::Send);
    }

    #[test]
    fn merge_of_different_values_conflicts() {
        let there = known(json!({ "name": "Bus", "color": "red" }));
        let judged =
            update(json!({ "name": "Van", "color": "blue" }), json!({ "name": "Car", "color": "red" }), &there);
        let conflict = FieldConflict { field: "name", base: json!("Car"), mine: json!("Van"), theirs: json!("Bus") };
        assert_eq!(judged, MergeResult::Conflict(vec![conflict]));
        assert_eq!(
            update(json!({ "name": "x" }), json!({}), &ServerVersion { deleted: true, ..there }),
            MergeResult::DeletedThere
        );
    }

    #[test]
    fn merge_keeps_subject_whole() {
        let [item, room] = ["0190a3b0-0000-7000-8000-000000000001", "0190a3b0-0000-7000-8000-000000000002"];
        let there = known(json!({ "subject_type": "inventory", "subject_id": item }));
        let base = fields(json!({ "subject_type": "inventory", "subject_id": null }));
        let mine = fields(json!({ "subject_type": "room", "subject_id": room }));
        let MergeResult::Conflict(conflicts) = three_way_merge(Kind::Task, Method::Update, &mine, &base, Some(&there))
        else {
            panic!()
        };
        assert_eq!(conflicts.len(), 2, "{conflicts:?}");
    }

    #[test]
    fn merge_of_completions_counts_moment() {
        let [first, second, other] =
            ["2026-11-02T08:00:00.000Z", "2026-11-25T08:00:00.000Z", "2026-11-24T08:00:00.000Z"];
        let done = |at: &str| json!({ "status": "done", "completed_at": at });
        let open = json!({ "status": "open", "completed_at": null });
        let status = |theirs: &str| {
            let [base, mine, theirs] = ["done", "done", theirs].map(Value::from);
            MergeResult::Conflict(vec![FieldConflict { field: "status", base, mine, theirs }])
        };
        for (base, theirs, expected) in [
            (done(first), done(first), MergeResult::Send),
            (done(first), done(second), MergeResult::AlreadyThere),
            // Nobody typed a moment: of two completions, the one on the server stays.
            (done(first), done(other), MergeResult::AlreadyThere),
            (open.clone(), done(other), MergeResult::AlreadyThere),
            (done(first), open.clone(), status("open")),
            (open.clone(), open.clone(), MergeResult::Send),
        ] {
            let merged = three_way_merge(
                Kind::Task,
                Method::Update,
                &fields(done(second)),
                &fields(base.clone()),
                Some(&known(theirs.clone())),
            );
            assert_eq!(merged, expected, "{base} {theirs}");
        }
        let create = three_way_merge(
            Kind::Task,
            Method::Create,
            &fields(done(second)),
            &Fields::new(),
            Some(&known(done(other))),
        );
        assert_eq!(create, MergeResult::AlreadyThere);
    }

    #[test]
    fn merge_of_delete_and_unseen_change_conflicts() {
        let there = known(json!({ "name": "Car", "color": "red" }));
        let delete = |base| three_way_merge(Kind::Vehicle, Method::Delete, &Fields::new(), &fields(base), Some(&there));
        assert_eq!(delete(json!({ "name": "Car", "color": "red" })), MergeResult::Send);
        assert!(
            matches!(delete(json!({ "name": "Car", "color": null })), MergeResult::Conflict(c) if c[0].mine.is_null())
        );
        let gone = ServerVersion { deleted: true, ..there.clone() };
        assert_eq!(
            three_way_merge(Kind::Vehicle, Method::Delete, &Fields::new(), &Fields::new(), Some(&gone)),
            MergeResult::AlreadyThere
        );
    }

    #[test]
    fn merge_of_cleared_missing_profile_is_done() {
        let clear = |kind, patch| three_way_merge(kind, Method::Update, &fields(patch), &Fields::new(), None);
        assert_eq!(clear(Kind::Property, json!({ "city": null })), MergeResult::AlreadyThere);
        assert_eq!(clear(Kind::Property, json!({ "city": null, "state": "x" })), MergeResult::Send);
        assert_eq!(clear(Kind::Vehicle, json!({ "color": null })), MergeResult::Send, "it may be there");
    }

    #[test]
    fn merge_of_create_with_used_id() {
        let mine = fields(json!({ "name": "Car", "purchase_price": "7.5" }));
        let create = |there: Option<&ServerVersion>| {
            three_way_merge(Kind::Vehicle, Method::Create, &mine, &Fields::new(), there)
        };
        assert_eq!(create(None), MergeResult::Send);
        assert_eq!(create(Some(&known(json!({ "name": "Car", "purchase_price": "7.50" })))), MergeResult::AlreadyThere);
        assert!(matches!(create(Some(&known(json!({ "name": "Bus" })))), MergeResult::IdTaken(c) if c.len() == 2));
    }
}
