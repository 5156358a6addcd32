//! The server over HTTP: who we are, the stream, and one request for one edit. Must not decide whether to try again.

use std::time::Duration;

use hearth_contract::check::{Intent, check_field};
use hearth_contract::envelope::{ErrorAnswer, Feed, Many, One};
use hearth_contract::headers::{CURRENT_VERSION, IDEMPOTENCY_KEY, LAST_EVENT_ID, SERVICE_API_VERSION};
use hearth_contract::paths;
use hearth_contract::record::parse_etag;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use reqwest::header::{ACCEPT, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::core::{Outcome, Refusal};
use crate::store::push::Request;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A stream says something every 15 s (contract 9.4); three times that is silence.
const SILENCE_MAX: Duration = Duration::from_secs(45);
/// A whole exchange that is not a stream.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Why there is no client or no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is not one.
    #[error("{0:?} is no server address; write it as http://HOST:PORT or https://HOST")]
    Address(String),
    /// The key has characters that no header can carry.
    #[error("the key is not one: it has characters that no key has")]
    Key,
    /// The network, or TLS.
    #[error("{0} cannot be reached: {1}")]
    Unreachable(String, String),
    /// The server's refusal: status and message.
    #[error("{1} (status {0})")]
    Refused(u16, String),
    /// An answer that is not the API's.
    #[error("{0} does not answer as a Hearth server: {1}")]
    NotHearth(String, String),
}

/// What the server says of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The home's id.
    pub home_id: String,
    /// The team's name, which is what people call the home.
    pub home_name: String,
    /// `live` or `test`.
    pub environment: String,
    /// What the key may do.
    pub scopes: Vec<String>,
}

/// Asks a server who a key belongs to.
pub async fn identify(server: &str, key: &SecretString) -> Result<Identity, ClientError> {
    Client::new(server, key)?.me().await
}

/// One server and one key.
#[derive(Debug, Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    base: String,
}

impl Client {
    /// Makes a client. Redirects are not followed and no proxy is used: a key goes to the server it is meant for.
    pub(super) fn new(server: &str, key: &SecretString) -> Result<Client, ClientError> {
        let base = server.trim_end_matches('/').to_owned();
        let address = reqwest::Url::parse(&base).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let address = address.ok_or_else(|| ClientError::Address(server.to_owned()))?;
        let mut bearer =
            HeaderValue::from_str(&format!("Bearer {}", key.expose_secret())).map_err(|_| ClientError::Key)?;
        bearer.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(reqwest::header::AUTHORIZATION, bearer);
        headers.insert(SERVICE_API_VERSION, HeaderValue::from_static(CURRENT_VERSION));
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("hearth-replica/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .redirect(Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE_MAX);
        if address.scheme() == "http" {
            // Without TLS no certificates are needed, and a small system may have none to load.
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().map_err(|error| ClientError::Unreachable(base.clone(), plain(&error)))?;
        Ok(Client { http, base })
    }

    /// Who the key belongs to.
    pub(super) async fn me(&self) -> Result<Identity, ClientError> {
        #[derive(Deserialize)]
        struct Me {
            team: Team,
            home: Home,
            scopes: Vec<String>,
        }
        #[derive(Deserialize)]
        struct Team {
            name: String,
        }
        #[derive(Deserialize)]
        struct Home {
            id: String,
            environment: String,
        }
        let One { data: Me { team, home, scopes }, .. } = self.get(paths::ME).await?;
        Ok(Identity { home_id: home.id, home_name: team.name, environment: home.environment, scopes })
    }

    /// Where the feed stands.
    pub(super) async fn feed(&self) -> Result<Option<Feed>, ClientError> {
        let page: Many<Value> = self.get(&format!("{}?limit=1", paths::EVENTS)).await?;
        Ok(page.meta.feed)
    }

    /// Opens the stream after a cursor, or at the feed's beginning.
    pub(super) async fn stream(&self, cursor: Option<&str>) -> Result<Response, Failure> {
        let request = self.http.get(format!("{}{}", self.base, paths::STREAM)).header(ACCEPT, "text/event-stream");
        let request = match cursor {
            Some(cursor) => request.header(LAST_EVENT_ID, cursor),
            None => request.query(&[("cursor", "start")]),
        };
        let response = request.send().await.map_err(|error| Failure::NoAnswer(plain(&error)))?;
        if response.status() == StatusCode::OK {
            return Ok(response);
        }
        Err(Failure::Refused(refusal(response).await))
    }

    /// Sends an edit's request once.
    pub(super) async fn send(&self, request: &Request) -> Outcome {
        let method = Method::from_bytes(request.verb.as_bytes()).unwrap_or(Method::POST);
        let mut builder = self.request(method, &request.path).header(IDEMPOTENCY_KEY, &request.key);
        if let Some(body) = &request.body {
            builder = builder.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        let response = match builder.send().await {
            Ok(response) => response,
            Err(error) => return Outcome::NoAnswer { reason: plain(&error) },
        };
        if !response.status().is_success() {
            let refusal = refusal(response).await;
            if request.creates && refusal.kind == "already_exists" {
                return self.compare(request, refusal).await;
            }
            return Outcome::Refused(refusal);
        }
        let rev = response.headers().get(ETAG).and_then(|tag| parse_etag(tag.to_str().ok()?));
        match response.json::<One<Map<String, Value>>>().await {
            // A delete's answer has no rev; the position at which it was given will do: the feed passes it later.
            Ok(One { data, meta }) => {
                Outcome::Accepted { rev: rev.or_else(|| data.get("rev")?.as_i64()).or(meta.as_of) }
            }
            // The status came, so the write is in; but without its position we could not tell when the feed passes it.
            Err(_) if rev.is_some() => Outcome::Accepted { rev },
            Err(error) => Outcome::NoAnswer { reason: plain(&error) },
        }
    }

    /// A create met its own id: perhaps our own create whose answer was lost.
    async fn compare(&self, request: &Request, refusal: Refusal) -> Outcome {
        let path = format!("{}/{}", paths::collection(request.record.0), request.record.1);
        match self.get::<One<Map<String, Value>>>(&path).await {
            Ok(One { data, .. }) => {
                let ours = request.body.as_deref().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
                let same = data.get("rev").and_then(Value::as_i64).filter(|_| holds(request.record.0, &data, &ours));
                Outcome::AlreadyThere { same, refusal }
            }
            Err(ClientError::Refused(404, _)) => Outcome::AlreadyThere { same: None, refusal },
            Err(error) => Outcome::NoAnswer { reason: error.to_string() },
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).timeout(ANSWER_TIMEOUT)
    }

    async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let response = self
            .request(Method::GET, path)
            .send()
            .await
            .map_err(|error| ClientError::Unreachable(self.base.clone(), plain(&error)))?;
        if !response.status().is_success() {
            let refusal = refusal(response).await;
            return Err(ClientError::Refused(refusal.status, refusal.message));
        }
        response.json().await.map_err(|error| ClientError::NotHearth(self.base.clone(), plain(&error)))
    }
}

/// Why there is no stream.
#[derive(Debug)]
pub(super) enum Failure {
    NoAnswer(String),
    Refused(Refusal),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        match error {
            ClientError::Refused(status, message) => Failure::Refused(Refusal {
                status,
                kind: String::new(),
                message,
                reason: None,
                problem: Value::Null,
                retry_after: None,
            }),
            other => Failure::NoAnswer(other.to_string()),
        }
    }
}

/// Whether a record holds every value that we sent, in the server's spelling.
fn holds(kind: Kind, record: &Map<String, Value>, ours: &Map<String, Value>) -> bool {
    resource(kind).fields.iter().filter(|field| field.is_writable()).all(|field| match ours.get(field.name) {
        Some(value) => check_field(field, Intent::Patch, value).ok().as_ref() == record.get(field.name),
        None => true,
    })
}

async fn refusal(response: Response) -> Refusal {
    let status = response.status();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<i64>().ok());
    let text = response.text().await.unwrap_or_default();
    let problem =
        serde_json::from_str::<Value>(&text).ok().and_then(|mut answer| Some(answer.get_mut("error")?.take()));
    let body = serde_json::from_str::<ErrorAnswer>(&text).ok().map(|answer| answer.error);
    Refusal {
        status: status.as_u16(),
        kind: body.as_ref().map(|body| body.kind.clone()).unwrap_or_default(),
        message: body.as_ref().map_or_else(|| format!("the server answered {status}"), |body| body.message.clone()),
        reason: body.and_then(|body| body.details.get("reason")?.as_str().map(str::to_owned)),
        problem: problem.unwrap_or(Value::Null),
        retry_after: retry_after.map(|seconds| seconds.saturating_mul(1000)),
    }
}

/// An error with its causes as one line, without the address it repeats.
fn plain(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        causes.push(next.to_string());
        cause = next.source();
    }
    match causes.last() {
        Some(last) => last.clone(),
        None if error.is_timeout() => "it does not answer in time".to_owned(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_holds_what_was_sent_in_its_own_spelling() {
        let object = |value: Value| value.as_object().cloned().unwrap();
        let record = object(json!({ "id": "x", "rev": 3, "name": "Car", "purchase_price": "7.50", "vin": null }));
        assert!(holds(Kind::Vehicle, &record, &object(json!({ "id": "x", "name": "Car", "purchase_price": "07.5" }))));
        assert!(!holds(Kind::Vehicle, &record, &object(json!({ "name": "Bus" }))));
    }

    #[test]
    fn an_address_has_a_scheme() {
        let key = SecretString::from("svc_test_x".to_owned());
        assert!(matches!(Client::new("localhost:8750", &key), Err(ClientError::Address(_))));
        assert!(Client::new("http://localhost:8750/", &key).is_ok());
    }
}
