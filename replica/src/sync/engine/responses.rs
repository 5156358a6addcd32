//! Turns HTTP responses into events of the core. Must not decide what follows.

use super::state::{Asked, Engine, PendingRequest};
use crate::store::StoreError;
use crate::store::edits::{answers, push};
use crate::sync::core::{
    EditAnswers, Event, Failure, Greeting, LinkInput, PushInput, ReconcileAnswer, ReconcileInput, Request,
};
use crate::sync::wire::{self, HttpResponse};

/// Why a stale answer does not count.
const STALE: &str = "the answer belongs to an earlier connection";

impl Engine {
    /// The event for a response, or for a sentence why no response arrived.
    pub(super) fn response_event(
        &mut self,
        pending: PendingRequest,
        response: Result<HttpResponse, String>,
    ) -> Result<Event, StoreError> {
        let PendingRequest { asked, is_stale } = pending;
        let response = response.map_err(Failure::NoAnswer);
        let request = match asked {
            Asked::Other(request) => request,
            Asked::Edits { sent, request } => {
                // A request without a response may be at fault, even a stale one.
                let is_stale = is_stale && response.is_ok();
                let answer = current(response, is_stale).and_then(|response| edit_answers(&response, &request));
                let carried = request.edits.into_iter().map(|(edit, _)| edit).collect();
                return Ok(Event::Push(PushInput::Completed { sent, carried, answer, is_stale }));
            }
        };
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
            Request::FetchRecord { edit } => {
                let found = current(response, is_stale).and_then(|response| wire::record(&response));
                let existing = match found {
                    Ok(Some(record)) => Ok(self.retry_busy(|c| answers::matching_rev(c, edit, &record))?),
                    found => found.map(|_| None),
                };
                Event::Push(PushInput::Fetched { edit, existing })
            }
        })
    }
}

/// The response to a request about edits, unless it is stale.
fn current(response: Result<HttpResponse, Failure>, is_stale: bool) -> Result<HttpResponse, Failure> {
    response.and_then(|response| if is_stale { Err(Failure::NoAnswer(STALE.to_owned())) } else { Ok(response) })
}

/// The answers to the edits of a request.
fn edit_answers(response: &HttpResponse, request: &push::Request) -> Result<EditAnswers, Failure> {
    if request.bulk {
        return wire::bulk_answers(response, &request.edits);
    }
    let answer = match wire::edit_answer(response) {
        Err(Failure::Refused(refusal)) if !matches!(refusal.status, 401 | 403) => Err(refusal),
        answer => Ok(answer?),
    };
    Ok(request.edits.iter().map(|(edit, _)| (*edit, answer.clone())).collect())
}
