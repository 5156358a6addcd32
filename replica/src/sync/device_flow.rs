//! Asks a server to approve this device, and for its key afterwards (RFC 8628, contract 20). Must not know the terminal.

use std::time::{Duration, Instant};

use hearth_contract::paths::{DEVICE_AUTHORIZATION, REPLICA_CLIENT, TOKEN};
use hearth_contract::schema::AUTHOR_MAX;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::client::{Client, ClientError};
use super::core::Failure;
use super::device_code::{Answer, DeviceCode, NotApproved, Waiting};
use super::wire::{HttpResponse, edit_failure};

/// The kind of the question for the key (RFC 8628 3.4).
const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Why the device has no key. The texts are sentences for people.
#[derive(Debug, thiserror::Error)]
pub enum DeviceFlowError {
    /// The server cannot be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The device was not approved.
    #[error(transparent)]
    NotApproved(#[from] NotApproved),
}

/// What a server says to a device that asks for a code.
#[derive(Debug)]
pub enum Begun {
    /// The device waits for its approval.
    Waiting(DeviceFlow),
    /// The server approves no devices, with the reason and next step that it gives to people.
    NotOffered(Option<String>),
}

/// A server with which this device waits for its approval.
#[derive(Debug)]
pub struct DeviceFlow {
    client: Client,
    /// The code for the person.
    pub code: DeviceCode,
    waiting: Waiting,
    begun: Instant,
}

/// The name of this machine in its network, for the name of its key.
pub fn machine_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let shown: String = name.chars().filter(|c| !c.is_control()).take(AUTHOR_MAX).collect();
    if shown.is_empty() { "device".to_owned() } else { shown }
}

/// Characters of a reason that is shown.
const REASON_MAX: usize = 500;

/// A refusal (RFC 6749 5.2).
#[derive(Deserialize)]
struct RefusalBody {
    error: String,
    error_description: Option<String>,
}

#[derive(Deserialize)]
struct KeyBody {
    access_token: String,
}

impl DeviceFlow {
    /// Asks for a code. `device`: the name of the key, such as the name of this machine.
    pub async fn begin(server: &str, device: &str) -> Result<Begun, DeviceFlowError> {
        let client = Client::without_key(server)?;
        let response =
            client.post_form(DEVICE_AUTHORIZATION, &[("client_id", REPLICA_CLIENT), ("device_name", device)]).await;
        let response = response.map_err(|why| client.unreachable(why))?;
        match response.status {
            200 => {}
            404 | 405 => return Ok(Begun::NotOffered(reason(&response))),
            status => return Err(refused(&client, status, &response).into()),
        }
        let code: Option<DeviceCode> = serde_json::from_slice(&response.body).ok();
        let Some(code) = code.filter(DeviceCode::is_sound) else {
            return Err(client.not_hearth("its answer holds no code for this device".to_owned()).into());
        };
        let begun = Instant::now();
        let waiting = Waiting::new(&code, begun.elapsed());
        Ok(Begun::Waiting(DeviceFlow { client, waiting, code, begun }))
    }

    /// Waits until a person has decided. Returns the key.
    pub async fn wait(&mut self) -> Result<SecretString, NotApproved> {
        loop {
            match self.waiting.next(self.begun.elapsed())? {
                Duration::ZERO => {
                    let answer = self.ask().await;
                    if let Some(key) = self.waiting.take(answer, self.begun.elapsed())? {
                        return Ok(key);
                    }
                }
                left => tokio::time::sleep(left).await,
            }
        }
    }

    async fn ask(&self) -> Answer {
        let code = self.code.device_code.expose_secret();
        let form = [("client_id", REPLICA_CLIENT), ("grant_type", GRANT_TYPE), ("device_code", code)];
        match self.client.post_form(TOKEN, &form).await {
            Ok(response) => answer(&response),
            Err(_) => Answer::Unavailable,
        }
    }
}

/// What an answer means (RFC 8628 3.5).
fn answer(response: &HttpResponse) -> Answer {
    if response.status == 200 {
        // The server gives a key once, so a cut answer is the end.
        let body: Option<KeyBody> = serde_json::from_slice(&response.body).ok();
        let cut = || Answer::Refused("its answer was not whole; begin again".to_owned());
        return body.map_or_else(cut, |body| Answer::Approved(body.access_token));
    }
    let Ok(body) = serde_json::from_slice::<RefusalBody>(&response.body) else { return Answer::Unavailable };
    match body.error.as_str() {
        "authorization_pending" => Answer::Pending,
        "slow_down" => Answer::SlowDown,
        "access_denied" => Answer::Denied,
        "expired_token" => Answer::Expired,
        _ if response.status >= 500 || response.status == 429 => Answer::Unavailable,
        _ => Answer::Refused(body.error_description.unwrap_or(body.error)),
    }
}

/// The reason of a refusal, for people. None: the response gives none, or no short one.
fn reason(response: &HttpResponse) -> Option<String> {
    let text = serde_json::from_slice::<RefusalBody>(&response.body).ok()?.error_description?;
    // The text goes to a terminal: one line without control characters.
    let is_plain = text.chars().count() <= REASON_MAX && !text.chars().any(char::is_control);
    Some(text).filter(|text| is_plain && !text.is_empty())
}

fn refused(client: &Client, status: u16, response: &HttpResponse) -> ClientError {
    match serde_json::from_slice::<RefusalBody>(&response.body) {
        Ok(body) => ClientError::Refused(status, body.error_description.unwrap_or(body.error)),
        // Such as the port of a server with TLS, which was asked without.
        Err(_) => client.not_hearth(match edit_failure(response) {
            Failure::Refused(refusal) => refusal.message,
            Failure::NoAnswer(_) => format!("the server answered {status}, and not as a Hearth server does"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(status: u16, body: &str) -> Answer {
        answer(&HttpResponse { status, body: body.as_bytes().to_vec(), ..HttpResponse::default() })
    }

    #[test]
    fn reason_of_the_server_is_one_plain_line() {
        let of = |body: &str| {
            reason(&HttpResponse { status: 404, body: body.as_bytes().to_vec(), ..HttpResponse::default() })
        };
        let told = of(r#"{"error":"invalid_request","error_description":"This server has no https address."}"#);
        assert_eq!(told.as_deref(), Some("This server has no https address."));
        for other in ["", "<html>", r#"{"error":"x"}"#, r#"{"error":"x","error_description":"a\u001b[2J"}"#] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn refusal_of_the_api_is_told() {
        let client = Client::without_key("http://127.0.0.1:9").unwrap();
        let told = |body: &str| {
            let response = HttpResponse { status: 400, body: body.as_bytes().to_vec(), ..HttpResponse::default() };
            refused(&client, 400, &response).to_string()
        };
        let api =
            r#"{"error":{"type":"invalid_request","message":"This port speaks HTTPS only.","fix":"","details":{}}}"#;
        assert!(told(api).contains("This port speaks HTTPS only."), "{}", told(api));
        assert!(told("<html>").contains("answered 400"), "{}", told("<html>"));
    }

    #[test]
    fn answers_of_the_server_have_their_meaning() {
        assert!(
            matches!(meaning(200, r#"{"access_token":"k","token_type":"Bearer"}"#), Answer::Approved(key) if key == "k")
        );
        assert!(matches!(meaning(400, r#"{"error":"authorization_pending"}"#), Answer::Pending));
        assert!(matches!(meaning(400, r#"{"error":"slow_down"}"#), Answer::SlowDown));
        assert!(matches!(meaning(400, r#"{"error":"access_denied"}"#), Answer::Denied));
        assert!(matches!(meaning(400, r#"{"error":"expired_token"}"#), Answer::Expired));
        let known = meaning(400, r#"{"error":"invalid_grant","error_description":"The code was used."}"#);
        assert!(matches!(known, Answer::Refused(why) if why == "The code was used."));
        assert!(matches!(meaning(200, "{"), Answer::Refused(why) if why.contains("begin again")));
        for (status, body) in [(502, "<html>"), (429, r#"{"error":"x"}"#), (503, r#"{"error":"x"}"#)] {
            assert!(matches!(meaning(status, body), Answer::Unavailable), "{status} {body}");
        }
    }
}
