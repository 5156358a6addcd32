//! Records say who changed them last: `updated_by` (contract 3).

use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::operate::{self, NewKey};
use hearth_tests::client::Client;
use hearth_tests::server::{Server, new_key};
use serde_json::{Value, json};

/// A client with a key of this name for the live home.
async fn client_of(server: &Server, name: &str) -> Client {
    let key = NewKey { name: Some(name.to_owned()), ..new_key("My home", Environment::Live) };
    Client::new(&server.url, &operate::create_key(&server.running.app.db, &Clock::system(), key).await.unwrap().secret)
}

/// The author of a record.
async fn author(client: &Client, path: &str) -> Value {
    client.get(path).await.data()["updated_by"].clone()
}

#[tokio::test]
async fn every_write_stores_its_author() {
    let server = Server::start().await;
    let (ana, ben) = (client_of(&server, "Ana's phone").await, client_of(&server, "Ben").await);
    let made = ana.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    assert_eq!(made.data()["updated_by"], "Ana's phone");
    let room = format!("/v1/rooms/{}", made.id());
    let same = ben.patch(&room, &json!({ "name": "Hall" })).await;
    assert_eq!((&same.data()["updated_by"], same.header("etag")), (&json!("Ana's phone"), made.header("etag")));
    assert_eq!(ben.patch(&room, &json!({ "floor": "1" })).await.data()["updated_by"], "Ben");
    assert_eq!(author(&ana, "/v1/property").await, Value::Null, "the home has no profile");
    assert_eq!(ben.patch("/v1/property", &json!({ "city": "Ghent" })).await.data()["updated_by"], "Ben");
    assert_eq!(ana.patch("/v1/property", &json!({ "city": "Gent" })).await.data()["updated_by"], "Ana's phone");
    let bulk = json!({ "operations": [{ "method": "create", "name": "Attic" }] });
    assert_eq!(ben.post("/v1/rooms/bulk", &bulk).await.data()[0]["data"]["updated_by"], "Ben");
    let call = json!({ "name": "svc_create_vehicle", "arguments": { "name": "Car" } });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
    let called = ana.post("/mcp", &message).await;
    assert_eq!(called.json["result"]["structuredContent"]["data"]["updated_by"], "Ana's phone", "{}", called.text);

    let events = ana.list_all("/v1/events").await;
    let authors: Vec<&Value> = events.iter().map(|event| &event["payload"]["updated_by"]).collect();
    assert_eq!(authors, ["Ana's phone", "Ben", "Ben", "Ana's phone", "Ben", "Ana's phone"]);
    let listed = ana.get("/v1/rooms?fields=updated_by&order=asc").await;
    assert_eq!(listed.data()[0], json!({ "id": made.id(), "updated_by": "Ben" }));
    let old = ana.request(reqwest::Method::GET, &room).header("Service-API-Version", "2026-03-01");
    assert_eq!(ana.send(old).await.data()["updated_by"], "Ben", "a new member is shown in every version");
}

#[tokio::test]
async fn changes_that_follow_have_the_same_author() {
    let server = Server::start().await;
    let (ana, ben) = (client_of(&server, "Ana").await, client_of(&server, "Ben").await);
    let room = ana.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let lamp = ana.post("/v1/inventory", &json!({ "name": "Lamp", "room_id": room })).await.id();
    ben.delete(&format!("/v1/rooms/{room}")).await;
    assert_eq!(author(&ana, &format!("/v1/inventory/{lamp}")).await, "Ben", "the delete has cleared its room");

    let series = json!({ "title": "Filter", "due_on": "2026-01-31", "recurrence": "monthly" });
    let task = ana.post("/v1/tasks", &series).await.id();
    ben.patch(&format!("/v1/tasks/{task}"), &json!({ "status": "done" })).await;
    let tasks = ana.list_all("/v1/tasks").await;
    assert_eq!(tasks.iter().map(|task| &task["updated_by"]).collect::<Vec<_>>(), ["Ben", "Ben"]);

    // More references than one transaction clears.
    let room = ana.post("/v1/rooms", &json!({ "name": "Cellar" })).await.id();
    let operation = json!({ "method": "create", "name": "Box", "room_id": room });
    for _ in 0..3 {
        let boxes = json!({ "operations": vec![operation.clone(); 40] });
        assert_eq!(ana.post("/v1/inventory/bulk", &boxes).await.status, 207);
    }
    assert_eq!(ben.delete(&format!("/v1/rooms/{room}")).await.status, 200);
    let items = ana.list_all("/v1/inventory?room_id=null").await;
    assert!(items.len() == 121 && items.iter().all(|item| item["updated_by"] == "Ben"));
}

#[tokio::test]
async fn author_is_neither_sent_nor_searched() {
    let server = Server::start().await;
    let client = client_of(&server, "Quentin").await;
    let path = format!("/v1/rooms/{}", client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id());
    for refused in [
        client.patch(&path, &json!({ "updated_by": "Quentin" })).await,
        client.post("/v1/rooms", &json!({ "name": "Attic", "updated_by": "Quentin" })).await,
    ] {
        assert_eq!((refused.status, refused.faults()), (422, vec!["updated_by read_only".to_owned()]));
    }
    for query in ["sort=updated_by", "updated_by=Quentin"] {
        assert_eq!(client.get(&format!("/v1/rooms?{query}")).await.error(), "invalid_request", "{query}");
    }
    assert_eq!(client.get("/v1/search?q=Quentin").await.data(), &json!([]));
}

#[tokio::test]
async fn example_data_is_by_hearth_and_names_are_bounded() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    assert!(client.list_all("/v1/rooms").await.iter().all(|room| room["updated_by"] == "Hearth"));
    for (name, is_valid) in [("é".repeat(100), true), ("é".repeat(101), false), (" ".to_owned(), false)] {
        let key = NewKey { name: Some(name), ..new_key("My home", Environment::Live) };
        let made = operate::create_key(&server.running.app.db, &Clock::system(), key).await;
        assert_eq!(made.is_ok(), is_valid);
    }
}
