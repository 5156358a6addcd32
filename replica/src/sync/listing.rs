//! Everything that a server lists, for a comparison. One question at a time, as fast as the server allows. Must not
//! compare.

use std::time::Duration;

use hearth_contract::schema::Kind;

use super::SyncConfig;
use super::client::{Client, ClientError};
use super::core::{Failure, Refusal};
use super::wire::{self, Ask};
use crate::recovery::Question;
use crate::store::recovery::verify::Listing;

/// Between two attempts when the server does not say how long.
const PAUSE: Duration = Duration::from_secs(2);
/// Attempts at one page, while the server asks for patience.
const ATTEMPTS_MAX: u32 = 30;

/// Reads every record of every kind.
pub async fn listings(config: &SyncConfig) -> Result<Vec<(Kind, Listing)>, ClientError> {
    let client = Client::new(&config.server, &config.key)?;
    let mut all = Vec::new();
    for kind in Kind::ALL {
        let mut listing = Listing::default();
        let mut cursor = None;
        loop {
            let question = match kind {
                Kind::Property => Question::Property,
                kind => Question::Walk { kind, cursor },
            };
            let page = patiently(&client, &question).await?;
            listing.as_of = page.as_of;
            listing.records.extend(page.records.into_iter().map(|record| (record, page.as_of)));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        all.push((kind, listing));
    }
    Ok(all)
}

async fn patiently(client: &Client, question: &Question) -> Result<crate::recovery::Found, ClientError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let answer = client.ask(&Ask::recover(question)).await.map_err(|why| client.unreachable(why))?;
        match wire::found(question, &answer) {
            Ok(found) => return Ok(found),
            Err(Failure::Refused(Refusal { status: 429 | 503, retry_after, .. })) if attempts < ATTEMPTS_MAX => {
                let pause = retry_after.map_or(PAUSE, |millis| Duration::from_millis(millis.max(0).unsigned_abs()));
                tokio::time::sleep(pause).await;
            }
            Err(Failure::NoAnswer(_)) if answer.is_cut && attempts < ATTEMPTS_MAX => {}
            Err(failure) => return Err(client.failed(&answer, failure)),
        }
    }
}
