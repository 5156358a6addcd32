//! Envelopes, headers, and every refusal that needs no record (contract 4, 12).

use hearth_server::config::RateLimits;
use hearth_tests::client::Client;
use hearth_tests::server::Server;
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn every_answer_has_its_envelope_and_headers() {
    let server = Server::start_with(|config| config.rate_limits = Some(RateLimits::default())).await;
    let client = Client::new(&server.url, &server.test_key);
    for (path, status) in [("/v1/rooms", 200), ("/v1/rooms/nope", 404), ("/v1/nope", 404), ("/v1/rooms?limt=3", 400)] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        let id = answer.json["meta"]["request_id"].as_str().unwrap();
        assert!(id.starts_with("req_") && id.len() == 30);
        assert_eq!(answer.header("x-request-id"), id);
        assert_eq!(answer.header("service-api-version"), "2026-06-01");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("content-type"), "application/json");
        if status != 200 {
            let error = &answer.json["error"];
            assert!(error["message"].is_string() && error["fix"].is_string() && error["details"].is_object());
            assert_eq!(error["doc_url"], format!("{}/docs/errors/{}", server.url, answer.error()));
        }
    }
    assert_eq!(client.get("/v1/me").await.header("x-ratelimit-limit"), "300");
}

#[tokio::test]
async fn wrong_paths_and_methods_are_named() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    for path in ["/v1/rooms/", "//v1/rooms", "/v1/Rooms", "/v1/rooms/a/b", "/"] {
        let answer = client.get(path).await;
        assert_eq!((answer.status, answer.error()), (404, "route_not_found"), "{path}");
    }
    for (method, path, allow) in [
        (Method::PUT, "/v1/rooms", "GET, POST, HEAD"),
        (Method::OPTIONS, "/v1/property", "GET, PATCH, HEAD"),
        (Method::POST, "/v1/events", "GET, HEAD"),
        (Method::from_bytes(b"BREW").unwrap(), "/v1/rooms/x", "GET, PATCH, DELETE, HEAD"),
    ] {
        let answer = client.send(client.request(method, path)).await;
        assert_eq!(
            (answer.status, answer.error(), answer.header("allow")),
            (405, "method_not_allowed", allow),
            "{path}"
        );
    }
    let head = client.send(client.request(Method::HEAD, "/v1/rooms?limit=1")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_ne!(head.header("content-length"), "0");
}

#[tokio::test]
async fn bodies_that_cannot_be_read_are_refused() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let post = || client.request(Method::POST, "/v1/tasks");
    let json = "application/json";
    for (body, media, status, kind) in [
        ("", json, 400, "invalid_json"),
        ("{", json, 400, "invalid_json"),
        (r#"{"title":"a","title":"b"}"#, json, 400, "invalid_json"),
        (r#"{"title":"\ud800"}"#, json, 400, "invalid_json"),
        ("[]", json, 422, "validation_failed"),
        (r#"{"title":"a"}"#, "text/plain", 415, "unsupported_media_type"),
        (r#"{"title":"a"}"#, "application/merge-patch+json", 415, "unsupported_media_type"),
        (r#"{"title":"a"}"#, "application/json; charset=utf-8", 201, ""),
    ] {
        let answer = client.send(post().header("content-type", media).body(body)).await;
        assert_eq!((answer.status, answer.error()), (status, kind), "{body}");
    }
    let answer = client.send(post().body(r#"{"title":"a"}"#)).await;
    assert_eq!(answer.error(), "unsupported_media_type");
    let answer = client.send(post().header("content-encoding", "gzip").json(&json!({ "title": "a" }))).await;
    assert_eq!(answer.error(), "unsupported_media_type");
    let answer = client.post("/v1/tasks", &json!({ "title": "a", "notes": "x".repeat(1024 * 1024) })).await;
    assert_eq!((answer.status, answer.error()), (413, "payload_too_large"));
    let answer = client.send(client.request(Method::GET, "/v1/tasks").header("accept", "text/html")).await;
    assert_eq!((answer.status, answer.error()), (406, "not_acceptable"));
    let answer =
        client.send(client.request(Method::GET, "/v1/tasks").header("service-api-version", "2020-01-01")).await;
    assert_eq!((answer.status, answer.error()), (400, "unsupported_version"));
    let answer = client.get(&format!("/v1/tasks?limit={}", "1".repeat(9000))).await;
    assert_eq!((answer.status, answer.error()), (414, "uri_too_long"));
    let answer = client.send(client.request(Method::GET, "/v1/tasks").header("x-long", "x".repeat(40_000))).await;
    assert_eq!((answer.status, answer.error()), (431, "headers_too_large"));
}

#[tokio::test]
async fn long_answers_are_compressed_when_asked_and_streams_never() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let ask = |path: &str, coding: &str| {
        client.request(Method::GET, path).header("accept-encoding", coding.to_owned()).send()
    };
    for coding in ["gzip", "br", "zstd"] {
        let answer = ask("/v1/rooms", coding).await.unwrap();
        assert_eq!(answer.headers()["content-encoding"], coding);
        let short = ask("/v1/rooms?limit=1&fields=name", coding).await.unwrap();
        assert!(short.headers().get("content-encoding").is_none());
        let stream = ask("/v1/events/stream", coding).await.unwrap();
        assert!(stream.headers().get("content-encoding").is_none());
    }
    assert!(client.get("/v1/rooms").await.headers.get("content-encoding").is_none());
}
