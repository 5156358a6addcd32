//! A connection over HTTP/2 (RFC 9113), which TLS alone offers. Must not know how requests are answered.
//!
//! One connection carries many requests. The connection counts as busy while a request or its response is in progress.

use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, COOKIE, HOST};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::Response;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::time::MissedTickBehavior;

use super::connection::{ConnectionMarks, Hangup, Peer};
use super::edge::Edge;
use super::idle::OpenConnection;
use super::paced_body::{PacedBody, Responses};
use super::rules::Rules;
use super::socket::Channel;
use super::streaming::Streaming;
use crate::shutdown::Shutdown;

/// Requests in progress on one connection.
const STREAMS_MAX: u32 = 100;
/// Bytes of the headers of a request that are read. The edge refuses smaller excess with a response.
const HEADERS_BYTES_MAX: u32 = 64 * 1024;
/// Bytes of one request's body that the client may send ahead.
const BODY_WINDOW: u32 = 256 * 1024;
/// Bytes of all request bodies of a connection that the client may send ahead.
const BODIES_WINDOW: u32 = 1024 * 1024;
/// Bytes of a response that wait for the client.
const SEND_BUFFER_MAX: usize = 64 * 1024;
/// Time between two pings. They find clients that vanished without a word.
const PING_PAUSE: Duration = Duration::from_secs(20);
/// Time limit for the answer to a ping.
const PING_TIME_MAX: Duration = Duration::from_secs(20);
/// Requests that the client cancelled before the server took them. More of them end the connection.
const CANCELLED_EARLY_MAX: usize = 20;
/// Requests that the server refused because of the client's mistakes. More of them end the connection.
const REFUSED_MAX: usize = 200;
/// Time between two checks of the time limits.
const CHECK_PAUSE: Duration = Duration::from_secs(1);

/// Answers the requests of a connection until one side closes it.
pub(super) async fn serve(
    mut channel: Channel,
    peer: Peer,
    open: OpenConnection,
    edge: Edge,
    rules: Rules,
    mut shutdown: Shutdown,
) {
    let is_full = channel.full_flag();
    let marks = ConnectionMarks { peer, hangup: Hangup::default(), is_secure: channel.is_secure() };
    let (hangup, responses) = (marks.hangup.clone(), Responses::new(open));
    let responses_of_request = responses.clone();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = like_http1(request);
        marks.set(&mut request);
        answer(edge.clone(), request, responses_of_request.clone())
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEADERS_BYTES_MAX)
        .initial_stream_window_size(BODY_WINDOW)
        .initial_connection_window_size(BODIES_WINDOW)
        .max_send_buf_size(SEND_BUFFER_MAX)
        .keep_alive_interval(PING_PAUSE)
        .keep_alive_timeout(PING_TIME_MAX)
        .max_pending_accept_reset_streams(CANCELLED_EARLY_MAX)
        .max_local_error_reset_streams(REFUSED_MAX)
        .serve_connection(TokioIo::new(channel), service);
    let mut connection = std::pin::pin!(connection);
    let mut checks = tokio::time::interval(CHECK_PAUSE);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut is_stopping, mut idle_since) = (false, None);
    loop {
        tokio::select! {
            ended = &mut connection => {
                return ended.unwrap_or_else(|error| tracing::debug!(%error, "a connection ended early"));
            }
            () = hangup.requested() => return,
            () = responses.open.close_requested() => if responses.open.is_idle() && !is_full.load(Ordering::Relaxed) {
                return;
            },
            // No new requests; those in progress end.
            () = shutdown.requested(), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            now = checks.tick() => {
                if responses.are_stalled(now, rules.write_time_max) {
                    tracing::debug!("a client did not read a response, and its connection is closed");
                    return;
                }
                // hyper hands a response over before all of its bytes are sent.
                let idle_time = match responses.open.is_idle() && !is_full.load(Ordering::Relaxed) {
                    true => now - *idle_since.get_or_insert(now),
                    false => {
                        idle_since = None;
                        Duration::ZERO
                    }
                };
                // The client has one more period to close the connection from its side.
                match idle_time {
                    time if time >= 2 * rules.headers_time_max || (is_stopping && time >= CHECK_PAUSE) => return,
                    time if time >= rules.headers_time_max => connection.as_mut().graceful_shutdown(),
                    _ => {}
                }
            }
        }
    }
}

/// The request in the form of HTTP/1.1, so that all checks of requests hold: one header `Host`, one header `Cookie`
/// (RFC 9113 8.2.3 and 8.3.1), and a target that is only a path with its query.
fn like_http1<B>(request: hyper::Request<B>) -> hyper::Request<B> {
    let (mut parts, body) = request.into_parts();
    if let Some(authority) = parts.uri.authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
        && parts.headers.get(HOST) != Some(&host)
    {
        // A second, different host is refused, as in HTTP/1.1.
        parts.headers.append(HOST, host);
    }
    if parts.headers.get_all(COOKIE).iter().nth(1).is_some() {
        let cookies: Vec<&[u8]> = parts.headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
        if let Ok(joined) = HeaderValue::from_bytes(&cookies.join(&b"; "[..])) {
            parts.headers.insert(COOKIE, joined);
        }
    }
    parts.uri = parts.uri.path_and_query().cloned().map(Uri::from).unwrap_or_default();
    hyper::Request::from_parts(parts, body)
}

/// Answers one request. hyper sends the whole response, a stream too.
async fn answer(
    edge: Edge,
    request: hyper::Request<Incoming>,
    responses: Responses,
) -> Result<hyper::Response<PacedBody>, Infallible> {
    let in_progress = responses.begin();
    let is_head = request.method() == Method::HEAD;
    let response = edge.answer(request.map(Body::new)).await;
    let end = response.extensions().get::<Streaming>().map(|mark| mark.0.clone());
    let response = if is_head { without_body(response) } else { response };
    Ok(response.map(|body| PacedBody::new(body, end, in_progress)))
}

/// A response to HEAD. hyper removes the body in HTTP/1.1 only.
fn without_body(mut response: Response) -> Response {
    let length = response.body().size_hint().exact().filter(|_| response.status() != StatusCode::NOT_MODIFIED);
    if let Some(length) = length {
        response.headers_mut().entry(CONTENT_LENGTH).or_insert(length.into());
    }
    response.map(|_| Body::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(build: impl FnOnce(axum::http::request::Builder) -> axum::http::request::Builder) -> hyper::Request<()> {
        like_http1(build(hyper::Request::builder().uri("https://home.example:8750/v1/rooms?x=1")).body(()).unwrap())
    }

    fn all(request: &hyper::Request<()>, name: &str) -> Vec<String> {
        request.headers().get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn authority_becomes_host_header() {
        let request = normal(|builder| builder);
        assert_eq!((request.uri().to_string().as_str(), all(&request, "host").len()), ("/v1/rooms?x=1", 1));
        assert_eq!(all(&normal(|builder| builder.header("host", "home.example:8750")), "host"), ["home.example:8750"]);
        assert_eq!(all(&normal(|builder| builder.header("host", "evil.example")), "host").len(), 2);
    }

    #[test]
    fn several_cookie_lines_become_one() {
        let request = normal(|builder| builder.header("cookie", "a=1").header("cookie", "b=2"));
        assert_eq!(all(&request, "cookie"), ["a=1; b=2"]);
    }
}
