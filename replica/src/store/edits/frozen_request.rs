//! SQL about frozen requests, for the other modules of the store. Must not read or write.

/// The SQL condition that an edit has a frozen request, which may still be sent again. `edit`: the name of its row in `edits`.
pub(crate) fn has_frozen_request(edit: &str) -> String {
    format!(
        "({edit}.idempotency_key IS NOT NULL
          AND NOT coalesce((SELECT o.given_up FROM _outbox o WHERE o.edit_id = {edit}.id), 0))"
    )
}
