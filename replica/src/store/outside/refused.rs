//! Found changes that a rule refuses: they become edits that wait for a person. Must not judge values.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, Presence};
use rusqlite::Transaction;
use serde_json::Value;

use super::change::of_patch;
use crate::model::{EditState, Method, Origin, ReasonCode};
use crate::store::edits::EditError;
use crate::store::{StoreError, base, gate, rows};

/// The sentence of a refusal; other errors stay errors.
pub(super) fn refusal(error: EditError) -> Result<String, StoreError> {
    match error {
        EditError::Refused(sentence) => Ok(sentence),
        EditError::NotFound => Ok(EditError::NotFound.to_string()),
        EditError::Store(error) => Err(error),
    }
}

/// Queues an edit that waits for a person: a rule refuses its values.
pub(super) fn refuse(
    tx: &Transaction<'_>,
    kind: Kind,
    record: &str,
    method: Method,
    values: &Fields,
    faults: &[String],
) -> Result<(), StoreError> {
    let values = if method == Method::Create { with_defaults(kind, values) } else { values.clone() };
    let reason = unchecked_reason(faults);
    gate::with_guards_off(tx, |tx| {
        let before = rows::load_row(tx, kind, record)?.map(|row| row.fields).unwrap_or_default();
        let base = if method == Method::Update { of_patch(&before, &values) } else { Fields::new() };
        tx.prepare_cached(
            "INSERT INTO edits (kind, record_id, method, patch, base, state, reason_code, reason, origin)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            kind.as_str(),
            record,
            method,
            rows::json_text(&values),
            rows::json_text(&base),
            EditState::Rejected,
            ReasonCode::InvalidValue,
            &reason,
            Origin::Sql,
        ))?;
        base::rebase(tx, kind, record)
    })
}

/// The reason of an edit with values that rules refuse, as a sentence. `faults`: the sentences of the rules.
pub(super) fn unchecked_reason(faults: &[String]) -> String {
    format!("another program wrote a value that no rule has checked: {}", faults.join("; "))
}

/// The values of a refused create with a value in each field that is never null: its default, or an empty text.
fn with_defaults(kind: Kind, values: &Fields) -> Fields {
    let mut values = values.clone();
    for field in resource(kind).fields {
        let missing = match field.presence {
            Presence::Default(preset) => preset.value(),
            Presence::Required => Value::from(""),
            _ => continue,
        };
        values.entry(field.name).or_insert(missing);
    }
    values
}
