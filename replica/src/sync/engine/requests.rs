//! Turns requests of the core into HTTP requests. Edits are frozen in the outbox before they are sent. Must not decide
//! anything.

use uuid::Uuid;

use super::messages::{Command, Moment};
use super::state::{Asked, Engine, PendingRequest};
use crate::model::ReconcileQuery;
use crate::store::StoreError;
use crate::store::edits::{acked, answers, push};
use crate::sync::core::{Event, PushInput, Request};
use crate::sync::wire::HttpRequest;

impl Engine {
    /// Sends a request. Returns events for requests that need no answer of the server.
    pub(super) fn send_request(&mut self, request: Request) -> Result<Vec<Event>, StoreError> {
        let http = match &request {
            Request::Identity => {
                // A new contact begins: earlier answers count no longer.
                self.pending.values_mut().for_each(|pending| pending.is_stale = true);
                HttpRequest::identity()
            }
            Request::CheckScopes { .. } => HttpRequest::identity(),
            Request::FeedHead => {
                self.accepted_edits = self.retry_busy(|c| acked::acked_edits(c))?;
                HttpRequest::feed_head(None)
            }
            Request::Poll { cursor, is_catching_up } => {
                // While catching up, polls follow each other at once, and each answer would be stale.
                if !is_catching_up {
                    self.mark_edit_requests_stale();
                }
                HttpRequest::poll(cursor.as_deref())
            }
            Request::Reconcile { query, .. } => HttpRequest::reconcile(query),
            Request::CheckCursor { cursor, .. } => HttpRequest::feed_head(cursor.as_deref()),
            Request::FetchRecord { edit } => match self.retry_busy(|c| answers::edit_record(c, *edit))? {
                Some((kind, id)) => HttpRequest::reconcile(&ReconcileQuery::Record { kind, id }),
                None => return Ok(vec![Event::Push(PushInput::Fetched { edit: *edit, existing: Ok(None) })]),
            },
        };
        self.send(Asked::Other(request), http);
        Ok(Vec::new())
    }

    /// Marks requests with edits as stale, because the feed is requested again or has an id gap. The server may have been
    /// restored since they were sent, even if the cursor is still known; then their answers belong to a discarded history.
    pub(super) fn mark_edit_requests_stale(&mut self) {
        for pending in self.pending.values_mut() {
            pending.is_stale |=
                matches!(pending.asked, Asked::Edits { .. } | Asked::Other(Request::FetchRecord { .. }));
        }
    }

    /// Freezes requests in the outbox in one transaction, then sends them. Returns events for edits that need no request.
    pub(super) fn send_edits(&mut self, now: Moment, requests: Vec<Vec<Vec<i64>>>) -> Result<Vec<Event>, StoreError> {
        let wanted = requests.into_iter().map(|groups| {
            let new_key = Uuid::from_u128((self.random)()).to_string();
            push::NewRequest { groups, new_key }
        });
        let (wanted, policy): (Vec<_>, _) = (wanted.collect(), self.policy);
        let frozen = self.write(|c| push::freeze(c, &wanted, policy, now.wall))?;
        let mut events = Vec::new();
        for (push::NewRequest { groups, .. }, outbox_request) in wanted.into_iter().zip(frozen) {
            let sent = groups.concat();
            match outbox_request {
                Some(outbox_request) => {
                    let http = HttpRequest::edits(&outbox_request);
                    self.send(Asked::Edits { sent, request: outbox_request }, http);
                }
                None => {
                    let (carried, answer, is_stale) = (Vec::new(), Ok(Vec::new()), false);
                    events.push(Event::Push(PushInput::Completed { sent, carried, answer, is_stale }));
                }
            }
        }
        Ok(events)
    }

    fn send(&mut self, asked: Asked, http: HttpRequest) {
        self.last_ticket += 1;
        self.pending.insert(self.last_ticket, PendingRequest { asked, is_stale: false });
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
