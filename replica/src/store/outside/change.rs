//! One change that no trigger has seen, and the comparison of its values. Must not read a database.

use hearth_contract::check::Fields;
use hearth_contract::schema::{Field, Kind};
use serde_json::Value;

use crate::model::Method;
use crate::store::merge::normalized;

/// A change of one record that no trigger has seen.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FoundChange {
    pub kind: Kind,
    /// The id as found. Not a UUID when the other program has made an id of its own.
    pub record: String,
    pub method: Method,
    /// The changed fields as found. Their types may not be those of the columns.
    pub patch: Fields,
    /// The known values of these fields; of a delete, all known values. They become the base of
    /// the edit, because the other program saw these values.
    pub base: Fields,
    /// Values of a new record in columns that a person has added.
    pub added: Fields,
}

/// The known values of the fields of a patch.
pub(super) fn of_patch(known: &Fields, patch: &Fields) -> Fields {
    patch.keys().map(|name| (name.clone(), known.get(name).cloned().unwrap_or_default())).collect()
}

/// True when a found value is the known one: equal, equal in the server's form, or the same number in another type. A data
/// frame holds counts as 3.0, and may hold amounts as numbers.
pub(super) fn is_same(kind: Kind, name: &str, known: &Value, found: &Value) -> bool {
    let is_same_number = || match (known, found) {
        (Value::String(_), Value::Number(_)) | (Value::Number(_), _) => {
            as_number(known).is_some_and(|known| Some(known) == as_number(found))
        }
        _ => false,
    };
    known == found || normalized(kind, name, Some(known)) == normalized(kind, name, Some(found)) || is_same_number()
}

/// A found value in the type of its column; None when the column cannot hold the value.
pub(super) fn fitted(field: &Field, found: &Value) -> Option<Value> {
    match (field.format.is_integer(), found) {
        (_, Value::Null) => Some(Value::Null),
        (true, found) => as_whole_number(found).map(Value::from),
        (false, Value::String(_)) => Some(found.clone()),
        (false, Value::Number(number)) => Some(match as_whole_number(found) {
            Some(whole) => whole.to_string().into(),
            None => number.to_string().into(),
        }),
        _ => None,
    }
}

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn as_whole_number(value: &Value) -> Option<i64> {
    let is_whole = |number: &f64| number.fract() == 0.0 && number.abs() < 1e15;
    value.as_i64().or_else(|| as_number(value).filter(is_whole).map(|whole| whole as i64))
}

#[cfg(test)]
mod tests {
    use hearth_contract::resources::resource;
    use serde_json::json;

    use super::*;

    #[test]
    fn number_of_other_type_is_same_value() {
        let same = |name, known: Value, found: Value| is_same(Kind::Inventory, name, &known, &found);
        assert!(same("quantity", json!(3), json!(3.0)));
        assert!(same("quantity", json!(3), json!("3")));
        assert!(same("purchase_price", json!("129.00"), json!(129.0)));
        assert!(same("purchase_price", json!("129.00"), json!("129")), "the server's form is equal");
        assert!(!same("purchase_price", json!("129.00"), json!(129.5)));
        assert!(!same("name", json!("007"), json!("7")), "two texts differ");
        assert!(!same("quantity", json!(3), Value::Null));
    }

    #[test]
    fn found_value_gets_type_of_column() {
        let fit = |name, found: Value| fitted(resource(Kind::Inventory).field(name).unwrap(), &found);
        assert_eq!(fit("quantity", json!(3.0)), Some(json!(3)));
        assert_eq!(fit("quantity", json!("3")), Some(json!(3)));
        assert_eq!(fit("quantity", json!("many")), None);
        assert_eq!(fit("purchase_price", json!(129.5)), Some(json!("129.5")));
        assert_eq!(fit("purchase_price", json!(129.0)), Some(json!("129")));
        assert_eq!(fit("name", Value::Null), Some(Value::Null));
    }
}
