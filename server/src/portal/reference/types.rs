//! The type of a value in words: `array of Task`, `string or null, date`. Must not know operations.

use serde_json::Value;

use super::json::{list, text};

/// A piece of a type in words: plain text, or the name of a schema that the page describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// The text.
    pub(super) text: String,
    /// Whether the text is the name of a schema.
    pub(super) is_schema: bool,
}

/// A pattern of more characters explains nothing to a reader, and is left out.
const PATTERN_SHOWN_MAX: usize = 40;

/// The type of a schema in words.
pub(super) fn describe(schema: &Value) -> Vec<Piece> {
    let mut pieces = Vec::new();
    write(schema, &mut pieces);
    pieces
}

fn write(schema: &Value, pieces: &mut Vec<Piece>) {
    if let Some(name) = schema_name(schema) {
        pieces.push(Piece { text: name.to_owned(), is_schema: true });
        return;
    }
    let mut say = |text: String| pieces.push(Piece { text, is_schema: false });
    if let Some(choices) = schema["anyOf"].as_array().filter(|_| schema["type"].is_null()) {
        for (at, choice) in choices.iter().enumerate() {
            if at > 0 {
                pieces.push(Piece { text: " or ".to_owned(), is_schema: false });
            }
            write(choice, pieces);
        }
        return;
    }
    if !schema["items"].is_null() {
        say("array of ".to_owned());
        write(&schema["items"], pieces);
        pieces.push(Piece { text: rules(schema), is_schema: false });
        return;
    }
    if let Some(word) = schema["const"].as_str() {
        say(format!("“{word}”"));
        return;
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<&str> = words.iter().map(text).collect();
        say(format!("one of {}", words.join(", ")));
        return;
    }
    say(format!("{}{}", types(&schema["type"]), rules(schema)));
}

/// The name of the schema that a reference points to.
fn schema_name(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

fn types(value: &Value) -> String {
    match value {
        Value::String(one) => one.clone(),
        Value::Array(several) => several.iter().map(text).collect::<Vec<_>>().join(" or "),
        _ => "any value".to_owned(),
    }
}

/// Format, limits, pattern and default, each after a comma.
fn rules(schema: &Value) -> String {
    let mut rules: Vec<String> = Vec::new();
    rules.extend(schema["format"].as_str().map(str::to_owned));
    rules.extend(list(&schema["anyOf"]).iter().filter_map(|choice| choice["format"].as_str()).map(str::to_owned));
    rules.extend(range(&schema["minimum"], &schema["maximum"], ""));
    rules.extend(range(&schema["minLength"], &schema["maxLength"], " characters"));
    rules.extend(range(&schema["minItems"], &schema["maxItems"], " items"));
    // Patterns with `\x` only exclude control characters.
    let is_telling = |pattern: &&str| pattern.len() <= PATTERN_SHOWN_MAX && !pattern.contains("\\x");
    let pattern = schema["pattern"].as_str().filter(is_telling);
    rules.extend(pattern.map(|pattern| format!("pattern {pattern}")));
    rules.extend(Some(&schema["default"]).filter(|preset| !preset.is_null()).map(|preset| format!("default {preset}")));
    rules.iter().map(|rule| format!(", {rule}")).collect()
}

fn range(least: &Value, greatest: &Value, unit: &str) -> Option<String> {
    match (least.is_null(), greatest.is_null()) {
        (true, true) => None,
        (false, true) => Some(format!("at least {least}{unit}")),
        (true, false) => Some(format!("at most {greatest}{unit}")),
        (false, false) => Some(format!("{least} to {greatest}{unit}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(schema: Value) -> String {
        describe(&schema).iter().map(|piece| piece.text.as_str()).collect()
    }

    #[test]
    fn types_are_said_in_words() {
        for (schema, words) in [
            (json!({ "$ref": "#/components/schemas/Task" }), "Task"),
            (
                json!({ "type": "array", "items": { "$ref": "#/components/schemas/Task" }, "maxItems": 50 }),
                "array of Task, at most 50 items",
            ),
            (json!({ "anyOf": [{ "$ref": "#/components/schemas/Id" }, { "type": "null" }] }), "Id or null"),
            (json!({ "type": ["string", "null"], "format": "date" }), "string or null, date"),
            (
                json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 50 }),
                "integer, 1 to 100, default 50",
            ),
            (json!({ "type": "string", "enum": ["asc", "desc"] }), "one of asc, desc"),
            (
                json!({ "type": "string", "anyOf": [{ "format": "date" }, { "format": "date-time" }] }),
                "string, date, date-time",
            ),
            (json!({}), "any value"),
        ] {
            assert_eq!(said(schema.clone()), words, "{schema}");
        }
        assert!(describe(&json!({ "$ref": "#/components/schemas/Task" }))[0].is_schema);
    }
}
