//! Parses a JSON body strictly, so all readers agree about its meaning (contract 6.3). Must not know the members.

use std::fmt;

use hearth_contract::problem::{Problem, ProblemType, QUOTED_NAME_MAX, shorten};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Levels of nesting, at most. The outermost value is level 1.
const DEPTH_MAX: usize = 32;

/// Parses a body. Error: `invalid_json` with the position of the mistake.
pub fn parse_body(body: &[u8]) -> Result<Value, Problem> {
    let invalid = |message: String| Problem::new(ProblemType::InvalidJson, message);
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(invalid("The body is empty.".to_owned()));
    }
    if depth(body) > DEPTH_MAX {
        return Err(invalid(format!("The body has more than {DEPTH_MAX} levels.")));
    }
    let parsed = serde_json::from_slice(body).or_else(|error| match replace_huge_numbers(body) {
        Some(body) => serde_json::from_slice(&body),
        None => Err(error),
    });
    match parsed {
        Ok(Strict(value)) => Ok(value),
        Err(error) => Err(invalid(format!("The body is not JSON: {error}."))),
    }
}

/// The body with [`HUGE`] in place of each number that overflows a double. JSON allows such numbers and the parser does
/// not; field validation then refuses them as out of range. None: the body has no such number.
fn replace_huge_numbers(body: &[u8]) -> Option<Vec<u8>> {
    let (mut changed, mut kept, mut at, mut quoted) = (Vec::new(), 0, 0, false);
    while let Some(byte) = body.get(at) {
        let length = body[at..].iter().take_while(|byte| !quoted && is_number_byte(**byte)).count();
        match byte {
            b'\\' if quoted => at += 2,
            b'"' => (at, quoted) = (at + 1, !quoted),
            _ if length == 0 => at += 1,
            _ => {
                if is_infinite_number(&body[at..at + length]) {
                    changed.extend_from_slice(&body[kept..at]);
                    changed.extend_from_slice(if *byte == b'-' { b"-" } else { b"" });
                    changed.extend_from_slice(HUGE);
                    kept = at + length;
                }
                at += length;
            }
        }
    }
    changed.extend_from_slice(&body[kept..]);
    (kept > 0).then_some(changed)
}

fn is_number_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E')
}

/// A number that fits a double and exceeds the range of every field.
const HUGE: &[u8] = b"1e308";

/// Whether a text is a JSON number that overflows a double. The parser checks the spelling without computing the value.
fn is_infinite_number(text: &[u8]) -> bool {
    let number = str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    number.is_some_and(f64::is_infinite) && serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

/// The deepest nesting of a text, which may be invalid JSON.
fn depth(body: &[u8]) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0usize, 0, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => (),
        }
    }
    deepest
}

/// A JSON value without duplicate members.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((name, Strict(value))) = members.next_entry::<String, Strict>()? {
            if map.contains_key(&name) {
                let name = shorten(&name, QUOTED_NAME_MAX);
                return Err(A::Error::custom(format_args!("the member `{name}` is there twice")));
            }
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_json_is_refused() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for (body, fits) in [
            (r#"{"a":1}"#.to_owned(), true),
            (r#"{"a":{"b":1},"c":{"b":2}}"#.to_owned(), true),
            (r#"{"a":1,"a":2}"#.to_owned(), false),
            (r#"{"a":[{"b":1,"b":1}]}"#.to_owned(), false),
            (r#"{"a":"\ud800"}"#.to_owned(), false),
            (r#"{"a":"\ud83d\ude00"}"#.to_owned(), true),
            (r#"{"a":1e400}"#.to_owned(), true),
            (r#"{"a":01e400}"#.to_owned(), false),
            (r#"{"a":1e400,"a":1}"#.to_owned(), false),
            (r#"{"a":1e400 1e400}"#.to_owned(), false),
            (r#"{"a":"[[[["}"#.to_owned(), true),
            (deep(32), true),
            (deep(33), false),
            ("{} {}".to_owned(), false),
            ("  ".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(parse_body(body.as_bytes()).is_ok(), fits, "{body}");
        }
        assert!(parse_body(b"{\"a\":\"\xff\"}").is_err());
    }

    #[test]
    fn overflowing_number_becomes_huge() {
        let body = r#"{"a":[-1e400,"\\\"1e400",1e5],"1e400":1e99999}"#;
        let expected = serde_json::json!({ "a": [-1e308, "\\\"1e400", 1e5], "1e400": 1e308 });
        assert_eq!(parse_body(body.as_bytes()).unwrap(), expected);
    }
}
