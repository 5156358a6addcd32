//! Faults on order in front of a service: what they leave as it is in a true one, and what they say of themselves.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;
use futures_util::stream;
use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::{Config, RateLimits};
use hearth_server::faults::{Faults, grammar};
use hearth_server::http::edge::Edge;
use hearth_server::operate::{self, NewKey};
use hearth_server::routes::API;
use hearth_server::{Running, start};
use http_body_util::BodyExt;
use serde_json::Value;

/// A service with faults in front of it, asked without a socket.
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
        Faults::new(grammar::read(faults).unwrap()).install(&running.app);
        let team = operate::teams(&running.app.db).await.unwrap()[0].id.clone();
        let wish = NewKey {
            team,
            environment: Environment::Test,
            scopes: Vec::new(),
            name: None,
            allowlist: Vec::new(),
            pinned: None,
            expires_at: None,
        };
        let key = operate::create_key(&running.app.db, &Clock::system(), wish).await.unwrap().secret;
        Faulty { running, key, _dir: dir }
    }

    async fn ask(&self, method: &str, path: &str, body: Body) -> Response<Body> {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.header("authorization", format!("Bearer {}", self.key)).body(body).unwrap();
        Edge::new(self.running.app.clone(), &API).answer(request).await
    }

    async fn get(&self, path: &str) -> Response<Body> {
        self.ask("GET", path, Body::empty()).await
    }
}

fn header<'a>(response: &'a Response<Body>, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

async fn json(response: Response<Body>) -> Value {
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

#[tokio::test]
async fn a_head_is_a_read_and_as_exposed_as_one() {
    let service = Faulty::start("503=first:1 route=list_rooms; 500=once:2 route=reads").await;
    assert_eq!(service.ask("HEAD", "/v1/rooms", Body::empty()).await.status(), 503);
    assert_eq!(service.ask("HEAD", "/v1/me", Body::empty()).await.status(), 500);
    service.running.stop().await;
}

#[tokio::test]
async fn a_request_that_is_doubled_keeps_the_limits_of_its_body() {
    let service = Faulty::start("duplicate=always").await;
    let large = vec![b' '; 1024 * 1024 + 1];
    let pieces = large.chunks(64 * 1024).map(|piece| Ok::<_, std::io::Error>(Bytes::copy_from_slice(piece)));
    let pieces = stream::iter(pieces.collect::<Vec<_>>());
    for body in [Body::from(large), Body::from_stream(pieces)] {
        let refused = service.ask("POST", "/v1/tasks", body).await;
        assert_eq!((refused.status().as_u16(), header(&refused, "content-type")), (413, "application/json"));
    }
    let endless = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    assert_eq!(service.ask("POST", "/v1/tasks", endless).await.status(), 408);

    let pieces =
        ["{\"title\":", "\"Zwiefach\"}"].map(|piece| Ok::<_, std::io::Error>(Bytes::from_static(piece.as_bytes())));
    let created = service.ask("POST", "/v1/tasks", Body::from_stream(stream::iter(pieces))).await;
    assert_eq!(created.status(), 201);
    let found = json(service.get("/v1/search?q=zwiefach").await).await;
    assert_eq!(found["data"].as_array().unwrap().len(), 2, "{found}");
    service.running.stop().await;
}

#[tokio::test]
async fn a_request_is_said_to_be_doubled_when_it_was() {
    let service = Faulty::start("duplicate=always route=create_task; latency=once:3 by=1ms").await;
    let path = Request::builder().method("POST").uri("/v1/tasks").header("content-type", "text/plain");
    let text = path.header("authorization", format!("Bearer {}", service.key)).body(Body::from("Buy a fuse")).unwrap();
    let large = Body::from(vec![b' '; 1024 * 1024 + 1]);
    for (answer, status) in [
        (Edge::new(service.running.app.clone(), &API).answer(text).await, 415),
        (service.ask("POST", "/v1/tasks", large).await, 413),
    ] {
        assert_eq!((answer.status().as_u16(), header(&answer, "x-hearth-faults")), (status, "on"));
    }
    let created = service.ask("POST", "/v1/tasks", Body::from("{\"title\":\"Buy a fuse\"}")).await;
    let told = "on; latency=once:3 by=1ms; duplicate=always route=create_task";
    assert_eq!((created.status().as_u16(), header(&created, "x-hearth-faults")), (201, told));
    service.running.stop().await;
}

#[tokio::test]
async fn a_refusal_on_order_tells_of_the_window_as_a_true_one_does_and_takes_nothing_from_it() {
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
async fn every_answer_says_that_faults_are_on() {
    let service = Faulty::start("503=always route=list_rooms").await;
    let long = format!("/v1/nowhere?{}", "a".repeat(9000));
    for (path, status) in [("/v1/me", 200), ("/v1/nowhere", 404), (&*long, 414), ("/v1", 200)] {
        let answer = service.get(path).await;
        assert_eq!((answer.status().as_u16(), header(&answer, "x-hearth-faults")), (status, "on"), "{path}");
    }
    service.running.stop().await;
}

#[tokio::test]
async fn a_fault_that_another_forestalls_has_its_turn_next() {
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
async fn a_mute_stream_ends_with_its_key() {
    for mute in ["mute=first:1", "mute=first:1 for=1h", "mute=first:1 comments=pass"] {
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
async fn a_stream_is_not_advised_to_ask_for_what_it_is_refused() {
    let service = Faulty::start("503=always route=list_rooms").await;
    let request = Request::builder().uri("/v1/events/stream").header("accept", "application/json");
    let request = request.header("authorization", format!("Bearer {}", service.key)).body(Body::empty()).unwrap();
    let refused = Edge::new(service.running.app.clone(), &API).answer(request).await;
    assert_eq!(refused.status(), 406);
    assert_eq!(json(refused).await["error"]["fix"], "Accept text/event-stream, or send no Accept header.");
    service.running.stop().await;
}

#[test]
fn the_log_names_keys_that_nobody_has_and_the_request_that_a_fault_befell() {
    let dir = tempfile::tempdir().unwrap();
    let command = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-server"));
        command.arg("--data").arg(dir.path()).args(arguments).env_remove("HEARTH_DATA").env_remove("HEARTH_LOG");
        command
    };
    let said = |arguments: &[&str]| String::from_utf8(command(arguments).output().unwrap().stdout).unwrap();
    said(&["team", "create", "Hill house"]);
    let make = ["--json", "key", "create", "--team", "Hill house", "--name", "my phone", "--env"];
    let key: Value = serde_json::from_str(&said(&[&make[..], &["test"]].concat())).unwrap();
    let laptop = ["key", "create", "--team", "Hill house", "--name", "laptop", "--env", "live"];
    said(&laptop);

    let faults = "503=always route=get_me key=\"my phone\",laptop,nobody";
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--faults", faults]);
    let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut socket = TcpStream::connect(line.trim().strip_prefix("listening on http://").unwrap()).unwrap();
    let secret = key["secret"].as_str().unwrap();
    write!(socket, "GET /v1/me HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret}\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let id = answer.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap();
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    let log = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();

    let about = |words: &[&str]| log.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(about(&["no key has this id or name", "nobody"]), "{log}");
    assert!(about(&["--faults-on-live", "laptop"]), "{log}");
    assert!(!about(&["no key has this id or name", "key=\"my phone\" "]), "{log}");
    assert!(about(&["a fault was injected", id, key["id"].as_str().unwrap()]), "{log}");
}

#[tokio::test]
async fn a_key_hears_of_faults_only_when_one_is_meant_for_it() {
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
fn a_path_that_might_be_faults_is_told_to_be_neither() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hearth-server"))
        .args(["--data", dir.path().to_str().unwrap(), "serve", "--faults", "/no/such=dir/faults.txt"])
        .env_remove("HEARTH_DATA")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no fault `/no/such`") && said.contains("No such file"), "{said}");
}
