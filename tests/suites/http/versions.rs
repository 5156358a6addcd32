//! Dated versions (contract 13): old names in requests and responses, and the end of a version by the clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::operate::{self, NewKey};
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, new_key};
use reqwest::Method;
use serde_json::{Value, json};

const OLD: &str = "2026-03-01";
const CURRENT: &str = "2026-06-01";

/// A service and its wall clock in milliseconds, which the test sets.
async fn served_at(moment: &str) -> (Server, Arc<AtomicI64>) {
    let now = Arc::new(AtomicI64::new(millis(moment)));
    let (test_clock, system) = (now.clone(), Clock::system());
    let clock = Clock::new(move || Timestamp::from_millis(test_clock.load(Ordering::SeqCst)), move || system.elapsed());
    (Server::start_at(clock, |_| ()).await, now)
}

fn millis(moment: &str) -> i64 {
    Timestamp::parse(moment).unwrap().millis()
}

/// A client with a key pinned to a version.
async fn pinned(server: &Server, pin: &str) -> Result<Client, operate::Error> {
    let key = NewKey { pinned: Some(pin.to_owned()), ..new_key("My home", Environment::Live) };
    let made = operate::create_key(&server.running.app.db, &server.running.app.clock, key).await?;
    Ok(Client::new(&server.url, &made.secret))
}

async fn ask(client: &Client, version: &str, method: Method, path: &str, body: Option<&Value>) -> Response {
    let request = client.request(method, path).header("Service-API-Version", version);
    client.send(if let Some(body) = body { request.json(body) } else { request }).await
}

#[tokio::test]
async fn old_names_map_both_ways() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let car = client.post("/v1/vehicles", &json!({ "name": "Car" })).await.id();
    let body = json!({ "title": "vehicle", "subject_type": "vehicles", "subject_id": car });
    let made = ask(&client, OLD, Method::POST, "/v1/tasks", Some(&body)).await;
    assert_eq!((made.status, made.header("service-api-version")), (201, OLD), "{}", made.text);
    assert_eq!((&made.data()["subject_type"], &made.data()["title"]), (&json!("vehicles"), &json!("vehicle")));
    let path = format!("/v1/tasks/{}", made.id());
    assert_eq!(client.get(&path).await.data()["subject_type"], "vehicle");
    let listed = ask(&client, OLD, Method::GET, "/v1/tasks", None).await;
    assert_eq!(listed.data()[0]["subject_type"], "vehicles");
    let patched =
        ask(&client, OLD, Method::PATCH, &path, Some(&json!({ "subject_type": "home", "subject_id": null }))).await;
    assert_eq!(patched.data()["subject_type"], "home");
    // The response in the current version differs in no other member.
    let (mut old, new) = (ask(&client, OLD, Method::GET, &path, None).await.json, client.get(&path).await.json);
    old["meta"] = new["meta"].clone();
    assert_eq!(old, new);
}

#[tokio::test]
async fn current_names_refused_in_old_version() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "title": "x", "subject_type": "vehicle" });
    let refused = ask(&client, OLD, Method::POST, "/v1/tasks", Some(&body)).await;
    assert_eq!(refused.faults(), ["subject_type not_a_choice"]);
    let message = refused.json["error"]["details"]["fields"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("home, inventory, vehicles, rooms") && message.contains("did you mean vehicles?"),
        "{message}"
    );
    assert!(refused.json["error"].get("fix").is_none());
    let refused = ask(&client, OLD, Method::GET, "/v1/events?types=task", None).await;
    let details = &refused.json["error"]["details"];
    assert_eq!((&details["value"], &details["nearest"]), (&json!("task"), &json!("tasks")));
    for (version, types, status) in [(OLD, "tasks,inventory", 200), (OLD, "task", 400), (CURRENT, "tasks", 400)] {
        let response = ask(&client, version, Method::GET, &format!("/v1/events?types={types}"), None).await;
        assert_eq!(response.status, status, "{version} {types}");
    }
}

#[tokio::test]
async fn events_and_frames_use_reader_version() {
    let server = Server::start().await;
    let new = Client::new(&server.url, &server.live_key);
    let old = pinned(&server, OLD).await.unwrap();
    new.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    new.post("/v1/documents", &json!({ "title": "Deed", "subject_type": "home" })).await;
    for (client, word, version) in [(&new, "room", CURRENT), (&old, "rooms", OLD)] {
        let polled = client.get("/v1/events").await;
        let event = &polled.data()[0];
        assert_eq!((&event["resource_type"], &event["api_version"]), (&json!(word), &json!(version)));
        assert_eq!((&event["type"], polled.header("service-api-version")), (&json!("created"), version));
        let mut frames = client.stream(&format!("?cursor=start&types={word}"), None).await;
        let (id, streamed) = frames.next_event().await.unwrap();
        assert_eq!(&streamed, event);
        // A cursor works in both versions.
        assert_eq!(new.get(&format!("/v1/events?cursor={id}")).await.status, 200);
    }
    // Each frame has one data line, in both versions.
    let mut frames = old.stream("?cursor=start", None).await;
    assert_eq!(frames.next().await.unwrap().lines().count(), 3, "retry, id and data");
    assert_eq!(frames.next().await.unwrap().lines().count(), 2);
}

#[tokio::test]
async fn search_and_bulk_use_reader_version() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let car = client.post("/v1/vehicles", &json!({ "name": "Car" })).await.id();
    let about = |word: &str| json!({ "title": "Oil", "subject_type": word, "subject_id": car });
    let mut nested = json!({ "method": "create", "data": about("vehicles") });
    let mut plain = about("vehicles");
    plain["method"] = "create".into();
    let mut wrong = about("vehicle");
    wrong["method"] = "create".into();
    let operations = json!({ "operations": [nested.take(), plain, wrong] });
    let outcome = ask(&client, OLD, Method::POST, "/v1/tasks/bulk", Some(&operations)).await;
    assert_eq!(outcome.status, 207, "{}", outcome.text);
    let results = outcome.data();
    assert_eq!(
        (&results[0]["data"]["subject_type"], &results[1]["data"]["subject_type"]),
        (&json!("vehicles"), &json!("vehicles"))
    );
    assert_eq!((&results[2]["status"], results[2]["error"].get("fix")), (&json!(422), None));
    let message = results[2]["error"]["message"].as_str().unwrap();
    assert!(message.contains("did you mean vehicles?"), "{message}");

    let found = ask(&client, OLD, Method::GET, "/v1/search?q=oil&types=tasks,rooms", None).await;
    assert_eq!((found.data()[0]["type"].as_str(), found.data().as_array().unwrap().len()), (Some("tasks"), 2));
    assert_eq!(ask(&client, OLD, Method::GET, "/v1/search?q=oil&types=task", None).await.error(), "invalid_request");
    assert_eq!(client.get("/v1/search?q=oil&types=task").await.data()[0]["type"], "task");
    // A search cursor works in both versions.
    let page = ask(&client, OLD, Method::GET, "/v1/search?q=oil&types=tasks&limit=1", None).await;
    let next = format!("/v1/search?q=oil&types=task&limit=1&cursor={}", page.next_cursor().unwrap());
    assert_eq!(client.get(&next).await.status, 200);
}

#[tokio::test]
async fn version_comes_from_header_then_pin() {
    let server = Server::start().await;
    let new = Client::new(&server.url, &server.live_key);
    let old = pinned(&server, OLD).await.unwrap();
    assert_eq!(old.get("/v1/me").await.data()["api_version"], json!({ "pinned": OLD, "resolved": OLD }));
    let both = ask(&old, CURRENT, Method::GET, "/v1/me", None).await;
    assert_eq!(both.data()["api_version"], json!({ "pinned": OLD, "resolved": CURRENT }));
    assert_eq!(ask(&new, OLD, Method::GET, "/v1/me", None).await.header("service-api-version"), OLD);
    for name in ["2020-01-01", "yesterday", "2026-06-01, 2026-03-01"] {
        let refused = ask(&new, name, Method::GET, "/v1/rooms", None).await;
        assert_eq!((refused.status, refused.error()), (400, "unsupported_version"));
        assert_eq!(refused.json["error"]["details"]["supported"], json!([OLD, CURRENT]));
        assert_eq!(refused.header("service-api-version"), CURRENT);
        // The refusal has the form of the key's version.
        let refused = ask(&old, name, Method::GET, "/v1/rooms", None).await;
        assert_eq!((refused.header("service-api-version"), refused.json["error"].get("fix")), (OLD, None));
        // Discovery ignores the header.
        let index = ask(&old, name, Method::GET, "/v1", None).await;
        assert_eq!((index.status, index.header("service-api-version")), (200, CURRENT));
    }
    assert!(matches!(pinned(&server, "2020-01-01").await, Err(operate::Error::Refused(_))));
    // A refusal before the key check has the form of the header's version.
    let nobody = Client::new(&server.url, "nonsense");
    for (version, has_fix) in [(OLD, false), (CURRENT, true), ("2020-01-01", true)] {
        for path in ["/v1/rooms", "/v1/nowhere"] {
            let refused = ask(&nobody, version, Method::GET, path, None).await;
            assert_eq!(refused.json["error"]["fix"].is_string(), has_fix, "{version} {path}");
        }
    }
}

#[tokio::test]
async fn stored_response_keeps_its_version() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let car = client.post("/v1/vehicles", &json!({ "name": "Car" })).await.id();
    let body = json!({ "title": "x", "subject_type": "vehicles", "subject_id": car });
    let send = |version: &'static str| {
        client.send(
            client
                .request(Method::POST, "/v1/tasks")
                .header("Service-API-Version", version)
                .header("Idempotency-Key", "once")
                .json(&body),
        )
    };
    let (first, again) = (send(OLD).await, send(CURRENT).await);
    assert_eq!((first.status, again.status, again.header("idempotency-replayed")), (201, 201, "true"));
    assert_eq!((again.header("service-api-version"), &again.text), (OLD, &first.text));
}

#[tokio::test]
async fn version_warns_and_ends_by_clock() {
    let (server, now) = served_at("2026-11-30T23:59:59Z").await;
    let old = pinned(&server, OLD).await.unwrap();
    let quiet = old.get("/v1/me").await;
    assert_eq!((quiet.header("deprecation"), quiet.header("sunset"), quiet.header("link")), ("", "", ""));

    now.store(millis("2026-12-01"), Ordering::SeqCst);
    for path in ["/v1/me", "/v1/nowhere", "/v1/rooms?limit=0"] {
        let warned = ask(&old, OLD, Method::GET, path, None).await;
        assert_eq!(warned.header("deprecation"), "@1780272000", "{path}");
        assert_eq!(warned.header("sunset"), "Tue, 01 Jun 2027 00:00:00 GMT");
        let link = format!("<{}/docs/changelog>; rel=\"deprecation\"; type=\"text/html\"", server.url);
        assert_eq!(warned.header("link"), link);
    }
    assert_eq!(ask(&old, CURRENT, Method::GET, "/v1/me", None).await.header("deprecation"), "");

    now.store(millis("2027-06-01"), Ordering::SeqCst);
    let refused = ask(&old, OLD, Method::GET, "/v1/me", None).await;
    assert_eq!((refused.status, refused.error()), (400, "unsupported_version"));
    assert_eq!(refused.json["error"]["details"]["supported"], json!([CURRENT]));
    let moved = old.get("/v1/me").await;
    assert_eq!(moved.data()["api_version"], json!({ "pinned": OLD, "resolved": CURRENT }));
    let versions = old.get("/v1/_meta").await.data()["versions"].clone();
    assert_eq!(versions.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn every_surface_uses_requested_version() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let wish = json!({ "format": "json", "types": ["rooms", "inventory", "property"] });
    let asked = ask(&client, OLD, Method::POST, "/v1/exports", Some(&wish)).await;
    assert_eq!((asked.status, &asked.data()["types"]), (202, &json!(["inventory", "rooms", "property"])));
    let path = format!("/v1/exports/{}", asked.id());
    assert_eq!(client.get(&path).await.data()["types"], json!(["inventory", "room", "property"]));
    let listed = ask(&client, OLD, Method::GET, "/v1/exports", None).await;
    assert_eq!(listed.data()[0]["types"], json!(["inventory", "rooms", "property"]));
    let refused =
        ask(&client, OLD, Method::POST, "/v1/exports", Some(&json!({ "format": "json", "types": ["room"] }))).await;
    assert_eq!(refused.faults(), ["types[0] not_a_choice"]);

    // Each refusal has the form of the old version, whose errors have no fix.
    let nobody = Client::new(&server.url, "nonsense");
    for (response, status) in [
        (ask(&nobody, OLD, Method::GET, "/v1/nothing", None).await, 404),
        (ask(&nobody, OLD, Method::PUT, "/v1/rooms", None).await, 405),
        (ask(&nobody, OLD, Method::GET, "/v1/rooms", None).await, 401),
        (ask(&client, OLD, Method::GET, "/v1/rooms?limt=1", None).await, 400),
        (ask(&client, OLD, Method::GET, "/v1/rooms/nope", None).await, 404),
        (refused, 422),
    ] {
        assert_eq!((response.status, response.header("service-api-version")), (status, OLD));
        let members: Vec<&str> = response.json["error"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["type", "message", "doc_url", "details"], "{}", response.text);
    }
    // Discovery and tools use the current version, even in refusals before routing.
    for (response, status) in [
        (ask(&client, OLD, Method::POST, "/v1", None).await, 405),
        (ask(&client, OLD, Method::GET, "/mcp", None).await, 405),
        (ask(&nobody, OLD, Method::POST, "/mcp", None).await, 401),
    ] {
        assert_eq!((response.status, response.header("service-api-version")), (status, CURRENT));
        assert!(response.json["error"]["fix"].is_string(), "{}", response.text);
    }
    // A malformed or unknown version is refused in the current form, without a version header.
    for version in ["2026-3-1", "latest", "2026-06-02", "", "2026-03-01, 2026-06-01"] {
        let response = ask(&client, version, Method::GET, "/v1/rooms", None).await;
        assert_eq!((response.status, response.error()), (400, "unsupported_version"), "{version}");
        assert_eq!(response.json["error"]["details"], json!({ "supported": [OLD, CURRENT] }));
        assert_eq!(response.header("service-api-version"), CURRENT);
    }
    // Discovery and tools ignore a wrong version.
    let old_key = pinned(&server, OLD).await.unwrap();
    for version in [OLD, "nonsense"] {
        for path in ["/v1", "/v1/_meta", "/openapi/v1", "/healthz", "/docs"] {
            let response = ask(&nobody, version, Method::GET, path, None).await;
            assert_eq!((response.status, response.header("service-api-version")), (200, CURRENT), "{path}");
        }
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "svc_create_task", "arguments": { "title": "x", "subject_type": "rooms" } } });
        let response = ask(&old_key, version, Method::POST, "/mcp", Some(&call)).await;
        let error = &response.json["result"]["structuredContent"]["error"];
        assert_eq!((&error["details"]["fields"][0]["code"], error["fix"].is_string()), (&json!("not_a_choice"), true));
        assert_eq!(response.header("service-api-version"), CURRENT);
    }
}

#[tokio::test]
async fn refused_parameter_is_quoted_as_sent() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for (path, value) in [
        ("/v1/events?types=vehicles&types=tasks", "tasks"),
        ("/v1/events?type=vehicle", "vehicle"),
        ("/v1/events?type=vehicles", "vehicles"),
        ("/v1/events?types=rooms,vehicle", "vehicle"),
        ("/v1/search?q=filter&types=task-list", "task-list"),
        ("/v1/search?q=filter&types=tasks,boat", "boat"),
    ] {
        let refused = ask(&client, OLD, Method::GET, path, None).await;
        assert_eq!((refused.status, &refused.json["error"]["details"]["value"]), (400, &json!(value)), "{path}");
    }
}
