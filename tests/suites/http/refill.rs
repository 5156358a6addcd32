//! The refill of an empty home from a replica of a lost home (contract 24).

use std::time::Duration;

use hearth_contract::key::Environment;
use hearth_server::operate::{self, NewKey};
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, TestClock, new_key};
use serde_json::{Value, json};

const LOST: &str = "0190a3b0-0000-7000-8000-0000000000aa";
const TASK: &str = "0190a3b0-0000-7000-8000-000000000001";

async fn begin(client: &Client) -> Response {
    client.post("/v1/refill", &json!({ "from": LOST })).await
}

async fn create(client: &Client, collection: &str, operations: &[Value]) -> Vec<Value> {
    let create = |fields: &Value| {
        let mut operation = fields.as_object().cloned().unwrap();
        operation.insert("method".to_owned(), "create".into());
        Value::Object(operation)
    };
    let operations: Vec<Value> = operations.iter().map(create).collect();
    let answered = client.post(&format!("/v1/{collection}/bulk"), &json!({ "operations": operations })).await;
    assert_eq!(answered.status, 207, "{}", answered.text);
    answered.data().as_array().unwrap().clone()
}

/// Another key of the same home.
async fn other_key(server: &Server, scopes: &[&str]) -> Client {
    let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    let key = NewKey { name: Some("other".to_owned()), scopes, ..new_key("My home", Environment::Live) };
    let made = operate::create_key(&server.running.app.db, &server.running.app.clock, key).await.unwrap();
    Client::new(&server.url, &made.secret)
}

#[tokio::test]
async fn refill_takes_computed_values_as_sent() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let begun = begin(&client).await;
    assert_eq!((begun.status, &begun.data()["from"], &begun.data()["ended_at"]), (200, &json!(LOST), &Value::Null));
    assert_eq!(client.get("/v1/me").await.data()["home"]["refilled_from"], Value::Null);

    let early = "2024-01-31T10:00:00.000Z";
    let done = json!({
        "id": TASK, "title": "Filter", "status": "done", "completed_at": "2024-02-29T08:00:00.000Z", "recurrence": "monthly",
        "due_on": "2024-02-29", "recurrence_anchor": "2024-01-31", "created_at": early,
    });
    let made =
        create(&client, "tasks", &[done.clone(), json!({ "title": "Later", "created_at": "2024-05-01T00:00:00Z" })])
            .await;
    assert_eq!(made.iter().map(|one| one["status"].as_i64().unwrap()).collect::<Vec<_>>(), [201, 201]);
    let task = client.get(&format!("/v1/tasks/{TASK}")).await.data().clone();
    for name in ["completed_at", "recurrence_anchor", "created_at", "due_on"] {
        assert_eq!(task[name], done[name], "{name}");
    }
    assert_eq!(client.list_all("/v1/tasks").await.len(), 2, "a completed task has no successor");
    // The order of creation is kept: an earlier moment counts as that of the record before.
    let late = create(&client, "tasks", &[json!({ "title": "Too early", "created_at": early })]).await;
    assert_eq!(late[0]["data"]["created_at"], "2024-05-01T00:00:00.000Z");
    // What was sent before is there, and changes nothing.
    assert_eq!(create(&client, "tasks", std::slice::from_ref(&done)).await[0]["status"], 409);
    let wrong = create(&client, "rooms", &[json!({ "name": "Hall" })]).await;
    assert_eq!(wrong[0]["status"], 201, "without created_at it is an ordinary create");

    let ended = client.delete("/v1/refill").await;
    assert_eq!(ended.status, 200, "{}", ended.text);
    assert!(ended.data()["ended_at"].is_string());
    assert_eq!(client.get("/v1/me").await.data()["home"]["refilled_from"], LOST);
    let refused = create(&client, "tasks", &[json!({ "title": "New", "created_at": early })]).await;
    assert_eq!(refused[0]["error"]["details"]["fields"][0]["code"], "read_only");
}

#[tokio::test]
async fn refill_needs_an_empty_home() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    assert_eq!(client.delete("/v1/refill").await.status, 404);
    for (body, code) in [
        (json!({}), "required"),
        (json!({ "from": "x" }), "invalid_format"),
        (json!({ "from": 1 }), "wrong_type"),
        (json!({ "from": LOST, "form": LOST }), "unknown_field"),
    ] {
        let refused = client.post("/v1/refill", &body).await;
        assert_eq!(
            (refused.status, &refused.json["error"]["details"]["fields"][0]["code"]),
            (422, &json!(code)),
            "{body}"
        );
    }
    let narrow = other_key(&server, &["tasks:write", "rooms:write"]).await;
    assert_eq!((begin(&narrow).await.status, begin(&narrow).await.error()), (403, "insufficient_scope"));

    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    client.delete(&format!("/v1/rooms/{room}")).await;
    let refused = begin(&client).await;
    assert_eq!((refused.status, refused.error()), (409, "in_use"), "deleted ids are used");
}

#[tokio::test]
async fn refill_keeps_other_keys_from_writing() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(test_clock.clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    let other = other_key(&server, &["all"]).await;
    assert_eq!(begin(&client).await.status, 200);
    let room = json!({ "name": "Hall" });
    let write = || other.post("/v1/rooms", &room);
    let refused = write().await;
    assert_eq!((refused.status, refused.error(), refused.header("retry-after")), (503, "unavailable", "60"));
    assert_eq!((begin(&other).await.status, other.delete("/v1/refill").await.status), (503, 503));
    assert_eq!(other.get("/v1/rooms").await.status, 200);
    // The same key begins again after a cut, and the day begins anew.
    test_clock.advance(Duration::from_secs(23 * 3600));
    let again = begin(&client).await;
    assert_eq!((again.status, &again.data()["began_at"]), (200, &json!("2026-06-02T11:00:00.000Z")));
    assert_eq!(client.post("/v1/refill", &json!({ "from": TASK })).await.status, 409, "another lost home");
    test_clock.advance(Duration::from_secs(23 * 3600));
    assert_eq!(write().await.status, 503);
    test_clock.advance(Duration::from_secs(3600));
    assert_eq!(write().await.status, 201, "a refill lasts for a day");

    let ended = client.delete("/v1/refill").await;
    assert_eq!((ended.status, client.delete("/v1/refill").await.data()), (200, ended.data()));
    assert_eq!(begin(&client).await.data(), ended.data(), "an ended refill does not begin again");
    assert_eq!(begin(&other).await.status, 409);
}
