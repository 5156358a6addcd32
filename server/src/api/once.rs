//! A write that happens once under its idempotency key, whatever it writes (contract 6.4). Must not know what that is.

use hearth_contract::formats::Timestamp;
use hearth_contract::problem::ProblemType;

use crate::home::receipts::{ReceiptLookup, find_receipt, is_final};
use crate::http::call::Call;
use crate::http::reply::{Refusal, Reply};
use crate::store::{HomeNo, StoreError, Tx, receipts};

/// Runs a write at a moment in one transaction with its receipt, or gives the answer of the first time. The write says
/// how it is answered, and with which refusal if it was one.
pub async fn once(
    call: Call,
    now: Timestamp,
    write: impl FnOnce(&Tx<'_>, &Call, HomeNo) -> Result<(Reply, Option<ProblemType>), StoreError> + Send + 'static,
) -> Result<Reply, Refusal> {
    let since = now.plus_millis(-(call.app.config.idempotency_ttl.as_millis() as i64));
    let (app, number) = (call.app.clone(), call.principal.key.home);
    let written = app.db.write(move |tx| {
        if let Some(ticket) = &call.ticket {
            match find_receipt(tx, number, ticket, since)? {
                ReceiptLookup::Absent => (),
                ReceiptLookup::Stored(receipt) => return Ok(Reply::replay(receipt)),
                ReceiptLookup::KeyReused(problem) => return Ok(call.wording.problem(&problem)),
            }
        }
        let (reply, refused) = write(tx, &call, number)?;
        if let Some(ticket) = call.ticket.as_ref().filter(|_| {
            is_final(refused) && !hearth_simulated::planted(hearth_simulated::PlantedFault::ReceiptNotStored)
        }) {
            receipts::save(tx, number, &ticket.key, &reply.to_receipt(ticket.fingerprint, now))?;
        }
        Ok(reply)
    });
    Ok(written.await?)
}
