//! Idempotent writes: a write and its receipt in one transaction (contract 6.4). Must not know the content of the
//! write.

use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{Problem, ProblemType};

use crate::home::receipts::{ReceiptLookup, find_receipt, is_final};
use crate::http::call::Call;
use crate::http::reply::{Refusal, Reply};
use crate::store::{HomeNumber, StoreError, Tx, homes, receipts};

/// Carries out a write with its receipt in one transaction, or returns the stored reply of an earlier request with the
/// same key. `write` gets the time of the write; it returns the reply, and the error type if the reply is a refusal.
pub async fn once(
    call: Call,
    write: impl FnOnce(&Tx<'_>, &Call, HomeNumber, Timestamp) -> Result<(Reply, Option<ProblemType>), StoreError>
    + Send
    + 'static,
) -> Result<Reply, Refusal> {
    let now = call.app.clock_guard.now(&call.app.clock)?;
    let since = call.app.config.receipts_since(now);
    let (app, number) = (call.app.clone(), call.principal.key.home);
    let written = app.db.write_for(number, move |tx| {
        if let Some(ticket) = &call.ticket {
            match find_receipt(tx, number, ticket, since)? {
                ReceiptLookup::Absent if receipts::bytes(tx, number)? >= call.app.config.receipt_bytes_max => {
                    return Ok(call.context.problem_reply(&receipts_full()));
                }
                ReceiptLookup::Absent => (),
                ReceiptLookup::Stored(receipt) => return Ok(Reply::from_receipt(receipt)),
                ReceiptLookup::KeyReused(problem) => return Ok(call.context.problem_reply(&problem)),
            }
        }
        let (reply, refused) = write(tx, &call, number, now)?;
        let limit = call.app.config.home_bytes_max;
        // Deletes go on: they make room, once the feed has forgotten the deleted records.
        if tx.has_added_values() && homes::used_bytes(tx, number)? > limit {
            tx.roll_back();
            return Ok(call.context.problem_reply(&home_full(limit)));
        }
        if let Some(ticket) = call.ticket.as_ref().filter(|_| {
            is_final(refused) && !hearth_simulated::planted(hearth_simulated::PlantedFault::ReceiptNotStored)
        }) {
            receipts::save(tx, number, &ticket.key, &reply.to_receipt(ticket.fingerprint, now))?;
        }
        Ok(reply)
    });
    Ok(written.await?)
}

/// The refusal of a write for which the home has no room.
pub(super) fn home_full(limit: i64) -> Problem {
    Problem::new(ProblemType::PayloadTooLarge, "This home has reached the most bytes that it may take.")
        .with("limit_bytes", limit)
        .with("of", "home")
        .with_fix(
            "Delete records or exports that nobody needs; older texts of records leave the feed with its retention. \
             Or ask the operator to raise --max-home.",
        )
}

/// Seconds after which a client may try again when a home has too many stored responses. The cleanup runs once a minute.
const RETRY_SECONDS: u64 = 60;

/// The refusal of a write whose response could not be stored within the bound of the home.
fn receipts_full() -> Problem {
    Problem::new(ProblemType::Unavailable, "The stored responses of this home have reached their limit.")
        .with("retry_after_seconds", RETRY_SECONDS)
        .with_fix("Wait until older responses expire, or send fewer writes with an Idempotency-Key.")
}
