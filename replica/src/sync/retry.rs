//! Sends one request until it is answered. Pauses after a lost response, and as long as the server asks. Must not know what a
//! request is for.

use std::time::Duration;

use tokio::time::sleep;

use super::client::{Client, ClientError};
use super::core::{Failure, Refusal};
use super::wire::{HttpRequest, HttpResponse};

/// Attempts at one request while the server answers 429 or 503.
const ATTEMPTS_MAX: u32 = 30;
/// Lost responses to one request in a row: a restarted server is back before the last.
const LOST_MAX: u32 = 7;
/// Pause after the first lost response. The pause doubles up to [`PAUSE_MAX`].
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause after a lost response; also the pause when the server asks for one and names no time.
const PAUSE_MAX: Duration = Duration::from_secs(8);

/// The attempts at one request.
#[derive(Default)]
pub(super) struct Attempts {
    all: u32,
    /// Lost responses in a row.
    lost: u32,
}

impl Attempts {
    /// Waits before the next attempt. False: another attempt does not help. `is_lost`: no response arrived whole.
    pub(super) async fn wait_after(&mut self, failure: &Failure, is_lost: bool) -> bool {
        self.all += 1;
        match failure {
            Failure::Refused(Refusal { status: 429 | 503, retry_after, message, .. }) if self.all < ATTEMPTS_MAX => {
                self.lost = 0;
                tracing::warn!("the server asks to wait: {message}");
                let server_pause = |millis: i64| Duration::from_millis(millis.max(0).unsigned_abs());
                sleep(retry_after.map_or(PAUSE_MAX, server_pause)).await;
                true
            }
            Failure::Refused(Refusal { status: 503, .. }) => false,
            Failure::Refused(Refusal { status: 408 | 500.., .. }) => self.wait_after_loss().await,
            Failure::NoAnswer(_) if is_lost => self.wait_after_loss().await,
            _ => false,
        }
    }

    async fn wait_after_loss(&mut self) -> bool {
        if self.lost == LOST_MAX {
            return false;
        }
        sleep((PAUSE * (1 << self.lost)).min(PAUSE_MAX)).await;
        self.lost += 1;
        true
    }
}

/// Sends a request until its response can be parsed. `client` makes the errors. Err: a failure that a repetition does not cure.
pub(super) async fn ask<T>(
    client: &Client,
    request: &HttpRequest,
    mut send: impl AsyncFnMut(&HttpRequest) -> Result<HttpResponse, String>,
    parse: impl Fn(&HttpResponse) -> Result<T, Failure>,
) -> Result<T, ClientError> {
    let mut attempts = Attempts::default();
    loop {
        let response = send(request).await;
        let failure = match &response {
            Ok(response) => match parse(response) {
                Ok(parsed) => return Ok(parsed),
                Err(failure) => failure,
            },
            Err(why) => Failure::NoAnswer(why.clone()),
        };
        let is_lost = response.as_ref().map_or(true, |response| response.is_cut);
        if !attempts.wait_after(&failure, is_lost).await {
            return Err(match response {
                Ok(response) => client.client_error(&response, failure),
                Err(why) => client.unreachable(why),
            });
        }
    }
}
