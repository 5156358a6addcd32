//! Reads all records of a server, for a comparison. Sends one request at a time, at a rate that leaves reads to other
//! programs with the same key, and repeats lost requests. Must not compare.

use hearth_contract::schema::Kind;
use tokio::time::{Instant, sleep_until};

use super::client::{Client, ClientError};
use super::config::SyncConfig;
use super::core::{Expired, Failure, Limits, RateLimiter, Refusal};
use super::retry;
use super::runtime::{moment, since};
use super::wire::{self, HttpRequest, HttpResponse};
use crate::model::ReconcileQuery;
use crate::store::reconcile::verify::Listing;

/// Reads all records of all kinds. `cursor`: the replica's feed cursor ([`crate::Replica::cursor`]); the call fails if the
/// cursor belongs to a history that the server has discarded since.
pub async fn fetch_listings(config: &SyncConfig, cursor: Option<&str>) -> Result<Vec<(Kind, Listing)>, ClientError> {
    let client = Client::new(&config.server, &config.key)?;
    fetch_all(&client, cursor, async |request: &HttpRequest| client.send(request).await).await
}

/// The same, with `send` as the network. `client` makes the errors.
async fn fetch_all(
    client: &Client,
    cursor: Option<&str>,
    send: impl AsyncFn(&HttpRequest) -> Result<HttpResponse, String>,
) -> Result<Vec<(Kind, Listing)>, ClientError> {
    let mut reader = Reader { client, send, reads: RateLimiter::default(), start: Instant::now() };
    let limits = reader.fetch(&HttpRequest::identity(), wire::identity).await?.limits;
    reader.reads.set_limit(limits.map(|limits| Limits::share(limits.reads)));
    let mut all = Vec::new();
    for kind in Kind::ALL {
        let mut listing = Listing::default();
        let mut page_cursor = None;
        loop {
            let query = match kind {
                Kind::Property => ReconcileQuery::Property,
                kind => ReconcileQuery::List { kind, since: None, cursor: page_cursor },
            };
            let parse = |response: &HttpResponse| wire::reconcile_response(&query, response);
            let page = reader.fetch(&HttpRequest::reconcile(&query), parse).await?;
            listing.as_of = page.as_of;
            listing.records.extend(page.records.into_iter().map(|record| (record, page.as_of)));
            page_cursor = page.next_cursor;
            if page_cursor.is_none() {
                break;
            }
        }
        all.push((kind, listing));
    }
    reader.fetch(&HttpRequest::feed_head(cursor), check_history).await?;
    Ok(all)
}

/// Ok if the cursor belongs to the server's history; a cursor older than the retention does too.
fn check_history(response: &HttpResponse) -> Result<(), Failure> {
    match wire::feed_head(response) {
        Err(Failure::Refused(Refusal { expired: Some(Expired { restored: false, .. }), .. })) => Ok(()),
        answer => answer.map(drop),
    }
}

/// Sends requests within a rate limit.
struct Reader<'c, S> {
    client: &'c Client,
    send: S,
    /// The reads that the key may make.
    reads: RateLimiter,
    /// The zero of the limiter's clock.
    start: Instant,
}

impl<S: AsyncFn(&HttpRequest) -> Result<HttpResponse, String>> Reader<'_, S> {
    /// Sends a request until a response can be parsed. Err: a failure that a repetition cannot cure.
    async fn fetch<T>(
        &mut self,
        request: &HttpRequest,
        parse: impl Fn(&HttpResponse) -> Result<T, Failure>,
    ) -> Result<T, ClientError> {
        let client = self.client;
        let send = async |request: &HttpRequest| {
            self.wait_for_turn().await;
            (self.send)(request).await
        };
        retry::ask(client, request, send, parse).await
    }

    /// Waits until the rate limit allows another request.
    async fn wait_for_turn(&mut self) {
        sleep_until(moment(self.start, self.reads.free_at(since(self.start)))).await;
        self.reads.take(since(self.start));
    }
}

#[cfg(test)]
mod tests;
