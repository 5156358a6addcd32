//! The order of checks (contract 4): the service reports the first fault of a request. The test corrects one fault after
//! the other and expects the next refusal.

use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::RateLimits;
use hearth_server::operate::{self, NewKey};
use hearth_server::store::homes::Plan;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, new_key};
use reqwest::Method;
use serde_json::{Value, json};

/// A request with separate parts, which the test corrects one by one.
#[derive(Clone)]
struct Request<'a> {
    method: Method,
    path: String,
    key: &'a str,
    version: &'static str,
    accept: &'static str,
    media: &'static str,
    idempotency_key: &'static str,
    body: String,
    if_match: &'static str,
}

impl Request<'_> {
    async fn send(&self, server: &Server) -> Response {
        let client = Client::new(&server.url, self.key);
        let request = client.request(self.method.clone(), &self.path);
        let request = request.header("service-api-version", self.version).header("accept", self.accept);
        let request = request.header("content-type", self.media).header("idempotency-key", self.idempotency_key);
        client.send(request.header("if-match", self.if_match).body(self.body.clone())).await
    }
}

async fn key(server: &Server, team: &str, environment: Environment, scope: &str, network: &str) -> String {
    let key = NewKey {
        scopes: vec![scope.to_owned()],
        allowlist: vec![network.parse().unwrap()],
        ..new_key(team, environment)
    };
    operate::create_key(&server.running.app.db, &Clock::system(), key).await.unwrap().secret
}

#[tokio::test]
async fn checks_refuse_in_contract_order() {
    let limits = RateLimits { writes: 0, ..RateLimits::default() };
    let server = Server::start_with(|config| config.rate_limits = Some(limits)).await;
    operate::create_team(&server.running.app.db, &Clock::system(), "Free".to_owned(), Plan::Free).await.unwrap();
    let (near, far) = ("127.0.0.0/8", "203.0.113.0/24");
    let unpaid = key(&server, "Free", Environment::Live, "rooms:read", far).await;
    let distant = key(&server, "My home", Environment::Live, "rooms:read", far).await;
    let reader = key(&server, "My home", Environment::Live, "rooms:read", near).await;
    let mut request = Request {
        method: Method::PUT,
        path: "/v1/romms/x?unknown=1".to_owned(),
        key: "nonsense",
        version: "1999-01-01",
        accept: "text/html",
        media: "text/plain",
        idempotency_key: "two words",
        body: format!("{{\"name\":\"{}", "x".repeat(1024 * 1024)),
        if_match: "\"99\"",
    };
    let mut refusals = Vec::new();
    let mut next = async |request: &Request<'_>| refusals.push(request.send(&server).await.error().to_owned());
    next(&request).await;
    request.path = "/v1/rooms/x?unknown=1".to_owned();
    next(&request).await;
    request.method = Method::PATCH;
    next(&request).await;
    request.key = &unpaid;
    next(&request).await;
    request.key = &distant;
    next(&request).await;
    request.key = &reader;
    next(&request).await;
    assert_eq!(
        refusals,
        ["route_not_found", "method_not_allowed", "invalid_api_key", "plan_required", "ip_not_allowed", "rate_limited",]
    );

    // The remaining checks, without a rate limit.
    let server = Server::start().await;
    let reader = key(&server, "My home", Environment::Live, "rooms:read", near).await;
    let writer = key(&server, "My home", Environment::Live, "rooms:write", near).await;
    let all = Client::new(&server.url, &server.live_key);
    let made = all.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let mut refusals = Vec::new();
    let mut next = async |request: &Request<'_>| {
        let response = request.send(&server).await;
        refusals.push((response.status, response.error().to_owned()));
    };
    request.key = &reader;
    next(&request).await;
    request.key = &writer;
    next(&request).await;
    request.version = "2026-06-01";
    next(&request).await;
    request.accept = "application/json";
    next(&request).await;
    request.media = "application/json";
    next(&request).await;
    request.body = "{\"name\":".to_owned();
    next(&request).await;
    request.idempotency_key = "k";
    next(&request).await;
    request.body = json!({ "name": "", "room_id": 5 }).to_string();
    next(&request).await;
    request.path = "/v1/rooms/x".to_owned();
    next(&request).await;
    request.path = format!("/v1/rooms/{made}");
    request.idempotency_key = "k2";
    next(&request).await;
    request.if_match = "\"1\"";
    request.idempotency_key = "k3";
    next(&request).await;
    request.body = json!({ "name": "Attic" }).to_string();
    request.idempotency_key = "k4";
    next(&request).await;
    let refusals: Vec<(u16, &str)> = refusals.iter().map(|(status, kind)| (*status, kind.as_str())).collect();
    assert_eq!(
        refusals,
        [
            (403, "insufficient_scope"),
            (400, "unsupported_version"),
            (406, "not_acceptable"),
            (415, "unsupported_media_type"),
            (413, "payload_too_large"),
            (400, "invalid_request"),
            (400, "invalid_json"),
            (400, "invalid_request"),
            (404, "not_found"),
            (412, "precondition_failed"),
            (422, "validation_failed"),
            (200, ""),
        ]
    );
}

#[tokio::test]
async fn body_validation_precedes_id_lookup() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let id = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    // Validation comes before uniqueness.
    let both = client.post("/v1/rooms", &json!({ "id": id, "name": "" })).await;
    assert_eq!((both.status, both.error()), (422, "validation_failed"));
    let missing = json!({ "id": id, "name": "Lamp", "room_id": "f47ac10b-58cc-4372-a567-0e02b2c3d479" });
    assert_eq!(client.post("/v1/inventory", &missing).await.faults(), ["room_id not_found"]);
    assert_eq!(client.post("/v1/rooms", &json!({ "id": id, "name": "Hall" })).await.status, 409);
    // Parameters are checked before existence, even for a malformed id.
    for id in [missing["room_id"].as_str().unwrap(), "nope"] {
        let response = client.get(&format!("/v1/rooms/{id}?fields=bogus")).await;
        assert_eq!((response.status, response.error()), (400, "invalid_request"), "{id}");
    }
}

#[tokio::test]
async fn v1_routes_refuse_unknown_parameters() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let id = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let one = format!("/v1/rooms/{id}");
    for (method, path, body) in [
        (Method::GET, "/v1", Value::Null),
        (Method::GET, "/v1/_meta", Value::Null),
        (Method::GET, "/v1/me", Value::Null),
        (Method::GET, "/v1/rooms", Value::Null),
        (Method::POST, "/v1/rooms", json!({ "name": "Attic" })),
        (Method::POST, "/v1/rooms/bulk", json!({ "operations": [{ "method": "create", "name": "Attic" }] })),
        (Method::GET, &one, Value::Null),
        (Method::PATCH, &one, json!({ "name": "Attic" })),
        (Method::DELETE, &one, Value::Null),
        (Method::GET, "/v1/property", Value::Null),
        (Method::PATCH, "/v1/property", json!({ "city": "Ulm" })),
        (Method::GET, "/v1/search?q=hall", Value::Null),
        (Method::GET, "/v1/events", Value::Null),
        (Method::GET, "/v1/events/stream", Value::Null),
        (Method::GET, "/v1/exports", Value::Null),
        (Method::POST, "/v1/exports", json!({ "format": "json" })),
        (Method::GET, "/v1/exports/x", Value::Null),
        (Method::DELETE, "/v1/exports/x", Value::Null),
        (Method::GET, "/v1/exports/x/download", Value::Null),
    ] {
        let and = if path.contains('?') { '&' } else { '?' };
        let request = client.request(method.clone(), &format!("{path}{and}limt=3"));
        let request = if body.is_null() { request } else { request.json(&body) };
        let response = client.send(request).await;
        assert_eq!((response.status, response.error()), (400, "invalid_request"), "{method} {path}");
        let details = response.json["error"]["details"].as_object().unwrap();
        assert_eq!((&details["parameter"], &details["value"]), (&json!("limt"), &json!("3")), "{method} {path}");
        assert!(details.contains_key("nearest"));
    }
    assert_eq!(client.get("/v1/events").await.json["meta"]["feed"]["head"], 1, "nothing was written");
}

#[tokio::test]
async fn query_must_be_utf8() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    for query in ["q=%ff", "q=fil%c3", "q=fil&types=%80", "%ff=1&q=fil"] {
        let refused = client.get(&format!("/v1/search?{query}")).await;
        assert_eq!((refused.status, refused.error()), (400, "invalid_request"), "{query}");
        assert!(refused.json["error"]["message"].as_str().unwrap().contains("UTF-8"), "{}", refused.text);
    }
    assert_eq!(client.get("/v1/search?q=caf%c3%a9+100%25").await.status, 200);
}
