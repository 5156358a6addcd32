//! Decides what happens to an edit: compares it with the server's present version of its record. One rule for an edit that is to be
//! sent and for an edit that waits for a person. Must not change the database.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::Connection;

use crate::model::{ConflictPolicy, EditState, Method};
use crate::store::edits::adapt;
use crate::store::edits::pending::PendingEdit;
use crate::store::edits::reason::Reason;
use crate::store::merge::{FieldConflict, MergeResult, ServerVersion, three_way_merge};
use crate::store::{StoreError, base};

/// The three-way merge of an edit with the server's present version of its record.
pub(super) struct Compared {
    /// The server's version. None when the server is not known to have the record.
    pub(super) known: Option<ServerVersion>,
    /// The values of the edit, adapted to the server's version.
    pub(super) patch: Fields,
    /// The values that the person saw, adapted likewise.
    pub(super) base: Fields,
    pub(super) merge: MergeResult,
    /// Another kind that has a record with the id of a create.
    other_kind: Option<Kind>,
}

/// Merges an edit with the server's present version of its record.
pub(super) fn compare(tx: &Connection, found: &PendingEdit) -> Result<Compared, StoreError> {
    let PendingEdit { kind, record, method, .. } = found;
    let (kind, method) = (*kind, *method);
    let (mut patch, mut base) = (found.patch.clone(), found.base.clone());
    let known = base::with_acked(tx, kind, record)?;
    adapt::adapt(tx, kind, &mut patch, &mut base, known.as_ref())?;
    let mut merge = three_way_merge(kind, method, &patch, &base, known.as_ref());
    let mut other_kind = None;
    if method == Method::Create && merge == MergeResult::Send {
        // The server uses no id twice (contract 6.1). A conflict with an error object says that the server has reported the id as
        // used, although the record was never seen here; a create that a restored server lost has no error object.
        other_kind = adapt::other_kind(tx, kind, record)?;
        if other_kind.is_some() || found.state == EditState::Conflict && found.has_problem {
            merge = MergeResult::IdTaken(Vec::new());
        }
    }
    Ok(Compared { known, patch, base, merge, other_kind })
}

/// Why nothing of an edit is left to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The edit changes nothing.
    ChangesNothing,
    /// The server already has the values.
    AlreadyThere,
}

/// What happens to an edit.
#[derive(Debug, PartialEq)]
pub(super) enum NextStep {
    /// The edit is sent.
    Send,
    /// The edit ends: nothing of it is left to send.
    End(Ending),
    /// The profile's policy settles these fields. What is left is sent.
    ApplyPolicy(Vec<FieldConflict>),
    /// A person must decide.
    Ask(Reason<'static>),
}

impl Compared {
    /// What happens to the edit. `maybe_applied`: a request of the edit was given up, and the server may have applied it. A second
    /// effect would undo changes that others made since. Pure.
    pub(super) fn next_step(&self, method: Method, maybe_applied: bool, policy: ConflictPolicy) -> NextStep {
        match &self.merge {
            MergeResult::AlreadyThere => NextStep::End(self.ending(method)),
            MergeResult::Send | MergeResult::Conflict(_) if maybe_applied && method == Method::Update => {
                NextStep::Ask(Reason::MaybeApplied)
            }
            MergeResult::Send => NextStep::Send,
            MergeResult::DeletedThere => NextStep::Ask(Reason::DeletedThere),
            MergeResult::IdTaken(_) => {
                NextStep::Ask(self.other_kind.map_or(Reason::ExistsThere, Reason::ExistsAsOtherKind))
            }
            MergeResult::Conflict(conflicts) if method == Method::Delete || policy == ConflictPolicy::Ask => {
                let fields = conflicts.iter().map(|conflict| conflict.field).collect();
                NextStep::Ask(match method {
                    Method::Delete => Reason::ChangedThere,
                    _ => Reason::ChangedOnBothSides(fields),
                })
            }
            MergeResult::Conflict(conflicts) => NextStep::ApplyPolicy(conflicts.clone()),
        }
    }

    fn ending(&self, method: Method) -> Ending {
        let is_nothing = method == Method::Update && (self.patch.is_empty() || self.known.is_none());
        if is_nothing { Ending::ChangesNothing } else { Ending::AlreadyThere }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn compared(merge: MergeResult) -> Compared {
        let patch = Fields::from_iter([("name".to_owned(), json!("Bus"))]);
        Compared { known: Some(ServerVersion::default()), patch, base: Fields::new(), merge, other_kind: None }
    }

    fn conflict() -> MergeResult {
        let value = |text: &str| Value::from(text);
        let (base, mine, theirs) = (value("Car"), value("Bus"), value("Van"));
        MergeResult::Conflict(vec![FieldConflict { field: "name", base, mine, theirs }])
    }

    #[test]
    fn next_step_of_update_follows_merge_and_earlier_requests() {
        let [ask, theirs] = [ConflictPolicy::Ask, ConflictPolicy::Theirs];
        let both = || NextStep::Ask(Reason::ChangedOnBothSides(vec!["name"]));
        let MergeResult::Conflict(fields) = conflict() else { panic!() };
        for (merge, maybe_applied, policy, expected) in [
            (MergeResult::Send, false, ask, NextStep::Send),
            (MergeResult::Send, true, ask, NextStep::Ask(Reason::MaybeApplied)),
            (conflict(), false, ask, both()),
            (conflict(), false, theirs, NextStep::ApplyPolicy(fields)),
            (conflict(), true, theirs, NextStep::Ask(Reason::MaybeApplied)),
            (MergeResult::DeletedThere, false, theirs, NextStep::Ask(Reason::DeletedThere)),
            (MergeResult::DeletedThere, true, ask, NextStep::Ask(Reason::DeletedThere)),
            (MergeResult::AlreadyThere, false, ask, NextStep::End(Ending::AlreadyThere)),
            (MergeResult::AlreadyThere, true, ask, NextStep::End(Ending::AlreadyThere)),
        ] {
            let found = compared(merge.clone()).next_step(Method::Update, maybe_applied, policy);
            assert_eq!(found, expected, "{merge:?} {maybe_applied} {policy:?}");
        }
    }

    #[test]
    fn next_step_of_delete_asks_whatever_the_policy_is() {
        let step =
            |merge, maybe_applied| compared(merge).next_step(Method::Delete, maybe_applied, ConflictPolicy::Mine);
        assert_eq!(step(conflict(), false), NextStep::Ask(Reason::ChangedThere));
        // Nobody can have changed a record that is deleted, so a second delete does no harm.
        assert_eq!(step(MergeResult::Send, true), NextStep::Send);
    }

    #[test]
    fn next_step_of_create_with_used_id_asks() {
        let step = |other_kind| {
            let taken = Compared { other_kind, ..compared(MergeResult::IdTaken(Vec::new())) };
            taken.next_step(Method::Create, false, ConflictPolicy::Mine)
        };
        assert_eq!(step(None), NextStep::Ask(Reason::ExistsThere));
        assert_eq!(step(Some(Kind::Room)), NextStep::Ask(Reason::ExistsAsOtherKind(Kind::Room)));
    }

    #[test]
    fn next_step_of_empty_update_is_end() {
        let nothing = Compared { patch: Fields::new(), ..compared(MergeResult::AlreadyThere) };
        let step = nothing.next_step(Method::Update, false, ConflictPolicy::Ask);
        assert_eq!(step, NextStep::End(Ending::ChangesNothing));
        let no_record = Compared { known: None, ..compared(MergeResult::AlreadyThere) };
        let step = no_record.next_step(Method::Update, false, ConflictPolicy::Ask);
        assert_eq!(step, NextStep::End(Ending::ChangesNothing));
    }
}
