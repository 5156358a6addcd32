//! The refusals of commands, as problems with a next step. Must not know when a command is refused.

use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};
use hearth_contract::schema::{IMPORT_REF, Kind};
use uuid::Uuid;

/// The refusal of a request for a record that does not exist.
pub fn not_found(kind: Kind, id: impl std::fmt::Display) -> Problem {
    Problem::new(ProblemType::NotFound, format!("No {kind} {id} in this home."))
}

pub(super) fn already_exists(id: Uuid, deleted: bool) -> Problem {
    let state = if deleted { "was used by a record that is deleted" } else { "exists" };
    let problem = Problem::new(ProblemType::AlreadyExists, format!("The id {id} {state}."))
        .with("id", id.to_string())
        .with("deleted", deleted);
    // The usual advice to patch the existing record does not fit a deleted record.
    let fix = "An earlier attempt may have created the record, which was deleted since. Only another thing needs another \
        id: one that was used is never free again.";
    if deleted { problem.with_fix(fix) } else { problem }
}

pub(super) fn import_ref_taken(kind: Kind, holder: Uuid, import_ref: &str) -> Problem {
    Problem::new(ProblemType::AlreadyExists, format!("The {kind} {holder} has the import_ref {import_ref}."))
        .with("id", holder.to_string())
        .with("deleted", false)
        .with("field", IMPORT_REF)
        .with_fix(
            "Update that record, or send another import_ref. An import_ref is free again when its record is deleted.",
        )
}

pub(super) fn too_many_references(kind: Kind, limit: usize) -> Problem {
    let message = format!("This call would clear more than {limit} references to deleted records.");
    Problem::new(ProblemType::PayloadTooLarge, message).with("limit", limit).with("of", "references").with_fix(format!(
        "Send DELETE {}/{{id}} for this record alone: it clears the references in steps.",
        paths::collection(kind)
    ))
}

/// The id of a home is reserved for its property record, even before the property exists (contract 10).
pub(super) fn belongs_to_property(id: Uuid) -> Problem {
    let message = format!("The id {id} is reserved for the property record of this home.");
    let problem = Problem::new(ProblemType::AlreadyExists, message).with("id", id.to_string()).with("deleted", false);
    problem.with_fix("Choose another id: nothing was created with this one.")
}

pub(super) fn precondition_failed(rev: Option<i64>) -> Problem {
    let message = match rev {
        None => "The record does not exist yet.".to_owned(),
        Some(rev) => format!("The record is at revision {rev} now."),
    };
    Problem::new(ProblemType::PreconditionFailed, message).with("rev", rev)
}
