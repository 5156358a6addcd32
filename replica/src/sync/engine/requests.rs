//! Turns requests of the core into HTTP requests. Edits are frozen in the outbox before they are sent. Must not decide
//! anything.

use uuid::Uuid;

use super::messages::{Command, Moment};
use super::state::{Engine, PendingRequest};
use crate::store::edits::{answers, push};
use crate::store::{StoreError, reconcile};
use crate::sync::core::{Event, ExistingRecord, PushInput, Request, SendOutcome};
use crate::sync::wire::HttpRequest;

impl Engine {
    /// Sends a request. Returns events for requests that need no answer of the server.
    pub(super) fn send_request(&mut self, now: Moment, request: Request) -> Result<Vec<Event>, StoreError> {
        let http = match &request {
            Request::Identity => {
                // A new contact begins: earlier answers count no longer.
                self.pending.values_mut().for_each(|pending| pending.is_stale = true);
                HttpRequest::identity()
            }
            Request::CheckScopes { .. } => HttpRequest::identity(),
            Request::FeedHead => {
                self.accepted_edits = self.retry_busy(|c| reconcile::lost::acked_edits(c))?;
                HttpRequest::feed_head()
            }
            Request::Poll { cursor, is_catching_up } => {
                // While catching up, polls follow each other at once, and each answer would be stale.
                if !is_catching_up {
                    self.mark_edit_requests_stale();
                }
                HttpRequest::poll(cursor.as_deref())
            }
            Request::Reconcile { query, .. } => HttpRequest::reconcile(query),
            Request::CheckCursor { cursor, .. } => HttpRequest::check_cursor(cursor.as_deref()),
            Request::SendEdits { groups } => return self.send_edits(now, vec![groups.clone()]),
            Request::FetchRecord { edit } => match self.retry_busy(|c| answers::edit_record(c, *edit))? {
                Some((kind, record)) => HttpRequest::record(kind, &record),
                None => {
                    let existing = ExistingRecord::Different;
                    return Ok(vec![Event::Push(PushInput::Fetched { edit: *edit, existing })]);
                }
            },
        };
        self.send(request, None, http);
        Ok(Vec::new())
    }

    /// Marks requests with edits as stale, because the feed is requested again or has an id gap. The server may have been
    /// restored since they were sent, even if the cursor is still known; then their answers belong to a discarded history.
    pub(super) fn mark_edit_requests_stale(&mut self) {
        let of_edits = self.pending.values_mut().filter(|pending| pending.request.is_of_edits());
        of_edits.for_each(|pending| pending.is_stale = true);
    }

    /// Freezes requests in the outbox in one transaction, then sends them. Returns events for edits that need no request.
    pub(super) fn send_edits(&mut self, now: Moment, requests: Vec<Vec<Vec<i64>>>) -> Result<Vec<Event>, StoreError> {
        self.write_pages()?;
        let wanted = requests.into_iter().map(|parcels| {
            let new_key = Uuid::from_u128((self.random)()).to_string();
            push::NewRequest { groups: parcels, new_key }
        });
        let (wanted, policy): (Vec<_>, _) = (wanted.collect(), self.policy);
        let frozen = self.write(|c| push::freeze(c, &wanted, policy, now.wall))?;
        let mut events = Vec::new();
        for (push::NewRequest { groups, .. }, outbox_request) in wanted.into_iter().zip(frozen) {
            match outbox_request {
                Some(outbox_request) => {
                    let http = HttpRequest::edits(&outbox_request);
                    self.send(Request::SendEdits { groups }, Some(outbox_request), http);
                }
                None => {
                    let (sent, carried) = (groups.concat(), Vec::new());
                    events.push(Event::Push(PushInput::Completed { sent, carried, outcome: SendOutcome::NotSent }));
                }
            }
        }
        Ok(events)
    }

    fn send(&mut self, request: Request, outbox_request: Option<push::Request>, http: HttpRequest) {
        self.last_ticket += 1;
        self.pending.insert(self.last_ticket, PendingRequest { request, outbox_request, is_stale: false });
        self.command(Command::Send { ticket: self.last_ticket, request: http });
    }

    /// Hands a command to the driver.
    pub(super) fn command(&mut self, command: Command) {
        match &mut self.command_sink {
            Some(sink) => sink(command),
            None => self.output.commands.push(command),
        }
    }
}
