//! A write with an idempotency key happens once: its answer is kept in the transaction of the write, and given again
//! to the same request (contract 6.4). Must not know what the write does or how the answer travels.

use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{Problem, ProblemType};
use sha2::{Digest, Sha256};

use crate::store::receipts::{self, Receipt};
use crate::store::{Fault, HomeNo, Tx};

/// A request that names itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The idempotency key.
    pub key: String,
    /// What the request is, as a digest.
    pub fingerprint: [u8; 32],
}

impl Ticket {
    /// What makes two requests the same: method, path with query, body and condition.
    pub fn new(key: &str, method: &str, target: &str, body: &[u8], if_match: &[u8]) -> Ticket {
        let mut digest = Sha256::new();
        for part in [method.as_bytes(), target.as_bytes(), Sha256::digest(body).as_slice(), if_match] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Ticket { key: key.to_owned(), fingerprint: digest.finalize().into() }
    }
}

/// What is known of a ticket.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// Nothing: the write may happen.
    Never,
    /// This was answered.
    Answered(Receipt),
    /// The key was used for another request.
    Differently(Problem),
}

/// Looks a ticket up among those answered since a moment.
pub fn look_up(tx: &Tx<'_>, home: HomeNo, ticket: &Ticket, since: Timestamp) -> Result<Seen, Fault> {
    Ok(match receipts::find(tx, home, &ticket.key, since)? {
        None => Seen::Never,
        Some(receipt) if receipt.fingerprint == ticket.fingerprint => Seen::Answered(receipt),
        Some(_) => Seen::Differently(
            Problem::new(ProblemType::IdempotencyKeyReused, "This Idempotency-Key was used for a different request.")
                .with("idempotency_key", ticket.key.as_str()),
        ),
    })
}

/// Whether an answer of this sort is worth keeping: what a retry would get again. Faults and refusals at the door are
/// not, so a retry can still succeed.
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
