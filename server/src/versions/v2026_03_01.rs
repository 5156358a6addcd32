//! Version 2026-03-01, the first preview: the words for kinds were plural (`vehicles`), and errors had no `fix`
//! (contract 13). Must not know the structure of a response beyond the names of members.

use hearth_contract::schema::Kind;
use serde_json::Value;
use time::macros::date;

use super::version::{Change, Past, Version};

/// The version, its end, and the change to the next version.
pub(super) const VERSION: Version = Version {
    name: "2026-03-01",
    released_on: date!(2026 - 03 - 01),
    news: &["The first preview: records, the change feed, search, bulk calls and exports."],
    past: Some(Past {
        deprecated_on: date!(2026 - 06 - 01),
        sunset_on: date!(2027 - 06 - 01),
        change: Change { parameter, body, answer },
    }),
};

/// The members whose values are words for kinds.
const KIND_MEMBERS: [&str; 4] = ["resource_type", "subject_type", "type", "types"];

fn parameter(name: &str, value: &mut String) {
    if KIND_MEMBERS.contains(&name) {
        *value = swapped_list(value);
    }
}

/// Swaps each word of a comma-separated list.
fn swapped_list(list: &str) -> String {
    list.split(',').map(other_number).collect::<Vec<_>>().join(",")
}

fn body(body: &mut Value) {
    swap(body);
}

fn answer(answer: &mut Value) {
    drop_fix(answer);
    swap_in_errors(answer);
    swap(answer);
}

/// Swaps singular and plural. One rule serves both directions: a singular word is unknown in this version, so an
/// upgrade makes it plural, the next version refuses the plural, and the downgrade restores the word in the refusal.
fn other_number(word: &str) -> &str {
    Kind::COLLECTIONS
        .into_iter()
        .map(|kind| (kind.as_str(), kind.collection()))
        .find_map(|(one, many)| if word == one { Some(many) } else { (word == many).then_some(one) })
        .unwrap_or(word)
}

/// Swaps every word for a kind inside a value.
fn swap(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(swap),
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(word) if KIND_MEMBERS.contains(&name.as_str()) => {
                        *word = other_number(word).to_owned()
                    }
                    Value::Array(words) if name == "types" => words.iter_mut().for_each(swap_word),
                    _ => swap(value),
                }
            }
        }
        _ => (),
    }
}

fn swap_word(value: &mut Value) {
    if let Value::String(word) = value {
        *word = other_number(word).to_owned();
    }
}

/// Removes `fix` from all errors: in an envelope, in the result of an operation, or in a job.
fn drop_fix(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(drop_fix),
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::Object(error) if name == "error" => drop(error.shift_remove("fix")),
                    _ => drop_fix(value),
                }
            }
        }
        _ => (),
    }
}

/// Swaps the words for kinds in the texts of refusals.
fn swap_in_errors(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(swap_in_errors),
        Value::Object(members) => {
            if let Some(Value::Object(error)) = members.get_mut("error") {
                swap_in_error(error);
            }
            if let Some(data) = members.get_mut("data") {
                swap_in_errors(data);
            }
        }
        _ => (),
    }
}

fn swap_in_error(error: &mut serde_json::Map<String, Value>) {
    let Some(Value::Object(details)) = error.get_mut("details") else { return };
    let mut is_affected = false;
    if details.get("parameter").and_then(Value::as_str).is_some_and(|name| KIND_MEMBERS.contains(&name)) {
        is_affected = true;
        // Swapped like in the request, so the client sees the value that was sent.
        for name in ["value", "nearest"] {
            if let Some(Value::String(list)) = details.get_mut(name) {
                *list = swapped_list(list);
            }
        }
    }
    for fault in details.get_mut("fields").and_then(Value::as_array_mut).into_iter().flatten() {
        let field = fault.get("field").and_then(Value::as_str).unwrap_or_default();
        if field.contains("subject_") || field.starts_with("types") {
            is_affected = true;
            fault.get_mut("message").map(swap_in_text);
        }
    }
    if is_affected {
        error.get_mut("message").map(swap_in_text);
    }
}

/// Swaps the words for kinds in a sentence.
fn swap_in_text(value: &mut Value) {
    let Value::String(text) = value else { return };
    let mut swapped = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let word = rest.find(|c: char| !is_word_char(c)).unwrap_or(rest.len());
        swapped.push_str(other_number(&rest[..word]));
        let gap = rest[word..].find(is_word_char).map_or(rest.len(), |gap| word + gap);
        swapped.push_str(&rest[word..gap]);
        rest = &rest[gap..];
    }
    *text = swapped;
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kind_words_swap_and_swap_back() {
        let mut value = json!({
            "data": [{ "type": "vehicle", "title": "task" }, { "subject_type": "inventory", "types": ["room", "property"] }],
            "meta": { "type": "created" }
        });
        let before = value.clone();
        swap(&mut value);
        assert_eq!(
            value,
            json!({
                "data": [{ "type": "vehicles", "title": "task" }, { "subject_type": "inventory", "types": ["rooms", "property"] }],
                "meta": { "type": "created" }
            })
        );
        swap(&mut value);
        assert_eq!(value, before);
    }

    #[test]
    fn refusal_uses_words_of_its_version() {
        let mut value = json!({ "error": {
            "type": "invalid_request",
            "message": "types must be one of inventory, vehicle, task.",
            "fix": "Did you mean `task`?",
            "details": { "parameter": "types", "value": "tasks", "nearest": "task" }
        } });
        answer(&mut value);
        assert_eq!(
            value,
            json!({ "error": {
                "type": "invalid_request",
                "message": "types must be one of inventory, vehicles, tasks.",
                "details": { "parameter": "types", "value": "task", "nearest": "tasks" }
            } })
        );
    }

    #[test]
    fn list_is_upgraded_word_by_word() {
        let mut value = "vehicles,task,home".to_owned();
        parameter("types", &mut value);
        assert_eq!(value, "vehicle,tasks,home");
    }
}
