//! The list of deleted ids (contract 18).

use std::time::Duration;

use hearth_tests::client::Client;
use hearth_tests::server::{Server, TestClock};
use reqwest::Method;
use serde_json::{Value, json};

use super::feed::wait_for;

/// Makes a record and deletes it. Returns its id and the revision of the delete.
async fn make_and_delete(client: &Client, collection: &str) -> (String, i64) {
    let title = if matches!(collection, "tasks" | "documents") { "title" } else { "name" };
    let id = client.post(&format!("/v1/{collection}"), &json!({ title: "Short lived" })).await.id();
    let gone = client.delete(&format!("/v1/{collection}/{id}")).await;
    (id, gone.json["meta"]["as_of"].as_i64().unwrap())
}

fn ids(page: &Value) -> Vec<&str> {
    page.as_array().unwrap().iter().map(|deletion| deletion["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn deletions_since_a_revision_are_listed_in_order() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    client.patch("/v1/property", &json!({ "city": "Springfield" })).await;
    let (room, room_rev) = make_and_delete(&client, "rooms").await;
    let (task, task_rev) = make_and_delete(&client, "tasks").await;
    let (other, _) = make_and_delete(&client, "rooms").await;
    let kept = client.post("/v1/rooms", &json!({ "name": "Hall" })).await;

    let all = client.get("/v1/deletions?since=0").await;
    assert_eq!(ids(all.data()), [&*room, &task, &other], "{}", all.text);
    let event = client.list_all("/v1/events").await.into_iter().find(|event| event["id"] == room_rev).unwrap();
    let expected = json!({ "type": "room", "id": room, "rev": room_rev, "deleted_at": event["created_at"] });
    assert_eq!(all.data()[0], expected);
    assert_eq!(all.json["meta"]["page"], json!({ "has_more": false, "next_cursor": null }));
    assert_eq!(all.json["meta"]["as_of"], kept.data()["rev"]);

    for (query, expected) in [
        (format!("since={room_rev}"), vec![&*task, &other]),
        (format!("since={}", room_rev - 1), vec![&*room, &task, &other]),
        ("since=0&types=task".to_owned(), vec![&*task]),
        ("since=0&types=task,room&limit=2".to_owned(), vec![&*room, &task]),
        ("since=0&types=property".to_owned(), vec![]),
        (format!("since={}&types=task", task_rev), vec![]),
        (format!("since={}", kept.data()["rev"]), vec![]),
    ] {
        assert_eq!(ids(client.get(&format!("/v1/deletions?{query}")).await.data()), expected, "{query}");
    }
    let other_home = Client::new(&server.url, &server.test_key);
    assert_eq!(ids(other_home.get("/v1/deletions?since=0").await.data()), [""; 0]);
}

#[tokio::test]
async fn deletions_outlive_retention() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server =
        Server::start_at(test_clock.clock(), |config| config.retention = Some(Duration::from_millis(300))).await;
    let client = Client::new(&server.url, &server.live_key);
    make_and_delete(&client, "vehicles").await;
    let before = client.get("/v1/deletions?since=0").await.data().clone();
    test_clock.advance(Duration::from_secs(1));
    wait_for(|| async { client.list_all("/v1/events").await.is_empty().then_some(()) }).await;
    assert_eq!(*client.get("/v1/deletions?since=0").await.data(), before);
}

#[tokio::test]
async fn deletions_cursor_binds_its_query() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let mut made = Vec::new();
    for collection in ["rooms", "tasks", "rooms", "inventory", "rooms"] {
        made.push(make_and_delete(&client, collection).await.0);
    }
    let all = client.list_all("/v1/deletions?since=0&limit=2").await;
    assert_eq!(ids(&all.into()), made);
    let first = client.get("/v1/deletions?since=0&types=room,task&limit=2").await;
    let cursor = first.next_cursor().unwrap();
    let next = |query: &str| format!("/v1/deletions?cursor={cursor}{query}");
    for query in ["", "&since=0", "&types=task,room", "&limit=1000"] {
        assert_eq!(ids(client.get(&next(query)).await.data()), [&*made[2], &made[4]], "{query}");
    }
    for query in ["&since=1", "&types=room"] {
        assert_eq!(client.get(&next(query)).await.error(), "invalid_cursor", "{query}");
    }
    let other = Client::new(&server.url, &server.test_key);
    assert_eq!(other.get(&next("")).await.error(), "invalid_cursor");
    assert_eq!(client.get(&format!("/v1/rooms?cursor={cursor}")).await.error(), "invalid_cursor");
}

#[tokio::test]
async fn wrong_since_is_refused() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let (_, head) = make_and_delete(&client, "rooms").await;
    for query in
        ["", "?since=-1", "?since=x", "?since=1.0", "?since=99999999999999999999", &format!("?since={}", head + 1)]
    {
        let refused = client.get(&format!("/v1/deletions{query}")).await;
        assert_eq!((refused.status, refused.error()), (400, "invalid_request"), "{query}");
        assert_eq!(refused.json["error"]["details"]["parameter"], "since", "{query}");
    }
    assert_eq!(client.get("/v1/deletions?since=0&limit=1001").await.status, 400);
}

#[tokio::test]
async fn deletions_use_words_of_their_version() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    make_and_delete(&client, "rooms").await;
    let old = |query: &str| client.request(Method::GET, query).header("service-api-version", "2026-03-01");
    let listed = client.send(old("/v1/deletions?since=0&types=rooms")).await;
    assert_eq!(listed.data()[0]["type"], "rooms");
    assert_eq!(client.send(old("/v1/deletions?since=0&types=room")).await.status, 400);
}
