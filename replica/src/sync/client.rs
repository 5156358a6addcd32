//! Sends requests and opens streams over HTTP. Must not know what responses mean or whether to try again.

use std::time::Duration;

use hearth_contract::formats::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, DATE, ETAG, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder, Response};
use secrecy::{ExposeSecret, SecretString};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use super::core::{Failure, Identity};
use super::tls_fault::{tls_fault, tls_text};
use super::wire::{self, HttpRequest, HttpResponse, NOT_HEARTH};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// An idle connection is closed after 15 s: before a silent stream is checked, so that the check does not use a connection
/// that died with the stream.
const IDLE_MAX: Duration = Duration::from_secs(15);
/// Time until the response to a read begins. A server answers reads at once; the connection may have died.
const READ_TIMEOUT: Duration = Duration::from_secs(20);
/// Time until the response to a write begins. Longer than the 30 s that the server allows for a body (contract 12), so that
/// the server's 408 still arrives.
const WRITE_TIMEOUT: Duration = Duration::from_secs(45);
/// Time between two chunks of a response. A slow line needs minutes for a large page, but never pauses so long.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for request and response together, except streams. The largest page arrives in time at 7 kB/s.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(600);
/// Time to send or to fetch one file: 32 MiB arrive in time at 19 kB/s.
const FILE_TIMEOUT: Duration = Duration::from_secs(1800);
/// Bytes of a response body. The largest page has 4 MiB and one record (contract 5, 9.1). The rest is a reserve for servers with
/// larger pages.
const RESPONSE_BYTES_MAX: usize = 16 << 20;

/// The reason of a timeout.
const NO_ANSWER: &str = "it does not answer in time";

/// The reason of a cut body.
const CUT: &str = "the connection broke before the answer was whole";

/// Why the server could not be asked. The texts are sentences for people.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is malformed; with a sentence about the fault.
    #[error("{0}; write it as http://HOST:PORT or https://HOST, without /v1")]
    Address(String),
    /// The key has characters that are not allowed in a header.
    #[error("the key is not valid: it has characters that no key has")]
    Key,
    /// Network or TLS failed: the server's address and the cause.
    #[error("{0} cannot be reached: {1}")]
    Unreachable(String, String),
    /// The server has refused the request: status and message.
    #[error("{1} (status {0})")]
    Refused(u16, String),
    /// The response is not from a Hearth server: the address and the fault.
    #[error("{0} does not answer as a Hearth server: {1}")]
    NotHearth(String, String),
}

/// Fetches the owner, scopes and limits of a key.
pub async fn fetch_identity(server: &str, key: &SecretString) -> Result<Identity, ClientError> {
    Ok(fetch_identity_and_time(server, key).await?.0)
}

/// Fetches the newest position of the feed. None: the server does not name the position.
pub async fn fetch_feed_head(server: &str, key: &SecretString) -> Result<Option<i64>, ClientError> {
    let client = Client::new(server, key)?;
    let response = client.send(&HttpRequest::feed_head(None)).await.map_err(|why| client.unreachable(why))?;
    wire::feed_head(&response)
        .map(|feed_head| feed_head.head)
        .map_err(|failure| client.client_error(&response, failure))
}

/// Fetches the owner of a key and the server's time, from the header `Date`. None: the header is absent or malformed.
pub(crate) async fn fetch_identity_and_time(
    server: &str,
    key: &SecretString,
) -> Result<(Identity, Option<Timestamp>), ClientError> {
    let client = Client::new(server, key)?;
    let response = client.begin(&HttpRequest::identity()).await.map_err(|why| client.unreachable(why))?;
    let date = response.headers().get(DATE).and_then(|date| date.to_str().ok()).and_then(parse_date);
    let response = read_response(response).await.map_err(|why| client.unreachable(why))?;
    wire::identity(&response)
        .map(|identity| (identity, date))
        .map_err(|failure| client.client_error(&response, failure))
}

/// The time in a header (RFC 9110 5.6.7).
fn parse_date(text: &str) -> Option<Timestamp> {
    let date = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    Some(Timestamp::from_millis(date.unix_timestamp().saturating_mul(1000)))
}

/// `Retry-After` in seconds. A date is converted with `Date` of the same response (RFC 9110 10.2.3).
fn retry_after_seconds(text: String, date: Option<String>) -> String {
    match (parse_date(&text), date.and_then(|date| parse_date(&date))) {
        (Some(until), Some(now)) => (until.millis().saturating_sub(now.millis()) / 1000).max(0).to_string(),
        _ => text,
    }
}

/// An address without user and password, for display. Works for malformed addresses too.
pub fn redact_address(server: &str) -> String {
    let has_no_user = |url: reqwest::Url| {
        matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none()
    };
    match server.rsplit_once('@') {
        Some((user, rest)) if !reqwest::Url::parse(server).is_ok_and(has_no_user) => {
            let scheme = user.find("://").map_or("", |end| &user[..end + 3]);
            format!("{scheme}{rest}")
        }
        _ => server.to_owned(),
    }
}

/// An HTTP client for one server, with a key or without.
#[derive(Debug, Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    base: String,
}

impl Client {
    /// Builds a client for one key.
    pub(super) fn new(server: &str, key: &SecretString) -> Result<Client, ClientError> {
        let mut bearer =
            HeaderValue::from_str(&format!("Bearer {}", key.expose_secret())).map_err(|_| ClientError::Key)?;
        bearer.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, bearer);
        let (name, version) = wire::VERSION;
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(version));
        Client::build(server, headers)
    }

    /// Builds a client. Redirects are not followed and no proxy is used, so secrets reach only the named server.
    fn build(server: &str, headers: HeaderMap) -> Result<Client, ClientError> {
        let base = server.trim_end_matches('/').to_owned();
        let is_plain = |url: &reqwest::Url| {
            matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none()
        };
        // A user would be sent instead of the key, and the password would be shown with the address.
        if reqwest::Url::parse(&base).is_ok_and(|url| !url.username().is_empty() || url.password().is_some()) {
            let text = "a server address names no user and no password, because the key says who asks";
            return Err(ClientError::Address(text.to_owned()));
        }
        // The API's paths begin with `/v1`.
        let address = reqwest::Url::parse(&base).ok().filter(|url| is_plain(url) && !url.path().ends_with("/v1"));
        let address = address
            .ok_or_else(|| ClientError::Address(format!("{:?} is no server address", redact_address(server))))?;
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("hearth-replica/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .redirect(Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_MAX);
        if address.scheme() == "http" {
            // HTTP needs no certificates, and a small system may have none to load.
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().map_err(|error| ClientError::Unreachable(base.clone(), cause_text(&error)))?;
        Ok(Client { http, base })
    }

    /// Builds a client without a key.
    pub(super) fn without_key(server: &str) -> Result<Client, ClientError> {
        Client::build(server, HeaderMap::new())
    }

    /// Sends a form. Err: a sentence why no response arrived.
    pub(super) async fn post_form(&self, path: &str, fields: &[(&str, &str)]) -> Result<HttpResponse, String> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.http.post(format!("{}{path}", self.base)).body(body);
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let sent = tokio::time::timeout(WRITE_TIMEOUT, request.timeout(EXCHANGE_TIMEOUT).send()).await;
        read_response(sent.map_err(|_| NO_ANSWER.to_owned())?.map_err(|error| cause_text(&error))?).await
    }

    /// The error for an answer that no Hearth server gives.
    pub(super) fn not_hearth(&self, why: String) -> ClientError {
        ClientError::NotHearth(self.base.clone(), why)
    }

    /// The error for a missing response.
    pub(super) fn unreachable(&self, why: String) -> ClientError {
        ClientError::Unreachable(self.base.clone(), why)
    }

    /// The error for a response without a usable answer.
    pub(super) fn client_error(&self, response: &HttpResponse, failure: Failure) -> ClientError {
        match failure {
            Failure::Refused(refusal) => ClientError::Refused(refusal.status, refusal.message),
            Failure::NoAnswer(_) if response.is_cut => self.unreachable(CUT.to_owned()),
            Failure::NoAnswer(why) => {
                // The error says so itself.
                let why = why.strip_prefix(NOT_HEARTH).unwrap_or(&why).trim_start_matches([':', ' ']).to_owned();
                ClientError::NotHearth(self.base.clone(), why)
            }
        }
    }

    /// Sends a request and reads the response. Err: a sentence why no response arrived.
    pub(super) async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, String> {
        read_response(self.begin(request).await?).await
    }

    /// Sends a request and waits until the response begins.
    async fn begin(&self, request: &HttpRequest) -> Result<Response, String> {
        let sent = self.builder(request).timeout(EXCHANGE_TIMEOUT).send();
        let limit = if request.method == "GET" { READ_TIMEOUT } else { WRITE_TIMEOUT };
        match tokio::time::timeout(limit, sent).await {
            Ok(sent) => sent.map_err(|error| cause_text(&error)),
            Err(_) => Err(NO_ANSWER.to_owned()),
        }
    }

    /// Begins the exchange of a file's bytes. `body`: the file to send. Err: a sentence why no response arrived.
    pub(super) async fn begin_file(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Option<tokio::fs::File>,
    ) -> Result<Response, String> {
        // The limit of an upload is that of the whole exchange: the response begins when all bytes are sent.
        let limit = if body.is_some() { FILE_TIMEOUT } else { READ_TIMEOUT };
        let request = self.http.request(method, format!("{}{path}", self.base)).headers(headers).timeout(FILE_TIMEOUT);
        let request = match body {
            Some(file) => request.body(file),
            None => request,
        };
        match tokio::time::timeout(limit, request.send()).await {
            Ok(sent) => sent.map_err(|error| cause_text(&error)),
            Err(_) => Err(NO_ANSWER.to_owned()),
        }
    }

    /// Opens a stream. Inner Err: the response that refuses the stream. Outer Err: a sentence why no response arrived.
    pub(super) async fn open_stream(&self, request: &HttpRequest) -> Result<Result<Response, HttpResponse>, String> {
        let response = self.builder(request).send().await.map_err(|error| cause_text(&error))?;
        match response.status() {
            reqwest::StatusCode::OK if is_stream(response.headers()) => Ok(Ok(response)),
            // A page of a proxy. The body is not read, because the body may never end.
            status @ reqwest::StatusCode::OK => {
                Ok(Err(HttpResponse { status: status.as_u16(), ..HttpResponse::default() }))
            }
            _ => read_response(response).await.map(Err),
        }
    }

    fn builder(&self, request: &HttpRequest) -> RequestBuilder {
        let method = Method::from_bytes(request.method.as_bytes()).unwrap_or(Method::POST);
        let mut builder = self.http.request(method, format!("{}{}", self.base, request.path));
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        match &request.body {
            Some(body) => builder.body(body.clone()),
            None => builder,
        }
    }
}

/// Whether the response is an event stream (contract 9.4).
fn is_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.split(';').next().is_some_and(|value| value.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// Reads the body. A cut body is dropped, and [`HttpResponse::is_cut`] is set.
pub(super) async fn read_response(mut response: Response) -> Result<HttpResponse, String> {
    let header =
        |name| response.headers().get(name).and_then(|value: &HeaderValue| Some(value.to_str().ok()?.to_owned()));
    let (status, etag) = (response.status().as_u16(), header(ETAG));
    let retry_after = header(RETRY_AFTER).map(|text| retry_after_seconds(text, header(DATE)));
    let (mut body, mut is_cut) = (Vec::new(), false);
    loop {
        match tokio::time::timeout(CHUNK_TIMEOUT, response.chunk()).await {
            Ok(Ok(Some(chunk))) if body.len() + chunk.len() > RESPONSE_BYTES_MAX => {
                return Err(format!("{NOT_HEARTH}: the answer is longer than {} MiB", RESPONSE_BYTES_MAX >> 20));
            }
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            Ok(Ok(None)) => break,
            Ok(Err(_)) | Err(_) => {
                body.clear();
                is_cut = true;
                break;
            }
        }
    }
    Ok(HttpResponse { status, etag, retry_after, body, is_cut })
}

/// The next piece of a long body. None: the body is whole. Err: a sentence how the body was cut.
pub(super) async fn next_chunk(response: &mut Response) -> Result<Option<hyper::body::Bytes>, String> {
    match tokio::time::timeout(CHUNK_TIMEOUT, response.chunk()).await {
        Ok(chunk) => chunk.map_err(|_| CUT.to_owned()),
        Err(_) => Err(CUT.to_owned()),
    }
}

/// The root cause of an error as one line, without the address.
fn cause_text(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        if let Some(fault) = tls_fault(next) {
            return tls_text(fault);
        }
        causes.push(next.to_string());
        cause = next.source();
    }
    match causes.last() {
        Some(last) => last.clone(),
        None if error.is_timeout() => NO_ANSWER.to_owned(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    /// A response of `chunks` chunks, each after a pause.
    async fn chunked_response(chunks: usize, pause: Duration) -> Result<HttpResponse, String> {
        let chunks = futures_util::stream::iter(0..chunks).then(move |_| async move {
            tokio::time::sleep(pause).await;
            Ok::<_, std::convert::Infallible>("chunk")
        });
        read_response(Response::from(hyper::Response::new(reqwest::Body::wrap_stream(chunks)))).await
    }

    #[tokio::test(start_paused = true)]
    async fn response_times_out_between_chunks() {
        assert_eq!(chunked_response(20, Duration::from_secs(20)).await.unwrap().body.len(), 100);
        let cut = chunked_response(2, Duration::from_secs(31)).await.unwrap();
        assert_eq!((cut.status, cut.body.len()), (200, 0), "the status arrived");
        let client = Client::new("http://h", &SecretString::from("svc_test_x".to_owned())).unwrap();
        let error = |response: &HttpResponse| client.client_error(response, wire::identity(response).unwrap_err());
        assert!(matches!(error(&cut), ClientError::Unreachable(_, why) if why == CUT));
        assert!(matches!(error(&HttpResponse { is_cut: false, ..cut }), ClientError::NotHearth(..)));
    }

    #[tokio::test]
    async fn endless_response_is_refused() {
        let chunks = futures_util::stream::repeat_with(|| Ok::<_, std::convert::Infallible>(vec![b'x'; 1 << 20]));
        let endless = read_response(Response::from(hyper::Response::new(reqwest::Body::wrap_stream(chunks)))).await;
        assert_eq!(endless.unwrap_err(), "it does not answer as a Hearth server: the answer is longer than 16 MiB");
    }

    #[test]
    fn retry_after_date_uses_the_servers_clock() {
        let date = |text: &str| Some(text.to_owned());
        let until = || "Sat, 21 Nov 2026 22:50:30 GMT".to_owned();
        assert_eq!(retry_after_seconds(until(), date("Sat, 21 Nov 2026 22:50:00 GMT")), "30");
        assert_eq!(retry_after_seconds(until(), date("Sat, 21 Nov 2026 22:51:00 GMT")), "0");
        assert_eq!(retry_after_seconds(until(), None), until(), "without Date");
        assert_eq!(retry_after_seconds("12".to_owned(), date("Sat, 21 Nov 2026 22:50:00 GMT")), "12");
    }

    #[test]
    fn address_needs_scheme_and_no_api_path() {
        let key = SecretString::from("svc_test_x".to_owned());
        for address in ["localhost:8750", "http://h/v1", "http://h/v1/", "http://h?x=1", "http://h#f"] {
            assert!(matches!(Client::new(address, &key), Err(ClientError::Address(_))), "{address}");
        }
        for address in ["http://user:secret@h", "https://user@h", "http://:secret@h"] {
            let error = Client::new(address, &key).unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with("a server address names no user") && !text.contains("secret"), "{text}");
        }
        for (address, expected) in [
            ("http://joe:secret@h:1/x", "http://h:1/x"),
            ("https://joe@h", "https://h"),
            ("joe:secret@h", "h"),
            ("http://joe:sec/ret@h", "http://h"),
            ("http://h/@x", "http://h/@x"),
            ("http://h:1/", "http://h:1/"),
        ] {
            assert_eq!(redact_address(address), expected);
            let error = Client::new(address, &key).map_or_else(|error| error.to_string(), |_| String::new());
            assert!(!error.contains("ret@") && !error.contains("secret"), "{error}");
        }
        assert!(Client::new("https://h/behind/a/path/", &key).is_ok());
        assert!(Client::new("http://localhost:8750/", &key).is_ok());
    }
}
