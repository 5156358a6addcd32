//! 2026-03-01, the first preview: words for kinds were plural where they have one (`vehicles`), and errors had no `fix`
//! (contract 13). Must not know where in an answer such words stand beyond the names of their members.

use hearth_contract::schema::Kind;
use serde_json::Value;
use time::macros::date;

use super::{Change, Past, Version};

/// The version, its end, and how the next differs.
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
const WORDY: [&str; 4] = ["resource_type", "subject_type", "type", "types"];

fn parameter(name: &str, value: &mut String) {
    if WORDY.contains(&name) {
        *value = turned_list(value);
    }
}

/// The words of a list, each turned.
fn turned_list(list: &str) -> String {
    list.split(',').map(other_number).collect::<Vec<_>>().join(",")
}

fn body(body: &mut Value) {
    turn(body);
}

fn answer(answer: &mut Value) {
    drop_fix(answer);
    explain(answer);
    turn(answer);
}

/// Singular to plural and plural to singular. One rule serves both directions: a singular word, which this version does
/// not know, goes up as a plural that the next does not know, is refused there, and comes down as it was sent.
fn other_number(word: &str) -> &str {
    Kind::COLLECTIONS
        .into_iter()
        .map(|kind| (kind.as_str(), kind.collection()))
        .find_map(|(one, many)| if word == one { Some(many) } else { (word == many).then_some(one) })
        .unwrap_or(word)
}

/// Turns every word for a kind, wherever it stands.
fn turn(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(turn),
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(word) if WORDY.contains(&name.as_str()) => *word = other_number(word).to_owned(),
                    Value::Array(words) if name == "types" => words.iter_mut().for_each(turn_word),
                    _ => turn(value),
                }
            }
        }
        _ => (),
    }
}

fn turn_word(value: &mut Value) {
    if let Value::String(word) = value {
        *word = other_number(word).to_owned();
    }
}

/// Errors had no `fix`; they stand in an envelope, in an operation's outcome, or in a job.
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

/// A refusal that speaks of words for kinds speaks of this version's.
fn explain(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(explain),
        Value::Object(members) => {
            if let Some(Value::Object(error)) = members.get_mut("error") {
                explain_error(error);
            }
            if let Some(data) = members.get_mut("data") {
                explain(data);
            }
        }
        _ => (),
    }
}

fn explain_error(error: &mut serde_json::Map<String, Value>) {
    let Some(Value::Object(details)) = error.get_mut("details") else { return };
    let mut concerned = false;
    if details.get("parameter").and_then(Value::as_str).is_some_and(|name| WORDY.contains(&name)) {
        concerned = true;
        // As they went up: then what was sent comes back as it was sent.
        for name in ["value", "nearest"] {
            if let Some(Value::String(list)) = details.get_mut(name) {
                *list = turned_list(list);
            }
        }
    }
    for fault in details.get_mut("fields").and_then(Value::as_array_mut).into_iter().flatten() {
        let field = fault.get("field").and_then(Value::as_str).unwrap_or_default();
        if field.contains("subject_") || field.starts_with("types") {
            concerned = true;
            fault.get_mut("message").map(turn_text);
        }
    }
    if concerned {
        error.get_mut("message").map(turn_text);
    }
}

/// Turns the words in a text for people.
fn turn_text(value: &mut Value) {
    let Value::String(text) = value else { return };
    let mut turned = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let word = rest.find(|c: char| !is_word_char(c)).unwrap_or(rest.len());
        turned.push_str(other_number(&rest[..word]));
        let gap = rest[word..].find(is_word_char).map_or(rest.len(), |gap| word + gap);
        turned.push_str(&rest[word..gap]);
        rest = &rest[gap..];
    }
    *text = turned;
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_turn_and_turn_back_where_they_stand_for_kinds() {
        let mut value = json!({
            "data": [{ "type": "vehicle", "title": "task" }, { "subject_type": "inventory", "types": ["room", "property"] }],
            "meta": { "type": "created" }
        });
        let before = value.clone();
        turn(&mut value);
        assert_eq!(
            value,
            json!({
                "data": [{ "type": "vehicles", "title": "task" }, { "subject_type": "inventory", "types": ["rooms", "property"] }],
                "meta": { "type": "created" }
            })
        );
        turn(&mut value);
        assert_eq!(value, before);
    }

    #[test]
    fn a_refusal_speaks_the_versions_own_words() {
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
    fn a_list_goes_up_word_by_word() {
        let mut value = "vehicles,task,home".to_owned();
        parameter("types", &mut value);
        assert_eq!(value, "vehicle,tasks,home");
    }
}
