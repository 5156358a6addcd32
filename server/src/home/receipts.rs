//! A write with an idempotency key happens once: its response is stored in the transaction of the write, and a retry of
//! the same request gets the stored response (contract 6.4). Must not know what the write does, or HTTP.

use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

use crate::store::receipts::{self, Receipt};
use crate::store::{HomeNumber, StoreError, Tx};

/// The identity of a request with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The idempotency key, as sent by the client.
    pub key: String,
    /// SHA-256 of the request; tells whether a later request with the key is the same request.
    pub fingerprint: [u8; 32],
}

impl Ticket {
    /// Two requests are the same when method, target (path with query) and If-Match are equal, and the bodies are equal
    /// as JSON values: a client library may write the members of a retry in another order.
    pub fn new(key: &str, method: &str, target: &str, body: &Value, if_match: &str) -> Ticket {
        let mut digest = Sha256::new();
        for part in [method, target, if_match] {
            digest_text(&mut digest, part);
        }
        digest_value(&mut digest, body);
        Ticket { key: key.to_owned(), fingerprint: digest.finalize().into() }
    }
}

impl Ticket {
    /// Adds a body that is no JSON by its bytes (contract 6.4).
    pub fn add_body(&mut self, bytes: &[u8]) {
        let mut digest = Sha256::new();
        digest.update(self.fingerprint);
        digest.update(bytes);
        self.fingerprint = digest.finalize().into();
    }
}

/// Adds a text with its length, so that no two lists of texts have one digest.
fn digest_text(digest: &mut Sha256, text: &str) {
    digest.update((text.len() as u64).to_be_bytes());
    digest.update(text);
}

/// Adds a JSON value: objects in the order of their names, arrays in their order, numbers by value. The first byte tells
/// the type.
fn digest_value(digest: &mut Sha256, value: &Value) {
    match value {
        Value::Null => digest.update(b"0"),
        Value::Bool(value) => digest.update(if *value { b"t" } else { b"f" }),
        Value::Number(number) => {
            digest.update(b"n");
            digest_text(digest, &plain_number(number));
        }
        Value::String(text) => {
            digest.update(b"s");
            digest_text(digest, text);
        }
        Value::Array(items) => {
            digest.update(b"a");
            digest.update((items.len() as u64).to_be_bytes());
            items.iter().for_each(|item| digest_value(digest, item));
        }
        Value::Object(members) => {
            digest.update(b"o");
            digest.update((members.len() as u64).to_be_bytes());
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in members {
                digest_text(digest, name);
                digest_value(digest, value);
            }
        }
    }
}

/// One text for each number: `1`, `1.0` and `1e0` are equal.
fn plain_number(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        // The cast is exact: the number has no fraction and fits.
        (None, Some(whole)) if whole.fract() == 0.0 && whole.abs() < i64::MAX as f64 => (whole as i64).to_string(),
        (None, Some(other)) => other.to_string(),
        (None, None) => number.to_string(),
    }
}

/// The stored response to a request, if any.
#[derive(Debug, Clone, PartialEq)]
pub enum ReceiptLookup {
    /// No response is stored: the write may happen.
    Absent,
    /// This response was given to the same request.
    Stored(Receipt),
    /// The key was used for another request; the problem is the refusal.
    KeyReused(Problem),
}

/// Finds the receipt of a request, among responses since a moment.
pub fn find_receipt(
    tx: &Tx<'_>,
    home: HomeNumber,
    ticket: &Ticket,
    since: Timestamp,
) -> Result<ReceiptLookup, StoreError> {
    Ok(match receipts::find(tx, home, &ticket.key, since)? {
        None => ReceiptLookup::Absent,
        Some(receipt) if receipt.fingerprint == ticket.fingerprint => ReceiptLookup::Stored(receipt),
        Some(_) => ReceiptLookup::KeyReused(
            Problem::new(ProblemType::IdempotencyKeyReused, "This Idempotency-Key was used for a different request.")
                .with("idempotency_key", ticket.key.as_str()),
        ),
    })
}

/// Whether a response is stored, by its problem; None: the write succeeded. A response is stored when the server would
/// answer the same request the same way. Failures of the server, and refusals before the write, are not stored: a retry
/// may still succeed.
pub fn is_final(problem: Option<ProblemType>) -> bool {
    matches!(
        problem,
        None | Some(
            ProblemType::NotFound
                | ProblemType::AlreadyExists
                | ProblemType::PreconditionFailed
                | ProblemType::ValidationFailed
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticket_compares_bodies_as_json_values() {
        let ticket = |body: &str| Ticket::new("k", "POST", "/v1/tasks", &serde_json::from_str(body).unwrap(), "");
        let first = ticket(r#"{"title":"Café","tags":[1,2],"more":{"a":1,"b":null}}"#);
        for equal in [
            r#"{"more":{"b":null,"a":1},"tags":[1,2],"title":"Café"}"#,
            r#" { "title" : "Caf\u00e9", "tags": [1.0, 2e0], "more": {"a": 10e-1, "b": null} } "#,
        ] {
            assert_eq!(ticket(equal), first, "{equal}");
        }
        for other in [
            r#"{"title":"Café","tags":[2,1],"more":{"a":1,"b":null}}"#,
            r#"{"title":"Café","tags":[1,2],"more":{"a":1}}"#,
            r#"{"title":"Café","tags":["1",2],"more":{"a":1,"b":null}}"#,
            r#"{"title":"Cafe\u0301","tags":[1,2],"more":{"a":1,"b":null}}"#,
            r#"{"title":"Café","tags":[1,2.5],"more":{"a":1,"b":null}}"#,
        ] {
            assert_ne!(ticket(other), first, "{other}");
        }
        assert_eq!(ticket("-0.0"), ticket("0"));
        assert_ne!(ticket("1e300"), ticket("1e299"));
        assert_ne!(ticket("9007199254740993"), ticket("9007199254740992"));
        assert_eq!(ticket("9007199254740992.0"), ticket("9007199254740992"));
    }
}
