//! Idempotent writes: a write and its receipt in one transaction (contract 6.4). Must not know the content of the
//! write.

use std::sync::Arc;

use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{Problem, ProblemType};

use super::refilling::write_refusal;
use crate::app::App;
use crate::home::receipts::{ReceiptLookup, Ticket, find_receipt, is_final};
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
    let (app, number) = (call.app.clone(), call.principal.key.home);
    let (ticket, context) = (call.ticket.clone(), call.context.clone());
    let key = call.principal.key.id.clone();
    let written = once_in_home(&app, number, Some(key), ticket, move |tx, now| {
        let (reply, refused) = write(tx, &call, number, now)?;
        Ok(Answer::Reply { reply, is_stored: is_final(refused) })
    });
    Ok(written.await?.unwrap_or_else(|problem| context.problem_reply(&problem)))
}

/// What a write answers.
pub enum Answer {
    /// A reply. `is_stored`: a repeated request gets the same reply.
    Reply {
        /// The reply.
        reply: Reply,
        /// Whether the reply is kept for a repeated request.
        is_stored: bool,
    },
    /// A refusal. Nothing is written, and a later request with the same key is carried out.
    Refused(Problem),
}

/// As [`once`], also for a request that came without an API key: for a form of a page. `key`: the id of the key. The inner error
/// is a refusal that the caller words.
pub async fn once_in_home(
    app: &Arc<App>,
    number: HomeNumber,
    key: Option<String>,
    ticket: Option<Ticket>,
    write: impl FnOnce(&Tx<'_>, Timestamp) -> Result<Answer, StoreError> + Send + 'static,
) -> Result<Result<Reply, Problem>, Refusal> {
    let now = app.clock_guard.now(&app.clock)?;
    let config = &app.config;
    let (since, bytes_max) = (config.receipts_since(now), config.receipt_bytes_max);
    let limit = config.home_bytes_max;
    let written = app.db.write_for(number, move |tx| {
        if let Some(ticket) = &ticket {
            match find_receipt(tx, number, ticket, since)? {
                ReceiptLookup::Absent if receipts::bytes(tx, number)? >= bytes_max => return Ok(Err(receipts_full())),
                ReceiptLookup::Absent => (),
                ReceiptLookup::Stored(receipt) => return Ok(Ok(Reply::from_receipt(receipt))),
                ReceiptLookup::KeyReused(problem) => return Ok(Err(problem)),
            }
        }
        if let Some(problem) = write_refusal(tx, number, key.as_deref(), now)? {
            return Ok(Err(problem));
        }
        let (reply, is_stored) = match write(tx, now)? {
            Answer::Reply { reply, is_stored } => (reply, is_stored),
            Answer::Refused(problem) => {
                tx.roll_back();
                return Ok(Err(problem));
            }
        };
        // Deletes go on: they make room, once the feed has forgotten the deleted records.
        if tx.has_added_values() && homes::used_bytes(tx, number)? > limit {
            tx.roll_back();
            return Ok(Err(home_full(limit)));
        }
        if let Some(ticket) = ticket
            .as_ref()
            .filter(|_| is_stored && !hearth_simulated::planted(hearth_simulated::PlantedFault::ReceiptNotStored))
        {
            receipts::save(tx, number, &ticket.key, &reply.to_receipt(ticket.fingerprint, now))?;
        }
        Ok(Ok(reply))
    });
    Ok(written.await?)
}

/// The refusal of a write for which the home has no room.
pub(super) fn home_full(limit: i64) -> Problem {
    Problem::new(ProblemType::PayloadTooLarge, "This home has reached the most bytes that it may take.")
        .with("limit_bytes", limit)
        .with("of", "home")
        .with_fix(MAKE_ROOM)
}

/// What to do when a home has no room.
pub(super) const MAKE_ROOM: &str = "Delete records, exports or imports that nobody needs; older texts of records leave the feed \
    with its retention. Or ask the operator to raise --max-home.";

/// Seconds after which a client may try again when a home has too many stored responses. The cleanup runs once a minute.
const RETRY_SECONDS: u64 = 60;

/// The refusal of a write whose response could not be stored within the bound of the home.
fn receipts_full() -> Problem {
    Problem::new(ProblemType::Unavailable, "The stored responses of this home have reached their limit.")
        .with("retry_after_seconds", RETRY_SECONDS)
        .with_fix("Wait until older responses expire, or send fewer writes with an Idempotency-Key.")
}
