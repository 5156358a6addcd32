//! Reading a body strictly: one JSON object that every reader would read alike (contract 6.3). Must not know what the
//! members mean.

use std::fmt;

use hearth_contract::problem::{Problem, ProblemType};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Levels of nesting; the body is level 1.
const DEPTH_MAX: usize = 32;

/// Reads a body, or says where it is not JSON.
pub fn read(body: &[u8]) -> Result<Value, Problem> {
    let invalid = |message: String| Problem::new(ProblemType::InvalidJson, message);
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(invalid("The body is empty.".to_owned()));
    }
    if depth(body) > DEPTH_MAX {
        return Err(invalid(format!("The body has more than {DEPTH_MAX} levels.")));
    }
    match serde_json::from_slice(body) {
        Ok(Strict(value)) => Ok(value),
        Err(error) => Err(invalid(format!("The body is not JSON: {error}."))),
    }
}

/// The greatest nesting of a text that may not be JSON at all.
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

/// A value in which no object has a member twice.
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
    fn what_two_readers_could_read_differently_is_refused() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for (body, fits) in [
            (r#"{"a":1}"#.to_owned(), true),
            (r#"{"a":{"b":1},"c":{"b":2}}"#.to_owned(), true),
            (r#"{"a":1,"a":2}"#.to_owned(), false),
            (r#"{"a":[{"b":1,"b":1}]}"#.to_owned(), false),
            (r#"{"a":"\ud800"}"#.to_owned(), false),
            (r#"{"a":"\ud83d\ude00"}"#.to_owned(), true),
            (r#"{"a":1e400}"#.to_owned(), false),
            (r#"{"a":"[[[["}"#.to_owned(), true),
            (deep(32), true),
            (deep(33), false),
            ("{} {}".to_owned(), false),
            ("  ".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(read(body.as_bytes()).is_ok(), fits, "{body}");
        }
        assert!(read(b"{\"a\":\"\xff\"}").is_err());
    }
}
