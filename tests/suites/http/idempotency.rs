//! Idempotency keys (contract 6.4): a repeated write happens once and gets the first response.

use hearth_server::clock::Clock;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, new_key};
use reqwest::Method;
use serde_json::{Value, json};

async fn send(client: &Client, method: Method, path: &str, key: &str, body: &Value) -> Response {
    let request = client.request(method, path).header("idempotency-key", key.to_owned());
    client.send(if body.is_null() { request } else { request.json(body) }).await
}

#[tokio::test]
async fn retry_gets_first_response_byte_for_byte() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "title": "Buy filter" });
    let first = send(&client, Method::POST, "/v1/tasks", "k-1", &body).await;
    // `k` and `"k"` mean the same key.
    let again = send(&client, Method::POST, "/v1/tasks", "\"k-1\"", &body).await;
    assert_eq!((again.status, &again.text), (201, &first.text));
    assert_eq!((again.header("idempotency-replayed"), first.header("idempotency-replayed")), ("true", ""));
    assert_eq!((again.header("etag"), again.header("location")), (first.header("etag"), first.header("location")));
    assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
    assert_eq!(client.list_all("/v1/tasks").await.len(), 1);
    let events = client.get("/v1/events").await;
    assert_eq!(events.data()[0]["idempotency_key"], "k-1");
}

#[tokio::test]
async fn key_reuse_for_other_request_is_refused() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "title": "a" });
    let id = send(&client, Method::POST, "/v1/tasks", "k", &body).await.id();
    for response in [
        send(&client, Method::POST, "/v1/tasks", "k", &json!({ "title": "b" })).await,
        send(&client, Method::PATCH, &format!("/v1/tasks/{id}"), "k", &body).await,
    ] {
        assert_eq!((response.status, response.error()), (422, "idempotency_key_reused"));
    }
    let other_home = Client::new(&server.url, &server.test_key);
    assert_eq!(send(&other_home, Method::POST, "/v1/tasks", "k", &body).await.status, 201);
    for key in ["", "with space", &"x".repeat(256)] {
        let response = send(&client, Method::POST, "/v1/tasks", key, &body).await;
        assert_eq!((response.status, response.error()), (400, "invalid_request"), "{key}");
    }
}

#[tokio::test]
async fn only_final_refusals_are_stored() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let bad = json!({ "title": "" });
    let first = send(&client, Method::POST, "/v1/tasks", "bad", &bad).await;
    let again = send(&client, Method::POST, "/v1/tasks", "bad", &bad).await;
    assert_eq!((again.status, &again.text, again.header("idempotency-replayed")), (422, &first.text, "true"));
    // A body that is not JSON leaves the key free.
    let broken = client.request(Method::POST, "/v1/tasks").header("idempotency-key", "free");
    assert_eq!(client.send(broken.header("content-type", "application/json").body("{")).await.status, 400);
    assert_eq!(send(&client, Method::POST, "/v1/tasks", "free", &json!({ "title": "a" })).await.status, 201);
}

#[tokio::test]
async fn stored_refusal_fix_asks_for_new_key() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let id = client.post("/v1/tasks", &json!({ "title": "a" })).await.id();
    let path = format!("/v1/tasks/{id}");
    let patch = |key: &'static str, rev: &'static str, title: &'static str| {
        let request = client.request(Method::PATCH, &path).header("if-match", rev);
        client.send(request.header("idempotency-key", key).json(&json!({ "title": title })))
    };
    let taken = json!({ "id": id, "title": "a" });
    for refused in [
        patch("invalid", "*", "").await,
        patch("moved", "\"99\"", "b").await,
        send(&client, Method::POST, "/v1/tasks", "taken", &taken).await,
    ] {
        let fix = refused.json["error"]["fix"].as_str().unwrap();
        assert!(fix.contains("new Idempotency-Key"), "{}: {fix}", refused.error());
    }
    assert_eq!(patch("invalid", "*", "b").await.error(), "idempotency_key_reused");
    assert_eq!(patch("moved", "*", "b").await.error(), "idempotency_key_reused");
    assert_eq!(patch("corrected", "*", "b").await.status, 200);
}

#[tokio::test]
async fn concurrent_calls_with_one_key_write_once() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "title": "Buy filter" });
    let calls = (0..16).map(|_| send(&client, Method::POST, "/v1/tasks", "same", &body));
    let responses = futures_util::future::join_all(calls).await;
    assert!(responses.iter().all(|response| response.status == 201 && response.text == responses[0].text));
    assert_eq!(client.list_all("/v1/tasks").await.len(), 1);
}

#[tokio::test]
async fn keys_survive_restart_and_expire() {
    let server = Server::start().await;
    let key = server.live_key.clone();
    let body = json!({ "title": "Buy filter" });
    let first = send(&Client::new(&server.url, &key), Method::POST, "/v1/tasks", "k", &body).await;
    let dir = server.stop().await;

    let moved = |hours: i64| {
        let system = Clock::system();
        let passing = system.clone();
        Clock::new(move || system.now().plus_millis(hours * 3_600_000), move || passing.elapsed())
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

#[tokio::test]
async fn retry_compares_path_body_and_condition() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let id = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let path = format!("/v1/rooms/{id}");
    let ask = |client: &Client, tag: Option<&str>, version: &str, body: &str| {
        let request = client.request(Method::PATCH, &path).header("idempotency-key", "k");
        let request =
            request.header("content-type", "application/json").header("service-api-version", version.to_owned());
        let request = if let Some(tag) = tag { request.header("if-match", tag.to_owned()) } else { request };
        let (client, request) = (client.clone(), request.body(body.to_owned()));
        async move { client.send(request).await }
    };
    let (old, new) = ("2026-03-01", "2026-06-01");
    let body = r#"{"floor":"1"}"#;
    let first = ask(&client, Some("\"1\""), old, body).await;
    assert_eq!((first.status, first.header("service-api-version")), (200, old));
    // Another API key and another version get the first response, in the first version.
    let key = new_key("My home", hearth_contract::key::Environment::Live);
    let db = &server.running.app.db;
    let other = hearth_server::operate::create_key(db, &Clock::system(), key).await.unwrap().secret;
    let again = ask(&Client::new(&server.url, &other), Some("\"1\""), new, body).await;
    assert_eq!((again.status, &again.text, again.header("service-api-version")), (200, &first.text, old));
    assert_eq!((again.header("etag"), again.header("content-type")), (first.header("etag"), "application/json"));
    assert_eq!(again.header("idempotency-replayed"), "true");
    // White space does not count.
    let spaced = ask(&client, Some("\"1\""), new, r#" { "floor" : "1" } "#).await;
    assert_eq!((spaced.status, spaced.header("idempotency-replayed")), (200, "true"));
    // Compared: the body and the condition.
    for response in [
        ask(&client, Some("\"1\""), new, r#"{"floor":"2"}"#).await,
        ask(&client, Some("\"2\""), new, body).await,
        ask(&client, None, new, body).await,
    ] {
        assert_eq!((response.status, response.error()), (422, "idempotency_key_reused"));
    }
    // Compared: path and method.
    let other = client.post("/v1/rooms", &json!({ "name": "Attic" })).await.id();
    for (method, path, body) in [
        (Method::PATCH, format!("/v1/rooms/{other}"), json!({ "floor": "1" })),
        (Method::DELETE, path.clone(), Value::Null),
    ] {
        let response = send(&client, method, &path, "k", &body).await;
        assert_eq!(response.error(), "idempotency_key_reused");
    }
}

#[tokio::test]
async fn replay_precedes_existence_check() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let id = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let (path, none) = (format!("/v1/rooms/{id}"), "/v1/rooms/f47ac10b-58cc-4372-a567-0e02b2c3d479");
    let stale = |key: &'static str| {
        let request = client.request(Method::PATCH, &path).header("idempotency-key", key).header("if-match", "\"9\"");
        client.send(request.json(&json!({ "floor": "1" })))
    };
    let patch = json!({ "floor": "2" });
    let writes = [
        (Method::PATCH, path.as_str(), "patch", patch.clone()),
        (Method::PATCH, none, "missing", patch.clone()),
        (Method::PATCH, "/v1/rooms/nope", "malformed", patch.clone()),
        (Method::POST, "/v1/rooms", "taken", json!({ "id": id, "name": "Hall" })),
        (Method::PATCH, &path, "faulty", json!({ "name": "" })),
        (Method::PATCH, "/v1/property", "profile", json!({ "city": "Ulm" })),
        (Method::POST, "/v1/rooms/bulk", "bulk", json!({ "operations": [] })),
        (Method::POST, "/v1/exports", "export", json!({ "format": "xml" })),
        (Method::DELETE, "/v1/exports/nope", "no-export", Value::Null),
        (Method::DELETE, &path, "delete", Value::Null),
    ];
    let send_each = async || {
        let mut responses = vec![stale("stale").await];
        for (method, path, key, body) in &writes {
            responses.push(send(&client, method.clone(), path, key, body).await);
        }
        responses
    };
    // A key with a space is refused.
    let invalid = send(&client, Method::DELETE, "/v1/exports/nope", "no export", &Value::Null).await;
    assert_eq!(invalid.status, 400);
    let first = send_each().await;
    let statuses: Vec<u16> = first.iter().map(|response| response.status).collect();
    assert_eq!(statuses, [412, 200, 404, 404, 409, 422, 200, 422, 422, 404, 200]);

    // The record is deleted by now, and each retry still gets the first response.
    let again = send_each().await;
    for (first, again) in first.iter().zip(&again) {
        assert_eq!((again.status, &again.text), (first.status, &first.text));
        assert_eq!(again.header("idempotency-replayed"), "true", "{}", first.text);
        assert_eq!(again.header("etag"), first.header("etag"));
        assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
    }
    // A used key is refused for any other request; only wrong parameters are refused earlier.
    let elsewhere = send(&client, Method::PATCH, "/v1/rooms/nope", "patch", &patch).await;
    assert_eq!(elsewhere.error(), "idempotency_key_reused");
    let bad = send(&client, Method::PATCH, &format!("{path}?x=1"), "patch", &patch).await;
    assert_eq!(bad.error(), "invalid_request");
    // Four writes in all: the hall, its floor, the profile, and the delete.
    assert_eq!(client.get("/v1/events").await.json["meta"]["feed"]["head"], 4);
}

#[tokio::test]
async fn early_refusals_leave_key_free() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let (good, json) = (r#"{"title":"a"}"#, "application/json");
    for (number, (body, media, version, query)) in [
        ("{", json, "2026-06-01", ""),
        (good, "text/plain", "2026-06-01", ""),
        (good, json, "1999-01-01", ""),
        (good, json, "2026-06-01", "?x=1"),
    ]
    .into_iter()
    .enumerate()
    {
        let key = format!("k{number}");
        let ask = |body: &str, media: &str, version: &str, query: &str| {
            let request = client.request(Method::POST, &format!("/v1/tasks{query}")).header("idempotency-key", &key);
            let request = request.header("content-type", media.to_owned()).header("service-api-version", version);
            client.send(request.body(body.to_owned()))
        };
        assert!(matches!(ask(body, media, version, query).await.status, 400 | 415));
        let made = ask(good, json, "2026-06-01", "").await;
        assert_eq!((made.status, made.header("idempotency-replayed")), (201, ""), "{body} {media} {version} {query}");
    }
}

#[tokio::test]
async fn retry_body_is_compared_as_parsed() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let send = |method: Method, path: &'static str, body: &'static str| {
        let request = client.request(method, path).header("idempotency-key", path);
        client.send(request.header("content-type", "application/json").body(body))
    };
    for (path, first, equal, other) in [
        (
            "/v1/inventory",
            r#"{"name":"Café","quantity":1}"#,
            r#"{ "quantity": 1.0, "name": "Caf\u00e9" }"#,
            r#"{"name":"Café","quantity":2}"#,
        ),
        (
            "/v1/rooms/bulk",
            r#"{"operations":[{"method":"create","name":"A"},{"method":"create","name":"B"}]}"#,
            r#"{"operations":[{"name":"A","method":"create"},{"name":"B","method":"create"}]}"#,
            r#"{"operations":[{"method":"create","name":"B"},{"method":"create","name":"A"}]}"#,
        ),
        (
            "/v1/exports",
            r#"{"format":"csv","types":["room"]}"#,
            r#"{"types":["room"],"format":"csv"}"#,
            r#"{"format":"csv"}"#,
        ),
    ] {
        let made = send(Method::POST, path, first).await;
        let again = send(Method::POST, path, equal).await;
        assert_eq!((again.status, &again.text), (made.status, &made.text), "{equal}");
        assert_eq!(again.header("idempotency-replayed"), "true", "{equal}");
        assert_eq!(send(Method::POST, path, other).await.error(), "idempotency_key_reused", "{other}");
    }
    assert_eq!(client.list_all("/v1/inventory").await.len(), 1);
    assert_eq!(client.list_all("/v1/rooms").await.len(), 2);
}

#[tokio::test]
async fn refusal_after_lost_answer_asks_to_read() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    send(&client, Method::POST, "/v1/tasks", "k", &json!({ "title": "a" })).await;
    let id = client.post("/v1/tasks", &json!({ "title": "b" })).await.id();
    let reused = send(&client, Method::POST, "/v1/tasks", "k", &json!({ "title": "A" })).await;
    let taken = client.post("/v1/tasks", &json!({ "id": id, "title": "b" })).await;
    for (refused, error) in [(&reused, "idempotency_key_reused"), (&taken, "already_exists")] {
        let fix = refused.json["error"]["fix"].as_str().unwrap();
        assert_eq!(refused.error(), error);
        assert!(fix.starts_with("Read the record"), "{fix}");
    }
    let catalogue = client.get("/v1/_meta").await;
    for entry in catalogue.data()["errors"].as_array().unwrap() {
        let fix = entry["fix"].as_str().unwrap();
        let is_unclear = matches!(entry["type"].as_str().unwrap(), "internal_error" | "unavailable");
        assert!(!is_unclear || fix.contains("same id or Idempotency-Key"), "{entry}");
    }
}

#[tokio::test]
async fn full_receipts_refuse_new_keys_only() {
    let server = Server::start_with(|config| config.receipt_bytes_max = 100).await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "title": "Buy filter" });
    let first = send(&client, Method::POST, "/v1/tasks", "k-1", &body).await;
    assert_eq!(send(&client, Method::POST, "/v1/tasks", "k-2", &body).await.status, 201, "below the limit");
    let refused = send(&client, Method::POST, "/v1/tasks", "k-3", &body).await;
    assert_eq!((refused.status, refused.error(), refused.header("retry-after")), (503, "unavailable", "60"));
    assert_eq!(send(&client, Method::POST, "/v1/tasks", "k-1", &body).await.text, first.text, "a replay needs no room");
    assert_eq!(client.post("/v1/tasks", &body).await.status, 201, "a write without a key needs no room");
    let others = Client::new(&server.url, &server.test_key);
    assert_eq!(send(&others, Method::POST, "/v1/tasks", "k-3", &body).await.status, 201, "each home has its bound");
}

#[tokio::test]
async fn receipt_stores_record_texts_once() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let used = async || client.get("/v1/me").await.data()["home"]["used_bytes"].as_u64().unwrap();
    let notes = "long ".repeat(1900);
    let bodies = json!({ "operations": vec![json!({ "method": "create", "name": "Hall", "notes": notes }); 3] });
    let first = send(&client, Method::POST, "/v1/rooms/bulk", "k-1", &bodies).await;
    assert!((3 * 9500..4 * 9500).contains(&used().await), "{}", used().await);
    assert_eq!(send(&client, Method::POST, "/v1/rooms/bulk", "k-1", &bodies).await.text, first.text);
    let path = format!("/v1/rooms/{}", first.data()[0]["id"].as_str().unwrap());
    client.patch(&path, &json!({ "name": "Attic" })).await;
    assert_eq!(send(&client, Method::POST, "/v1/rooms/bulk", "k-1", &bodies).await.text, first.text);
}

#[tokio::test]
async fn full_home_refuses_writes_but_deletes() {
    let server = Server::start_with(|config| config.home_bytes_max = 4000).await;
    let client = Client::new(&server.url, &server.live_key);
    let id = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let lamp = client.post("/v1/inventory", &json!({ "name": "Lamp", "room_id": id })).await.id();
    let large = json!({ "name": "Attic", "notes": "x".repeat(4000) });
    let refused = client.post("/v1/rooms", &large).await;
    assert_eq!((refused.status, refused.error()), (413, "payload_too_large"));
    let details = &refused.json["error"]["details"];
    assert_eq!((&details["of"], &details["limit_bytes"]), (&json!("home"), &json!(4000)));
    assert_eq!(client.get("/v1/rooms").await.data().as_array().unwrap().len(), 1, "nothing of the write is left");
    assert_eq!(client.post("/v1/rooms", &json!({ "name": "Cellar" })).await.status, 201, "a small write fits");
    while client.post("/v1/rooms", &json!({ "name": "Shed" })).await.status == 201 {}
    assert_eq!(client.delete(&format!("/v1/rooms/{id}")).await.status, 200);
    assert!(
        client.get(&format!("/v1/inventory/{lamp}")).await.data()["room_id"].is_null(),
        "a reference is cleared too"
    );
    let in_bulk = json!({ "operations": [{ "method": "delete", "id": lamp }] });
    assert_eq!(client.post("/v1/inventory/bulk", &in_bulk).await.data()[0]["status"], 200);
    let other = Client::new(&server.url, &server.test_key);
    assert_ne!(other.get("/v1/me").await.data()["home"]["used_bytes"], 0, "the sandbox has a size of its own");
}
