//! How a reference to a deleted record is cleared (contract 3). Pure functions of fields; must not know the store.

use hearth_contract::check::Fields;
use hearth_contract::schema::{Format, Kind, SUBJECT_ID, SUBJECT_TYPE};
use serde_json::Value;
use uuid::Uuid;

/// Clears each field that refers to a deleted record.
pub fn clear_reference(kind: Kind, fields: &mut Fields, target: Uuid) {
    let target = target.to_string();
    for field in hearth_contract::resources::resource(kind).fields {
        if fields.get(field.name).and_then(Value::as_str) != Some(target.as_str()) {
            continue;
        }
        match field.format {
            Format::Reference(_) => drop(fields.insert(field.name.to_owned(), Value::Null)),
            Format::Subject => {
                fields.insert(SUBJECT_TYPE.to_owned(), Value::Null);
                fields.insert(SUBJECT_ID.to_owned(), Value::Null);
            }
            _ => (),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task(fields: Value) -> Fields {
        fields.as_object().cloned().unwrap()
    }

    #[test]
    fn deleted_subject_is_cleared() {
        let id = Uuid::from_u128(5);
        let mut fields = task(json!({ "subject_type": "room", "subject_id": id.to_string() }));
        clear_reference(Kind::Task, &mut fields, id);
        assert_eq!(Value::Object(fields), json!({ "subject_type": null, "subject_id": null }));
    }
}
