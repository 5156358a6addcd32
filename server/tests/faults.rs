//! StoreError injection in front of a service: headers, limits and refusals stay as in a normal service, and each fault is
//! visible in the log and in a header.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;
use futures_util::stream;
use hearth_contract::key::Environment;
use hearth_server::bench::faults::{FaultInjector, grammar};
use hearth_server::clock::Clock;
use hearth_server::config::{Config, RateLimits};
use hearth_server::http::edge::Edge;
use hearth_server::operate::{self, NewKey};
use hearth_server::routes::API;
use hearth_server::{Running, start};
use http_body_util::BodyExt;
use serde_json::Value;

mod common;
use common::{Serving, data_with_team, run, stdout, text};

/// A service with faults. The tests pass requests without a socket.
struct Faulty {
    running: Running,
    key: String,
    _dir: tempfile::TempDir,
}

impl Faulty {
    async fn start(faults: &str) -> Faulty {
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::new(dir.path().to_owned());
        config.rate_limits = Some(RateLimits { reads: 5, ..RateLimits::default() });
        config.body_time_max = Duration::from_millis(50);
        let running = start(config, Clock::system()).await.unwrap();
        FaultInjector::new(grammar::parse(faults).unwrap()).install(&running.app);
        let team = operate::teams(&running.app.db).await.unwrap()[0].id.clone();
        let new = NewKey {
            team,
            environment: Environment::Test,
            scopes: Vec::new(),
            name: None,
            allowlist: Vec::new(),
            pinned: None,
            expires_at: None,
        };
        let key = operate::create_key(&running.app.db, &Clock::system(), new).await.unwrap().secret;
        Faulty { running, key, _dir: dir }
    }

    async fn send(&self, method: &str, path: &str, body: Body) -> Response<Body> {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.header("authorization", format!("Bearer {}", self.key)).body(body).unwrap();
        Edge::new(self.running.app.clone(), &API).answer(request).await
    }

    async fn get(&self, path: &str) -> Response<Body> {
        self.send("GET", path, Body::empty()).await
    }
}

fn header<'a>(response: &'a Response<Body>, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

async fn json(response: Response<Body>) -> Value {
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

#[tokio::test]
async fn head_request_counts_as_read() {
    let service = Faulty::start("503=first:1 route=list_rooms; 500=once:2 route=reads").await;
    assert_eq!(service.send("HEAD", "/v1/rooms", Body::empty()).await.status(), 503);
    assert_eq!(service.send("HEAD", "/v1/me", Body::empty()).await.status(), 500);
    service.running.stop().await;
}

#[tokio::test]
async fn duplicate_keeps_body_limits() {
    let service = Faulty::start("duplicate=always").await;
    let large = vec![b' '; 1024 * 1024 + 1];
    let pieces = large.chunks(64 * 1024).map(|piece| Ok::<_, std::io::Error>(Bytes::copy_from_slice(piece)));
    let pieces = stream::iter(pieces.collect::<Vec<_>>());
    for body in [Body::from(large), Body::from_stream(pieces)] {
        let refused = service.send("POST", "/v1/tasks", body).await;
        assert_eq!((refused.status().as_u16(), header(&refused, "content-type")), (413, "application/json"));
    }
    let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    assert_eq!(service.send("POST", "/v1/tasks", endless).await.status(), 408);

    let pieces =
        ["{\"title\":", "\"Zwiefach\"}"].map(|piece| Ok::<_, std::io::Error>(Bytes::from_static(piece.as_bytes())));
    let created = service.send("POST", "/v1/tasks", Body::from_stream(stream::iter(pieces))).await;
    assert_eq!(created.status(), 201);
    let found = json(service.get("/v1/search?q=zwiefach").await).await;
    assert_eq!(found["data"].as_array().unwrap().len(), 2, "{found}");
    service.running.stop().await;
}

#[tokio::test]
async fn duplicate_is_reported_only_when_repeated() {
    let service = Faulty::start("duplicate=always route=create_task; latency=once:3 by=1ms").await;
    let request = Request::builder().method("POST").uri("/v1/tasks").header("content-type", "text/plain");
    let plain =
        request.header("authorization", format!("Bearer {}", service.key)).body(Body::from("Buy a fuse")).unwrap();
    let large = Body::from(vec![b' '; 1024 * 1024 + 1]);
    for (response, status) in [
        (Edge::new(service.running.app.clone(), &API).answer(plain).await, 415),
        (service.send("POST", "/v1/tasks", large).await, 413),
    ] {
        assert_eq!((response.status().as_u16(), header(&response, "x-hearth-faults")), (status, "on"));
    }
    let created = service.send("POST", "/v1/tasks", Body::from("{\"title\":\"Buy a fuse\"}")).await;
    let expected = "on; latency=once:3 by=1ms; duplicate=always route=create_task";
    assert_eq!((created.status().as_u16(), header(&created, "x-hearth-faults")), (201, expected));
    service.running.stop().await;
}

#[tokio::test]
async fn injected_refusal_shows_and_keeps_rate_limit() {
    let service = Faulty::start("429=once:2 route=reads retry-after=7; 503=once:3 route=reads").await;
    let remaining = |response: &Response<Body>| header(response, "x-ratelimit-remaining").to_owned();
    assert_eq!(remaining(&service.get("/v1/me").await), "4");
    let limited = service.get("/v1/me").await;
    assert_eq!((limited.status().as_u16(), header(&limited, "retry-after"), &*remaining(&limited)), (429, "7", "0"));
    assert_eq!(header(&limited, "x-ratelimit-limit"), "5");
    let reset: i64 = header(&limited, "x-ratelimit-reset").parse().unwrap();
    assert!((reset - Clock::system().now().seconds() - 7).abs() <= 2);
    assert_eq!(json(limited).await["error"]["details"]["limit"], 5);
    let unwell = service.get("/v1/me").await;
    assert_eq!((unwell.status().as_u16(), &*remaining(&unwell)), (503, "4"));
    assert_eq!(remaining(&service.get("/v1/me").await), "3");
    service.running.stop().await;
}

#[tokio::test]
async fn every_response_has_faults_header() {
    let service = Faulty::start("503=always route=list_rooms").await;
    let long = format!("/v1/nowhere?{}", "a".repeat(9000));
    for (path, status) in [("/v1/me", 200), ("/v1/nowhere", 404), (&*long, 414), ("/v1", 200)] {
        let response = service.get(path).await;
        assert_eq!((response.status().as_u16(), header(&response, "x-hearth-faults")), (status, "on"), "{path}");
    }
    service.running.stop().await;
}

#[tokio::test]
async fn fault_after_earlier_fault_strikes_next_time() {
    let service =
        Faulty::start("500=once:2 route=list_rooms; 503=first:2 route=reads; 429=once:2 route=list_rooms").await;
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(service.get("/v1/rooms").await.status().as_u16());
    }
    assert_eq!(statuses, [503, 500, 503, 429, 200]);
    service.running.stop().await;
}

#[tokio::test]
async fn mute_stream_ends_with_its_key() {
    for mute in ["mute=once:2", "mute=once:2 for=1h", "mute=once:2 comments=pass"] {
        let service = Faulty::start(mute).await;
        let mut stream = service.get("/v1/events/stream?cursor=start").await.into_body();
        assert!(stream.frame().await.unwrap().unwrap().into_data().unwrap().starts_with(b"retry:"));
        let ended = tokio::spawn(async move { while stream.frame().await.is_some() {} });
        operate::revoke_key(&service.running.app.db, &Clock::system(), "test key".to_owned()).await.unwrap();
        tokio::time::timeout(Duration::from_secs(30), ended).await.expect(mute).unwrap();
        service.running.stop().await;
    }
}

#[tokio::test]
async fn stream_with_wrong_accept_gets_right_advice() {
    let service = Faulty::start("503=always route=list_rooms").await;
    let request = Request::builder().uri("/v1/events/stream").header("accept", "application/json");
    let request = request.header("authorization", format!("Bearer {}", service.key)).body(Body::empty()).unwrap();
    let refused = Edge::new(service.running.app.clone(), &API).answer(request).await;
    assert_eq!(refused.status(), 406);
    assert_eq!(json(refused).await["error"]["fix"], "Accept text/event-stream, or send no Accept header.");
    service.running.stop().await;
}

#[test]
fn log_names_unknown_keys_and_struck_requests() {
    let dir = data_with_team();
    let create = ["key", "create", "--team", "Hill house", "--name", "my phone", "--env", "test"];
    let key = common::json(dir.path(), &create);
    stdout(dir.path(), &["key", "create", "--team", "Hill house", "--name", "laptop", "--env", "live"]);

    let faults = "503=always route=get_me key=\"my phone\",laptop,nobody";
    let server = Serving::start(dir.path(), &["--faults", faults]);
    let mut socket = TcpStream::connect(server.address()).unwrap();
    let secret = key["secret"].as_str().unwrap();
    write!(socket, "GET /v1/me HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret}\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut response = String::new();
    socket.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 503"), "{response}");
    let id = response.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap();
    let (_, log) = server.stop();

    let has_line = |words: &[&str]| log.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(has_line(&["no key has this id or name", "nobody"]), "{log}");
    assert!(has_line(&["--faults-on-live", "laptop"]), "{log}");
    assert!(!has_line(&["no key has this id or name", "key=\"my phone\" "]), "{log}");
    assert!(has_line(&["a fault was injected", id, key["id"].as_str().unwrap()]), "{log}");
}

#[tokio::test]
async fn me_reports_faults_that_reach_the_key() {
    for (faults, reaches) in [
        ("503=once:99 key=nobody", false),
        ("503=once:99 key=nobody; 503=once:99 key=\"test key\"", true),
        ("503=once:99", true),
    ] {
        let service = Faulty::start(faults).await;
        let me = json(service.get("/v1/me").await).await;
        assert_eq!(me["data"]["faults"]["reaches_this_key"], reaches, "{faults}");
        service.running.stop().await;
    }
}

#[test]
fn path_with_equals_sign_is_reported_as_both() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), &["serve", "--faults", "/no/such=dir/faults.txt"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("there is no fault `/no/such`") && error.contains("No such file"), "{error}");
}
