//! A write with an idempotency key happens once: its response is stored in the transaction of the write, and a retry of
//! the same request gets the stored response (contract 6.4). Must not know what the write does, or HTTP.

use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{Problem, ProblemType};
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
    /// Two requests are the same when method, target (path with query), body and If-Match are equal.
    pub fn new(key: &str, method: &str, target: &str, body: &[u8], if_match: &[u8]) -> Ticket {
        let mut digest = Sha256::new();
        for part in [method.as_bytes(), target.as_bytes(), Sha256::digest(body).as_slice(), if_match] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Ticket { key: key.to_owned(), fingerprint: digest.finalize().into() }
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
