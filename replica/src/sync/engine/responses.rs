//! Turns HTTP responses into events of the core. Must not decide what follows.

use super::state::{Engine, PendingRequest};
use crate::store::StoreError;
use crate::store::edits::{answers, push};
use crate::sync::core::{
    EditResponse, Event, ExistingRecord, Failure, Greeting, LinkInput, PushInput, ReconcileAnswer, ReconcileInput,
    Request, SendOutcome,
};
use crate::sync::wire::{self, HttpResponse};

/// Why the answer of an earlier connection epoch does not count.
const STALE: &str = "the answer belongs to an earlier connection";

impl Engine {
    /// The event for a response, or for a sentence why no response arrived.
    pub(super) fn response_event(
        &mut self,
        pending: PendingRequest,
        response: Result<HttpResponse, String>,
    ) -> Result<Event, StoreError> {
        let PendingRequest { request, outbox_request, is_stale } = pending;
        let response = response.map_err(Failure::NoAnswer);
        Ok(match request {
            Request::Identity => {
                let answer = response.and_then(|response| wire::identity(&response));
                Event::Link(LinkInput::Greeted(answer.map(Greeting::Identity)))
            }
            Request::FeedHead => {
                let answer = response.and_then(|response| wire::feed_head(&response));
                Event::Link(LinkInput::Greeted(answer.map(Greeting::FeedHead)))
            }
            Request::Poll { .. } => {
                let answer = response.and_then(|response| wire::poll_batch(&response));
                Event::Link(LinkInput::Polled(answer))
            }
            Request::Reconcile { epoch, query } => {
                let answer = response.and_then(|response| wire::reconcile_response(&query, &response));
                Event::Reconcile(ReconcileInput::Answered { epoch, answer: ReconcileAnswer::Query(answer) })
            }
            Request::CheckCursor { epoch, .. } => {
                let answer = response.and_then(|response| wire::feed_head(&response)).map(drop);
                Event::Reconcile(ReconcileInput::Answered { epoch, answer: ReconcileAnswer::Cursor(answer) })
            }
            Request::CheckScopes { epoch } => {
                let answer = response.and_then(|response| wire::identity(&response));
                Event::Reconcile(ReconcileInput::Answered { epoch, answer: ReconcileAnswer::Scopes(answer) })
            }
            Request::SendEdits { groups } => {
                let edits = outbox_request.as_ref().map_or(&[][..], |request| &request.edits);
                let outcome = send_outcome(response, outbox_request.as_ref(), edits, is_stale);
                let carried = edits.iter().map(|(edit, _)| *edit).collect();
                Event::Push(PushInput::Completed { sent: groups.concat(), carried, outcome })
            }
            Request::FetchRecord { edit } => {
                let response = match response {
                    Ok(_) if is_stale => Err(Failure::NoAnswer(STALE.to_owned())),
                    response => response,
                };
                let existing = self.existing_record(edit, response)?;
                Event::Push(PushInput::Fetched { edit, existing })
            }
        })
    }

    /// How the fetched record compares with the create under the same id.
    fn existing_record(
        &mut self,
        edit: i64,
        response: Result<HttpResponse, Failure>,
    ) -> Result<ExistingRecord, StoreError> {
        Ok(match response.and_then(|response| wire::record(&response)) {
            Ok(Some(record)) => match self.retry_busy(|c| answers::matching_rev(c, edit, &record))? {
                Some(rev) => ExistingRecord::SameValues { rev },
                None => ExistingRecord::Different,
            },
            Ok(None) => ExistingRecord::Different,
            Err(failure) => ExistingRecord::Unknown(failure),
        })
    }
}

/// The outcome of a request with edits. `edits`: edit ids with their record ids.
fn send_outcome(
    response: Result<HttpResponse, Failure>,
    request: Option<&push::Request>,
    edits: &[(i64, String)],
    is_stale: bool,
) -> SendOutcome {
    let response = match response {
        Err(failure) => return SendOutcome::NoAnswer { reason: failure.to_string() },
        Ok(_) if is_stale => return SendOutcome::Stale { reason: STALE.to_owned() },
        Ok(response) => response,
    };
    if request.is_some_and(|request| request.bulk) {
        return wire::bulk_outcome(&response, edits);
    }
    match wire::edit_response(&response) {
        Ok(EditResponse::Refused(refusal)) if matches!(refusal.status, 401 | 403) => SendOutcome::Refused(refusal),
        Ok(answer) => SendOutcome::Answered(edits.iter().map(|(edit, _)| (*edit, answer.clone())).collect()),
        Err(reason) => SendOutcome::NoAnswer { reason },
    }
}
