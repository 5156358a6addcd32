//! Everything that a server lists, for a comparison. One question at a time, at a pace that leaves room for whoever else asks with
//! the same key, and with some patience where an answer is lost. Must not compare.

use std::time::Duration;

use hearth_contract::schema::Kind;
use tokio::time::{Instant, sleep, sleep_until};

use super::SyncConfig;
use super::client::{Client, ClientError};
use super::core::{Expired, Failure, Limits, Refusal};
use super::wire::{self, Answer, Ask};
use crate::model::ReconcileQuery;
use crate::store::reconcile::verify::Listing;

/// Between two attempts when the server does not say how long.
const PAUSE: Duration = Duration::from_secs(2);
/// Attempts at one page, while the server asks for patience.
const ATTEMPTS_MAX: u32 = 30;
/// Answers to one question that may be lost in a row: a server that is started anew is back before that.
const LOST_MAX: u32 = 7;
/// After the first of them; twice as long after each further one, up to the longest.
const LOST_PAUSE: Duration = Duration::from_millis(500);
const LOST_PAUSE_MAX: Duration = Duration::from_secs(8);
/// The server counts a minute from the first question in it; that came a little later than it left here.
const WINDOW: Duration = Duration::from_millis(60_500);

/// Reads every record of every kind. An error where the server was put back to an older copy since it gave the cursor
/// ([`crate::Replica::cursor`]): what it lists is of another history.
pub async fn listings(config: &SyncConfig, cursor: Option<&str>) -> Result<Vec<(Kind, Listing)>, ClientError> {
    let client = Client::new(&config.server, &config.key)?;
    read_all(&client, cursor, async |ask: &Ask| client.ask(ask).await).await
}

/// The same by way of `ask`; the client has words for what fails.
async fn read_all(
    client: &Client,
    cursor: Option<&str>,
    ask: impl AsyncFn(&Ask) -> Result<Answer, String>,
) -> Result<Vec<(Kind, Listing)>, ClientError> {
    let mut reader = Reader { client, ask, limit: None, began: Instant::now(), asked: 0 };
    let limits = reader.read(&Ask::me(), wire::identity).await?.limits;
    reader.limit = limits.map(|limits| Limits::share(limits.reads).max(1));
    let mut all = Vec::new();
    for kind in Kind::ALL {
        let mut listing = Listing::default();
        let mut cursor = None;
        loop {
            let question = match kind {
                Kind::Property => ReconcileQuery::Property,
                kind => ReconcileQuery::Walk { kind, cursor },
            };
            let page = reader.read(&Ask::recover(&question), |answer| wire::found(&question, answer)).await?;
            listing.as_of = page.as_of;
            listing.records.extend(page.records.into_iter().map(|record| (record, page.as_of)));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        all.push((kind, listing));
    }
    reader.read(&Ask::is_good(cursor), of_its_history).await?;
    Ok(all)
}

/// Whether a cursor is of the server's history: one that it has merely forgotten is.
fn of_its_history(answer: &Answer) -> Result<(), Failure> {
    match wire::standing(answer) {
        Err(Failure::Refused(Refusal { expired: Some(Expired { restored: false, .. }), .. })) => Ok(()),
        answer => answer.map(drop),
    }
}

/// Who asks, and how often in this minute.
struct Reader<'c, A> {
    client: &'c Client,
    ask: A,
    /// Questions a minute; None is without limit.
    limit: Option<u32>,
    began: Instant,
    asked: u32,
}

impl<A: AsyncFn(&Ask) -> Result<Answer, String>> Reader<'_, A> {
    /// Asks until there is an answer that can be read, or one that no patience helps with.
    async fn read<T>(&mut self, ask: &Ask, read: impl Fn(&Answer) -> Result<T, Failure>) -> Result<T, ClientError> {
        let (mut attempts, mut lost) = (0, 0);
        loop {
            self.take_turn().await;
            attempts += 1;
            let answer = (self.ask)(ask).await;
            let failure = match &answer {
                Ok(answer) => match read(answer) {
                    Ok(read) => return Ok(read),
                    Err(failure) => failure,
                },
                Err(why) => Failure::NoAnswer(why.clone()),
            };
            let is_lost = match &failure {
                Failure::Refused(refusal) => matches!(refusal.status, 408 | 500..) && refusal.status != 503,
                Failure::NoAnswer(_) => answer.as_ref().map_or(true, |answer| answer.is_cut),
            };
            match failure {
                Failure::Refused(Refusal { status: 429 | 503, retry_after, .. }) if attempts < ATTEMPTS_MAX => {
                    lost = 0;
                    let pause = retry_after.map_or(PAUSE, |millis| Duration::from_millis(millis.max(0).unsigned_abs()));
                    sleep(pause).await;
                }
                _ if is_lost && lost < LOST_MAX => {
                    sleep((LOST_PAUSE * (1 << lost)).min(LOST_PAUSE_MAX)).await;
                    lost += 1;
                }
                failure => {
                    return Err(match answer {
                        Ok(answer) => self.client.failed(&answer, failure),
                        Err(why) => self.client.unreachable(why),
                    });
                }
            }
        }
    }

    /// Waits until another question may be asked.
    async fn take_turn(&mut self) {
        let over = self.began + WINDOW;
        if self.limit.is_some_and(|limit| self.asked >= limit) {
            sleep_until(over).await;
        }
        if Instant::now() >= over {
            (self.began, self.asked) = (Instant::now(), 0);
        }
        self.asked += 1;
    }
}

#[cfg(test)]
mod tests;
