//! `edits`: the local changes that are on their way or wait for a person.

use hearth_replica::{Edit, Table};
use serde_json::{Value, json};

use super::{Context, Failure, output};

/// Lists them, oldest first.
pub(super) fn list(context: &Context) -> Result<(), Failure> {
    let edits = context.existing()?.edits()?;
    if context.json {
        return Ok(output::json(&edits.iter().map(members).collect())?);
    }
    if edits.is_empty() {
        output::note("every local change is confirmed");
        return Ok(());
    }
    let columns = ["id", "state", "method", "kind", "title", "changes", "reason"].map(str::to_owned).to_vec();
    let rows = edits
        .iter()
        .map(|edit| {
            let changes =
                edit.patch.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
            let changes: String = changes.chars().take(60).collect();
            vec![
                edit.id.into(),
                edit.state.clone().into(),
                edit.method.clone().into(),
                edit.kind.word().into(),
                edit.title.clone().into(),
                changes.into(),
                edit.reason.clone().into(),
            ]
        })
        .collect();
    Ok(output::table(&Table { columns, rows })?)
}

/// The columns of `edits`, by name, and the record's title.
pub(super) fn members(edit: &Edit) -> Value {
    json!({
        "id": edit.id, "kind": edit.kind.word(), "record_id": edit.record_id, "title": edit.title,
        "method": edit.method, "patch": edit.patch, "base": edit.base, "state": edit.state,
        "reason": edit.reason, "attempts": edit.attempts, "next_attempt_at": edit.next_attempt_at,
        "problem": edit.problem, "origin": edit.origin, "created_at": edit.created_at,
    })
}
