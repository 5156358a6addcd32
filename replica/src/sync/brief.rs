//! What the server says in words, as much of it as is worth keeping: it is stored with edits, shown and logged, and nothing
//! else bounds it. Must not judge what it says.

use serde_json::{Map, Value};

/// Characters of a sentence. The server's own are shorter than a fifth of this.
const SENTENCE_CHARS_MAX: usize = 1000;
/// Bytes of an error object: all fields of a record can be at fault at once (contract 12), and fit.
const PROBLEM_BYTES_MAX: usize = 16 << 10;

/// A sentence, cut where it is too long for one.
pub(super) fn sentence(text: &str) -> String {
    match text.char_indices().nth(SENTENCE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// An error object, without what makes it too large.
pub(super) fn problem(problem: Value) -> Value {
    if fits(&problem, PROBLEM_BYTES_MAX) {
        return problem;
    }
    let Value::Object(members) = problem else { return Value::Null };
    let mut kept = Map::new();
    let mut left = PROBLEM_BYTES_MAX;
    for (name, value) in members {
        let value = match value {
            Value::String(text) => Value::String(sentence(&text)),
            value => value,
        };
        // A few names and sentences always fit, so what is left out is a list or what nobody has heard of.
        let bytes = bytes(&value) + name.len() + r#""":,"#.len();
        if bytes <= left {
            left -= bytes;
            kept.insert(name, value);
        }
    }
    Value::Object(kept)
}

fn fits(value: &Value, most: usize) -> bool {
    bytes(value) <= most
}

/// How long it is as text.
fn bytes(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sentence_is_cut_between_characters() {
        assert_eq!(sentence("Too many."), "Too many.");
        let whole = "é".repeat(SENTENCE_CHARS_MAX);
        assert_eq!(sentence(&whole), whole);
        assert_eq!(sentence(&"é".repeat(5_000_000)), whole + "…");
    }

    #[test]
    fn of_an_error_object_what_fits_is_kept() {
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
        assert!(fits(&kept, PROBLEM_BYTES_MAX));
        assert_eq!(problem(json!(long)), Value::Null);
    }
}
