//! Shortens the server's texts and error objects before they are saved with edits, shown or logged: no other limit exists.
//! Must not interpret them.

use serde_json::{Map, Value};

/// Characters of a sentence. The server's own sentences are shorter than a fifth.
const SENTENCE_CHARS_MAX: usize = 1000;
/// Bytes of an error object. An object with errors in all fields of a record fits (contract 12).
const PROBLEM_BYTES_MAX: usize = 16 << 10;

/// A sentence, cut at [`SENTENCE_CHARS_MAX`].
pub(super) fn sentence(text: &str) -> String {
    match text.char_indices().nth(SENTENCE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// An error object without the members that exceed [`PROBLEM_BYTES_MAX`]. Null for a large value of another type.
pub(super) fn problem(problem: Value) -> Value {
    if json_bytes(&problem) <= PROBLEM_BYTES_MAX {
        return problem;
    }
    let Value::Object(members) = problem else { return Value::Null };
    let mut kept = Map::new();
    let mut bytes_left = PROBLEM_BYTES_MAX;
    for (name, value) in members {
        let value = match value {
            Value::String(text) => Value::String(sentence(&text)),
            value => value,
        };
        // Names and sentences always fit, so only lists and unknown members are dropped.
        let bytes = json_bytes(&value) + name.len() + r#""":,"#.len();
        if bytes <= bytes_left {
            bytes_left -= bytes;
            kept.insert(name, value);
        }
    }
    Value::Object(kept)
}

fn json_bytes(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sentence_is_cut_between_characters() {
        assert_eq!(sentence("Too many."), "Too many.");
        let whole = "é".repeat(SENTENCE_CHARS_MAX);
        assert_eq!(sentence(&whole), whole);
        assert_eq!(sentence(&"é".repeat(5_000_000)), whole + "…");
    }

    #[test]
    fn large_problem_keeps_members_that_fit() {
        let usual = json!({ "type": "validation_failed", "message": "x".repeat(900), "details": { "fields": [] } });
        assert_eq!(problem(usual.clone()), usual);
        let fields = vec![json!({ "field": "notes", "code": "too_long", "message": "It is too long." }); 100_000];
        let long = "x".repeat(5_000_000);
        let huge = json!({
            "type": "validation_failed", "message": long, "fix": "Shorten it.", "details": { "fields": fields },
            "doc_url": "u", long.clone(): 1,
        });
        let kept = problem(huge);
        assert_eq!(
            (&kept["type"], &kept["fix"], &kept["doc_url"]),
            (&json!("validation_failed"), &json!("Shorten it."), &json!("u"))
        );
        assert_eq!(kept["message"].as_str().map(|message| message.chars().count()), Some(SENTENCE_CHARS_MAX + 1));
        assert_eq!(kept.as_object().map(Map::len), Some(4), "{kept}");
        assert!(json_bytes(&kept) <= PROBLEM_BYTES_MAX);
        assert_eq!(problem(json!(long)), Value::Null);
    }
}
