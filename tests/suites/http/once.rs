//! Idempotency keys (contract 6.4): a write with one happens once, and is answered alike.

use hearth_server::clock::Clock;
use hearth_tests::client::{Answer, Client};
use hearth_tests::server::Server;
use reqwest::Method;
use serde_json::{Value, json};

async fn send(client: &Client, method: Method, path: &str, key: &str, body: &Value) -> Answer {
    client.send(client.request(method, path).header("idempotency-key", key.to_owned()).json(body)).await
}

#[tokio::test]
async fn a_retry_gets_the_first_answer_byte_for_byte() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "title": "Buy filter" });
    let first = send(&client, Method::POST, "/v1/tasks", "k-1", &body).await;
    // `k` and `"k"` are the same key.
    let again = send(&client, Method::POST, "/v1/tasks", "\"k-1\"", &body).await;
    assert_eq!((again.status, &again.text), (201, &first.text));
    assert_eq!((again.header("idempotency-replayed"), first.header("idempotency-replayed")), ("true", ""));
    assert_eq!((again.header("etag"), again.header("location")), (first.header("etag"), first.header("location")));
    assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
    assert_eq!(client.walk("/v1/tasks").await.len(), 1);
    let events = client.get("/v1/events").await;
    assert_eq!(events.data()[0]["idempotency_key"], "k-1");
}

#[tokio::test]
async fn a_key_is_of_one_request() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "title": "a" });
    let id = send(&client, Method::POST, "/v1/tasks", "k", &body).await.id();
    for answer in [
        send(&client, Method::POST, "/v1/tasks", "k", &json!({ "title": "b" })).await,
        send(&client, Method::PATCH, &format!("/v1/tasks/{id}"), "k", &body).await,
    ] {
        assert_eq!((answer.status, answer.error()), (422, "idempotency_key_reused"));
    }
    let other_home = Client::new(&server.url, &server.test_key);
    assert_eq!(send(&other_home, Method::POST, "/v1/tasks", "k", &body).await.status, 201);
    for key in ["", "with space", &"x".repeat(256)] {
        let answer = send(&client, Method::POST, "/v1/tasks", key, &body).await;
        assert_eq!((answer.status, answer.error()), (400, "invalid_request"), "{key}");
    }
}

#[tokio::test]
async fn refusals_are_kept_when_they_are_final() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let bad = json!({ "title": "" });
    let first = send(&client, Method::POST, "/v1/tasks", "bad", &bad).await;
    let again = send(&client, Method::POST, "/v1/tasks", "bad", &bad).await;
    assert_eq!((again.status, &again.text, again.header("idempotency-replayed")), (422, &first.text, "true"));
    // A body that is no JSON was never a request: the key is free.
    let broken = client.request(Method::POST, "/v1/tasks").header("idempotency-key", "free");
    assert_eq!(client.send(broken.header("content-type", "application/json").body("{")).await.status, 400);
    assert_eq!(send(&client, Method::POST, "/v1/tasks", "free", &json!({ "title": "a" })).await.status, 201);
}

#[tokio::test]
async fn two_calls_in_flight_with_one_key_are_one_write() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "title": "Buy filter" });
    let calls = (0..16).map(|_| send(&client, Method::POST, "/v1/tasks", "same", &body));
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer.status == 201 && answer.text == answers[0].text));
    assert_eq!(client.walk("/v1/tasks").await.len(), 1);
}

#[tokio::test]
async fn keys_outlive_a_restart_and_end_with_their_time() {
    let server = Server::start().await;
    let key = server.live_key.clone();
    let body = json!({ "title": "Buy filter" });
    let first = send(&Client::new(&server.url, &key), Method::POST, "/v1/tasks", "k", &body).await;
    let dir = server.stop().await;

    let moved = |hours: i64| {
        let system = Clock::system();
        let passing = system.clone();
        Clock::new(move || system.now().plus_millis(hours * 3_600_000), move || passing.passed())
    };
    for (hours, expected) in [(23, true), (25, false)] {
        let config = hearth_server::config::Config::new(dir.path().to_owned());
        let running = hearth_server::start(config, moved(hours)).await.unwrap();
        let client = Client::new(&format!("http://{}", running.address), &key);
        let again = send(&client, Method::POST, "/v1/tasks", "k", &body).await;
        assert_eq!(again.text == first.text, expected, "after {hours} h");
        running.stop().await;
    }
}
