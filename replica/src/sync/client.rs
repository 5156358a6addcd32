//! Questions and streams over HTTP. Must not know what they mean or whether to try again.

use std::time::Duration;

use hearth_contract::formats::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, DATE, ETAG, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder, Response};
use secrecy::{ExposeSecret, SecretString};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use super::core::{Failure, Identity};
use super::wire::{self, Answer, Ask};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection at rest is not used again after this long: shorter than a stream may be silent, so that what is asked after
/// such a silence does not go into a path that died.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// Until an answer begins. Longer than the 30 s that the server gives a body to come (contract 12), so that who is too slow
/// for it is told so.
const ANSWER_BEGINS: Duration = Duration::from_secs(45);
/// Between two pieces of an answer. A slow line needs minutes for a page of long texts, but it never rests for so long.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// A whole exchange that is not a stream, however busy the line: a page as large as can be comes at 70 kB a second, and
/// one of the usual size on any line.
const EXCHANGE_MAX: Duration = Duration::from_secs(600);
/// Bytes of one answer. The largest is 500 events of a poll, each with a record of at most 90 kB (contract 3).
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Why there is no answer, when nothing else is known of it.
const NO_ANSWER: &str = "it does not answer in time";

/// Why there is none though its status came.
const CUT: &str = "the connection broke before the answer was whole";

/// Why there is no client or no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is not one, in these words.
    #[error("{0}; write it as http://HOST:PORT or https://HOST, without /v1")]
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

/// Asks a server who a key belongs to.
pub async fn identify(server: &str, key: &SecretString) -> Result<Identity, ClientError> {
    Ok(meet(server, key).await?.identity)
}

/// Asks a server where its feed stands.
pub async fn head(server: &str, key: &SecretString) -> Result<Option<i64>, ClientError> {
    let client = Client::new(server, key)?;
    let answer = client.ask(&Ask::feed()).await.map_err(|why| client.unreachable(why))?;
    wire::standing(&answer).map(|standing| standing.head).map_err(|failure| client.failed(&answer, failure))
}

/// What a server says of a key, and of the time.
#[derive(Debug, Clone)]
pub(crate) struct Met {
    pub identity: Identity,
    /// The server's clock, by its Date header.
    pub date: Option<Timestamp>,
}

/// Asks a server who a key belongs to and what time it is.
pub(crate) async fn meet(server: &str, key: &SecretString) -> Result<Met, ClientError> {
    let client = Client::new(server, key)?;
    let response = client.send(&Ask::me()).await.map_err(|why| client.unreachable(why))?;
    let date = response.headers().get(DATE).and_then(|date| date.to_str().ok()).and_then(moment);
    let answer = answer(response).await.map_err(|why| client.unreachable(why))?;
    wire::identity(&answer).map(|identity| Met { identity, date }).map_err(|failure| client.failed(&answer, failure))
}

/// A moment as headers write it (RFC 9110 5.6.7).
fn moment(text: &str) -> Option<Timestamp> {
    let moment = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    Some(Timestamp::from_millis(moment.unix_timestamp().saturating_mul(1000)))
}

/// A `Retry-After` in seconds: some say it as a date, which means as much as the clock that the same answer tells.
fn in_seconds(text: String, date: Option<String>) -> String {
    match (moment(&text), date.and_then(|date| moment(&date))) {
        (Some(until), Some(now)) => (until.millis().saturating_sub(now.millis()) / 1000).max(0).to_string(),
        _ => text,
    }
}

/// An address as it may be shown, whether or not it is one that is taken: without who is named in it, and their password.
pub fn shown(server: &str) -> String {
    let names_nobody = |url: reqwest::Url| {
        matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none()
    };
    match server.rsplit_once('@') {
        Some((named, rest)) if !reqwest::Url::parse(server).is_ok_and(names_nobody) => {
            let scheme = named.find("://").map_or("", |end| &named[..end + 3]);
            format!("{scheme}{rest}")
        }
        _ => server.to_owned(),
    }
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
        let is_plain = |url: &reqwest::Url| {
            matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none()
        };
        // Who is named there would be sent in the place of the key, and a password shown wherever the address is.
        if reqwest::Url::parse(&base).is_ok_and(|url| !url.username().is_empty() || url.password().is_some()) {
            let text = "a server address names no user and no password, because the key says who asks";
            return Err(ClientError::Address(text.to_owned()));
        }
        // The paths of the API begin with its version.
        let address = reqwest::Url::parse(&base).ok().filter(|url| is_plain(url) && !url.path().ends_with("/v1"));
        let address =
            address.ok_or_else(|| ClientError::Address(format!("{:?} is no server address", shown(server))))?;
        let mut bearer =
            HeaderValue::from_str(&format!("Bearer {}", key.expose_secret())).map_err(|_| ClientError::Key)?;
        bearer.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, bearer);
        let (name, version) = wire::VERSION;
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(version));
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("hearth-replica/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .redirect(Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_MAX);
        if address.scheme() == "http" {
            // Without TLS no certificates are needed, and a small system may have none to load.
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().map_err(|error| ClientError::Unreachable(base.clone(), plain(&error)))?;
        Ok(Client { http, base })
    }

    /// Why there was no answer.
    pub(super) fn unreachable(&self, why: String) -> ClientError {
        ClientError::Unreachable(self.base.clone(), why)
    }

    /// Why an answer is no good one.
    pub(super) fn failed(&self, answer: &Answer, failure: Failure) -> ClientError {
        match failure {
            Failure::Refused(refusal) => ClientError::Refused(refusal.status, refusal.message),
            Failure::NoAnswer(_) if answer.is_cut => self.unreachable(CUT.to_owned()),
            Failure::NoAnswer(why) => ClientError::NotHearth(self.base.clone(), why),
        }
    }

    /// Asks once. Err: why there is no answer, in plain words.
    pub(super) async fn ask(&self, ask: &Ask) -> Result<Answer, String> {
        answer(self.send(ask).await?).await
    }

    /// Asks, and waits until the answer begins.
    async fn send(&self, ask: &Ask) -> Result<Response, String> {
        let sent = self.request(ask).timeout(EXCHANGE_MAX).send();
        match tokio::time::timeout(ANSWER_BEGINS, sent).await {
            Ok(sent) => sent.map_err(|error| plain(&error)),
            Err(_) => Err(NO_ANSWER.to_owned()),
        }
    }

    /// Opens a stream: the response of a 200 that is one, or the answer that refuses it.
    pub(super) async fn open(&self, ask: &Ask) -> Result<Result<Response, Answer>, String> {
        let response = self.request(ask).send().await.map_err(|error| plain(&error))?;
        match response.status() {
            reqwest::StatusCode::OK if is_stream(response.headers()) => Ok(Ok(response)),
            // A page that somebody else gives. What it says is not read: it may never end.
            status @ reqwest::StatusCode::OK => Ok(Err(Answer { status: status.as_u16(), ..Answer::default() })),
            _ => answer(response).await.map(Err),
        }
    }

    fn request(&self, ask: &Ask) -> RequestBuilder {
        let verb = Method::from_bytes(ask.verb.as_bytes()).unwrap_or(Method::POST);
        let mut request = self.http.request(verb, format!("{}{}", self.base, ask.path));
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        match &ask.body {
            Some(body) => request.body(body.clone()),
            None => request,
        }
    }
}

/// Whether an answer says that it is a stream of events (contract 9.4).
fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
}

async fn answer(mut response: Response) -> Result<Answer, String> {
    let header =
        |name| response.headers().get(name).and_then(|value: &HeaderValue| Some(value.to_str().ok()?.to_owned()));
    let (status, etag) = (response.status().as_u16(), header(ETAG));
    let retry_after = header(RETRY_AFTER).map(|text| in_seconds(text, header(DATE)));
    // A body that is cut is none: whoever reads the answer decides what its status is worth alone.
    let (mut body, mut is_cut) = (Vec::new(), false);
    loop {
        match tokio::time::timeout(SILENCE_MAX, response.chunk()).await {
            Ok(Ok(Some(piece))) if body.len() + piece.len() > ANSWER_BYTES_MAX => {
                return Err(format!(
                    "it does not answer as a Hearth server: the answer is longer than {} MiB",
                    ANSWER_BYTES_MAX >> 20
                ));
            }
            Ok(Ok(Some(piece))) => body.extend_from_slice(&piece),
            Ok(Ok(None)) => break,
            Ok(Err(_)) | Err(_) => {
                body.clear();
                is_cut = true;
                break;
            }
        }
    }
    Ok(Answer { status, etag, retry_after, body, is_cut })
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
        Some(last) => last.strip_prefix(REFUSED_CERTIFICATE).map_or(last.clone(), certificate),
        None if error.is_timeout() => NO_ANSWER.to_owned(),
        None => error.to_string(),
    }
}

/// How the TLS library begins when it refuses what a server shows.
const REFUSED_CERTIFICATE: &str = "invalid peer certificate: ";

/// What is wrong with a server's certificate, and what helps where it is only not known.
fn certificate(why: &str) -> String {
    match why {
        "UnknownIssuer" => "nobody who is trusted here has issued its certificate; SSL_CERT_FILE names a file with those who \
             are to be"
            .to_owned(),
        why if why.contains("CaUsedAsEndEntity") => {
            "it shows the certificate of an issuer, which is none of a server; let the issuer issue one for it, and name the \
             issuer's in a file by SSL_CERT_FILE"
                .to_owned()
        }
        why => format!("its certificate is refused: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    /// An answer whose pieces come with so much time before each.
    async fn in_pieces(pieces: usize, pause: Duration) -> Result<Answer, String> {
        let pieces = futures_util::stream::iter(0..pieces).then(move |_| async move {
            tokio::time::sleep(pause).await;
            Ok::<_, std::convert::Infallible>("piece")
        });
        answer(Response::from(hyper::Response::new(reqwest::Body::wrap_stream(pieces)))).await
    }

    #[test]
    fn a_certificate_that_is_refused_leads_on() {
        assert!(certificate("UnknownIssuer").contains("SSL_CERT_FILE"));
        let own = certificate("Other(OtherError(CaUsedAsEndEntity))");
        assert!(own.contains("SSL_CERT_FILE") && !own.contains("Other"), "{own}");
        assert_eq!(certificate("certificate expired: x"), "its certificate is refused: certificate expired: x");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_may_take_long_but_not_rest_for_long() {
        assert_eq!(in_pieces(20, Duration::from_secs(20)).await.unwrap().body.len(), 100);
        let cut = in_pieces(2, Duration::from_secs(31)).await.unwrap();
        assert_eq!((cut.status, cut.body.len()), (200, 0), "its status came");
        let client = Client::new("http://h", &SecretString::from("svc_test_x".to_owned())).unwrap();
        let failed = |answer: &Answer| client.failed(answer, wire::identity(answer).unwrap_err());
        assert!(matches!(failed(&cut), ClientError::Unreachable(_, why) if why == CUT));
        assert!(matches!(failed(&Answer { is_cut: false, ..cut }), ClientError::NotHearth(..)));
    }

    #[tokio::test]
    async fn an_answer_without_end_is_none() {
        let pieces = futures_util::stream::repeat_with(|| Ok::<_, std::convert::Infallible>(vec![b'x'; 1 << 20]));
        let endless = answer(Response::from(hyper::Response::new(reqwest::Body::wrap_stream(pieces)))).await;
        assert_eq!(endless.unwrap_err(), "it does not answer as a Hearth server: the answer is longer than 64 MiB");
    }

    #[test]
    fn a_pause_that_is_told_as_a_date_is_one_by_the_servers_clock() {
        let date = |text: &str| Some(text.to_owned());
        let until = || "Sat, 21 Nov 2026 22:50:30 GMT".to_owned();
        assert_eq!(in_seconds(until(), date("Sat, 21 Nov 2026 22:50:00 GMT")), "30");
        assert_eq!(in_seconds(until(), date("Sat, 21 Nov 2026 22:51:00 GMT")), "0");
        assert_eq!(in_seconds(until(), None), until(), "without a clock it says nothing");
        assert_eq!(in_seconds("12".to_owned(), date("Sat, 21 Nov 2026 22:50:00 GMT")), "12");
    }

    #[test]
    fn an_address_has_a_scheme_and_nothing_of_the_api() {
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
            assert_eq!(shown(address), expected);
            let error = Client::new(address, &key).map_or_else(|error| error.to_string(), |_| String::new());
            assert!(!error.contains("ret@") && !error.contains("secret"), "{error}");
        }
        assert!(Client::new("https://h/behind/a/path/", &key).is_ok());
        assert!(Client::new("http://localhost:8750/", &key).is_ok());
    }
}
