//! TLS in the server (contract 17, 19): HTTP/1.1 and HTTP/2 over it, with the same limits as without.

use std::time::Duration;

use bytes::Bytes;
use hearth_server::clock::Clock;
use hearth_server::config::Config;
use hearth_server::operate;
use hearth_tests::client::Client;
use hearth_tests::server::Server;
use hearth_tests::tls::{Http2, LocalIssuer};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn start(issuer: &LocalIssuer, change: impl FnOnce(&mut Config)) -> Server {
    let files = issuer.files.clone();
    Server::start_with(|config| {
        config.tls = Some(files);
        change(config);
    })
    .await
}

fn request(server: &Server, method: Method, path: &str) -> Request<Full<Bytes>> {
    let request = Request::builder().method(method).uri(format!("{}{path}", server.url));
    request.header("authorization", format!("Bearer {}", server.live_key)).body(Full::default()).unwrap()
}

async fn get(server: &Server, connection: &mut Http2, path: &str) -> Response<Incoming> {
    connection.send_request(request(server, Method::GET, path)).await.unwrap()
}

async fn post_room(server: &Server, connection: &mut Http2, room: &Value) -> Response<Incoming> {
    let mut write = request(server, Method::POST, "/v1/rooms");
    write.headers_mut().insert("content-type", "application/json".parse().unwrap());
    *write.body_mut() = Full::from(room.to_string());
    connection.send_request(write).await.unwrap()
}

async fn json_of(response: Response<Incoming>) -> Value {
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

/// Reads a stream until its text ends with `end`.
async fn read_until(response: &mut Response<Incoming>, end: &str) -> String {
    let mut text = String::new();
    while !text.ends_with(end) {
        let frame = response.body_mut().frame().await.expect("a frame").unwrap();
        text += std::str::from_utf8(&frame.into_data().unwrap()).unwrap();
    }
    text
}

#[tokio::test]
async fn both_http_versions_answer_over_tls() {
    let issuer = LocalIssuer::new();
    let server = start(&issuer, |_| ()).await;
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    let mut two = issuer.http2(server.running.address).await;
    let me = get(&server, &mut two, "/v1/me").await;
    assert_eq!(me.status(), 200);
    assert_eq!(json_of(me).await["data"]["environment"], "live");
    // A refusal links to the https address.
    let missing = json_of(get(&server, &mut two, "/v1/rooms/x").await).await;
    assert!(missing["error"]["doc_url"].as_str().unwrap().starts_with("https://"), "{missing}");

    let socket = TcpStream::connect(server.running.address).await.unwrap();
    let mut one = issuer.connect(socket, "http/1.1").await;
    let asked = format!("GET /v1/me HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\n\r\n", server.live_key);
    for _ in 0..2 {
        one.write_all(asked.as_bytes()).await.unwrap();
        let mut start = [0; 15];
        one.read_exact(&mut start).await.unwrap();
        assert_eq!(&start, b"HTTP/1.1 200 OK");
        let mut rest = String::new();
        while !rest.ends_with("\"}}") {
            rest.push(char::from(one.read_u8().await.unwrap()));
        }
    }
}

#[tokio::test]
async fn head_over_http2_has_length_and_no_body() {
    let issuer = LocalIssuer::new();
    let server = start(&issuer, |_| ()).await;
    let mut connection = issuer.http2(server.running.address).await;
    let head = connection.send_request(request(&server, Method::HEAD, "/v1/me")).await.unwrap();
    assert!(head.headers()["content-length"].to_str().unwrap().parse::<u32>().unwrap() > 100);
    assert!(head.into_body().collect().await.unwrap().to_bytes().is_empty());
    let stream = connection.send_request(request(&server, Method::HEAD, "/v1/events/stream")).await.unwrap();
    assert_eq!(stream.status(), 200);
    assert!(stream.into_body().collect().await.unwrap().to_bytes().is_empty(), "the response ends");
}

#[tokio::test]
async fn second_host_over_http2_is_refused() {
    let issuer = LocalIssuer::new();
    let server = start(&issuer, |_| ()).await;
    let mut connection = issuer.http2(server.running.address).await;
    let mut asked = request(&server, Method::GET, "/v1/me");
    asked.headers_mut().insert("host", "other.example".parse().unwrap());
    assert_eq!(connection.send_request(asked).await.unwrap().status(), 400);
}

#[tokio::test]
async fn streams_over_tls_end_cleanly_at_stop() {
    let issuer = LocalIssuer::new();
    let server = start(&issuer, |_| ()).await;
    let mut connection = issuer.http2(server.running.address).await;
    let mut two = get(&server, &mut connection, "/v1/events/stream?cursor=start").await;
    assert!(read_until(&mut two, "\n\n").await.contains("event: ready"));

    let socket = TcpStream::connect(server.running.address).await.unwrap();
    let mut one = issuer.connect(socket, "http/1.1").await;
    let key = &server.live_key;
    let asked = format!("GET /v1/events/stream HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {key}\r\n\r\n");
    one.write_all(asked.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    while !read.windows(12).any(|part| part == b"event: ready") {
        assert!(one.read_buf(&mut read).await.unwrap() > 0);
    }

    // Writes reach both streams.
    assert_eq!(post_room(&server, &mut connection, &json!({ "name": "Hall" })).await.status(), 201);
    assert!(read_until(&mut two, "\n\n").await.contains("Hall"));
    while !read.windows(4).any(|part| part == b"Hall") {
        assert!(one.read_buf(&mut read).await.unwrap() > 0);
    }

    let stopped = tokio::spawn(server.stop());
    assert!(two.body_mut().frame().await.is_none_or(|frame| frame.is_ok()), "END_STREAM and no reset");
    one.read_to_end(&mut read).await.expect("the end of TLS is announced");
    assert!(read.ends_with(b"0\r\n\r\n"));
    tokio::time::timeout(Duration::from_secs(5), stopped).await.expect("no connection delays the stop").unwrap();
}

#[tokio::test]
async fn handshake_has_time_limit() {
    let issuer = LocalIssuer::new();
    let server = start(&issuer, |config| config.handshake_time_max = Duration::from_millis(50)).await;
    for sent in [&b""[..], b"\x16\x03\x01"] {
        let mut silent = TcpStream::connect(server.running.address).await.unwrap();
        silent.write_all(sent).await.unwrap();
        let ended = silent.read(&mut [0; 16]).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    }
}

#[tokio::test]
async fn plain_http_is_told_to_use_https() {
    let issuer = LocalIssuer::new();
    let server = start(&issuer, |_| ()).await;
    let plain = Client::new(&server.url.replace("https", "http"), &server.live_key);
    let refused = plain.post("/v1/rooms", &json!({ "name": "x".repeat(100_000) })).await;
    assert_eq!((refused.status, refused.error()), (400, "invalid_request"));
    assert!(refused.json["error"]["fix"].as_str().unwrap().contains("https://"), "{}", refused.text);
}

#[tokio::test]
async fn idle_http2_connection_is_closed() {
    let issuer = LocalIssuer::new();
    let server = start(&issuer, |config| {
        config.headers_time_max = Duration::from_millis(50);
        config.connections_max = 1;
    });
    let server = server.await;
    let mut connection = issuer.http2(server.running.address).await;
    assert_eq!(get(&server, &mut connection, "/v1/me").await.status(), 200);
    // A second connection needs the only slot.
    let mut second = issuer.http2(server.running.address).await;
    assert_eq!(get(&server, &mut second, "/v1/me").await.status(), 200);
    while !second.is_closed() {
        tokio::task::yield_now().await;
    }
    // A client that sends nothing after the handshake does not answer the farewell.
    let socket = TcpStream::connect(server.running.address).await.unwrap();
    let mut mute = issuer.connect(socket, "h2").await;
    let _ = mute.read_to_end(&mut Vec::new()).await;
}

/// A client over HTTP/2 that has opened a stream and grants no room for its bytes.
async fn unread_stream(issuer: &LocalIssuer, server: &Server, path: &str) -> (Http2, Response<Incoming>) {
    let socket = TcpStream::connect(server.running.address).await.unwrap();
    let stream = TokioIo::new(issuer.connect(socket, "h2").await);
    let (mut sender, connection) =
        http2::Builder::new(TokioExecutor::new()).initial_stream_window_size(1_000).handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let response = get(server, &mut sender, path).await;
    (sender, response)
}

#[tokio::test]
async fn http2_client_not_reading_is_disconnected() {
    let issuer = LocalIssuer::new();
    let server = start(&issuer, |config| config.write_time_max = Duration::from_millis(50)).await;
    let (sender, response) = unread_stream(&issuer, &server, "/openapi/v1").await;
    assert_eq!(response.status(), 200);
    while !sender.is_closed() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn unread_http2_stream_ends_with_its_key() {
    let issuer = LocalIssuer::new();
    let server = start(&issuer, |config| config.write_time_max = Duration::from_millis(50)).await;
    let mut connection = issuer.http2(server.running.address).await;
    for number in 0..20 {
        let body = json!({ "name": format!("Room {number}"), "notes": "long ".repeat(100) });
        assert_eq!(post_room(&server, &mut connection, &body).await.status(), 201);
    }
    let (sender, response) = unread_stream(&issuer, &server, "/v1/events/stream?cursor=start").await;
    assert_eq!(response.status(), 200);
    let db = &server.running.app.db;
    for key in operate::list_keys(db, None).await.unwrap() {
        operate::revoke_key(db, &Clock::system(), key.id).await.unwrap();
    }
    while !sender.is_closed() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn flood_of_cancelled_requests_harms_no_others() {
    let issuer = LocalIssuer::new();
    let server = start(&issuer, |_| ()).await;
    let mut flood = issuer.http2(server.running.address).await;
    // Each request is sent and then cancelled. The server ends the connection after a few of them.
    while !flood.is_closed() {
        let mut asked = Box::pin(flood.send_request(request(&server, Method::GET, "/v1/me")));
        let _ = futures_util::poll!(asked.as_mut());
        tokio::task::yield_now().await;
    }
    let mut other = issuer.http2(server.running.address).await;
    assert_eq!(get(&server, &mut other, "/v1/me").await.status(), 200);
}
